// What the service manager is told, as sd_notify(3) tells it, and nothing when there is none.
//
// Every call is a no-op without NOTIFY_SOCKET, and none waits: a message that the service manager
// has no room for, or that cannot be delivered, is dropped. It then acts on its own timeouts, and
// the daemon has nothing better to do.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace cxlpool::notify {

// The daemon serves. `status` is one line for people.
void ready(const std::string& status);

// The configuration is read again; ready() ends it, whatever came of it. May be called by any
// thread.
void reloading();

// One line for people, as systemctl status shows it.
void status(const std::string& line);

// A clean stop has begun.
void stopping();

// The main loop turns. Only the main loop may call this: a ping from elsewhere hides a dead loop.
void watchdog();

// A start or stop takes longer: its timeout ends `from_now` from now instead.
void extend_timeout(std::chrono::milliseconds from_now);

// Hands a descriptor to the service manager, which passes it in again when the service is started
// again. False: it was not told; what it does with it afterwards it does not say.
bool store(const std::string& name, int descriptor);
// It need not keep that one any more. False: it was not told.
bool remove(const std::string& name);

// How often the service manager wants to hear watchdog() at the least (WatchdogSec=); ping twice
// as often. Nothing when it does not want to.
std::optional<std::chrono::milliseconds> watchdog_interval();

}  // namespace cxlpool::notify

// What the service manager is told: sd_notify, and nothing when there is none.
//
// Every call is a no-op without NOTIFY_SOCKET. A message that cannot be delivered is dropped: the
// service manager then acts on its own timeouts, and the daemon has nothing better to do.
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

// How often the service manager wants to hear watchdog() at the least (WatchdogSec=); ping twice
// as often. Nothing when it does not want to.
std::optional<std::chrono::milliseconds> watchdog_interval();

}  // namespace cxlpool::notify

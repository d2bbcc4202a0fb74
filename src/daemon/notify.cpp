#include "daemon/notify.hpp"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace cxlpool::notify {
namespace {

// A line break would begin another assignment.
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

void send(const std::string& message) {
    (void)::sd_notify(0, message.c_str());
}

}  // namespace

void ready(const std::string& status) {
    send("READY=1\nSTATUS=" + one_line(status));
}

void reloading() {
    // Type=notify-reload tells by the time whether this answers its own signal.
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t usec = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
    send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec) +
         "\nSTATUS=reading the configuration again");
}

void status(const std::string& line) {
    send("STATUS=" + one_line(line));
}

void stopping() {
    send("STOPPING=1\nSTATUS=stopping");
}

void watchdog() {
    send("WATCHDOG=1");
}

void extend_timeout(std::chrono::milliseconds from_now) {
    const auto usec = std::chrono::duration_cast<std::chrono::microseconds>(from_now).count();
    send("EXTEND_TIMEOUT_USEC=" + std::to_string(std::max<std::int64_t>(usec, 0)));
}

std::optional<std::chrono::milliseconds> watchdog_interval() {
    std::uint64_t usec = 0;
    if (::sd_watchdog_enabled(0, &usec) <= 0 || usec < 2000) {
        return std::nullopt;
    }
    // The service manager takes times up to what fits here; a longer one is as good as none.
    constexpr std::uint64_t kDayUsec = 86'400'000'000;
    return std::chrono::milliseconds(std::min(usec, kDayUsec) / 1000);
}

}  // namespace cxlpool::notify

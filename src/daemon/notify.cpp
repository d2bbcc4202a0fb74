#include "daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/unique_fd.hpp"

namespace cxlpool::notify {
namespace {

// A line break would begin another assignment.
std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

// sd_notify() waits for a service manager that does not read, and with the main loop everybody
// waits. False: it was not told.
bool send(const std::string& message, int descriptor = -1) {
    const char* const path = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    const std::size_t length = path == nullptr ? 0 : std::strlen(path);
    if (length < 2 || length >= sizeof address.sun_path || (*path != '/' && *path != '@')) {
        return false;
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path, length);
    if (*path == '@') {
        address.sun_path[0] = '\0';  // a name that is no file
    }
    const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    iovec text{const_cast<char*>(message.data()), message.size()};
    msghdr header{};
    header.msg_name = &address;
    header.msg_namelen =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (*path == '/' ? 1 : 0));
    header.msg_iov = &text;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptor)> control{};
    if (descriptor >= 0) {
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        cmsghdr* const rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    }
    return socket && ::sendmsg(socket.get(), &header, MSG_NOSIGNAL) >= 0;
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

bool store(const std::string& name, int descriptor) {
    const std::string message = "FDSTORE=1\nFDNAME=" + one_line(name);
    return send(message, descriptor);
}

bool remove(const std::string& name) {
    return send("FDSTOREREMOVE=1\nFDNAME=" + one_line(name));
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

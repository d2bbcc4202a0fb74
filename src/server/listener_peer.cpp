// Sockets that systemd passes in, connections, and who is at their other end.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "server/listener.hpp"

namespace cxlpool {
namespace {

constexpr uid_t kNobody = 65534;
constexpr auto kNoUid = static_cast<uid_t>(-1);
// The kernel's own maximum of supplementary groups (NGROUPS_MAX).
constexpr std::size_t kMaxGroups = 65'536;

// What the kernel shows for ids that are not mapped in our user namespace; 65534 unless an
// administrator changed the sysctl.
std::uint32_t overflow_id(const char* sysctl) {
    std::ifstream file(sysctl);
    std::uint32_t id = kNobody;
    return file >> id ? id : kNobody;
}

bool unmapped_uid(uid_t uid) {
    static const uid_t overflow = overflow_id("/proc/sys/kernel/overflowuid");
    return uid == kNobody || uid == kNoUid || uid == overflow;
}

bool unmapped_gid(gid_t gid) {
    static const gid_t overflow = overflow_id("/proc/sys/kernel/overflowgid");
    return gid == kNobody || gid == kNoUid || gid == overflow;
}

Error refused(std::string_view name, std::string_view why) {
    return Error{Errc::invalid_argument,
                 "socket '" + std::string(name) + "' from systemd refused: " + std::string(why)};
}

// Whoever may write a socket file may connect. For operators that must never be everybody.
Result<void> check_file(int socket, std::string_view name, PassedListener& file) {
    sockaddr_un address{};
    socklen_t length = sizeof address;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        return os_error("asking socket '" + std::string(name) + "' for its address", errno);
    }
    const std::size_t offset = offsetof(sockaddr_un, sun_path);
    if (length <= offset || address.sun_path[0] != '/') {
        return refused(name,
                       "it has no file, so no permissions; ListenSequentialPacket= takes an "
                       "absolute path");
    }
    const std::string path(address.sun_path, ::strnlen(address.sun_path, length - offset));
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
        return os_error("looking at '" + path + "'", errno);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return refused(name, "'" + path + "' is not a socket");
    }
    if (name == "admin" && (status.st_mode & S_IWOTH) != 0) {
        return refused(name, "'" + path +
                                 "' may be written by everybody; set SocketMode=0660 and "
                                 "SocketGroup= in cxlpoold-admin.socket (the default of "
                                 "SocketMode= is 0666)");
    }
    file.path = path;
    file.mode = status.st_mode & 07777U;
    return {};
}

Result<void> check_passed(int socket, std::string_view name, PassedListener& file) {
    const int is = ::sd_is_socket_unix(socket, SOCK_SEQPACKET, 1, nullptr, 0);
    if (is < 0) {
        return os_error("checking socket '" + std::string(name) + "' from systemd", -is,
                        Errc::invalid_argument);
    }
    if (is == 0) {
        return refused(name,
                       "it is not a listening Unix sequenced-packet socket; use "
                       "ListenSequentialPacket=/path and Accept=no");
    }
    CXLPOOL_TRY(check_file(socket, name, file));
    const int flags = ::fcntl(socket, F_GETFL);
    if (flags < 0 || ::fcntl(socket, F_SETFL, flags | O_NONBLOCK) != 0) {
        return os_error("making socket '" + std::string(name) + "' non-blocking", errno);
    }
    return {};
}

}  // namespace

Result<PassedSockets> take_passed_sockets() {
    char** raw_names = nullptr;
    const int count = ::sd_listen_fds_with_names(1, &raw_names);
    if (count < 0) {
        return os_error("taking the sockets from systemd", -count, Errc::invalid_argument);
    }
    // Owned before anything is checked, so that a refusal closes them all.
    std::vector<std::pair<std::string, UniqueFd>> sockets;
    for (int i = 0; i < count; ++i) {
        sockets.emplace_back(raw_names[i], UniqueFd(SD_LISTEN_FDS_START + i));
        std::free(raw_names[i]);
    }
    std::free(static_cast<void*>(raw_names));

    PassedSockets passed;
    for (auto& [name, socket] : sockets) {
        if (std::string_view(name).substr(0, kStoredPrefix.size()) == kStoredPrefix) {
            passed.stored.emplace_back(name, std::move(socket));
            continue;
        }
        if (name != "engine" && name != "admin" && name != "listener") {
            return refused(name, "FileDescriptorName= must be engine, admin or listener");
        }
        PassedListener file;
        CXLPOOL_TRY(check_passed(socket.get(), name, file));
        if (name == "listener") {
            const auto same = [&](const PassedListener& other) { return other.path == file.path; };
            if (std::any_of(passed.listeners.begin(), passed.listeners.end(), same)) {
                return refused(name,
                               "'" + file.path + "' was passed twice; one socket unit a path");
            }
            file.socket = std::move(socket);
            passed.listeners.push_back(std::move(file));
            continue;
        }
        UniqueFd& place = name == "engine" ? passed.engine : passed.admin;
        if (place) {
            return refused(name, "it was passed twice; one ListenSequentialPacket= a socket unit");
        }
        place = std::move(socket);
    }
    return passed;
}

Result<std::optional<UniqueFd>> accept_one(int listener) {
    while (true) {
        UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (socket) {
            return std::optional<UniqueFd>(std::move(socket));
        }
        switch (errno) {
            case EINTR:
                continue;
            case EAGAIN:
                return std::optional<UniqueFd>();
            case EMFILE:
            case ENFILE:
            case ENOBUFS:
            case ENOMEM:
                return os_error("accepting a connection", errno, Errc::limit_exceeded);
            default:
                return os_error("accepting a connection", errno);
        }
    }
}

namespace {

// Fewer groups match fewer grants: what the kernel does not tell is left out.
std::vector<gid_t> peer_groups(int socket) {
    std::vector<gid_t> groups(64);
    while (true) {
        auto bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
        if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0) {
            groups.resize(bytes / sizeof(gid_t));
            break;
        }
        const std::size_t wanted = bytes / sizeof(gid_t);
        if (errno != ERANGE || wanted <= groups.size() || wanted > kMaxGroups) {
            return {};
        }
        groups.resize(wanted);
    }
    groups.erase(std::remove_if(groups.begin(), groups.end(), unmapped_gid), groups.end());
    return groups;
}

}  // namespace

Result<PeerCredentials> peer_credentials(int socket) {
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
        return os_error("the kernel does not say who the peer is", errno, Errc::not_permitted);
    }
    if (length != sizeof credentials || unmapped_uid(credentials.uid)) {
        return Error{Errc::not_permitted,
                     "the peer has no identity here: uid " + std::to_string(credentials.uid) +
                         " stands for users that are not mapped in our user namespace"};
    }
    PeerCredentials peer;
    peer.pid = credentials.pid;
    peer.uid = credentials.uid;
    peer.gid = unmapped_gid(credentials.gid) ? kNobody : credentials.gid;
    peer.groups = peer_groups(socket);
    return peer;
}

}  // namespace cxlpool

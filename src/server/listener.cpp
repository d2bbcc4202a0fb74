#include "server/listener.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/directory.hpp"

namespace cxlpool {
namespace {

// Connections that wait to be accepted; a turn of the reactor takes them all.
constexpr int kBacklog = 128;
constexpr const char* kSocketName = "socket";

// An address for a file of an open directory: short whatever the path, and not to be led astray by
// somebody who renames a directory on the way there.
sockaddr_un address_in(int directory, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path, sizeof address.sun_path,
                                     "/proc/self/fd/%d/%s", directory, name.c_str());
    CXLPOOL_CHECK(length > 0 && static_cast<std::size_t>(length) < sizeof address.sun_path);
    return address;
}

struct Place {
    std::string path;
    std::string name;  // the last component
    UniqueFd directory;
};

Error refused(const std::string& path, std::string_view why) {
    return Error{Errc::invalid_argument, "socket '" + path + "' refused: " + std::string(why)};
}

Result<void> check_directory(const std::string& path, const std::string& directory,
                             const struct stat& status) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
        return refused(path, "directory '" + directory + "' belongs to uid " +
                                 std::to_string(status.st_uid) +
                                 ", who could replace the socket; use one of root's or our own");
    }
    const bool sticky = (status.st_mode & S_ISVTX) != 0;
    if (!sticky && (status.st_mode & S_IWOTH) != 0) {
        return refused(path, "directory '" + directory +
                                 "' is writable by everybody, who could replace the socket; "
                                 "chmod o-w it");
    }
    if (!sticky && (status.st_mode & S_IWGRP) != 0 && status.st_gid != 0 &&
        status.st_gid != ::getegid()) {
        return refused(path, "directory '" + directory + "' is writable by group " +
                                 std::to_string(status.st_gid) +
                                 ", which could replace the socket; chmod g-w it");
    }
    return {};
}

Result<Place> open_place(const std::string& path) {
    if (path.empty() || path.front() != '/') {
        return refused(path, "the path is not absolute");
    }
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        return refused(path, "the path has " + std::to_string(path.size()) +
                                 " bytes and no client can connect to more than " +
                                 std::to_string(sizeof(sockaddr_un::sun_path) - 1));
    }
    if (path.find('\0') != std::string::npos) {
        return refused(path.c_str(), "the path has a NUL byte in it");
    }
    const std::size_t slash = path.rfind('/');
    Place place;
    place.path = path;
    place.name = path.substr(slash + 1);
    if (place.name.empty() || place.name == "." || place.name == "..") {
        return refused(path, "the path names a directory");
    }
    const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
    place.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!place.directory || ::fstat(place.directory.get(), &status) != 0) {
        const int error = errno;
        return os_error("opening directory '" + directory + "' of socket '" + path + "'", error,
                        error == EACCES ? Errc::not_permitted : Errc::io);
    }
    CXLPOOL_TRY(check_directory(path, directory, status));
    return place;
}

enum class Found { nothing, stale_socket };

// Whether the process that listens at the other end is gone. Its socket can outlive it for a
// moment: the kernel takes an io_uring apart, and lets go of the descriptors in it, after its
// owner's end.
bool listener_is_dead(int connected) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    return ::getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
           credentials.pid > 0 && ::kill(credentials.pid, 0) != 0 && errno == ESRCH;
}

// What is at the path. A socket is stale when the kernel says that nobody listens, or when it is
// ours to replace.
Result<Found> look(const Place& place, bool ours = false) {
    struct stat status {};
    if (::fstatat(place.directory.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT) {
            return Found::nothing;
        }
        return os_error("looking at '" + place.path + "'", errno);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return refused(place.path, "something that is not a socket is there; move it away");
    }
    if (ours) {
        return Found::stale_socket;
    }
    const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) {
        return os_error("creating a socket", errno);
    }
    const sockaddr_un address = address_in(place.directory.get(), place.name);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        if (listener_is_dead(probe.get())) {
            return Found::stale_socket;
        }
        errno = 0;
    }
    switch (errno) {
        case ECONNREFUSED:
            return Found::stale_socket;
        case ENOENT:
            return Found::nothing;
        case 0:
        case EAGAIN:      // its backlog is full
        case EPROTOTYPE:  // alive, of another type
            return Error{Errc::already_exists,
                         "somebody answers at '" + place.path +
                             "' already: stop the other daemon or choose another path"};
        case EACCES:
        case EPERM:
            return os_error("no permission to see whether somebody answers at '" + place.path + "'",
                            errno, Errc::not_permitted);
        default:
            return os_error("seeing whether somebody answers at '" + place.path + "'", errno);
    }
}

// A directory that only we may enter, next to where the socket goes, so that a rename moves it. It
// is locked, so that two daemons that start at once do not both find nobody listening; nobody else
// can open it to hold the lock. What a crash left in it is cleared away by the next start.
class PrivateDirectory {
  public:
    PrivateDirectory() = default;
    PrivateDirectory(const PrivateDirectory&) = delete;
    PrivateDirectory& operator=(const PrivateDirectory&) = delete;
    ~PrivateDirectory() {
        if (locked_) {
            ::unlinkat(fd_.get(), kSocketName, 0);
            ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR);
        }
    }

    Result<void> make(const Place& place) {
        parent_ = place.directory.get();
        name_ = "." + place.name + ".private";
        while (!locked_) {
            CXLPOOL_TRY(open(place));
            if (!fd_) {
                continue;  // removed by another daemon in this moment
            }
            while (::flock(fd_.get(), LOCK_EX) != 0) {
                if (errno != EINTR) {
                    return os_error("locking the directory next to '" + place.path + "'", errno);
                }
            }
            // Whoever held the lock before us has removed the directory that we waited for.
            struct stat held {};
            struct stat there {};
            locked_ = ::fstat(fd_.get(), &held) == 0 &&
                      ::fstatat(parent_, name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      held.st_ino == there.st_ino && held.st_dev == there.st_dev;
        }
        ::unlinkat(fd_.get(), kSocketName, 0);
        return {};
    }

    int fd() const noexcept { return fd_.get(); }

  private:
    Result<void> open(const Place& place) {
        const std::string what =
            "making the directory '" + name_ + "' next to '" + place.path + "'";
        if (::mkdirat(parent_, name_.c_str(), 0700) != 0 && errno != EEXIST) {
            const int error = errno;
            return os_error(what, error,
                            error == EACCES || error == EPERM ? Errc::not_permitted : Errc::io);
        }
        fd_.reset(
            ::openat(parent_, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!fd_ && errno == ENOENT) {
            return {};
        }
        struct stat status {};
        if (!fd_ || ::fstat(fd_.get(), &status) != 0) {
            return os_error(what, errno);
        }
        if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
            return refused(place.path, "'" + name_ + "' next to it is not ours alone; remove it");
        }
        return {};
    }

    int parent_ = -1;
    std::string name_;
    UniqueFd fd_;
    bool locked_ = false;
};

// Bound, with its final owner and mode, and listening, where nobody else can reach it.
Result<UniqueFd> listen_in(const PrivateDirectory& directory, const ListenerOptions& options) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
        return os_error("creating a socket", errno);
    }
    const sockaddr_un address = address_in(directory.fd(), kSocketName);
    const mode_t before = ::umask(0177);
    const int bound =
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int error = errno;
    ::umask(before);
    if (bound != 0) {
        return os_error("binding socket '" + options.path + "'" +
                            (error == ENOENT ? " (is /proc mounted?)" : ""),
                        error);
    }
    // While it is ours: a file of somebody else takes a capability that the service does not have.
    if (::fchmodat(directory.fd(), kSocketName, options.mode, 0) != 0) {
        return os_error("setting the mode of socket '" + options.path + "'", errno);
    }
    const uid_t owner = options.owner.value_or(static_cast<uid_t>(-1));
    const gid_t group = options.group.value_or(static_cast<gid_t>(-1));
    if ((options.owner || options.group) &&
        ::fchownat(directory.fd(), kSocketName, owner, group, AT_SYMLINK_NOFOLLOW) != 0) {
        const int why = errno;
        return os_error("giving socket '" + options.path + "' to uid " +
                            (options.owner ? std::to_string(owner) : "(same)") + " gid " +
                            (options.group ? std::to_string(group) : "(same)"),
                        why, why == EPERM ? Errc::not_permitted : Errc::io);
    }
    // The next start asks whether somebody answers here, and so does the removal of the file.
    if ((options.owner || options.group) &&
        ::faccessat(directory.fd(), kSocketName, W_OK, AT_EACCESS) != 0) {
        return Error{Errc::invalid_argument,
                     "socket '" + options.path +
                         "' would not let the daemon itself connect, who has no right to pass by "
                         "the permissions of files; give away its owner or its group, not both"};
    }
    if (::listen(socket.get(), kBacklog) != 0) {
        return os_error("listening at '" + options.path + "'", errno);
    }
    return socket;
}

}  // namespace

struct PreparedListener::Impl {
    Place place;
    PrivateDirectory directory;  // its destructor needs the place
    UniqueFd socket;
    bool exchange = false;  // with the socket of ours that is there
};

PreparedListener::PreparedListener(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
PreparedListener::PreparedListener(PreparedListener&&) noexcept = default;
PreparedListener& PreparedListener::operator=(PreparedListener&&) noexcept = default;
PreparedListener::~PreparedListener() = default;

Result<PreparedListener> prepare_listener(const ListenerOptions& options, bool ours) {
    auto impl = std::make_unique<PreparedListener::Impl>();
    Result<Place> place = open_place(options.path);
    if (!place) {
        return std::move(place).error();
    }
    impl->place = std::move(place).value();
    CXLPOOL_TRY(impl->directory.make(impl->place));
    const Result<Found> found = look(impl->place, ours);
    if (!found) {
        return found.error();
    }
    impl->exchange = ours && *found == Found::stale_socket;
    Result<UniqueFd> socket = listen_in(impl->directory, options);
    if (!socket) {
        return std::move(socket).error();
    }
    impl->socket = std::move(socket).value();
    return PreparedListener(std::move(impl));
}

UniqueFd PreparedListener::take_socket() noexcept {
    return std::move(impl_->socket);
}

Result<void> PreparedListener::publish() {
    const Place& place = impl_->place;
    // What it was exchanged with goes with the private directory, and comes back until then.
    if (::renameat2(impl_->directory.fd(), kSocketName, place.directory.get(), place.name.c_str(),
                    impl_->exchange ? RENAME_EXCHANGE : 0U) != 0) {
        return os_error("moving socket '" + place.path + "' into place", errno);
    }
    return {};
}

void PreparedListener::take_back() noexcept {
    const Place& place = impl_->place;
    if (impl_->exchange) {
        ::renameat2(impl_->directory.fd(), kSocketName, place.directory.get(), place.name.c_str(),
                    RENAME_EXCHANGE);
    } else {
        ::unlinkat(place.directory.get(), place.name.c_str(), 0);
    }
}

Result<UniqueFd> listen_at(const ListenerOptions& options) {
    Result<PreparedListener> prepared = prepare_listener(options, false);
    if (!prepared) {
        return std::move(prepared).error();
    }
    CXLPOOL_TRY(prepared->publish());
    return prepared->take_socket();
}

Result<void> check_socket_path(const std::string& path) {
    const Result<Place> place = open_place(path);
    if (place || place.error().code() == Errc::not_permitted) {
        return {};
    }
    if (place.error().os_errno() != ENOENT) {
        return place.error();
    }
    // The last directory is made at the start, and no other.
    const std::string directory = path.substr(0, path.rfind('/'));
    return check_makeable(directory, "making '" + directory + "' for the socket");
}

namespace {

void remove_file(const std::string& path, bool ours) noexcept {
    const Result<Place> place = open_place(path);
    if (!place) {
        return;
    }
    const Result<Found> found = look(*place, ours);
    if (found && *found == Found::stale_socket) {
        ::unlinkat(place->directory.get(), place->name.c_str(), 0);
    }
}

}  // namespace

void remove_socket_file(const std::string& path) noexcept {
    remove_file(path, false);
}

void remove_live_socket_file(const std::string& path) noexcept {
    remove_file(path, true);
}

}  // namespace cxlpool

// Listening sockets, made so that nobody gets in between.
//
// Responsible for: creating a Unix SOCK_SEQPACKET socket file with its final owner and mode before
// any client can connect (bound in a private directory under a tight umask, given owner and mode,
// then moved into place), checking sockets that systemd passes in, and who the peer is.
// Invariants: a live socket of another daemon is never removed; anything at the path that is not a
// socket is never removed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cxlpool {

struct ListenerOptions {
    std::string path;
    mode_t mode = 0600;
    std::optional<uid_t> owner;
    std::optional<gid_t> group;
};

// Errors: already_exists (a daemon answers there), invalid_argument (path too long, not absolute,
// something that is no socket is there, directory writable by others), not_permitted, io.
Result<UniqueFd> listen_at(const ListenerOptions& options);

// A socket that listens with its final owner and mode where nobody can reach it, until it is moved
// to its path. Destroyed before that, it leaves nothing behind. While it lives, other makers of a
// socket at that path wait.
class PreparedListener {
  public:
    PreparedListener(PreparedListener&&) noexcept;
    PreparedListener& operator=(PreparedListener&&) noexcept;
    ~PreparedListener();

    UniqueFd take_socket() noexcept;
    // In one step: at no time is there nothing to connect to. Errors: io, and of a socket that
    // replaces one of ours on a file system that cannot exchange two files.
    Result<void> publish();
    // After publish(): the path is as it was before.
    void take_back() noexcept;

  private:
    friend Result<PreparedListener> prepare_listener(const ListenerOptions&, bool);
    struct Impl;
    explicit PreparedListener(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

// Errors: those of listen_at(). `ours`: what answers at the path is a socket of this process, to be
// replaced.
Result<PreparedListener> prepare_listener(const ListenerOptions& options, bool ours);

// Would listen_at() refuse the path or the directory, which may still have to be made? Reads only,
// and does not look whether somebody answers; what this user may not see counts as good. Errors:
// invalid_argument, io, as listen_at().
Result<void> check_socket_path(const std::string& path);

// For a clean stop, after the listener was closed: removes the socket file that listen_at made,
// unless somebody answers there by now or it is no socket any more.
void remove_socket_file(const std::string& path) noexcept;
// The same while the listener is open and this process knows that it is its own.
void remove_live_socket_file(const std::string& path) noexcept;

struct PassedListener {
    std::string path;
    mode_t mode = 0;  // of the file
    UniqueFd socket;
};
struct PassedSockets {
    UniqueFd engine;
    UniqueFd admin;
    std::vector<PassedListener> listeners;  // each path once
    // What this service had stored before it was started again, by name; see daemon/segment_store.
    std::vector<std::pair<std::string, UniqueFd>> stored;
};
// Names of stored descriptors begin with it.
inline constexpr std::string_view kStoredPrefix = "cxlpool-";
// Sockets from systemd, told apart by FileDescriptorName= ("engine", "admin"; "listener" for all
// others, which their paths tell apart). Empty members when nothing was passed. Errors:
// invalid_argument for anything that is not a listening Unix SOCK_SEQPACKET socket, for unknown or
// doubled names, and for a socket file of the operators that everybody may write (SocketMode=
// defaults to 0666): names the setting.
Result<PassedSockets> take_passed_sockets();

// Non-blocking, CLOEXEC. No value when nobody waits. A failure of one connection (ECONNABORTED,
// EMFILE) is an Error that the loop survives.
Result<std::optional<UniqueFd>> accept_one(int listener);

struct PeerCredentials {
    pid_t pid = 0;  // information only: pid namespaces and reuse make it worthless as identity
    uid_t uid = 65534;
    gid_t gid = 65534;
    std::vector<gid_t> groups;  // supplementary groups at connect time (SO_PEERGROUPS)
};
// Those at connect time (SO_PEERCRED); a socket that was handed on keeps them. Errors:
// not_permitted when the kernel gives none, or an unmapped identity (uid 65534, the kernel's
// overflow uid, or (uid_t)-1). Groups that the kernel does not tell are none.
Result<PeerCredentials> peer_credentials(int socket);

}  // namespace cxlpool

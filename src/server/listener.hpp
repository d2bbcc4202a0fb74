// Listening sockets, made so that nobody gets in between.
//
// Responsible for: creating a Unix SOCK_SEQPACKET socket file with its final owner and mode before
// any client can connect (bound in a private directory under a tight umask, given owner and mode,
// then moved into place), checking sockets that systemd passes in, and who the peer is.
// Invariants: a live socket of another daemon is never removed; anything at the path that is not a
// socket is never removed.
#pragma once

#include <sys/types.h>

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

// Would listen_at() refuse the path or the directory, which may still have to be made? Reads only,
// and does not look whether somebody answers; what this user may not see counts as good. Errors:
// invalid_argument, io, as listen_at().
Result<void> check_socket_path(const std::string& path);

// For a clean stop, after the listener was closed: removes the socket file that listen_at made,
// unless somebody answers there by now or it is no socket any more.
void remove_socket_file(const std::string& path) noexcept;

struct PassedSockets {
    UniqueFd engine;
    UniqueFd admin;
};
// Sockets from systemd, told apart by FileDescriptorName= ("engine", "admin"). Empty members when
// nothing was passed. Errors: invalid_argument for anything that is not a listening Unix
// SOCK_SEQPACKET socket, for unknown or doubled names, and for a socket file of the operators that
// everybody may write (SocketMode= defaults to 0666): names the setting.
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

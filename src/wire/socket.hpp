// Datagrams and descriptors over a Unix SOCK_SEQPACKET socket.
//
// Responsible for: one message a call, descriptors with CLOEXEC, a fixed control buffer, and an
// owner for every descriptor that came. Refuses to close them: close(2) of what a peer sent can
// block for as long as the peer likes (a file of its FUSE file system, a lingering TCP socket).
// Invariants: no call blocks unless the socket blocks; no SIGPIPE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cxlpool::wire {

enum class Io : std::uint8_t { done, would_block, closed };

struct Received {
    Io io = Io::would_block;
    std::size_t size = 0;               // bytes in the caller's buffer
    bool truncated = false;             // the datagram was longer than the buffer
    bool descriptors_came = false;      // descriptors were sent, wanted or not
    bool descriptors_lost = false;      // more than were wanted, or some did not get through
    std::vector<UniqueFd> descriptors;  // all that came; where they are closed is the caller's say
};

// One datagram. A length of 0 is `closed` (SEQPACKET end of file; nobody may send empty messages).
// Descriptors over `max_descriptors` come too, reported as lost. The kernel closes some only when
// this process has no room for them (RLIMIT_NOFILE).
Result<Received> receive(int socket, std::span<std::byte> buffer, std::size_t max_descriptors);

// One datagram with at most one descriptor (-1: none). Errors: io; a peer that is gone is
// Io::closed, a full buffer Io::would_block.
Result<Io> send(int socket, std::span<const std::byte> message, int descriptor = -1);

}  // namespace cxlpool::wire

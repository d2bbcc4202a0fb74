// Datagrams and descriptors over a Unix SOCK_SEQPACKET socket.
//
// Responsible for: one message a call, descriptors with CLOEXEC, a fixed control buffer, and no
// descriptor ever leaked. Invariants: truncated control data closes every descriptor that came and
// is reported; no call blocks unless the socket blocks; no SIGPIPE.
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
    bool descriptors_came = false;      // descriptors were sent, whether kept or closed
    bool descriptors_lost = false;      // control data was truncated: all were closed
    std::vector<UniqueFd> descriptors;  // at most `max_descriptors`; more: all closed, lost
};

// One datagram. A length of 0 is `closed` (SEQPACKET end of file; nobody may send empty messages).
// With max_descriptors 0 every descriptor that comes is closed.
Result<Received> receive(int socket, std::span<std::byte> buffer, std::size_t max_descriptors);

// One datagram with at most one descriptor (-1: none). Errors: io; a peer that is gone is
// Io::closed, a full buffer Io::would_block.
Result<Io> send(int socket, std::span<const std::byte> message, int descriptor = -1);

}  // namespace cxlpool::wire

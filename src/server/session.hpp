// One connection: who is there, what it holds, what waits to be sent.
//
// Responsible for: the state of a connection and its bounded queues. Refuses to know: what the
// requests mean. Invariants: nothing in it grows with what the peer sends beyond a limit of
// server/limits.hpp; while a reply waits to be sent, nothing more is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "domain/context.hpp"
#include "memory/pool.hpp"
#include "registry/registry.hpp"
#include "server/door.hpp"

namespace cxlpool {

struct OutMessage {
    std::vector<std::byte> bytes;
    UniqueFd descriptor;  // sent along; empty: none
};

// A segment that this connection may ask a descriptor of.
struct HeldSegment {
    std::size_t pool = 0;
    SegmentId segment;
    std::uint32_t filling_leases = 0;  // while there is one, it may be mapped writable
    std::uint32_t live_leases = 0;     // those included
};

// What is known of a live lease without asking the registry.
struct HeldLease {
    std::uint32_t segment = 0;  // key of Session::segments; 0: no lease at this index
    bool filling = false;
};

struct Session {
    std::uint64_t id = 0;
    UniqueFd socket;
    std::shared_ptr<const Listener> listener;  // where it came in
    PeerCredentials peer;
    Identity identity;
    Timestamp connected_at;

    bool greeted = false;
    // The peer has no right to be here: its first message is answered with this, then it goes.
    std::optional<Error> refusal;
    // For the audit log when it says something: who hangs up before that was told nothing, as
    // another daemon that only looks whether this one lives.
    std::string refused_identity;
    bool closing = false;  // after the queue has been sent

    TenantId tenant;
    std::optional<ConnectionId> connection;  // engines only

    std::unique_ptr<Segment> board;  // u32 generation by lease index
    std::vector<HeldLease> leases;   // by lease index

    std::unordered_map<std::uint32_t, ContextKey> contexts;
    std::uint32_t last_context = 0;

    std::unordered_map<std::uint32_t, HeldSegment> segments;
    std::map<std::pair<std::size_t, SegmentId>, std::uint32_t> segment_handles;
    std::uint32_t last_segment = 0;

    std::uint32_t pending = 0;  // requests that wait for a worker
    std::deque<OutMessage> out;
    Timestamp out_since;   // when the oldest unsent message was queued
    std::string document;  // the rest of it is asked for with document_more

    Door door() const noexcept { return listener->door; }
    bool has_role(Role role) const noexcept { return identity.has(role); }
};

}  // namespace cxlpool

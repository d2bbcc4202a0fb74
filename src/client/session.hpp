// What an engine does with the daemon, in C++: the C ABI is a thin layer over it.
//
// Responsible for: leases and the mappings that live as long as they do, batches longer than one
// message, and undoing what was granted when a call fails half-way. Refuses to know: the C types.
// Invariants: an error leaves no lease behind that the caller does not know of, as far as the
// daemon can still be told; once the connection is closed no lease is live.
//
// Any thread may call; calls take turns, except live().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/connection.hpp"
#include "client/mapping.hpp"
#include "wire/messages.hpp"

namespace cxlpool::client {

struct Fill {
    wire::BeginReply grant;
    std::byte* data = nullptr;
};

class Session {
  public:
    // Errors: protocol (no lease board, limits that cannot be), and those of Mapping::map.
    static Result<std::unique_ptr<Session>> open(Connection connection, const Clock& clock);

    const wire::HelloReply& greeting() const noexcept { return connection_.greeting(); }

    Result<std::uint32_t> register_context(std::vector<wire::AxisField> axes);
    Result<void> release_context(std::uint32_t context);

    Result<std::vector<wire::LookupItem>> lookup(std::uint32_t context,
                                                 std::span<const SpanDigest> spans);
    // Errors: stale_lease when it is not live; invalid_argument when segment and lease do not
    // belong together.
    Result<const std::byte*> attend(const wire::LookupItem& hit);
    bool live(LeaseRef lease) const noexcept;
    Result<std::uint32_t> renew(LeaseRef lease);
    Result<void> release(LeaseRef lease);

    Result<Fill> begin(wire::BeginRequest request);
    Result<ContentDigest> seal(LeaseRef lease);
    Result<void> share(wire::ShareRequest request);

    Result<UniqueFd> open_segment(std::uint32_t segment, wire::MapAccess access);
    Result<wire::PlanFleetReply> plan_fleet(wire::PlanFleetRequest request);
    Result<wire::PlanPlacementReply> plan_placement(wire::PlanPlacementRequest request);
    Result<wire::OwnStatisticsReply> own_statistics();

  private:
    Session(Connection connection, LeaseBoard board, const Clock& clock);

    // Every call begins with it. Errors: wrong_state in a fork, where the lock may be held by a
    // thread that does not exist.
    using Turn = std::unique_lock<std::mutex>;
    Result<Turn> take_turn();

    template <typename Body>
    Result<Body> ask(wire::RequestBody request, UniqueFd* descriptor = nullptr);
    Error hang_up(std::string why);
    Timestamp ttl_from(Timestamp asked_at, std::uint32_t ttl_ms) const noexcept;
    bool may_be_lease(LeaseRef lease) const noexcept;

    Result<std::vector<wire::LookupItem>> lookup_batch(std::uint32_t context,
                                                       std::span<const SpanDigest> spans);
    void give_back(std::span<const wire::LookupItem> items);
    // The bytes, in a mapping that the lease holds from now on.
    Result<std::byte*> bytes_for(LeaseRef lease, SegmentMappings::Key key,
                                 std::uint64_t offset_bytes, std::uint64_t length_bytes);
    Result<void> map_segment(SegmentMappings::Key key);

    const Clock& clock_;
    LeaseBoard board_;
    std::atomic<bool> closed_{false};
    std::mutex mutex_;  // everything below
    Connection connection_;
    SegmentMappings mappings_;
};

}  // namespace cxlpool::client

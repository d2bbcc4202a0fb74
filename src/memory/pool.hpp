// One pool: segments of one provider, and the extents in them.
//
// Responsible for: where bytes live, which segment grants them, scrubbing before bytes pass to
// another tenant, and accounting. Refuses to know: cells, leases, the gate. Invariants: bytes are
// never handed out twice; what one tenant wrote is overwritten before another can map it; under a
// provider with kernel isolation a segment belongs to one tenant and either is writable by that
// tenant or read-only for everybody.
//
// Threads: all of it belongs to the reactor thread, except that the bytes of a placement may be
// read and written by a worker while the placement is held or being released.
//
// Bytes on their way:
//
//   place_* --> held --> begin_release --> being released --> finish_release --> free
//                                                         '-> withdraw --------> never again
//
// A long extent is overwritten by a worker between begin_release and finish_release; release() does
// all of it at once, for short ones. Bytes that nobody overwrote yet (a dax device carries what its
// last user left there; a long segment of memory is zero, but not populated) are reported by
// needs_scrub() and must be overwritten, by a worker, before they are handed out. The bytes of a
// shared placement are not reported: the copy into them, also a worker's, is what populates them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "memory/extent_allocator.hpp"
#include "memory/provider.hpp"

namespace cxlpool {

struct SegmentId {
    std::uint64_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    auto operator<=>(const SegmentId&) const = default;
};

// A byte range that is handed out. `length_bytes` is what was asked for; the extent may be longer.
struct Placement {
    SegmentId segment;
    Extent extent;
    std::uint64_t length_bytes = 0;
    bool operator==(const Placement&) const = default;
};

// Holds on to the memory of segments while the daemon is not there. What it cannot keep is lost
// with the daemon, no more.
class SegmentKeeper {
  public:
    virtual ~SegmentKeeper() = default;
    virtual void keep(const std::string& pool, SegmentId segment, int descriptor) = 0;
    virtual void give_up(const std::string& pool, SegmentId segment) = 0;
};

struct PoolOptions {
    std::string name;
    // Private cells of a tenant are put together in segments of this size (a longer cell gets one
    // of its own; it is at most an eighth of the capacity), so that an engine maps few of them.
    std::uint64_t private_segment_bytes = 64ULL << 20U;
    std::size_t max_segments = 16384;  // each holds one descriptor and one mapping of the daemon
    // So that no tenant takes all of them. A device, which is nobody's, does not count.
    std::size_t max_segments_per_owner = 4096;
    std::shared_ptr<SegmentKeeper> keeper;  // null: segments go with the daemon
};

struct PoolUsage {
    std::uint64_t capacity_bytes = 0;
    std::uint64_t segment_bytes = 0;      // held by segments
    std::uint64_t placed_bytes = 0;       // extents that are held or being released
    std::uint64_t quarantined_bytes = 0;  // withdrawn: they could not be overwritten
    std::size_t segments = 0;
};

class Pool {
  public:
    // Errors: those of the provider for a single_segment one.
    static Result<std::unique_ptr<Pool>> create(PoolOptions options,
                                                std::unique_ptr<SegmentProvider> provider);
    ~Pool();

    const std::string& name() const noexcept;
    const ProviderTraits& traits() const noexcept;
    PoolUsage usage() const noexcept;

    // Whether placements can be found again by the daemon's next process.
    bool outlives_daemon() const noexcept;

    // What the last process had, at a start, before anything is placed. A single segment is there
    // already. Segments that are not restored into have to be dropped by drop_unused().
    // Numbers up to this one are never given to a new segment.
    void skip_segments(SegmentId last) noexcept;
    // A private segment of this number. Errors: those of the provider, invalid_argument,
    // already_exists.
    Result<void> adopt(SegmentId segment, TenantId owner, UniqueFd descriptor);
    // All bytes of a segment; empty when there is none.
    std::span<std::byte> segment_bytes(SegmentId segment) noexcept;
    // Hands the same bytes out again; they are not overwritten. Errors: not_found,
    // invalid_argument, already_exists (some are handed out).
    Result<void> restore(const Placement& placement);
    void drop_unused();
    // At a start, after the last restore(): up to `max_bytes` of a single segment that an earlier
    // process may have left bytes in, handed out so that they can be released, and thereby
    // overwritten. Nothing when there are none.
    std::optional<Placement> place_unscrubbed(std::uint64_t max_bytes);

    // Writable by the owner's engines. Errors: invalid_argument, capacity, limit_exceeded,
    // out_of_memory, io.
    Result<Placement> place_private(TenantId owner, std::uint64_t length_bytes);

    // Written by the daemon, then only read: a segment of its own under a kernel-isolated
    // provider, so that a reader's descriptor exposes this placement and nothing else. Not for
    // cooperative providers: wrong_state (their cells are shared where they lie).
    Result<Placement> place_shared(TenantId owner, std::uint64_t length_bytes);

    // Overwrites the extent with zeros, then gives it back; one that cannot be overwritten is
    // withdrawn instead. Errors: invalid_argument for a placement not held.
    Result<void> release(const Placement& placement);

    // The same in two steps. The placement is no longer held, its extent is not free yet; the bytes
    // of the extent stay valid until the second step, which must follow. Whoever overwrites them
    // uses guarded_zero(). Errors: invalid_argument for a placement not held.
    Result<std::span<std::byte>> begin_release(const Placement& placement);
    // The extent has been overwritten. Errors: invalid_argument for one not being released.
    Result<void> finish_release(const Placement& placement);
    // It could not be: it is never handed out again. Errors: as finish_release.
    Result<void> withdraw(const Placement& placement);

    // Whether the extent holds bytes from before the pool was opened, or such as have no memory
    // yet. Only private placements. False for one not held.
    bool needs_scrub(const Placement& placement) const noexcept;
    // All of extent_bytes() has been overwritten. Errors: invalid_argument for one not held.
    Result<void> mark_scrubbed(const Placement& placement);

    // The daemon's view of the `length_bytes` that were asked for, and of the whole extent; empty
    // for a placement that is not held.
    std::span<std::byte> bytes(const Placement& placement) noexcept;
    std::span<std::byte> extent_bytes(const Placement& placement) noexcept;

    bool holds(const Placement& placement) const noexcept;

    std::uint64_t segment_size_bytes(SegmentId segment) const noexcept;  // 0: no such segment
    TenantId segment_owner(SegmentId segment) const noexcept;            // nobody: cooperative

    // Errors: not_found, and those of Segment.
    Result<UniqueFd> open_writable(SegmentId segment);
    Result<UniqueFd> open_readable(SegmentId segment);

    // Checks every invariant in linear time; for tests. Aborts when one is broken.
    void check() const;

  private:
    struct Impl;
    explicit Pool(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxlpool

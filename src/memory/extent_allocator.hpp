// Hands out byte ranges of one address space.
//
// Responsible for: never handing out a byte twice, and bounded work a call. Refuses to know: what
// the bytes are. Invariants: the free extents are disjoint, coalesced and inside the capacity;
// free + used + quarantined = capacity; a free of anything that was not handed out exactly so is
// an error, never a second credit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/result.hpp"

namespace cxlpool {

struct Extent {
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    auto operator<=>(const Extent&) const = default;
};

class ExtentAllocator {
  public:
    // `alignment_bytes` must be a power of two; capacity is rounded down to a multiple of it.
    ExtentAllocator(std::uint64_t capacity_bytes, std::uint64_t alignment_bytes);

    // Best fit, O(log n). The length is rounded up to the alignment; the extent returned says so.
    // Errors: invalid_argument (0), capacity (no free extent is long enough; the message says the
    // wanted, the free and the largest free number).
    Result<Extent> allocate(std::uint64_t length_bytes);

    // Hands out exactly these bytes. Errors: invalid_argument (empty, off the alignment, past the
    // end), already_exists (some of them are not free).
    Result<void> take(const Extent& extent);

    // Errors: invalid_argument when the extent is not one that is handed out now.
    Result<void> free(const Extent& extent);

    // Takes a handed-out extent out of circulation for good (a media error in it).
    Result<void> quarantine(const Extent& extent);

    std::uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }
    std::uint64_t alignment_bytes() const noexcept { return alignment_bytes_; }
    std::uint64_t used_bytes() const noexcept { return used_bytes_; }
    std::uint64_t quarantined_bytes() const noexcept { return quarantined_bytes_; }
    std::uint64_t free_bytes() const noexcept;
    std::uint64_t largest_free_bytes() const noexcept;
    std::size_t used_count() const noexcept { return used_.size(); }

    // Checks every invariant in linear time; for tests. Aborts when one is broken.
    void check() const;

  private:
    Result<void> take_back(const Extent& extent);
    void insert_free(std::uint64_t offset, std::uint64_t length);
    void erase_free(std::map<std::uint64_t, std::uint64_t>::iterator at);

    std::uint64_t capacity_bytes_;
    std::uint64_t alignment_bytes_;
    std::uint64_t used_bytes_ = 0;
    std::uint64_t quarantined_bytes_ = 0;
    std::map<std::uint64_t, std::uint64_t> free_;                       // offset -> length
    std::set<std::pair<std::uint64_t, std::uint64_t>> free_by_length_;  // (length, offset)
    std::map<std::uint64_t, std::uint64_t> used_;                       // offset -> length
};

}  // namespace cxlpool

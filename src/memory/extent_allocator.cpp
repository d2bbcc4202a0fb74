#include "memory/extent_allocator.hpp"

#include <iterator>
#include <string>

#include "base/units.hpp"

namespace cxlpool {
namespace {

std::string describe(const Extent& extent) {
    return "extent at offset " + std::to_string(extent.offset_bytes) + " of " +
           std::to_string(extent.length_bytes) + " bytes";
}

// Aborts on zero and on anything that would not round cleanly.
std::uint64_t checked_alignment(std::uint64_t alignment_bytes) {
    CXLPOOL_CHECK(alignment_bytes != 0 && (alignment_bytes & (alignment_bytes - 1)) == 0);
    return alignment_bytes;
}

}  // namespace

ExtentAllocator::ExtentAllocator(std::uint64_t capacity_bytes, std::uint64_t alignment_bytes)
    : capacity_bytes_(capacity_bytes & ~(checked_alignment(alignment_bytes) - 1)),
      alignment_bytes_(alignment_bytes) {
    if (capacity_bytes_ != 0) {
        insert_free(0, capacity_bytes_);
    }
}

std::uint64_t ExtentAllocator::free_bytes() const noexcept {
    return capacity_bytes_ - used_bytes_ - quarantined_bytes_;
}

std::uint64_t ExtentAllocator::largest_free_bytes() const noexcept {
    return free_by_length_.empty() ? 0 : free_by_length_.rbegin()->first;
}

Result<Extent> ExtentAllocator::allocate(std::uint64_t length_bytes) {
    if (length_bytes == 0) {
        return Error{Errc::invalid_argument, "an extent of 0 bytes was asked for"};
    }
    const std::optional<std::uint64_t> padded = checked_add(length_bytes, alignment_bytes_ - 1);
    const std::uint64_t wanted = padded ? *padded & ~(alignment_bytes_ - 1) : 0;
    const auto fit = wanted != 0 ? free_by_length_.lower_bound({wanted, 0}) : free_by_length_.end();
    if (fit == free_by_length_.end()) {
        return Error{Errc::capacity, "no room for " + std::to_string(length_bytes) +
                                         " bytes: " + std::to_string(free_bytes()) +
                                         " bytes are free, the " + "largest free extent is " +
                                         std::to_string(largest_free_bytes()) + " bytes"};
    }
    const auto [length, offset] = *fit;
    erase_free(free_.find(offset));
    if (length > wanted) {
        insert_free(offset + wanted, length - wanted);
    }
    used_.emplace(offset, wanted);
    used_bytes_ += wanted;
    return Extent{offset, wanted};
}

Result<void> ExtentAllocator::take(const Extent& extent) {
    const auto [offset, length] = extent;
    if (length == 0 || (offset | length) % alignment_bytes_ != 0 || length > capacity_bytes_ ||
        offset > capacity_bytes_ - length) {
        return Error{Errc::invalid_argument, describe(extent) + " is no extent of " +
                                                 std::to_string(capacity_bytes_) + " bytes"};
    }
    auto around = free_.upper_bound(offset);
    if (around == free_.begin() || (--around)->first + around->second < offset + length) {
        return Error{Errc::already_exists, describe(extent) + " is not free"};
    }
    const auto [free_offset, free_length] = *around;
    erase_free(around);
    if (free_offset < offset) {
        insert_free(free_offset, offset - free_offset);
    }
    if (free_offset + free_length > offset + length) {
        insert_free(offset + length, free_offset + free_length - offset - length);
    }
    used_.emplace(offset, length);
    used_bytes_ += length;
    return {};
}

Result<void> ExtentAllocator::take_back(const Extent& extent) {
    const auto at = used_.find(extent.offset_bytes);
    if (at == used_.end() || at->second != extent.length_bytes) {
        return Error{Errc::invalid_argument, describe(extent) + " is not handed out"};
    }
    used_bytes_ -= at->second;
    used_.erase(at);
    return {};
}

Result<void> ExtentAllocator::free(const Extent& extent) {
    CXLPOOL_TRY(take_back(extent));
    std::uint64_t offset = extent.offset_bytes;
    std::uint64_t length = extent.length_bytes;
    const auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == offset) {
            offset = before->first;
            length += before->second;
            erase_free(before);
        }
    }
    if (after != free_.end() && extent.offset_bytes + extent.length_bytes == after->first) {
        length += after->second;
        erase_free(after);
    }
    insert_free(offset, length);
    return {};
}

Result<void> ExtentAllocator::quarantine(const Extent& extent) {
    CXLPOOL_TRY(take_back(extent));
    quarantined_bytes_ += extent.length_bytes;
    return {};
}

void ExtentAllocator::insert_free(std::uint64_t offset, std::uint64_t length) {
    CXLPOOL_CHECK(free_.emplace(offset, length).second);
    CXLPOOL_CHECK(free_by_length_.emplace(length, offset).second);
}

void ExtentAllocator::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator at) {
    CXLPOOL_CHECK(at != free_.end());
    CXLPOOL_CHECK(free_by_length_.erase({at->second, at->first}) == 1);
    free_.erase(at);
}

void ExtentAllocator::check() const {
    CXLPOOL_CHECK(free_.size() == free_by_length_.size());
    std::uint64_t free_sum = 0;
    std::uint64_t used_sum = 0;
    std::uint64_t end = 0;
    bool end_is_free = false;
    auto free_at = free_.begin();
    auto used_at = used_.begin();
    while (free_at != free_.end() || used_at != used_.end()) {
        const bool is_free =
            used_at == used_.end() || (free_at != free_.end() && free_at->first < used_at->first);
        const auto [offset, length] = is_free ? *free_at : *used_at;
        CXLPOOL_CHECK(length != 0);
        CXLPOOL_CHECK(offset >= end && length <= capacity_bytes_ - offset);
        CXLPOOL_CHECK((offset | length) % alignment_bytes_ == 0);
        // Two free neighbours would be one extent.
        CXLPOOL_CHECK(!(is_free && end_is_free && offset == end));
        if (is_free) {
            CXLPOOL_CHECK(free_by_length_.count({length, offset}) == 1);
            free_sum += length;
            ++free_at;
        } else {
            used_sum += length;
            ++used_at;
        }
        end = offset + length;
        end_is_free = is_free;
    }
    CXLPOOL_CHECK(used_sum == used_bytes_);
    CXLPOOL_CHECK(free_sum == free_bytes());
    CXLPOOL_CHECK(quarantined_bytes_ <= capacity_bytes_ - used_bytes_);
}

}  // namespace cxlpool

// Who still refers to which bytes, and who is charged for them.
//
// Invariants: an entry lives while its count is above zero, and its owner is charged for it as
// long; when the last reference goes, the location is put on the freed list, once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "registry/registry.hpp"
#include "registry/residency.hpp"

namespace cxlpool {

// What its owner is charged for a location; never 0.
inline std::uint64_t charge_of(const Location& location) noexcept {
    return std::max<std::uint64_t>(1, location.charged_bytes != 0
                                          ? location.charged_bytes
                                          : location.placement.extent.length_bytes);
}

class LocationTable {
  public:
    explicit LocationTable(Residency& residency) : residency_(residency) {}

    // With one reference.
    std::uint64_t add(const Location& location, TenantId owner) {
        entries_.emplace(++last_, Entry{location, owner, 1});
        residency_.charge(location.pool, owner, charge_of(location));
        return last_;
    }
    const Location* find(std::uint64_t key) const noexcept {
        const auto at = entries_.find(key);
        return at == entries_.end() ? nullptr : &at->second.location;
    }
    void pin(std::uint64_t key) { ++entry(key).references; }
    void unpin(std::uint64_t key) {
        Entry& e = entry(key);
        if (--e.references == 0) {
            residency_.discharge(e.location.pool, e.owner, charge_of(e.location));
            freed_.push_back(e.location);
            entries_.erase(key);
        }
    }
    // Bytes that never became a location of a cell.
    void free(const Location& location) { freed_.push_back(location); }
    std::uint32_t references(std::uint64_t key) const { return entries_.at(key).references; }
    TenantId owner(std::uint64_t key) const { return entries_.at(key).owner; }
    std::size_t size() const noexcept { return entries_.size(); }
    std::vector<Location> take_freed() { return std::exchange(freed_, {}); }

  private:
    struct Entry {
        Location location;
        TenantId owner;
        std::uint32_t references;
    };
    Entry& entry(std::uint64_t key) {
        const auto at = entries_.find(key);
        CXLPOOL_CHECK(at != entries_.end());
        return at->second;
    }
    Residency& residency_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::vector<Location> freed_;
};

}  // namespace cxlpool

// Who still refers to which bytes.
//
// Invariants: an entry lives while its count is above zero; when the last reference goes, the
// location is put on the freed list, once.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "registry/registry.hpp"

namespace cxlpool {

class LocationTable {
  public:
    // With one reference.
    std::uint64_t add(const Location& location) {
        entries_.emplace(++last_, Entry{location, 1});
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
            freed_.push_back(e.location);
            entries_.erase(key);
        }
    }
    // Bytes that never became a location of a cell.
    void free(const Location& location) { freed_.push_back(location); }
    std::uint32_t references(std::uint64_t key) const { return entries_.at(key).references; }
    std::size_t size() const noexcept { return entries_.size(); }
    std::vector<Location> take_freed() { return std::exchange(freed_, {}); }

  private:
    struct Entry {
        Location location;
        std::uint32_t references;
    };
    Entry& entry(std::uint64_t key) {
        const auto at = entries_.find(key);
        CXLPOOL_CHECK(at != entries_.end());
        return at->second;
    }
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::vector<Location> freed_;
};

}  // namespace cxlpool

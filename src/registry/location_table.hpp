// Who still refers to which bytes, and who is charged for them.
//
// Invariants: an entry lives while its count is above zero; when the last reference goes, the
// location is put on the freed list, once. The owner of a location is charged for it as long as it
// lives: for its extent, or, where a segment belongs to one tenant, for the whole segment, once,
// because nobody else can use what is left of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "registry/registry.hpp"
#include "registry/residency.hpp"

namespace cxlpool {

class LocationTable {
  public:
    explicit LocationTable(Residency& residency) : residency_(residency) {}

    // With one reference, of this cell of this owner. Its bytes are bound: see set_bound().
    std::uint64_t add(const Location& location, TenantId owner, CellId cell) {
        entries_.emplace(++last_, Entry{location, owner, cell, 1, false});
        ++held_[owner];
        if (location.segment_bytes == 0) {
            residency_.charge(location.pool, owner, extent_bytes(location));
        } else {
            const auto [at, fresh] = segments_.try_emplace(segment_of(location));
            if (fresh) {
                residency_.charge(location.pool, owner, location.segment_bytes);
            }
            CXLPOOL_CHECK(fresh || owner == entry(at->second.locations.front()).owner);
            at->second.locations.push_back(last_);
        }
        set_bound(last_, true);
        return last_;
    }
    // Whether the location may not be given to others now. A segment that belongs to one tenant is
    // bound as a whole as long as something in it is.
    void set_bound(std::uint64_t key, bool bound) {
        Entry& e = entry(key);
        if (e.bound == bound) {
            return;
        }
        e.bound = bound;
        if (e.location.segment_bytes != 0) {
            std::size_t& count = segments_.at(segment_of(e.location)).bound;
            const bool changes = bound ? count++ == 0 : --count == 0;
            if (!changes) {
                return;
            }
        }
        if (bound) {
            residency_.bind(e.location.pool, e.owner, charge_of(e.location));
        } else {
            residency_.unbind(e.location.pool, e.owner, charge_of(e.location));
        }
    }
    // What binding a location would bind more; 0 when its segment is bound already.
    std::uint64_t would_bind(const Location& location) const {
        const auto at = segments_.find(segment_of(location));
        const bool already =
            location.segment_bytes != 0 && at != segments_.end() && at->second.bound != 0;
        return already ? 0 : charge_of(location);
    }
    const Location* find(std::uint64_t key) const noexcept {
        const auto at = entries_.find(key);
        return at == entries_.end() ? nullptr : &at->second.location;
    }
    void pin(std::uint64_t key) { ++entry(key).references; }
    void unpin(std::uint64_t key) {
        Entry& e = entry(key);
        if (--e.references != 0) {
            return;
        }
        set_bound(key, false);
        if (e.location.segment_bytes == 0) {
            residency_.discharge(e.location.pool, e.owner, extent_bytes(e.location));
        } else {
            const auto at = segments_.find(segment_of(e.location));
            std::erase(at->second.locations, key);
            if (at->second.locations.empty()) {
                residency_.discharge(e.location.pool, e.owner, e.location.segment_bytes);
                segments_.erase(at);
            }
        }
        freed_.push_back(FreedLocation{e.location, e.owner});
        const auto held = held_.find(e.owner);
        if (--held->second == 0) {
            held_.erase(held);
        }
        entries_.erase(key);
    }
    // Bytes that never became a location of a cell.
    void free(const Location& location, TenantId owner) {
        freed_.push_back(FreedLocation{location, owner});
    }

    using SegmentKey = std::pair<std::size_t, SegmentId>;  // of a pool
    static SegmentKey segment_of(const Location& location) noexcept {
        return {location.pool, location.placement.segment};
    }
    // What others can use when this location, and all that shares its segment, is gone.
    static std::uint64_t charge_of(const Location& location) noexcept {
        return location.segment_bytes != 0 ? location.segment_bytes : extent_bytes(location);
    }
    // The cells whose locations share its segment, itself among them; one is named for each
    // location, also when it lies elsewhere by now.
    std::vector<CellId> sharing_segment(std::uint64_t key) const {
        const Entry& e = entries_.at(key);
        if (e.location.segment_bytes == 0) {
            return {e.cell};
        }
        std::vector<CellId> out;
        for (const std::uint64_t other : segments_.at(segment_of(e.location)).locations) {
            out.push_back(entries_.at(other).cell);
        }
        return out;
    }
    bool bound(std::uint64_t key) const { return entries_.at(key).bound; }
    std::uint32_t references(std::uint64_t key) const { return entries_.at(key).references; }
    TenantId owner(std::uint64_t key) const { return entries_.at(key).owner; }
    std::size_t size() const noexcept { return entries_.size(); }
    std::size_t held_by(TenantId owner) const {
        const auto at = held_.find(owner);
        return at == held_.end() ? 0 : at->second;
    }
    std::vector<FreedLocation> take_freed() { return std::exchange(freed_, {}); }

  private:
    struct Entry {
        Location location;
        TenantId owner;
        CellId cell;
        std::uint32_t references;
        bool bound;
    };
    struct Segment {  // of one tenant
        std::vector<std::uint64_t> locations;
        std::size_t bound = 0;  // of them
    };
    static std::uint64_t extent_bytes(const Location& location) noexcept {
        return std::max<std::uint64_t>(1, location.placement.extent.length_bytes);
    }
    Entry& entry(std::uint64_t key) {
        const auto at = entries_.find(key);
        CXLPOOL_CHECK(at != entries_.end());
        return at->second;
    }
    Residency& residency_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, Entry> entries_;
    std::map<SegmentKey, Segment> segments_;
    std::map<TenantId, std::size_t> held_;  // entries by owner; never 0
    std::vector<FreedLocation> freed_;
};

}  // namespace cxlpool

#include "topology/changes.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/units.hpp"
#include "domain/words.hpp"
#include "topology/lookup.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kKindWords{
    Word<PoolChange::Kind>{PoolChange::Kind::draining, "draining"},
    Word<PoolChange::Kind>{PoolChange::Kind::shrunk, "shrunk"},
    Word<PoolChange::Kind>{PoolChange::Kind::lost, "lost"},
    Word<PoolChange::Kind>{PoolChange::Kind::returned, "returned"},
};

using Pools = std::unordered_map<std::string_view, const PoolCandidate*>;

Pools by_name(const std::vector<PoolCandidate>& pools) {
    Pools out;
    for (const PoolCandidate& pool : pools) {
        out.emplace(pool.name, &pool);
    }
    return out;
}

template <typename T>
bool differ(const std::optional<T>& a, const std::optional<T>& b) {
    return a && b && *a != *b;
}

// A device is resized only while nobody has it mapped, so one that grew is another one as well.
bool is_replaced(const PoolCandidate& before, const PoolCandidate& after) {
    return differ(before.resource, after.resource) || before.region != after.region ||
           before.memdevs != after.memdevs || after.capacity_bytes > before.capacity_bytes;
}

// The extents that were accepted before and are not any more. One that got shorter is another one.
std::vector<RegionExtent> taken_back(const Region& before, const Region* after) {
    const auto by_place = [](const RegionExtent& a, const RegionExtent& b) {
        return std::tie(a.offset_bytes, a.length_bytes, a.tag) <
               std::tie(b.offset_bytes, b.length_bytes, b.tag);
    };
    std::vector<RegionExtent> was = before.extents;
    std::vector<RegionExtent> is = after == nullptr ? std::vector<RegionExtent>{} : after->extents;
    std::sort(was.begin(), was.end(), by_place);
    std::sort(is.begin(), is.end(), by_place);
    std::vector<RegionExtent> gone;
    std::set_difference(was.begin(), was.end(), is.begin(), is.end(), std::back_inserter(gone),
                        by_place);
    return gone;
}

// True when the pool stands on capacity that has been taken back. Where its addresses cannot be
// compared with those of an extent, it may.
bool loses_ground(const PoolCandidate& pool, const Region& before, const Region* after) {
    const std::vector<RegionExtent> gone = taken_back(before, after);
    const auto own = physical_range(pool.resource, pool.capacity_bytes);
    return std::any_of(gone.begin(), gone.end(), [&](const RegionExtent& extent) {
        const auto start = before.resource.value_or(0) == 0
                               ? std::nullopt
                               : checked_add(*before.resource, extent.offset_bytes);
        const auto taken = physical_range(start, extent.length_bytes);
        return !own || !taken || (own->start <= taken->end && taken->start <= own->end);
    });
}

}  // namespace

std::string_view to_word(PoolChange::Kind kind) noexcept {
    return words::text_of(kKindWords, kind);
}

std::vector<PoolChange> changes(const Topology& before, const Topology& after) {
    const std::vector<PoolCandidate> old_pools = assess(before).pools;
    const std::vector<PoolCandidate> new_pools = assess(after).pools;
    const Pools old_by_name = by_name(old_pools);
    const Pools now_by_name = by_name(new_pools);
    const Lookup old_devices(before);
    const Lookup new_devices(after);
    std::vector<PoolChange> out;
    std::vector<PoolChange> returned;
    for (const PoolCandidate& pool : old_pools) {
        const auto found = now_by_name.find(pool.name);
        const PoolCandidate* const now = found == now_by_name.end() ? nullptr : found->second;
        if (now == nullptr || is_replaced(pool, *now)) {
            out.push_back({pool.name, PoolChange::Kind::lost});
            if (now != nullptr) {
                returned.push_back({pool.name, PoolChange::Kind::returned});
            }
            continue;
        }
        const Region* const region = old_devices.region(pool.region);
        if (now->capacity_bytes < pool.capacity_bytes) {
            out.push_back({pool.name, PoolChange::Kind::shrunk});
        } else if (region != nullptr &&
                   loses_ground(pool, *region, new_devices.region(pool.region))) {
            out.push_back({pool.name, PoolChange::Kind::draining});
        }
    }
    for (const PoolCandidate& pool : new_pools) {
        if (old_by_name.count(pool.name) == 0) {
            returned.push_back({pool.name, PoolChange::Kind::returned});
        }
    }
    out.insert(out.end(), returned.begin(), returned.end());
    return out;
}

}  // namespace cxlpool

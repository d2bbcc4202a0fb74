// Whose cell goes when another one needs its place.
//
// Responsible for: choosing the tenant that gives up bytes of a pool. A pure function of what each
// tenant holds. Refuses to know: cells, and which of a tenant's cells goes. Invariants: nobody
// else's demand takes a tenant below its reservation; under the policy fair nobody else's demand
// takes a tenant below its weighted share of what is not reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/tenant.hpp"

namespace cxlpool {

enum class EvictionPolicy : std::uint8_t {
    fair,  // from who is most above its weighted share
    lru,   // from who touched it least recently, whoever that is; for comparison
};
std::string_view to_word(EvictionPolicy policy) noexcept;
Result<EvictionPolicy> parse_eviction_policy(std::string_view word);  // error: unknown_word

// What one tenant has of one pool.
struct Claim {
    TenantId tenant;
    std::uint64_t used_bytes = 0;
    std::uint64_t reserved_bytes = 0;
    std::uint32_t weight = kDefaultWeight;  // 0 counts as 1
    std::uint64_t victim_bytes = 0;         // of its next cell to go; 0: none can go now
    std::uint64_t victim_touched = 0;       // when that cell was touched last; larger is later
};

// Would a tenant that gives up so many bytes keep what it has reserved?
constexpr bool keeps_reservation(std::uint64_t used_bytes, std::uint64_t reserved_bytes,
                                 std::uint64_t given_bytes) noexcept {
    return used_bytes >= given_bytes && used_bytes - given_bytes >= reserved_bytes;
}

// The tenant whose next cell goes so that `causer` can have `needed_bytes`; none when nothing may.
// A causer that is not among the claims holds nothing and has the default weight.
//
//  fair  The level of a tenant is what it holds above its reservation, over its weight; what is
//        needed counts as held by the causer. The highest level gives, and others than the causer
//        only while they are above the causer's own level; among equals the causer gives.
//  lru   The cell that was touched least recently goes.
//
// Under both, a tenant gives to others only what it can lose without falling below its reservation;
// to itself it gives anything.
std::optional<TenantId> choose_victim(std::span<const Claim> claims, TenantId causer,
                                      std::uint64_t needed_bytes, EvictionPolicy policy) noexcept;

}  // namespace cxlpool

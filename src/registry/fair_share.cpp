#include "registry/fair_share.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

__extension__ using Uint128 = unsigned __int128;

constexpr std::array kPolicyWords{
    Word<EvictionPolicy>{EvictionPolicy::fair, "fair"},
    Word<EvictionPolicy>{EvictionPolicy::lru, "lru"},
};

// Bytes above the reservation, over the weight; compared without dividing.
struct Level {
    std::uint64_t excess_bytes = 0;
    std::uint32_t weight = 1;
};

bool above(const Level& a, const Level& b) noexcept {
    return static_cast<Uint128>(a.excess_bytes) * b.weight >
           static_cast<Uint128>(b.excess_bytes) * a.weight;
}

Level level_of(const Claim& claim, std::uint64_t besides_bytes) noexcept {
    const std::uint64_t used = checked_add(claim.used_bytes, besides_bytes)
                                   .value_or(std::numeric_limits<std::uint64_t>::max());
    return Level{used - std::min(used, claim.reserved_bytes),
                 std::max<std::uint32_t>(1, claim.weight)};
}

bool may_give(const Claim& claim, TenantId causer) noexcept {
    if (claim.victim_bytes == 0) {
        return false;
    }
    return claim.tenant == causer ||
           keeps_reservation(claim.used_bytes, claim.reserved_bytes, claim.victim_bytes);
}

std::optional<TenantId> most_above(std::span<const Claim> claims, TenantId causer,
                                   std::uint64_t needed_bytes) noexcept {
    const auto own = std::find_if(claims.begin(), claims.end(),
                                  [&](const Claim& claim) { return claim.tenant == causer; });
    Claim nothing;
    nothing.tenant = causer;
    const Claim& causers = own == claims.end() ? nothing : *own;
    // The causer is the one to beat, whether or not it has something to give.
    Level highest = level_of(causers, needed_bytes);
    std::optional<TenantId> chosen;
    if (may_give(causers, causer)) {
        chosen = causer;
    }
    for (const Claim& claim : claims) {
        const Level level = level_of(claim, 0);
        if (claim.tenant != causer && may_give(claim, causer) && above(level, highest)) {
            highest = level;
            chosen = claim.tenant;
        }
    }
    return chosen;
}

std::optional<TenantId> least_recent(std::span<const Claim> claims, TenantId causer) noexcept {
    const Claim* oldest = nullptr;
    for (const Claim& claim : claims) {
        if (may_give(claim, causer) &&
            (oldest == nullptr || claim.victim_touched < oldest->victim_touched)) {
            oldest = &claim;
        }
    }
    return oldest == nullptr ? std::nullopt : std::optional(oldest->tenant);
}

}  // namespace

std::string_view to_word(EvictionPolicy policy) noexcept {
    return words::text_of(kPolicyWords, policy);
}

Result<EvictionPolicy> parse_eviction_policy(std::string_view word) {
    return words::parse(kPolicyWords, "eviction policy", word);
}

std::optional<TenantId> choose_victim(std::span<const Claim> claims, TenantId causer,
                                      std::uint64_t needed_bytes, EvictionPolicy policy) noexcept {
    return policy == EvictionPolicy::lru ? least_recent(claims, causer)
                                         : most_above(claims, causer, needed_bytes);
}

}  // namespace cxlpool

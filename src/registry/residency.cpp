#include "registry/residency.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/units.hpp"

namespace cxlpool {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturated_add(std::uint64_t a, std::uint64_t b) {
    return checked_add(a, b).value_or(kMax);
}

// An engine says what its cells cost, so the number may be anything; it orders only the cells of
// that tenant.
std::uint64_t ns_per_kib(std::uint64_t recompute_ns, std::uint64_t bytes) {
    const Uint128 cost =
        static_cast<Uint128>(recompute_ns) * 1024 / std::max<std::uint64_t>(1, bytes);
    return cost > kMax ? kMax : static_cast<std::uint64_t>(cost);
}

}  // namespace

std::size_t Residency::add_pool(std::uint64_t capacity_bytes) {
    PoolState pool;
    pool.capacity_bytes = capacity_bytes;
    pools_.push_back(std::move(pool));
    return pools_.size() - 1;
}

const Residency::Account* Residency::find(std::size_t pool, TenantId tenant) const noexcept {
    const auto at = pools_[pool].accounts.find(tenant);
    return at == pools_[pool].accounts.end() ? nullptr : &at->second;
}

void Residency::set_weight(TenantId tenant, std::uint32_t weight) {
    weights_[tenant] = weight;
}

std::uint32_t Residency::weight(TenantId tenant) const noexcept {
    const auto at = weights_.find(tenant);
    return at == weights_.end() ? kDefaultWeight : at->second;
}

Result<void> Residency::check_reservation(std::size_t pool, TenantId tenant,
                                          std::uint64_t bytes) const {
    const PoolState& state = pools_.at(pool);
    const std::uint64_t others = state.reserved_bytes - reserved_bytes(pool, tenant);
    if (state.capacity_bytes != 0 &&
        (others > state.capacity_bytes || bytes > state.capacity_bytes - others)) {
        return Error{Errc::capacity, "reserving " + std::to_string(bytes) + " bytes beside the " +
                                         std::to_string(others) +
                                         " that others have reserved exceeds the pool's " +
                                         std::to_string(state.capacity_bytes) + " bytes"};
    }
    if (bytes > kMax - others) {
        return Error{Errc::overflow, "the sum of the reservations does not fit in 64 bits"};
    }
    return {};
}

Result<void> Residency::set_reservation(std::size_t pool, TenantId tenant, std::uint64_t bytes) {
    CXLPOOL_TRY(check_reservation(pool, tenant, bytes));
    PoolState& state = pools_[pool];
    Account& account = state.accounts[tenant];
    state.reserved_bytes = state.reserved_bytes - account.reserved_bytes + bytes;
    state.bound_above -= account.bound_above();
    account.reserved_bytes = bytes;
    state.bound_above += account.bound_above();
    if (account.idle()) {
        state.accounts.erase(tenant);
    }
    return {};
}

std::uint64_t Residency::reserved_bytes(std::size_t pool, TenantId tenant) const noexcept {
    const Account* const account = find(pool, tenant);
    return account == nullptr ? 0 : account->reserved_bytes;
}

void Residency::charge(std::size_t pool, TenantId tenant, std::uint64_t bytes) {
    PoolState& state = pools_.at(pool);
    CXLPOOL_CHECK(bytes <= kMax - state.used_bytes);
    state.used_bytes += bytes;
    state.accounts[tenant].used_bytes += bytes;
}

void Residency::discharge(std::size_t pool, TenantId tenant, std::uint64_t bytes) {
    PoolState& state = pools_.at(pool);
    const auto at = state.accounts.find(tenant);
    CXLPOOL_CHECK(at != state.accounts.end() && at->second.used_bytes >= bytes);
    at->second.used_bytes -= bytes;
    state.used_bytes -= bytes;
    if (at->second.idle()) {
        CXLPOOL_CHECK(at->second.order.empty() && at->second.bound_bytes == 0);
        state.accounts.erase(at);
    }
}

void Residency::bind(std::size_t pool, TenantId tenant, std::uint64_t bytes) {
    PoolState& state = pools_.at(pool);
    Account& account = state.accounts.at(tenant);
    state.bound_above -= account.bound_above();
    account.bound_bytes += bytes;
    CXLPOOL_CHECK(account.bound_bytes <= account.used_bytes);
    state.bound_above += account.bound_above();
}

void Residency::unbind(std::size_t pool, TenantId tenant, std::uint64_t bytes) {
    PoolState& state = pools_.at(pool);
    Account& account = state.accounts.at(tenant);
    CXLPOOL_CHECK(account.bound_bytes >= bytes);
    state.bound_above -= account.bound_above();
    account.bound_bytes -= bytes;
    state.bound_above += account.bound_above();
}

bool Residency::may_bind(std::size_t pool, TenantId tenant, std::uint64_t bytes) const noexcept {
    const PoolState& state = pools_[pool];
    if (state.capacity_bytes == 0 || bytes == 0) {
        return true;
    }
    const Account none;
    const Account* const found = find(pool, tenant);
    const Account& account = found == nullptr ? none : *found;
    const std::uint64_t bound = saturated_add(account.bound_bytes, bytes);
    const std::uint64_t above = bound - std::min(bound, account.reserved_bytes);
    if (above == 0) {
        return true;
    }
    const std::uint64_t others = state.bound_above - account.bound_above();
    return saturated_add(others, above) <= state.capacity_bytes - state.reserved_bytes;
}

std::uint64_t Residency::bound_bytes(std::size_t pool, TenantId tenant) const noexcept {
    const Account* const account = find(pool, tenant);
    return account == nullptr ? 0 : account->bound_bytes;
}

std::uint64_t Residency::used_bytes(std::size_t pool, TenantId tenant) const noexcept {
    const Account* const account = find(pool, tenant);
    return account == nullptr ? 0 : account->used_bytes;
}

std::uint64_t Residency::used_bytes(std::size_t pool) const noexcept {
    return pools_[pool].used_bytes;
}
std::uint64_t Residency::reserved_bytes(std::size_t pool) const noexcept {
    return pools_[pool].reserved_bytes;
}
std::uint64_t Residency::capacity_bytes(std::size_t pool) const noexcept {
    return pools_[pool].capacity_bytes;
}

EvictionRank Residency::touch(std::size_t pool, TenantId tenant, std::uint64_t recompute_ns,
                              std::uint64_t bytes) {
    EvictionRank rank;
    rank.touched = ++touches_;
    if (policy_ == EvictionPolicy::lru) {
        return rank;
    }
    const auto at = pools_.at(pool).accounts.find(tenant);
    CXLPOOL_CHECK(at != pools_[pool].accounts.end());  // It is charged for the cell.
    Account& account = at->second;
    if (recompute_ns != 0) {
        account.last_known_cost = ns_per_kib(recompute_ns, bytes);
    }
    rank.value = saturated_add(account.clock, account.last_known_cost);
    return rank;
}

void Residency::enlist(std::size_t pool, TenantId tenant, const EvictionCandidate& candidate,
                       Node node) {
    const auto at = pools_.at(pool).accounts.find(tenant);
    CXLPOOL_CHECK(at != pools_[pool].accounts.end());
    Order& order = at->second.order;
    if (node.empty()) {
        CXLPOOL_CHECK(order.insert(candidate).second);
        return;
    }
    node.value() = candidate;
    CXLPOOL_CHECK(order.insert(std::move(node)).inserted);
}

Residency::Node Residency::delist(std::size_t pool, TenantId tenant,
                                  const EvictionCandidate& candidate) {
    const auto at = pools_.at(pool).accounts.find(tenant);
    CXLPOOL_CHECK(at != pools_[pool].accounts.end());
    Node node = at->second.order.extract(candidate);
    CXLPOOL_CHECK(!node.empty());
    return node;
}

bool Residency::enlisted(std::size_t pool, TenantId tenant,
                         const EvictionCandidate& candidate) const {
    const Account* const account = find(pool, tenant);
    return account != nullptr && account->order.count(candidate) == 1;
}

std::size_t Residency::enlisted() const noexcept {
    std::size_t sum = 0;
    for (const PoolState& pool : pools_) {
        for (const auto& [tenant, account] : pool.accounts) {
            sum += account.order.size();
        }
    }
    return sum;
}

std::optional<TenantId> Residency::victim(std::size_t pool, TenantId causer,
                                          std::uint64_t needed_bytes,
                                          std::span<const TenantId> cannot) {
    const PoolState& state = pools_.at(pool);
    claims_.clear();
    if (find(pool, causer) == nullptr) {
        claims_.push_back(Claim{causer, 0, 0, weight(causer), 0, 0});
    }
    for (const auto& [tenant, account] : state.accounts) {
        Claim claim{tenant, account.used_bytes, account.reserved_bytes, weight(tenant), 0, 0};
        const bool can = std::find(cannot.begin(), cannot.end(), tenant) == cannot.end();
        if (can && !account.order.empty()) {
            claim.victim_bytes = account.order.begin()->bytes;
            claim.victim_touched = account.order.begin()->rank.touched;
        }
        claims_.push_back(claim);
    }
    return choose_victim(claims_, causer, needed_bytes, policy_);
}

const Residency::Order& Residency::order(std::size_t pool, TenantId tenant) const {
    return pools_.at(pool).accounts.at(tenant).order;
}

bool Residency::can_lose(std::size_t pool, TenantId tenant, std::uint64_t bytes) const noexcept {
    return keeps_reservation(used_bytes(pool, tenant), reserved_bytes(pool, tenant), bytes);
}

void Residency::note_evicted(std::size_t pool, TenantId tenant, const EvictionRank& rank) {
    const auto at = pools_.at(pool).accounts.find(tenant);
    if (at != pools_[pool].accounts.end()) {
        at->second.clock = std::max(at->second.clock, rank.value);
    }
}

}  // namespace cxlpool

// Who holds how much of each pool, what is promised to whom, and in which order cells go.
//
// Responsible for: bytes charged to tenants, reservations, weights, and the order of eviction:
// across tenants by fair_share.hpp, inside a tenant by GreedyDual-Size (N. Young, "On-line file
// caching", 1998): a cell's rank is the tenant's clock at its last touch plus what computing it
// again costs per byte, the least rank goes first, and the clock then stands at that rank, so that
// a dear cell that nobody touches ages too. A cell whose cost is unknown ranks as the last one of
// its tenant whose cost was known. Under the policy lru the last touch alone decides.
//
// Refuses to know: leases, states; the registry says which cells may go, and which bytes are bound
// because something in them may not. Invariants: what a tenant holds equals the sum of its charges;
// the reservations of a pool never exceed its capacity.
//
// A reservation would be a word if others could lease all that is not theirs. So what all tenants
// bind above their own reservations must fit in what nobody has reserved; may_bind() is asked
// before a cell is begun or leased. Work on bytes is not held to it: it is short.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "registry/fair_share.hpp"

namespace cxlpool {

// Where a cell stands among those of its tenant and pool; the least goes first.
struct EvictionRank {
    std::uint64_t value = 0;    // ns per KiB, on the tenant's clock; under lru 0
    std::uint64_t touched = 0;  // counts up over all touches
    auto operator<=>(const EvictionRank&) const = default;
};

struct EvictionCandidate {
    EvictionRank rank;
    CellId cell;
    std::uint64_t bytes = 0;  // that others can use when it has gone, and what must go with it
    auto operator<=>(const EvictionCandidate&) const = default;
};

class Residency {
  public:
    using Order = std::set<EvictionCandidate>;
    // A cell's place in the order, taken out of it: it goes back without allocating.
    using Node = Order::node_type;

    explicit Residency(EvictionPolicy policy) : policy_(policy) {}

    // Returns its index. Capacity 0 is unbounded.
    std::size_t add_pool(std::uint64_t capacity_bytes);
    std::size_t pools() const noexcept { return pools_.size(); }

    void set_weight(TenantId tenant, std::uint32_t weight);
    std::uint32_t weight(TenantId tenant) const noexcept;

    // 0 removes it. Errors: capacity (the sum of the pool's reservations would exceed it; the
    // message says by how much).
    Result<void> check_reservation(std::size_t pool, TenantId tenant, std::uint64_t bytes) const;
    Result<void> set_reservation(std::size_t pool, TenantId tenant, std::uint64_t bytes);
    std::uint64_t reserved_bytes(std::size_t pool, TenantId tenant) const noexcept;

    void charge(std::size_t pool, TenantId tenant, std::uint64_t bytes);
    void discharge(std::size_t pool, TenantId tenant, std::uint64_t bytes);
    // Of what is charged, bytes that nobody can be given now.
    void bind(std::size_t pool, TenantId tenant, std::uint64_t bytes);
    void unbind(std::size_t pool, TenantId tenant, std::uint64_t bytes);
    bool may_bind(std::size_t pool, TenantId tenant, std::uint64_t bytes) const noexcept;
    std::uint64_t bound_bytes(std::size_t pool, TenantId tenant) const noexcept;

    std::uint64_t used_bytes(std::size_t pool, TenantId tenant) const noexcept;
    std::uint64_t used_bytes(std::size_t pool) const noexcept;
    std::uint64_t reserved_bytes(std::size_t pool) const noexcept;
    std::uint64_t capacity_bytes(std::size_t pool) const noexcept;

    // The rank of a cell that is touched now. `recompute_ns` 0: unknown.
    EvictionRank touch(std::size_t pool, TenantId tenant, std::uint64_t recompute_ns,
                       std::uint64_t bytes);
    // The cell may go from now on; `node` may be empty.
    void enlist(std::size_t pool, TenantId tenant, const EvictionCandidate& candidate, Node node);
    // It may not go any more. It must be enlisted as exactly this.
    Node delist(std::size_t pool, TenantId tenant, const EvictionCandidate& candidate);
    bool enlisted(std::size_t pool, TenantId tenant, const EvictionCandidate& candidate) const;
    std::size_t enlisted() const noexcept;

    // Whose cell goes so that `causer` can have `needed_bytes`; see choose_victim(). Those in
    // `cannot` have shown that they have nothing to give.
    std::optional<TenantId> victim(std::size_t pool, TenantId causer, std::uint64_t needed_bytes,
                                   std::span<const TenantId> cannot);
    // Its cells that may go, the first to go first; of a tenant that victim() named.
    const Order& order(std::size_t pool, TenantId tenant) const;
    // Would it keep what it has reserved?
    bool can_lose(std::size_t pool, TenantId tenant, std::uint64_t bytes) const noexcept;
    // A cell of that rank goes: the tenant's clock moves.
    void note_evicted(std::size_t pool, TenantId tenant, const EvictionRank& rank);

  private:
    struct Account {
        std::uint64_t used_bytes = 0;
        std::uint64_t reserved_bytes = 0;
        std::uint64_t bound_bytes = 0;
        std::uint64_t clock = 0;
        std::uint64_t last_known_cost = 1;  // ns per KiB
        Order order;
        bool idle() const noexcept { return used_bytes == 0 && reserved_bytes == 0; }
        std::uint64_t bound_above() const noexcept {
            return bound_bytes > reserved_bytes ? bound_bytes - reserved_bytes : 0;
        }
    };
    struct PoolState {
        std::uint64_t capacity_bytes = 0;
        std::uint64_t used_bytes = 0;
        std::uint64_t reserved_bytes = 0;
        std::uint64_t bound_above = 0;  // the sum of the accounts'
        std::map<TenantId, Account> accounts;
    };
    const Account* find(std::size_t pool, TenantId tenant) const noexcept;

    EvictionPolicy policy_;
    std::uint64_t touches_ = 0;
    std::map<TenantId, std::uint32_t> weights_;  // those that are not the default
    std::vector<PoolState> pools_;
    std::vector<Claim> claims_;  // of victim(), kept so that it does not allocate each time
};

}  // namespace cxlpool

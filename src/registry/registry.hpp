// Tenants, cells and leases: who wrote which bytes, who may attend them, who does.
//
// Responsible for: the life of every cell from begin to removal, leases and their generations,
// what a lookup finds (by asking the gate), whose cell goes when a pool is full, and per-tenant
// counters. Refuses to know: sockets,
// descriptors, threads, clocks; time and placements come in as values, and what must happen
// outside (bytes to scrub, leases to announce as ended) goes out as lists.
//
// Invariants: a cell is visible to no other tenant before it is sealed; a location is given out
// for scrubbing exactly once, when neither its cell, nor a lease, nor running work refers to it;
// a lease index is never live under two generations; a cell that is leased, being filled or worked
// on, or quarantined is never evicted; what the registry counts equals what a walk over its cells
// counts (check()).
//
// Long work on bytes (digest, move into a shared segment) happens elsewhere: start_* pins the
// location and says what to do, finish_* or abandon ends it. Between the two the cell may be
// removed or poisoned; finish then reports it and nothing becomes visible.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/adjudication.hpp"
#include "domain/context.hpp"
#include "domain/gate.hpp"
#include "domain/tier.hpp"
#include "memory/pool.hpp"
#include "registry/fair_share.hpp"

namespace cxlpool {

struct ConnectionId {
    std::uint64_t value = 0;
    auto operator<=>(const ConnectionId&) const = default;
};

struct Location {
    std::size_t pool = 0;
    Placement placement;
    // The bytes are in a segment that no engine can write, or the pool is cooperative and they
    // stay where they are: other tenants may be given the segment.
    bool offered = false;
    // Of the segment, where it belongs to one tenant, who is charged for it as a whole: nobody else
    // can use the rest of it. 0: tenants share the segment, and the extent is charged.
    std::uint64_t segment_bytes = 0;
    bool operator==(const Location&) const = default;
};

struct Attribution {
    TenantId tenant;
    uid_t uid = 0;
    std::string engine;   // as the engine calls itself; information only
    Timestamp begun_at;   // wall clock
    Timestamp sealed_at;  // wall clock; 0 while filling
};

struct Cell {
    CellId id;
    TenantId owner;
    ContextKey key;
    SpanDigest span;
    Lifecycle lifecycle = Lifecycle::filling;
    Taint taint = Taint::tainted;
    Admission admission = Admission::unknown;
    Scope scope = Scope::agent;
    std::vector<TenantId> allow_list;
    std::uint64_t adjudicated_epoch = 0;
    std::uint64_t length_bytes = 0;
    std::uint64_t recompute_ns = 0;  // as its engine says; 0: unknown
    ContentDigest digest;
    Attribution attribution;
    std::optional<Adjudication> adjudication;
    std::uint64_t location = 0;  // key of the registry's location table
    std::uint64_t work = 0;      // ticket of running work; 0: none
    std::uint32_t live_leases = 0;
};

struct RegistryLimits {
    std::uint32_t leases_per_connection = 4096;
    std::uint64_t filling_bytes_per_uid = 4ULL << 30U;
    std::uint64_t cell_bytes = 1ULL << 30U;
    std::uint32_t cells_per_span_and_tenant = 16;
    std::uint32_t cells = 1U << 20U;
    std::uint32_t cells_per_tenant = 1U << 18U;
    std::uint64_t lease_ttl_ns = 30'000'000'000ULL;
};

struct TenantCounters {
    // Since the start.
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t evictions_caused = 0;    // cells that went for its own new ones
    std::uint64_t evictions_suffered = 0;  // its cells that went; a self-eviction counts in both
    std::uint64_t cells_materialised = 0;  // sealed
    std::uint64_t bytes_materialised = 0;
    // Now.
    std::uint64_t cells = 0;        // filling, sealed and quarantined
    std::uint64_t bytes = 0;        // of those cells
    std::uint64_t live_leases = 0;  // held by this tenant's connections
    bool operator==(const TenantCounters&) const = default;
};

// What is kept of a tenant besides its cells.
struct TenantSettings {
    std::string name;
    std::uint64_t salt = 0;                 // of its keyspace; 0: the one without a salt
    std::uint32_t weight = kDefaultWeight;  // of its share
    std::uint64_t epoch = 1;                // of trust
    bool had_cells = false;                 // now or ever: its salt stays as it is
};

struct RegistryPool {
    Isolation isolation = Isolation::kernel;
    Tier tier = Tier::cxl;
    std::uint64_t capacity_bytes = 0;  // 0: unbounded
    bool kept = false;                 // its cells are listed by take_changed()
};

// How much of a pool is taken. All of it in bytes that tenants are charged.
struct PoolResidency {
    Tier tier = Tier::cxl;
    std::uint64_t capacity_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t reserved_bytes = 0;
};

// What went at once: one cell, or all cells of a segment that nobody else can use before.
struct Evicted {
    TenantId victim;
    std::vector<CellId> cells;
    std::uint64_t bytes = 0;  // their lengths
};

// Cells of `victim` that went for new ones of `causer`.
struct EvictionFlow {
    TenantId causer;
    TenantId victim;
    std::uint64_t cells = 0;
    std::uint64_t bytes = 0;
};

// What is left of a tenant that is being erased.
struct Remains {
    std::uint64_t cells = 0;
    std::uint64_t leases = 0;     // on those cells, of whomever
    std::uint64_t locations = 0;  // of those cells, of running work, and of leases on old copies
    bool operator==(const Remains&) const = default;
};

// Bytes that nobody refers to any more, and whose they were.
struct FreedLocation : Location {
    TenantId owner;
};

struct BeginGrant {
    CellId cell;
    LeaseRef lease;
    CellId replaced;  // the quarantined cell of the same name that went; none: 0
};

// What must be done with bytes before a seal or a share can finish.
struct Work {
    std::uint64_t ticket = 0;
    CellId cell;
    Location source;
    std::uint64_t length_bytes = 0;
    bool move = false;  // copy into a segment that no engine can write, digest the copy
    TenantId owner;
};

struct LookupResult {
    Verdict verdict = Verdict::miss_absent;  // what the gate said
    Told told;                               // what the requester may hear
    CellId cell;                             // of `verdict`; none when nothing was found
    TenantId owner;
};

struct Explanation {
    const Cell* cell = nullptr;  // valid until the next change
    Verdict verdict = Verdict::miss_absent;
};

// A lease that ended without its holder asking: revoked, expired, or its connection closed.
struct EndedLease {
    ConnectionId connection;
    std::uint32_t index = 0;
    bool revoked = false;
};

class Registry {
  public:
    Registry(TenancyMode mode, const RegistryLimits& limits,
             EvictionPolicy policy = EvictionPolicy::fair);
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    // Called for each key that a cell keeps and gives back, for its owner, who must hold the key
    // when the cell begins; default: nothing.
    void set_interner(ContextInterner* interner) noexcept;

    // For what begins from now on. leases_per_connection and lease_ttl_ns have to be as they were.
    void set_limits(const RegistryLimits& limits) noexcept;

    // Errors: already_exists, invalid_argument (tenant 0).
    Result<void> add_tenant(TenantId tenant, std::string name);
    Result<void> add_tenant(TenantId tenant, TenantSettings settings);
    // Returns the index by which Location names it.
    std::size_t add_pool(const RegistryPool& pool);

    // Errors of all: not_found. check_*: the same errors, nothing is changed.
    Result<void> set_name(TenantId tenant, std::string name);
    // A share is as large as its weight is beside the others'. Error: invalid_argument (0).
    Result<void> set_weight(TenantId tenant, std::uint32_t weight);
    // The tenant's keyspace: what it stores and asks for is found under the same salt only.
    // Error: wrong_state (it has, or has had, cells).
    Result<void> check_salt(TenantId tenant, std::uint64_t salt) const;
    Result<void> set_salt(TenantId tenant, std::uint64_t salt);
    // Bytes that nobody else's demand takes from it; 0 removes the reservation. What others hold
    // there now goes when the tenant asks for it. Errors: capacity (the reservations of the pool
    // would exceed it), invalid_argument (no such pool).
    Result<void> check_reservation(TenantId tenant, std::size_t pool, std::uint64_t bytes) const;
    Result<void> set_reservation(TenantId tenant, std::size_t pool, std::uint64_t bytes);

    ConnectionId open_connection(TenantId tenant, uid_t uid, std::string engine);
    // Ends its leases and rolls its filling cells back.
    void close_connection(ConnectionId connection);

    // Would begin() be refused? Asked before bytes are placed. `promised_bytes`: what the uid has
    // asked for and not yet begun.
    // Errors: unavailable (the tenant is being erased), invalid_argument (length 0, no span
    // digest), too_large, key_incomplete, already_exists (the tenant has this cell, and it is not
    // quarantined), limit_exceeded.
    Result<void> check_begin(ConnectionId connection, const ContextKey& key, const SpanDigest& span,
                             std::uint64_t length_bytes, std::uint64_t promised_bytes) const;
    // An own cell of this context and span that is quarantined is removed, as drop_quarantined()
    // does. Errors: those of check_begin, capacity (what nobody has reserved is leased or being
    // filled already); the placement then stays the caller's.
    // `recompute_ns`: what computing the cell again takes, as its engine says; 0: unknown.
    Result<BeginGrant> begin(ConnectionId connection, const ContextKey& key, const SpanDigest& span,
                             const Location& location, Timestamp monotonic, Timestamp wall,
                             std::uint64_t recompute_ns = 0);

    // A cell that an earlier process had, under the number that it had there; it is sealed or
    // quarantined, and its owner holds the key. Errors: not_found (no such tenant), already_exists
    // (the number, or a cell of this context and span), invalid_argument (of another lifecycle).
    Result<void> restore(Cell cell, const Location& location);
    // Cells of kept pools that were sealed, moved, judged, declared or removed since the last call,
    // by id; those that find() does not find are gone. A filling cell is not among them.
    std::vector<CellId> take_changed();

    // Erasing a tenant. From start_forget() on nothing of it can be attended anew, its engines
    // begin and share nothing, and what they were filling is gone. Cells that somebody leases stay
    // until that ends: sweep_forgotten() removes what can go and returns what is left;
    // revoke_readers() ends those leases. When nothing is left, end_forget() makes it a tenant that
    // has never had cells. Errors: not_found, wrong_state (it is being erased already).
    Result<void> start_forget(TenantId tenant);
    Remains sweep_forgotten(TenantId tenant);
    void revoke_readers(TenantId tenant);
    void end_forget(TenantId tenant);

    // Takes away what has to go next so that `causer` can have `needed_bytes` more of the pool; see
    // residency.hpp. To be called until there is room. Of another tenant a whole segment goes, if
    // cells of several tenants never share one; of the causer itself one cell, which leaves it room
    // in its segment, or with `needs_segment` a whole segment too. Errors: capacity (nothing may
    // go: what is left is leased, being filled, or within what its tenant is guaranteed).
    Result<Evicted> evict_for(TenantId causer, std::size_t pool, std::uint64_t needed_bytes,
                              bool needs_segment = false);

    // Removes the tenant's cell of this context and span when it is quarantined, so that its bytes
    // can be overwritten before the cell is begun anew. Returns which one that was.
    std::optional<CellId> drop_quarantined(ConnectionId connection, const ContextKey& key,
                                           const SpanDigest& span);

    // Errors: stale_lease (no such live filling lease), wrong_state (already being sealed).
    Result<Work> start_seal(ConnectionId connection, const LeaseRef& lease);
    // Makes the cell sealed and ends the filling lease. `moved`: where the copy is (work.move).
    // Errors: cancelled (the cell is gone; `moved` is taken over and given out for scrubbing).
    Result<void> finish_seal(const Work& work, const ContentDigest& digest,
                             const std::optional<Location>& moved, Timestamp wall);

    // Declares who may attend an own sealed cell. Nothing to return when no bytes must move.
    // Errors: not_found, unavailable (the tenant is being erased), wrong_state (filling,
    // quarantined, or work runs), invalid_argument (an allow-list without fleet, or naming tenant
    // 0).
    Result<std::optional<Work>> start_share(ConnectionId connection, const ContextKey& key,
                                            const SpanDigest& span, Scope scope,
                                            const std::vector<TenantId>& allow_list);
    // Errors: cancelled, as finish_seal.
    Result<void> finish_share(const Work& work, const ContentDigest& digest,
                              const std::optional<Location>& moved, Scope scope,
                              std::vector<TenantId> allow_list);
    // The work failed; the cell is as it was before start_*.
    void abandon(const Work& work);

    // Errors: not_found, invalid_argument (several cells of this span and no id; all ids named),
    // wrong_state (filling, trust of a cell that work runs on, trust or taint of a quarantined one,
    // or other bytes than the expected ones). Without `expected`, whatever the cell holds is
    // judged.
    Result<CellId> adjudicate(TenantId owner, const SpanDigest& span, CellId cell,
                              const std::optional<ContentDigest>& expected, Judgement judgement,
                              uid_t uid, Timestamp wall);
    // All earlier adjudications of the tenant's cells are stale from now on. Error: not_found.
    Result<void> raise_epoch(TenantId tenant);

    // Judges the cells of the span that can be a hit or that the requester may hear of, and takes
    // the best answer: a hit (own first), then the own cell that came furthest. In multi another
    // tenant's cell that the gate would let nobody attend but its owner is not looked at: it is
    // absent, and takes as long. Counts a hit or a miss, and touches what was hit.
    LookupResult lookup(ConnectionId connection, const ContextKey& key, const SpanDigest& span,
                        Timestamp monotonic);
    // What of all cells of the span came nearest to a hit, and with which verdict: for the audit
    // log, apart from the answer. Nothing for a tenant that there is not.
    LookupResult why_missed(TenantId requester, const ContextKey& key, const SpanDigest& span,
                            Timestamp monotonic) const;
    // A reading lease on a cell that lookup just found. Errors: not_found, limit_exceeded, capacity
    // (as begin).
    Result<LeaseRef> grant_read(ConnectionId connection, CellId cell, Timestamp monotonic);
    // Errors: stale_lease (ended, or never was), revoked (ended because the cell was taken away;
    // told until the index is used again).
    Result<void> renew(ConnectionId connection, const LeaseRef& lease, Timestamp monotonic);
    // A filling lease is rolled back. Errors: stale_lease, revoked, wrong_state (being sealed).
    Result<void> release(ConnectionId connection, const LeaseRef& lease);
    // Ends what was not renewed in time.
    void expire(Timestamp monotonic);

    // Every cell of the span as `requester` would be judged, the best answer first.
    std::vector<Explanation> explain(TenantId requester, bool permitted, const ContextKey& key,
                                     const SpanDigest& span, Timestamp monotonic) const;

    const Cell* find(CellId cell) const noexcept;
    const Location* location_of(CellId cell) const noexcept;
    std::vector<const Cell*> cells() const;  // by id
    bool has_tenant(TenantId tenant) const noexcept;
    std::string_view tenant_name(TenantId tenant) const noexcept;
    std::vector<TenantId> tenants() const;
    TenantCounters counters(TenantId tenant) const noexcept;
    // Without those who caused none and suffered none; by causer, then victim.
    std::vector<EvictionFlow> eviction_flows() const;
    // Zeros when there was none.
    EvictionFlow eviction_flow(TenantId causer, TenantId victim) const noexcept;
    std::size_t pool_count() const noexcept;
    PoolResidency residency(std::size_t pool) const;
    std::uint64_t resident_bytes(TenantId tenant, std::size_t pool) const noexcept;
    std::uint64_t reserved_bytes(TenantId tenant, std::size_t pool) const noexcept;
    // Of a tenant that there is.
    TenantSettings settings(TenantId tenant) const;
    std::uint64_t trust_epoch(TenantId tenant) const noexcept;
    TenancyMode mode() const noexcept;

    // What must happen outside since the last call.
    std::vector<FreedLocation> take_freed();
    std::vector<EndedLease> take_ended();

    // Walks everything and aborts when an invariant is broken; for tests.
    void check() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxlpool

#include "registry/registry.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/check.hpp"
#include "domain/span.hpp"
#include "registry/cell_index.hpp"
#include "registry/lease_table.hpp"
#include "registry/location_table.hpp"
#include "registry/residency.hpp"

namespace cxlpool {
namespace {

struct LeaseHolder {
    ConnectionId connection;
    std::uint32_t index = 0;
};

struct CellEntry {
    Cell cell;
    SpanDigest indexed_as;  // the span in its owner's keyspace
    bool offered = false;   // in Impl::offers
    std::vector<LeaseHolder> holders;
    EvictionRank rank;
    bool enlisted = false;  // may be evicted, as it stands
    Residency::Node node;   // its place in the order of eviction, while it is not enlisted
};

struct Tenant {
    TenantSettings settings;
    TenantCounters counters;
    bool leaving = false;  // is being erased; then `leased` has all its cells
    std::vector<CellId> leased;
};

constexpr std::size_t kMaxSegmentsLookedAt = 256;
constexpr const char* kNoWeight = "a weight is at least 1";

}  // namespace

struct Registry::Impl {
    Impl(TenancyMode m, const RegistryLimits& l, EvictionPolicy policy)
        : mode(m),
          limits(l),
          leases(l.leases_per_connection),
          residency(policy),
          locations(residency) {}

    TenancyMode mode;
    RegistryLimits limits;
    ContextInterner* interner = nullptr;
    LeaseTable leases;
    Residency residency;
    LocationTable locations;
    std::vector<RegistryPool> pools;
    std::map<TenantId, Tenant> tenants;
    std::uint64_t last_cell = 0;
    std::uint64_t last_ticket = 0;
    std::unordered_map<std::uint64_t, CellEntry> cells;
    // Three ways to a cell of a span, each in the keyspace of who asks. A lookup in multi goes by
    // the first two only: what is neither the tenant's own nor offered to others is not in what it
    // reads, so that its time says no more of such a cell than its answer does.
    CellIndex<OwnSpan> own;
    CellIndex<SpanDigest> offers;   // which the gate may let other tenants attend
    CellIndex<SpanDigest> by_span;  // all
    std::unordered_map<uid_t, std::uint64_t> filling_bytes;
    std::map<std::pair<TenantId, TenantId>, EvictionFlow> flows;  // by causer and victim
    std::vector<EndedLease> ended;
    std::set<CellId> changed;  // of kept pools
    // Running work: ticket -> location key that it pins.
    std::unordered_map<std::uint64_t, std::uint64_t> pinned;

    CellEntry* entry(CellId id) {
        const auto at = cells.find(id.value);
        return at == cells.end() ? nullptr : &at->second;
    }
    const CellEntry* entry(CellId id) const {
        const auto at = cells.find(id.value);
        return at == cells.end() ? nullptr : &at->second;
    }
    ConnectionState& connection(ConnectionId id) {
        ConnectionState* state = leases.find(id);
        CXLPOOL_CHECK(state != nullptr);
        return *state;
    }
    Result<void> check_tenant(TenantId tenant) const;
    Result<void> check_staying(TenantId id) const {
        if (tenants.at(id).leaving) {
            return Error{Errc::unavailable, "the tenant is being erased; try again later"};
        }
        return {};
    }
    Tenant& tenant(TenantId id) {
        const auto at = tenants.find(id);
        CXLPOOL_CHECK(at != tenants.end());
        return at->second;
    }
    // A span as this tenant means it.
    SpanDigest indexed(TenantId who, const SpanDigest& span) const {
        const std::uint64_t salt = tenants.at(who).settings.salt;
        return salt == 0 ? span : in_keyspace(span, salt);
    }
    std::span<const CellId> of_span(TenantId who, const SpanDigest& span) const {
        return by_span.find(indexed(who, span));
    }
    std::span<const CellId> own_of_span(TenantId who, const SpanDigest& span) const {
        return own.find(OwnSpan{who, indexed(who, span)});
    }
    CellEntry* own_cell(TenantId owner, const ContextKey& key, const SpanDigest& span) {
        for (const CellId id : own_of_span(owner, span)) {
            CellEntry* found = entry(id);
            if (found->cell.key == key) {
                return found;
            }
        }
        return nullptr;
    }

    // Could the gate let anybody but the owner attend it? After whatever changes the answer.
    void reconsider_offer(CellEntry& e) {
        const Cell& cell = e.cell;
        const bool offer = !tenants.at(cell.owner).leaving && cell.lifecycle == Lifecycle::sealed &&
                           cell.scope == Scope::fleet && cell.admission == Admission::allow &&
                           cell.taint == Taint::trusted &&
                           cell.adjudicated_epoch == tenants.at(cell.owner).settings.epoch;
        if (offer != e.offered) {
            e.offered = offer;
            if (offer) {
                offers.add(e.indexed_as, cell.id);
            } else {
                offers.remove(e.indexed_as, cell.id);
            }
        }
    }

    void give_back_filling(const CellEntry& e, const Attribution& by) {
        const auto at = filling_bytes.find(by.uid);
        CXLPOOL_CHECK(at != filling_bytes.end() && at->second >= e.cell.length_bytes);
        at->second -= e.cell.length_bytes;
        if (at->second == 0) {
            filling_bytes.erase(at);
        }
    }

    EvictionCandidate candidate(const CellEntry& e) const {
        return EvictionCandidate{e.rank, e.cell.id,
                                 LocationTable::charge_of(*locations.find(e.cell.location))};
    }
    std::size_t pool_of(const CellEntry& e) const { return locations.find(e.cell.location)->pool; }
    void note_change(const CellEntry& e) {
        if (pools[pool_of(e)].kept) {
            changed.insert(e.cell.id);
        }
    }
    void delist(CellEntry& e) {
        if (e.enlisted) {
            e.node = residency.delist(pool_of(e), e.cell.owner, candidate(e));
            e.enlisted = false;
            locations.set_bound(e.cell.location, true);
        }
    }
    static bool may_go(const CellEntry& e) {
        return e.cell.lifecycle == Lifecycle::sealed && e.holders.empty() && e.cell.work == 0;
    }
    // After whatever may have changed whether the cell can go.
    void reconsider(CellEntry& e) {
        if (!may_go(e)) {
            delist(e);
        } else if (!e.enlisted) {
            residency.enlist(pool_of(e), e.cell.owner, candidate(e), std::move(e.node));
            e.enlisted = true;
            locations.set_bound(e.cell.location, false);
        }
    }
    void touch(CellEntry& e) {
        const std::size_t pool = pool_of(e);
        Residency::Node node;
        if (e.enlisted) {
            node = residency.delist(pool, e.cell.owner, candidate(e));
        }
        e.rank = residency.touch(pool, e.cell.owner, e.cell.recompute_ns, e.cell.length_bytes);
        if (e.enlisted) {
            residency.enlist(pool, e.cell.owner, candidate(e), std::move(node));
        }
    }

    // All cells that have to go with this one so that others can use the bytes; empty when one of
    // them may not go.
    std::vector<CellId> whole_segment(const CellEntry& e) const {
        std::vector<CellId> sharing = locations.sharing_segment(e.cell.location);
        const auto segment_of = [this](const CellEntry& of) {
            return LocationTable::segment_of(*locations.find(of.cell.location));
        };
        for (const CellId id : sharing) {
            const CellEntry* const other = entry(id);
            if (other == nullptr || !other->enlisted || segment_of(*other) != segment_of(e)) {
                return {};
            }
        }
        return sharing;
    }

    // What of `victim` goes first, and the rank that it had.
    struct Going {
        std::vector<CellId> cells;
        EvictionRank rank;
    };
    std::optional<Going> next_to_go(std::size_t pool, TenantId victim, TenantId causer,
                                    bool segment) const {
        std::size_t looked_at = 0;
        for (const EvictionCandidate& next : residency.order(pool, victim)) {
            if (!segment) {
                return Going{{next.cell}, next.rank};
            }
            // Who leases one cell of each segment must not make others search for ever.
            if (++looked_at > kMaxSegmentsLookedAt) {
                break;
            }
            if (victim != causer && !residency.can_lose(pool, victim, next.bytes)) {
                continue;
            }
            std::vector<CellId> together = whole_segment(*entry(next.cell));
            if (!together.empty()) {
                return Going{std::move(together), next.rank};
            }
        }
        return std::nullopt;
    }

    // Ends one lease and drops what it referred to; `announce` puts it on the list of ends that
    // the holder did not ask for.
    void end_lease(ConnectionId id, std::uint32_t index, bool revoked, bool announce) {
        const TenantId holder = connection(id).tenant;
        const Lease was = leases.end(id, index, revoked);
        --tenant(holder).counters.live_leases;
        if (CellEntry* e = entry(was.cell)) {
            // In constant time: a tenant may hold very many leases on one cell.
            CXLPOOL_CHECK(was.holder_slot < e->holders.size());
            const LeaseHolder last = e->holders.back();
            e->holders[was.holder_slot] = last;
            leases.at(last.connection, last.index).holder_slot = was.holder_slot;
            e->holders.pop_back();
            e->cell.live_leases = static_cast<std::uint32_t>(e->holders.size());
            reconsider(*e);
        }
        locations.unpin(was.location);
        if (announce) {
            ended.push_back(EndedLease{id, index, revoked});
        }
    }

    Result<LeaseRef> grant(ConnectionId id, CellEntry& e, bool filling, Timestamp monotonic) {
        Result<LeaseRef> ref = leases.grant(id, e.cell.id, e.cell.location, filling,
                                            Timestamp{monotonic.ns + limits.lease_ttl_ns});
        if (ref) {
            delist(e);
            locations.pin(e.cell.location);
            leases.at(id, ref->index).holder_slot = static_cast<std::uint32_t>(e.holders.size());
            e.holders.push_back(LeaseHolder{id, ref->index});
            e.cell.live_leases = static_cast<std::uint32_t>(e.holders.size());
            ++tenant(connection(id).tenant).counters.live_leases;
        }
        return ref;
    }

    // All but what its lifecycle and leases ask for.
    CellEntry& insert(Cell cell, const Location& location) {
        const CellId id = cell.id;
        CellEntry& e = cells[id.value];
        e.cell = std::move(cell);
        e.cell.location = locations.add(location, e.cell.owner, id);
        e.indexed_as = indexed(e.cell.owner, e.cell.span);
        by_span.add(e.indexed_as, id);
        own.add(OwnSpan{e.cell.owner, e.indexed_as}, id);
        touch(e);
        Tenant& owner = tenant(e.cell.owner);
        ++owner.counters.cells;
        owner.counters.bytes += e.cell.length_bytes;
        owner.settings.had_cells = true;
        if (interner != nullptr) {
            interner->retain(e.cell.key, e.cell.owner);
        }
        return e;
    }

    void remove_cell(CellId id, bool announce) {
        CellEntry* e = entry(id);
        CXLPOOL_CHECK(e != nullptr);
        if (e->cell.lifecycle == Lifecycle::filling) {
            give_back_filling(*e, e->cell.attribution);
        } else {
            note_change(*e);
        }
        const std::vector<LeaseHolder> holders = e->holders;
        for (const LeaseHolder& holder : holders) {
            end_lease(holder.connection, holder.index, true, announce);
        }
        delist(*e);
        Tenant& owner = tenant(e->cell.owner);
        --owner.counters.cells;
        owner.counters.bytes -= e->cell.length_bytes;
        by_span.remove(e->indexed_as, id);
        own.remove(OwnSpan{e->cell.owner, e->indexed_as}, id);
        if (e->offered) {
            offers.remove(e->indexed_as, id);
        }
        if (interner != nullptr) {
            interner->release(e->cell.key, e->cell.owner);
        }
        locations.unpin(e->cell.location);
        cells.erase(id.value);
    }

    GateCell gate_view(const Cell& cell, TenantId requester) const {
        const Location* location = locations.find(cell.location);
        GateCell view;
        view.owner = cell.owner;
        view.key = cell.key;
        view.lifecycle = cell.lifecycle;
        view.taint = cell.taint;
        view.admission = cell.admission;
        view.scope = cell.scope;
        view.allow_list = cell.allow_list;
        view.adjudicated_epoch = cell.adjudicated_epoch;
        const Tenant& owner = tenants.at(cell.owner);
        view.owner_epoch = owner.settings.epoch;
        view.length_bytes = cell.length_bytes;
        view.digest_present = cell.digest.present();
        // Bytes that their owner can still write do not exist for anybody else.
        view.extent_alive =
            location != nullptr && !owner.leaving && (location->offered || cell.owner == requester);
        return view;
    }

    Verdict judge_cell(const Cell& cell, TenantId requester, bool permitted, const ContextKey& key,
                       Timestamp monotonic) const {
        const GateRequester who{permitted, permitted, requester, Reach::in_place};
        return judge(who, gate_view(cell, requester), key, monotonic);
    }

    // Hits first, the own cell before others, then who came furthest.
    static bool better(Verdict a, bool a_own, Verdict b, bool b_own) {
        if (is_hit(a) != is_hit(b)) {
            return is_hit(a);
        }
        if (a_own != b_own) {
            return a_own;
        }
        return progress_of(a) > progress_of(b);
    }

    // Asks the gate about each; `best` is the best answer of those before.
    void judge_all(std::span<const CellId> ids, TenantId requester, const ContextKey& key,
                   Timestamp monotonic, LookupResult& best) const {
        for (const CellId id : ids) {
            const Cell& cell = entry(id)->cell;
            const Verdict verdict = judge_cell(cell, requester, true, key, monotonic);
            if (!best.cell ||
                better(verdict, cell.owner == requester, best.verdict, best.owner == requester)) {
                best = LookupResult{verdict, Told(), id, cell.owner};
            }
        }
    }

    Work start_work(CellEntry& e, bool move) {
        const std::uint64_t ticket = ++last_ticket;
        e.cell.work = ticket;
        delist(e);
        locations.pin(e.cell.location);
        pinned.emplace(ticket, e.cell.location);
        return Work{ticket, e.cell.id,   *locations.find(e.cell.location), e.cell.length_bytes,
                    move,   e.cell.owner};
    }

    // The cell that the work was for, or nothing when it is gone or was taken away meanwhile.
    CellEntry* end_work(const Work& work) {
        const auto at = pinned.find(work.ticket);
        CXLPOOL_CHECK(at != pinned.end());
        const std::uint64_t location = at->second;
        pinned.erase(at);
        CellEntry* e = entry(work.cell);
        const bool valid = e != nullptr && e->cell.work == work.ticket;
        if (valid) {
            e->cell.work = 0;
            reconsider(*e);
        }
        locations.unpin(location);
        return valid ? e : nullptr;
    }

    Error cancelled(const Work& work, const std::optional<Location>& moved) {
        if (moved) {
            locations.free(*moved, work.owner);
        }
        return Error{Errc::cancelled, "the cell was taken away while its bytes were worked on"};
    }

    // The copy becomes the cell's location; the old one goes when its last lease does.
    void move_to(CellEntry& e, const Location& moved) {
        Location offered = moved;
        offered.offered = true;
        delist(e);
        const std::uint64_t old =
            std::exchange(e.cell.location, locations.add(offered, e.cell.owner, e.cell.id));
        locations.unpin(old);
        reconsider(e);
    }

    void set_scope(CellEntry& e, Scope scope, std::vector<TenantId> allow_list) {
        e.cell.scope = scope;
        e.cell.allow_list = std::move(allow_list);
        e.cell.admission = Admission::allow;
        note_change(e);
        reconsider_offer(e);
        revoke_denied(e);
    }

    // Also the owner's leases end, and the work that runs on the bytes will find nothing to finish.
    void quarantine(CellEntry& e) {
        e.cell.taint = Taint::poisoned;
        e.cell.lifecycle = *transition(e.cell.lifecycle, LifecycleEvent::quarantine);
        e.cell.work = 0;
        delist(e);
        reconsider_offer(e);
        const std::vector<LeaseHolder> holders = e.holders;
        for (const LeaseHolder& holder : holders) {
            end_lease(holder.connection, holder.index, true, true);
        }
    }

    // Ends the leases of other tenants that the gate would not grant now.
    void revoke_denied(CellEntry& e) {
        const std::vector<LeaseHolder> holders = e.holders;
        for (const LeaseHolder& holder : holders) {
            const TenantId tenant_id = connection(holder.connection).tenant;
            if (tenant_id != e.cell.owner &&
                !is_hit(judge_cell(e.cell, tenant_id, true, e.cell.key, Timestamp{}))) {
                end_lease(holder.connection, holder.index, true, true);
            }
        }
    }
};

Registry::Registry(TenancyMode mode, const RegistryLimits& limits, EvictionPolicy policy)
    : impl_(std::make_unique<Impl>(mode, limits, policy)) {}
Registry::~Registry() = default;

void Registry::set_interner(ContextInterner* interner) noexcept {
    impl_->interner = interner;
}

Result<void> Registry::add_tenant(TenantId tenant, std::string name) {
    TenantSettings settings;
    settings.name = std::move(name);
    return add_tenant(tenant, std::move(settings));
}

Result<void> Registry::add_tenant(TenantId tenant, TenantSettings settings) {
    if (!tenant) {
        return Error{Errc::invalid_argument, "tenant 0 is nobody"};
    }
    if (has_tenant(tenant)) {
        return Error{Errc::already_exists, "tenant " + std::to_string(tenant.value) + " twice"};
    }
    if (settings.weight == 0) {
        return Error{Errc::invalid_argument, kNoWeight};
    }
    impl_->residency.set_weight(tenant, settings.weight);
    impl_->tenants.emplace(tenant, Tenant{std::move(settings), {}, false, {}});
    return {};
}

std::size_t Registry::add_pool(const RegistryPool& pool) {
    impl_->pools.push_back(pool);
    return impl_->residency.add_pool(pool.capacity_bytes);
}

Result<void> Registry::Impl::check_tenant(TenantId tenant) const {
    if (!tenants.contains(tenant)) {
        return Error{Errc::not_found, "no tenant " + std::to_string(tenant.value)};
    }
    return {};
}

Result<void> Registry::set_name(TenantId tenant, std::string name) {
    CXLPOOL_TRY(impl_->check_tenant(tenant));
    impl_->tenant(tenant).settings.name = std::move(name);
    return {};
}

void Registry::set_limits(const RegistryLimits& limits) noexcept {
    CXLPOOL_CHECK(limits.leases_per_connection == impl_->limits.leases_per_connection &&
                  limits.lease_ttl_ns == impl_->limits.lease_ttl_ns);
    impl_->limits = limits;
}

Result<void> Registry::set_weight(TenantId tenant, std::uint32_t weight) {
    CXLPOOL_TRY(impl_->check_tenant(tenant));
    if (weight == 0) {
        return Error{Errc::invalid_argument, kNoWeight};
    }
    impl_->tenant(tenant).settings.weight = weight;
    impl_->residency.set_weight(tenant, weight);
    return {};
}

Result<void> Registry::check_salt(TenantId tenant, std::uint64_t salt) const {
    CXLPOOL_TRY(impl_->check_tenant(tenant));
    const TenantSettings& settings = impl_->tenants.at(tenant).settings;
    if (settings.had_cells && salt != settings.salt) {
        return Error{Errc::wrong_state,
                     "tenant " + std::to_string(tenant.value) +
                         " has had cells: under another salt it would not find them; a salt is set "
                         "before the first one"};
    }
    return {};
}

Result<void> Registry::set_salt(TenantId tenant, std::uint64_t salt) {
    CXLPOOL_TRY(check_salt(tenant, salt));
    impl_->tenant(tenant).settings.salt = salt;
    return {};
}

Result<void> Registry::check_reservation(TenantId tenant, std::size_t pool,
                                         std::uint64_t bytes) const {
    CXLPOOL_TRY(impl_->check_tenant(tenant));
    if (pool >= impl_->pools.size()) {
        return Error{Errc::invalid_argument, "there is no pool " + std::to_string(pool)};
    }
    return impl_->residency.check_reservation(pool, tenant, bytes);
}

Result<void> Registry::set_reservation(TenantId tenant, std::size_t pool, std::uint64_t bytes) {
    CXLPOOL_TRY(check_reservation(tenant, pool, bytes));
    return impl_->residency.set_reservation(pool, tenant, bytes);
}

ConnectionId Registry::open_connection(TenantId tenant, uid_t uid, std::string engine) {
    CXLPOOL_CHECK(has_tenant(tenant));
    return impl_->leases.open(tenant, uid, std::move(engine));
}

void Registry::close_connection(ConnectionId connection) {
    for (const std::uint32_t index : impl_->leases.live_indexes(connection)) {
        const Lease lease = impl_->connection(connection).leases[index];
        if (!lease.live) {
            continue;  // It went with a cell that was rolled back in this loop.
        }
        if (lease.filling) {
            impl_->remove_cell(lease.cell, false);
        } else {
            impl_->end_lease(connection, index, false, false);
        }
    }
    impl_->leases.close(connection);
}

Result<void> Registry::check_begin(ConnectionId connection, const ContextKey& key,
                                   const SpanDigest& span, std::uint64_t length_bytes,
                                   std::uint64_t promised_bytes) const {
    const Impl& impl = *impl_;
    const ConnectionState& who = impl_->connection(connection);
    CXLPOOL_TRY(impl.check_staying(who.tenant));
    if (length_bytes == 0 || !span.present()) {
        return Error{Errc::invalid_argument, "a cell needs a length above 0 and a span digest"};
    }
    if (length_bytes > impl.limits.cell_bytes) {
        return Error{Errc::too_large, "a cell of " + std::to_string(length_bytes) +
                                          " bytes is over the maximum of " +
                                          std::to_string(impl.limits.cell_bytes)};
    }
    if (!key.complete()) {
        return Error{Errc::key_incomplete,
                     "every axis of the context must be given before a cell can be written"};
    }
    std::uint32_t of_tenant = 0;
    std::uint32_t replaced = 0;  // does not count beside the cell that takes its place
    for (const CellId id : impl.own_of_span(who.tenant, span)) {
        const Cell& cell = impl.entry(id)->cell;
        if (cell.key != key) {
            ++of_tenant;
        } else if (cell.lifecycle == Lifecycle::quarantined) {
            ++replaced;
        } else {
            return Error{Errc::already_exists, "the tenant has a cell of this context and span"};
        }
    }
    if (of_tenant >= impl.limits.cells_per_span_and_tenant) {
        return Error{Errc::limit_exceeded, "the tenant has " + std::to_string(of_tenant) +
                                               " cells of this span under other contexts"};
    }
    if (impl.leases.full(who)) {
        return Error{Errc::limit_exceeded, "this connection has no lease left; release some"};
    }
    if (impl.tenants.at(who.tenant).counters.cells - replaced >= impl.limits.cells_per_tenant) {
        return Error{Errc::limit_exceeded, "the tenant may keep no more cells"};
    }
    if (impl.cells.size() - replaced >= impl.limits.cells) {
        return Error{Errc::limit_exceeded, "the daemon can keep no more cells"};
    }
    const auto filling = impl.filling_bytes.find(who.uid);
    const std::uint64_t held =
        (filling == impl.filling_bytes.end() ? 0 : filling->second) + promised_bytes;
    if (length_bytes > impl.limits.filling_bytes_per_uid ||
        held > impl.limits.filling_bytes_per_uid - length_bytes) {
        return Error{Errc::limit_exceeded, "uid " + std::to_string(who.uid) + " is filling " +
                                               std::to_string(held) +
                                               " bytes already; seal some first"};
    }
    return {};
}

Result<BeginGrant> Registry::begin(ConnectionId connection, const ContextKey& key,
                                   const SpanDigest& span, const Location& location,
                                   Timestamp monotonic, Timestamp wall,
                                   std::uint64_t recompute_ns) {
    CXLPOOL_TRY(check_begin(connection, key, span, location.placement.length_bytes, 0));
    CXLPOOL_CHECK(location.pool < impl_->pools.size());
    if (!impl_->residency.may_bind(location.pool, impl_->connection(connection).tenant,
                                   impl_->locations.would_bind(location))) {
        return Error{Errc::capacity,
                     "what is not reserved is leased or being filled; release leases"};
    }
    const CellId replaced = drop_quarantined(connection, key, span).value_or(CellId{});
    const ConnectionState& who = impl_->connection(connection);
    const CellId id{++impl_->last_cell};
    Location kept = location;
    kept.offered = impl_->pools[location.pool].isolation == Isolation::cooperative;
    Cell cell;
    cell.id = id;
    cell.owner = who.tenant;
    cell.key = key;
    cell.span = span;
    cell.length_bytes = location.placement.length_bytes;
    cell.recompute_ns = recompute_ns;
    cell.attribution = Attribution{who.tenant, who.uid, who.engine, wall, {}};
    CellEntry& e = impl_->insert(std::move(cell), kept);
    impl_->filling_bytes[who.uid] += e.cell.length_bytes;
    Result<LeaseRef> lease = impl_->grant(connection, e, true, monotonic);
    CXLPOOL_CHECK(lease.has_value());  // check_begin saw room for it.
    return BeginGrant{id, *lease, replaced};
}

Result<void> Registry::restore(Cell cell, const Location& location) {
    CXLPOOL_TRY(impl_->check_tenant(cell.owner));
    CXLPOOL_CHECK(location.pool < impl_->pools.size());
    const bool quarantined = cell.lifecycle == Lifecycle::quarantined;
    if ((cell.lifecycle != Lifecycle::sealed && !quarantined) ||
        quarantined != (cell.taint == Taint::poisoned) || !cell.id || !cell.digest.present() ||
        cell.length_bytes != location.placement.length_bytes) {
        return Error{Errc::invalid_argument,
                     "cell " + std::to_string(cell.id.value) + " is not one that was at rest"};
    }
    if (impl_->entry(cell.id) != nullptr ||
        impl_->own_cell(cell.owner, cell.key, cell.span) != nullptr) {
        return Error{Errc::already_exists, "cell " + std::to_string(cell.id.value) +
                                               ", or one of its context and span, is there"};
    }
    impl_->last_cell = std::max(impl_->last_cell, cell.id.value);
    cell.work = 0;
    cell.live_leases = 0;
    CellEntry& e = impl_->insert(std::move(cell), location);
    impl_->reconsider(e);
    impl_->reconsider_offer(e);
    return {};
}

std::vector<CellId> Registry::take_changed() {
    const std::vector<CellId> out(impl_->changed.begin(), impl_->changed.end());
    impl_->changed.clear();
    return out;
}

std::optional<CellId> Registry::drop_quarantined(ConnectionId connection, const ContextKey& key,
                                                 const SpanDigest& span) {
    const CellEntry* e = impl_->own_cell(impl_->connection(connection).tenant, key, span);
    if (e == nullptr || e->cell.lifecycle != Lifecycle::quarantined) {
        return std::nullopt;
    }
    CXLPOOL_CHECK(e->holders.empty());  // Poison ended them, and the gate lets nobody in.
    const CellId id = e->cell.id;
    impl_->remove_cell(id, false);
    return id;
}

Result<Work> Registry::start_seal(ConnectionId connection, const LeaseRef& ref) {
    const Result<Lease*> lease = impl_->leases.live(connection, ref);
    if (!lease) {
        return lease.error();
    }
    if (!(*lease)->filling) {
        return Error{Errc::stale_lease, "this is a reading lease; only a filling one is sealed"};
    }
    CellEntry* e = impl_->entry((*lease)->cell);
    CXLPOOL_CHECK(e != nullptr);
    if (e->cell.work != 0) {
        return Error{Errc::wrong_state, "the cell is being sealed already"};
    }
    // In mode single a sealed cell is for the whole fleet at once, so its bytes must leave the
    // segment that its writer can still write.
    const bool offered = impl_->locations.find(e->cell.location)->offered;
    return impl_->start_work(*e, impl_->mode == TenancyMode::single && !offered);
}

Result<void> Registry::finish_seal(const Work& work, const ContentDigest& digest,
                                   const std::optional<Location>& moved, Timestamp wall) {
    CellEntry* e = impl_->end_work(work);
    if (e == nullptr) {
        return impl_->cancelled(work, moved);
    }
    CXLPOOL_CHECK(digest.present());
    CXLPOOL_CHECK(moved.has_value() == work.move);
    impl_->give_back_filling(*e, e->cell.attribution);
    e->cell.lifecycle = *transition(e->cell.lifecycle, LifecycleEvent::seal);
    e->cell.digest = digest;
    e->cell.attribution.sealed_at = wall;
    TenantCounters& counters = impl_->tenant(e->cell.owner).counters;
    ++counters.cells_materialised;
    counters.bytes_materialised += e->cell.length_bytes;
    if (moved) {
        impl_->move_to(*e, *moved);
    }
    if (impl_->mode == TenancyMode::single) {
        e->cell.scope = Scope::fleet;
        e->cell.taint = Taint::trusted;
        e->cell.admission = Admission::allow;
        e->cell.adjudicated_epoch = impl_->tenant(e->cell.owner).settings.epoch;
    }
    impl_->reconsider_offer(*e);
    impl_->note_change(*e);
    CXLPOOL_CHECK(e->holders.size() == 1);
    impl_->end_lease(e->holders[0].connection, e->holders[0].index, false, true);
    return {};
}

Result<std::optional<Work>> Registry::start_share(ConnectionId connection, const ContextKey& key,
                                                  const SpanDigest& span, Scope scope,
                                                  const std::vector<TenantId>& allow_list) {
    const TenantId owner = impl_->connection(connection).tenant;
    CXLPOOL_TRY(impl_->check_staying(owner));
    CellEntry* e = impl_->own_cell(owner, key, span);
    if (e == nullptr) {
        return Error{Errc::not_found, "the tenant has no cell of this context and span"};
    }
    if (scope != Scope::fleet && !allow_list.empty()) {
        return Error{Errc::invalid_argument, "an allow-list only narrows the scope fleet"};
    }
    if (std::find(allow_list.begin(), allow_list.end(), TenantId{}) != allow_list.end()) {
        return Error{Errc::invalid_argument, "tenant 0 is nobody and cannot be allowed"};
    }
    if (e->cell.lifecycle != Lifecycle::sealed || e->cell.work != 0) {
        return Error{Errc::wrong_state, "only a sealed cell at rest can be shared; this one is " +
                                            std::string(to_word(e->cell.lifecycle))};
    }
    const bool offered = impl_->locations.find(e->cell.location)->offered;
    if (scope == Scope::fleet && !offered) {
        return std::optional<Work>(impl_->start_work(*e, true));
    }
    impl_->set_scope(*e, scope, allow_list);
    return std::optional<Work>();
}

Result<void> Registry::finish_share(const Work& work, const ContentDigest& digest,
                                    const std::optional<Location>& moved, Scope scope,
                                    std::vector<TenantId> allow_list) {
    CellEntry* e = impl_->end_work(work);
    if (e == nullptr) {
        return impl_->cancelled(work, moved);
    }
    CXLPOOL_CHECK(moved.has_value() && digest.present());
    // From now on nobody can write these bytes, so this digest is the one that stands.
    e->cell.digest = digest;
    impl_->move_to(*e, *moved);
    impl_->set_scope(*e, scope, std::move(allow_list));
    return {};
}

void Registry::abandon(const Work& work) {
    impl_->end_work(work);
}

Result<CellId> Registry::adjudicate(TenantId owner, const SpanDigest& span, CellId cell,
                                    const std::optional<ContentDigest>& expected,
                                    Judgement judgement, uid_t uid, Timestamp wall) {
    std::vector<CellId> matching;
    if (has_tenant(owner)) {
        for (const CellId id : impl_->own_of_span(owner, span)) {
            if (!cell || cell == id) {
                matching.push_back(id);
            }
        }
    }
    if (matching.empty()) {
        return Error{Errc::not_found,
                     "tenant " + std::to_string(owner.value) + " has no such cell of this span"};
    }
    if (matching.size() > 1) {
        std::string text = "tenant " + std::to_string(owner.value) +
                           " has several cells of this span; name one of";
        for (const CellId id : matching) {
            text.append(" ").append(std::to_string(id.value));
        }
        return Error{Errc::invalid_argument, std::move(text)};
    }
    CellEntry& e = *impl_->entry(matching[0]);
    if (e.cell.lifecycle == Lifecycle::filling) {
        return Error{Errc::wrong_state, "the cell is still being filled; it is visible to nobody"};
    }
    if (e.cell.lifecycle == Lifecycle::quarantined && judgement != Judgement::poison) {
        return Error{Errc::wrong_state,
                     "the cell is quarantined; poison is final, and only its owner's filling the "
                     "span anew makes a cell that can be judged again"};
    }
    if (expected && *expected != e.cell.digest) {
        return Error{Errc::wrong_state, "the cell's bytes are not those that were judged"};
    }
    if (judgement == Judgement::trust) {
        if (e.cell.work != 0 || !impl_->locations.find(e.cell.location)->offered) {
            return Error{Errc::wrong_state,
                         "the cell's bytes can still be written by its owner; trust it after the "
                         "owner has shared it with scope fleet"};
        }
        e.cell.taint = Taint::trusted;
        e.cell.adjudicated_epoch = impl_->tenant(owner).settings.epoch;
        impl_->reconsider_offer(e);
    } else if (judgement == Judgement::taint) {
        e.cell.taint = Taint::tainted;
        impl_->reconsider_offer(e);
        impl_->revoke_denied(e);
    } else {
        impl_->quarantine(e);
    }
    e.cell.adjudication = Adjudication{judgement, uid, wall, impl_->tenant(owner).settings.epoch};
    impl_->note_change(e);
    return e.cell.id;
}

Result<void> Registry::raise_epoch(TenantId tenant) {
    if (!has_tenant(tenant)) {
        return Error{Errc::not_found, "no tenant " + std::to_string(tenant.value)};
    }
    ++impl_->tenant(tenant).settings.epoch;
    for (auto& [id, e] : impl_->cells) {
        if (e.cell.owner == tenant) {
            impl_->reconsider_offer(e);
            impl_->revoke_denied(e);
        }
    }
    return {};
}

LookupResult Registry::lookup(ConnectionId connection, const ContextKey& key,
                              const SpanDigest& span, Timestamp monotonic) {
    const TenantId requester = impl_->connection(connection).tenant;
    const SpanDigest asked = impl_->indexed(requester, span);
    LookupResult best;
    if (impl_->mode == TenancyMode::single) {
        impl_->judge_all(impl_->by_span.find(asked), requester, key, monotonic, best);
    } else {
        // Always both, and the own cells first, which win where answers are equally good.
        impl_->judge_all(impl_->own.find(OwnSpan{requester, asked}), requester, key, monotonic,
                         best);
        impl_->judge_all(impl_->offers.find(asked), requester, key, monotonic, best);
    }
    best.told = outward(best.verdict, impl_->mode, requester, best.owner);
    const bool hit = is_hit(best.told.verdict());
    TenantCounters& counters = impl_->tenant(requester).counters;
    ++(hit ? counters.hits : counters.misses);
    if (hit) {
        impl_->touch(*impl_->entry(best.cell));
    }
    return best;
}

LookupResult Registry::why_missed(TenantId requester, const ContextKey& key, const SpanDigest& span,
                                  Timestamp monotonic) const {
    LookupResult best;
    if (has_tenant(requester)) {
        impl_->judge_all(impl_->of_span(requester, span), requester, key, monotonic, best);
        best.told = outward(best.verdict, impl_->mode, requester, best.owner);
    }
    return best;
}

Result<void> Registry::start_forget(TenantId tenant) {
    CXLPOOL_TRY(impl_->check_tenant(tenant));
    Tenant& who = impl_->tenant(tenant);
    if (who.leaving) {
        return Error{Errc::wrong_state,
                     "tenant " + std::to_string(tenant.value) + " is being erased already"};
    }
    who.leaving = true;
    std::vector<CellId> own;
    for (const auto& [id, e] : impl_->cells) {
        if (e.cell.owner == tenant) {
            own.push_back(e.cell.id);
        }
    }
    for (const CellId id : own) {
        CellEntry& e = *impl_->entry(id);
        if (e.cell.lifecycle == Lifecycle::filling || e.holders.empty()) {
            impl_->remove_cell(id, true);
        } else {
            impl_->reconsider_offer(e);
            who.leased.push_back(id);
        }
    }
    return {};
}

Remains Registry::sweep_forgotten(TenantId tenant) {
    Tenant& who = impl_->tenant(tenant);
    Remains out;
    std::vector<CellId> stay;
    for (const CellId id : who.leased) {
        const CellEntry* const e = impl_->entry(id);
        if (e == nullptr) {
            continue;  // It was evicted.
        }
        if (e->holders.empty()) {
            impl_->remove_cell(id, true);
            continue;
        }
        out.leases += e->holders.size();
        stay.push_back(id);
    }
    who.leased = std::move(stay);
    out.cells = who.leased.size();
    out.locations = impl_->locations.held_by(tenant);
    return out;
}

void Registry::revoke_readers(TenantId tenant) {
    for (const CellId id : std::exchange(impl_->tenant(tenant).leased, {})) {
        if (impl_->entry(id) != nullptr) {
            impl_->remove_cell(id, true);
        }
    }
}

void Registry::end_forget(TenantId tenant) {
    CXLPOOL_CHECK(sweep_forgotten(tenant) == Remains{});
    Tenant& who = impl_->tenant(tenant);
    CXLPOOL_CHECK(who.leaving && who.counters.cells == 0);
    who.leaving = false;
    who.settings.had_cells = false;
}

Result<Evicted> Registry::evict_for(TenantId causer, std::size_t pool, std::uint64_t needed_bytes,
                                    bool needs_segment) {
    CXLPOOL_TRY(impl_->check_tenant(causer));
    // Who is most above its share may hold one leased cell in each segment: then the next one
    // gives.
    std::vector<TenantId> cannot;
    std::optional<TenantId> victim;
    std::optional<Impl::Going> going;
    while (!going) {
        victim = impl_->residency.victim(pool, causer, needed_bytes, cannot);
        if (!victim) {
            // Without a word on what others hold.
            return Error{Errc::capacity, "no room, and no cell that may go for this one"};
        }
        going = impl_->next_to_go(pool, *victim, causer, needs_segment || *victim != causer);
        cannot.push_back(*victim);
    }
    impl_->residency.note_evicted(pool, *victim, going->rank);
    Evicted out{*victim, std::move(going->cells), 0};
    for (const CellId cell : out.cells) {
        out.bytes += impl_->entry(cell)->cell.length_bytes;
        impl_->remove_cell(cell, false);
    }
    impl_->tenant(causer).counters.evictions_caused += out.cells.size();
    impl_->tenant(out.victim).counters.evictions_suffered += out.cells.size();
    EvictionFlow& flow = impl_->flows[{causer, out.victim}];
    flow.causer = causer;
    flow.victim = out.victim;
    flow.cells += out.cells.size();
    flow.bytes += out.bytes;
    return out;
}

Result<LeaseRef> Registry::grant_read(ConnectionId connection, CellId cell, Timestamp monotonic) {
    CellEntry* e = impl_->entry(cell);
    if (e == nullptr) {
        return Error{Errc::not_found, "no such cell"};
    }
    const Location& location = *impl_->locations.find(e->cell.location);
    if (e->enlisted && !impl_->residency.may_bind(location.pool, e->cell.owner,
                                                  impl_->locations.would_bind(location))) {
        return Error{Errc::capacity,
                     "what is not reserved is leased or being filled; release leases"};
    }
    return impl_->grant(connection, *e, false, monotonic);
}

Result<void> Registry::renew(ConnectionId connection, const LeaseRef& lease, Timestamp monotonic) {
    CXLPOOL_TRY(impl_->leases.live(connection, lease));
    impl_->leases.renew(connection, lease.index,
                        Timestamp{monotonic.ns + impl_->limits.lease_ttl_ns});
    return {};
}

Result<void> Registry::release(ConnectionId connection, const LeaseRef& ref) {
    const Result<Lease*> lease = impl_->leases.live(connection, ref);
    if (!lease) {
        return lease.error();
    }
    if (!(*lease)->filling) {
        impl_->end_lease(connection, ref.index, false, false);
        return {};
    }
    const CellId cell = (*lease)->cell;
    if (impl_->entry(cell)->cell.work != 0) {
        return Error{Errc::wrong_state, "the cell is being sealed"};
    }
    impl_->remove_cell(cell, false);
    return {};
}

void Registry::expire(Timestamp monotonic) {
    while (const std::optional<LeaseTable::Expired> due = impl_->leases.first_due(monotonic)) {
        const Lease lease = impl_->connection(due->connection).leases[due->index];
        if (!lease.filling) {
            impl_->end_lease(due->connection, due->index, false, true);
        } else if (impl_->entry(lease.cell)->cell.work != 0) {
            // Its writer has done its part; the seal ends the lease.
            impl_->leases.renew(due->connection, due->index,
                                Timestamp{monotonic.ns + impl_->limits.lease_ttl_ns});
        } else {
            impl_->remove_cell(lease.cell, true);
        }
    }
}

std::vector<Explanation> Registry::explain(TenantId requester, bool permitted,
                                           const ContextKey& key, const SpanDigest& span,
                                           Timestamp monotonic) const {
    std::vector<Explanation> out;
    // A stranger has the keyspace of who has no salt.
    const auto asked = has_tenant(requester) ? impl_->indexed(requester, span) : span;
    for (const CellId id : impl_->by_span.find(asked)) {
        const Cell& cell = impl_->entry(id)->cell;
        out.push_back(
            Explanation{&cell, impl_->judge_cell(cell, requester, permitted, key, monotonic)});
    }
    std::stable_sort(out.begin(), out.end(), [&](const Explanation& a, const Explanation& b) {
        return Impl::better(a.verdict, a.cell->owner == requester, b.verdict,
                            b.cell->owner == requester);
    });
    return out;
}

const Cell* Registry::find(CellId cell) const noexcept {
    const CellEntry* e = impl_->entry(cell);
    return e == nullptr ? nullptr : &e->cell;
}

const Location* Registry::location_of(CellId cell) const noexcept {
    const CellEntry* e = impl_->entry(cell);
    return e == nullptr ? nullptr : impl_->locations.find(e->cell.location);
}

std::vector<const Cell*> Registry::cells() const {
    std::vector<const Cell*> out;
    out.reserve(impl_->cells.size());
    for (const auto& [id, e] : impl_->cells) {
        out.push_back(&e.cell);
    }
    std::sort(out.begin(), out.end(), [](const Cell* a, const Cell* b) { return a->id < b->id; });
    return out;
}

bool Registry::has_tenant(TenantId tenant) const noexcept {
    return impl_->tenants.contains(tenant);
}

std::string_view Registry::tenant_name(TenantId tenant) const noexcept {
    const auto at = impl_->tenants.find(tenant);
    return at == impl_->tenants.end() ? std::string_view() : at->second.settings.name;
}

std::vector<TenantId> Registry::tenants() const {
    std::vector<TenantId> out;
    for (const auto& [id, tenant] : impl_->tenants) {
        out.push_back(id);
    }
    return out;
}

TenantCounters Registry::counters(TenantId tenant) const noexcept {
    const auto at = impl_->tenants.find(tenant);
    return at == impl_->tenants.end() ? TenantCounters{} : at->second.counters;
}

EvictionFlow Registry::eviction_flow(TenantId causer, TenantId victim) const noexcept {
    const auto at = impl_->flows.find({causer, victim});
    return at == impl_->flows.end() ? EvictionFlow{causer, victim} : at->second;
}

std::vector<EvictionFlow> Registry::eviction_flows() const {
    std::vector<EvictionFlow> out;
    for (const auto& [who, flow] : impl_->flows) {
        out.push_back(flow);
    }
    return out;
}

std::size_t Registry::pool_count() const noexcept {
    return impl_->pools.size();
}

PoolResidency Registry::residency(std::size_t pool) const {
    const Residency& residency = impl_->residency;
    return PoolResidency{impl_->pools.at(pool).tier, residency.capacity_bytes(pool),
                         residency.used_bytes(pool), residency.reserved_bytes(pool)};
}

std::uint64_t Registry::resident_bytes(TenantId tenant, std::size_t pool) const noexcept {
    return impl_->residency.used_bytes(pool, tenant);
}

std::uint64_t Registry::reserved_bytes(TenantId tenant, std::size_t pool) const noexcept {
    return impl_->residency.reserved_bytes(pool, tenant);
}

TenantSettings Registry::settings(TenantId tenant) const {
    return impl_->tenant(tenant).settings;
}

std::uint64_t Registry::trust_epoch(TenantId tenant) const noexcept {
    const auto at = impl_->tenants.find(tenant);
    return at == impl_->tenants.end() ? 0 : at->second.settings.epoch;
}

TenancyMode Registry::mode() const noexcept {
    return impl_->mode;
}

std::vector<FreedLocation> Registry::take_freed() {
    return impl_->locations.take_freed();
}

std::vector<EndedLease> Registry::take_ended() {
    return std::exchange(impl_->ended, {});
}

void Registry::check() const {
    const Impl& impl = *impl_;
    std::map<TenantId, TenantCounters> counted;
    std::unordered_map<uid_t, std::uint64_t> filling;
    std::unordered_map<std::uint64_t, std::uint32_t> references;
    std::size_t enlisted = 0;
    std::size_t offered = 0;
    for (const auto& [id, e] : impl.cells) {
        TenantCounters& counters = counted[e.cell.owner];
        ++counters.cells;
        counters.bytes += e.cell.length_bytes;
        ++references[e.cell.location];
        CXLPOOL_CHECK(e.cell.live_leases == e.holders.size());
        CXLPOOL_CHECK(e.cell.lifecycle != Lifecycle::quarantined || e.holders.empty());
        if (e.cell.lifecycle == Lifecycle::filling) {
            filling[e.cell.attribution.uid] += e.cell.length_bytes;
            CXLPOOL_CHECK(e.holders.size() == 1);
        }
        const auto listed = [cell = e.cell.id](std::span<const CellId> ids) {
            return std::count(ids.begin(), ids.end(), cell);
        };
        CXLPOOL_CHECK(listed(impl.of_span(e.cell.owner, e.cell.span)) == 1);
        CXLPOOL_CHECK(listed(impl.own_of_span(e.cell.owner, e.cell.span)) == 1);
        CXLPOOL_CHECK(listed(impl.offers.find(e.indexed_as)) == (e.offered ? 1 : 0));
        // Nothing is hidden that somebody else might attend.
        for (const auto& [other, settings] : impl.tenants) {
            CXLPOOL_CHECK(e.offered || other == e.cell.owner ||
                          !is_hit(impl.judge_cell(e.cell, other, true, e.cell.key, Timestamp{})));
        }
        const Tenant& owner = impl.tenants.at(e.cell.owner);
        CXLPOOL_CHECK(!owner.leaving || (!e.offered && e.cell.lifecycle != Lifecycle::filling));
        CXLPOOL_CHECK(!owner.leaving ||
                      std::count(owner.leased.begin(), owner.leased.end(), e.cell.id) == 1);
        offered += e.offered ? 1U : 0U;
        CXLPOOL_CHECK(e.indexed_as == impl.indexed(e.cell.owner, e.cell.span));
        const bool may_go = Impl::may_go(e);
        CXLPOOL_CHECK(e.enlisted == may_go);
        CXLPOOL_CHECK(impl.locations.bound(e.cell.location) == !may_go);
        CXLPOOL_CHECK(!may_go ||
                      impl.residency.enlisted(impl.pool_of(e), e.cell.owner, impl.candidate(e)));
        enlisted += may_go ? 1U : 0U;
    }
    CXLPOOL_CHECK(enlisted == impl.residency.enlisted());
    std::size_t live = 0;
    for (const auto& [id, connection] : impl.leases.all()) {
        std::size_t live_here = 0;
        for (const Lease& lease : connection.leases) {
            if (lease.live) {
                ++live_here;
                ++references[lease.location];
                const CellEntry* e = impl.entry(lease.cell);
                CXLPOOL_CHECK(e != nullptr);
                CXLPOOL_CHECK(lease.filling == (e->cell.lifecycle == Lifecycle::filling));
                CXLPOOL_CHECK(lease.holder_slot < e->holders.size());
                CXLPOOL_CHECK(e->holders[lease.holder_slot].connection.value == id);
            }
        }
        CXLPOOL_CHECK(live_here + connection.free_indexes.size() == connection.leases.size());
        counted[connection.tenant].live_leases += live_here;
        live += live_here;
    }
    CXLPOOL_CHECK(live == impl.leases.expiry_count());
    for (const auto& [ticket, location] : impl.pinned) {
        ++references[location];
    }
    CXLPOOL_CHECK(references.size() == impl.locations.size());
    std::map<std::pair<std::size_t, TenantId>, std::uint64_t> charged;
    std::map<std::pair<std::size_t, SegmentId>, TenantId> segments;
    std::map<std::pair<std::size_t, TenantId>, std::uint64_t> bound;
    std::set<std::pair<std::size_t, SegmentId>> bound_segments;
    for (const auto& [location, count] : references) {
        CXLPOOL_CHECK(impl.locations.references(location) == count);
        const Location& held = *impl.locations.find(location);
        const TenantId owner = impl.locations.owner(location);
        const bool first = held.segment_bytes == 0 ||
                           segments.emplace(LocationTable::segment_of(held), owner).second;
        charged[{held.pool, owner}] += first ? LocationTable::charge_of(held) : 0;
        if (impl.locations.bound(location)) {
            const bool first_bound =
                held.segment_bytes == 0 ||
                bound_segments.emplace(held.pool, held.placement.segment).second;
            bound[{held.pool, owner}] += first_bound ? LocationTable::charge_of(held) : 0;
        }
    }
    std::map<TenantId, std::pair<std::uint64_t, std::uint64_t>> evictions;  // caused, suffered
    for (const auto& [who, flow] : impl.flows) {
        evictions[who.first].first += flow.cells;
        evictions[who.second].second += flow.cells;
    }
    for (std::size_t pool = 0; pool < impl.pools.size(); ++pool) {
        std::uint64_t used = 0;
        std::uint64_t reserved = 0;
        for (const auto& [id, tenant] : impl.tenants) {
            const std::uint64_t held = impl.residency.used_bytes(pool, id);
            const auto expected = charged.find({pool, id});
            CXLPOOL_CHECK(held == (expected == charged.end() ? 0 : expected->second));
            const auto held_bound = bound.find({pool, id});
            CXLPOOL_CHECK(impl.residency.bound_bytes(pool, id) ==
                          (held_bound == bound.end() ? 0 : held_bound->second));
            used += held;
            reserved += impl.residency.reserved_bytes(pool, id);
        }
        CXLPOOL_CHECK(used == impl.residency.used_bytes(pool));
        CXLPOOL_CHECK(reserved == impl.residency.reserved_bytes(pool));
    }
    std::map<TenantId, std::size_t> locations;
    for (const auto& [location, count] : references) {
        ++locations[impl.locations.owner(location)];
    }
    for (const auto& [id, tenant] : impl.tenants) {
        CXLPOOL_CHECK(impl.locations.held_by(id) == locations[id]);
        CXLPOOL_CHECK(tenant.counters.cells == counted[id].cells);
        CXLPOOL_CHECK(tenant.counters.bytes == counted[id].bytes);
        CXLPOOL_CHECK(tenant.counters.live_leases == counted[id].live_leases);
        CXLPOOL_CHECK(tenant.counters.evictions_caused == evictions[id].first);
        CXLPOOL_CHECK(tenant.counters.evictions_suffered == evictions[id].second);
    }
    CXLPOOL_CHECK(filling == impl.filling_bytes);
    CXLPOOL_CHECK(impl.by_span.size() == impl.cells.size());
    CXLPOOL_CHECK(impl.own.size() == impl.cells.size());
    CXLPOOL_CHECK(impl.offers.size() == offered);
}

}  // namespace cxlpool

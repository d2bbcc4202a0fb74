// The audit log: one structured line for each decision that somebody may ask about later.
//
// Responsible for: the fields and their order, documented in cxlpoold(8), and bounds on the lines
// a second, so that a hostile peer can neither flood it nor crowd out the lines about others. What
// was left out is counted and said. Operators' acts, and what undoes one, are never left out.
//
// Invariant: what stands in the path of a lookup writes nothing and takes the same time whatever it
// is told. What it kept is looked into by resolve(), after the answers, and written by flush().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "domain/receipt.hpp"
#include "registry/registry.hpp"
#include "server/door.hpp"
#include "server/listener.hpp"
#include "server/reconfiguration.hpp"

namespace cxlpool {

class AuditLog {
  public:
    AuditLog() {
        pending_.reserve(kMaxPending);
        missed_.reserve(kMaxMissed);
    }

    // `listener`, here and below: the name of the socket that the peer came by.
    // audit event=identity_refused uid= gid= pid= listener= why=
    void refused_identity(const PeerCredentials& peer, std::string_view listener,
                          std::string_view why);

    // audit event=peer_fault uid= listener= what=
    void peer_fault(uid_t uid, std::string_view listener, std::string_view what);

    // audit event=cross_tenant uid= listener= requester= owner= verdict= told= spans= lookups=
    // first= cell=
    // One line for all spans of one owner with one verdict since the last flush(): `spans` answers
    // in `lookups` calls, the first of them about `first`. `lookup`: a number of the call.
    struct Asker {
        uid_t uid = 0;
        std::shared_ptr<const Listener> listener;  // may be closed by the time of the line
        TenantId tenant;
        std::uint64_t lookup = 0;
    };
    void cross_tenant(Asker asker, const LookupResult& found, const SpanDigest& span) noexcept;

    // A lookup that was answered with a miss: whether a cell of another tenant was refused is found
    // out later. The key must mean the same until resolve().
    void missed(Asker asker, const ContextKey& key, const SpanDigest& span) noexcept;
    using WhyMissed =
        std::function<LookupResult(TenantId requester, const ContextKey&, const SpanDigest&)>;
    void resolve(const WhyMissed& why);

    // audit event=adjudicated uid= owner= cell= span= judgement=
    void adjudicated(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span,
                     Judgement judgement);

    // audit event=tenant_changed uid= tenant= op=
    // Without the value: a salt is for operators, and logs go further.
    void tenant_changed(uid_t uid, TenantId tenant, std::string_view op);

    // audit event=erasure_begun uid= tenant= incarnation= cells= wait_ms=
    // audit event=erasure_finished tenant= incarnation= cells= bytes= revoked= verified=
    void erasure_begun(uid_t uid, const Erasure& erasure, std::uint64_t wait_ms);
    void erasure_finished(const Erasure& erasure);

    // audit event=window_begun uid=
    void window_begun(uid_t uid);

    // audit event=replaced uid= owner= cell= span=
    // Each needs an act of an operator before, so it is never left out.
    void replaced(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span);

    // audit event=evicted causer= victim= cells= bytes=
    // One line for each two tenants since the last flush(): the victim's cells that went for new
    // ones of the causer. Not for a tenant's own.
    void evicted(TenantId causer, const Evicted& gone);

    // audit event=connection_ended uid= gid= pid= listener= tenant= why=
    // A reload took its right away. Each needs an act of an operator before, so it is never left
    // out. `tenant`: 0 for operators.
    void ended(const PeerCredentials& peer, std::string_view listener, TenantId tenant,
               std::string_view why);

    // audit event=reloaded by= closed=
    // audit event=reload_refused by= why=
    void reloaded(std::string_view asked_by, const Result<ReloadReport>& report);

    // Writes what was kept. Called a few times a second.
    void flush(Timestamp monotonic);

  private:
    static constexpr std::size_t kMaxPending = 8192;  // 144 bytes each: over 1 MiB
    // Each is looked into on the reactor, in some microseconds. A lookup that is full of misses
    // leaves room for those of others.
    static constexpr std::size_t kMaxMissed = 2048;
    static constexpr std::uint32_t kMaxMissedPerUid = 512;

    struct Missed {
        Asker asker;
        ContextKey key;
        SpanDigest span;
    };
    struct CrossTenant {
        Asker asker;
        TenantId owner;
        CellId cell;
        SpanDigest span;
        Verdict verdict;
        Verdict told;
    };

    // Lines of one kind in this second, for each uid and in all.
    struct Budget {
        std::map<uid_t, std::uint32_t> by_uid;
        std::uint32_t all = 0;
        std::uint64_t left_out = 0;
        bool take(uid_t uid);
        void renew(std::string_view kind);
    };

    std::vector<CrossTenant> pending_;
    std::vector<Missed> missed_;
    std::map<uid_t, std::uint32_t> missed_by_uid_;
    std::map<std::pair<TenantId, TenantId>, EvictionFlow> evictions_;
    std::uint64_t not_kept_ = 0;
    std::uint64_t not_looked_into_ = 0;
    std::uint64_t second_ = 0;
    Budget refused_;
    Budget faults_;
    Budget crossings_;
};

}  // namespace cxlpool

#include "server/audit.hpp"

#include <spdlog/spdlog.h>

#include <tuple>
#include <utility>

#include "base/units.hpp"

namespace cxlpool {
namespace {

// A busy engine's crossings in a second, told once each; what comes faster is a flood.
constexpr std::uint32_t kLinesPerUid = 50;
// All peers together, below the rate at which journald starts to drop (10,000 in 30 s).
constexpr std::uint32_t kLinesInAll = 100;

std::string hex(const SpanDigest& span) {
    return to_hex(span.bytes.data(), span.bytes.size());
}

}  // namespace

bool AuditLog::Budget::take(uid_t uid) {
    std::uint32_t& of_uid = by_uid[uid];
    if (of_uid >= kLinesPerUid || all >= kLinesInAll) {
        ++left_out;
        return false;
    }
    ++of_uid;
    ++all;
    return true;
}

void AuditLog::Budget::renew(std::string_view kind) {
    if (left_out > 0) {
        spdlog::warn("audit event=left_out kind={} lines={}", kind, left_out);
    }
    by_uid.clear();
    all = 0;
    left_out = 0;
}

void AuditLog::refused_identity(const PeerCredentials& peer, std::string_view listener,
                                std::string_view why) {
    if (refused_.take(peer.uid)) {
        spdlog::warn("audit event=identity_refused uid={} gid={} pid={} listener={} why=\"{}\"",
                     peer.uid, peer.gid, peer.pid, listener, why);
    }
}

void AuditLog::peer_fault(uid_t uid, std::string_view listener, std::string_view what) {
    if (faults_.take(uid)) {
        spdlog::warn("audit event=peer_fault uid={} listener={} what=\"{}\"", uid, listener, what);
    }
}

void AuditLog::cross_tenant(Asker asker, const LookupResult& found,
                            const SpanDigest& span) noexcept {
    if (pending_.size() >= kMaxPending) {
        ++not_kept_;
        return;
    }
    pending_.push_back(CrossTenant{std::move(asker), found.owner, found.cell, span, found.verdict,
                                   found.told.verdict()});
}

void AuditLog::missed(Asker asker, const ContextKey& key, const SpanDigest& span) noexcept {
    std::uint32_t& of_uid = missed_by_uid_[asker.uid];
    if (missed_.size() >= kMaxMissed || of_uid >= kMaxMissedPerUid) {
        ++not_looked_into_;
        return;
    }
    ++of_uid;
    missed_.push_back(Missed{std::move(asker), key, span});
}

void AuditLog::resolve(const WhyMissed& why) {
    for (Missed& record : missed_) {
        const LookupResult found = why(record.asker.tenant, record.key, record.span);
        if (found.cell && found.owner != record.asker.tenant) {
            cross_tenant(std::move(record.asker), found, record.span);
        }
    }
    missed_.clear();
    missed_by_uid_.clear();
}

void AuditLog::adjudicated(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span,
                           Judgement judgement) {
    spdlog::info("audit event=adjudicated uid={} owner={} cell={} span={} judgement={}", uid,
                 owner.value, cell.value, hex(span), to_word(judgement));
}

void AuditLog::tenant_changed(uid_t uid, TenantId tenant, std::string_view op) {
    spdlog::info("audit event=tenant_changed uid={} tenant={} op={}", uid, tenant.value, op);
}

void AuditLog::erasure_begun(uid_t uid, const Erasure& erasure, std::uint64_t wait_ms) {
    spdlog::info("audit event=erasure_begun uid={} tenant={} incarnation={} cells={} wait_ms={}",
                 uid, erasure.tenant.value, erasure.incarnation, erasure.cells, wait_ms);
}

void AuditLog::erasure_finished(const Erasure& erasure) {
    spdlog::info(
        "audit event=erasure_finished tenant={} incarnation={} cells={} bytes={} revoked={} "
        "verified={}",
        erasure.tenant.value, erasure.incarnation, erasure.cells, erasure.bytes,
        erasure.leases_revoked, erasure.bytes_withdrawn == 0);
}

void AuditLog::window_begun(uid_t uid) {
    spdlog::info("audit event=window_begun uid={}", uid);
}

void AuditLog::replaced(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span) {
    spdlog::info("audit event=replaced uid={} owner={} cell={} span={}", uid, owner.value,
                 cell.value, hex(span));
}

void AuditLog::evicted(TenantId causer, const Evicted& gone) {
    EvictionFlow& flow = evictions_[{causer, gone.victim}];
    flow.cells += gone.cells.size();
    flow.bytes += gone.bytes;
}

void AuditLog::ended(const PeerCredentials& peer, std::string_view listener, TenantId tenant,
                     std::string_view why) {
    spdlog::info(
        "audit event=connection_ended uid={} gid={} pid={} listener={} tenant={} why=\"{}\"",
        peer.uid, peer.gid, peer.pid, listener, tenant.value, why);
}

void AuditLog::reloaded(std::string_view asked_by, const Result<ReloadReport>& report) {
    if (report) {
        spdlog::info("audit event=reloaded by=\"{}\" closed={}", asked_by,
                     report->connections_closed);
    } else {
        spdlog::error("audit event=reload_refused by=\"{}\" why=\"{}\"; nothing has changed",
                      asked_by, report.error().message());
    }
}

void AuditLog::flush(Timestamp monotonic) {
    for (const auto& [who, flow] : evictions_) {
        spdlog::info("audit event=evicted causer={} victim={} cells={} bytes={}", who.first.value,
                     who.second.value, flow.cells, flow.bytes);
    }
    evictions_.clear();
    const std::uint64_t second = monotonic.ns / 1'000'000'000ULL;
    if (second != second_) {
        second_ = second;
        refused_.renew("identity_refused");
        faults_.renew("peer_fault");
        crossings_.left_out += not_kept_;
        not_kept_ = 0;
        crossings_.renew("cross_tenant");
        if (not_looked_into_ > 0) {
            spdlog::warn("audit event=not_looked_into misses={}", not_looked_into_);
            not_looked_into_ = 0;
        }
    }
    // A long prefix is many spans of one owner, and a busy engine asks for it again and again.
    struct Line {
        const CrossTenant* first = nullptr;
        std::uint64_t spans = 0;
        std::uint64_t lookups = 0;
        std::uint64_t last_lookup = 0;
    };
    std::map<std::tuple<uid_t, const Listener*, TenantId, TenantId, Verdict, Verdict>, Line> lines;
    for (const CrossTenant& record : pending_) {
        Line& line = lines[{record.asker.uid, record.asker.listener.get(), record.asker.tenant,
                            record.owner, record.verdict, record.told}];
        line.first = line.first == nullptr ? &record : line.first;
        ++line.spans;
        line.lookups += line.last_lookup == record.asker.lookup ? 0 : 1;
        line.last_lookup = record.asker.lookup;
    }
    for (const auto& [key, line] : lines) {
        const CrossTenant& record = *line.first;
        if (crossings_.take(record.asker.uid)) {
            spdlog::info(
                "audit event=cross_tenant uid={} listener={} requester={} owner={} verdict={} "
                "told={} spans={} lookups={} first={} cell={}",
                record.asker.uid, record.asker.listener->name, record.asker.tenant.value,
                record.owner.value, to_word(record.verdict), to_word(record.told), line.spans,
                line.lookups, hex(record.span), record.cell.value);
        }
    }
    pending_.clear();
}

}  // namespace cxlpool

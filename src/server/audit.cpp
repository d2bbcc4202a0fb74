#include "server/audit.hpp"

#include <spdlog/spdlog.h>

#include "base/clock.hpp"
#include "base/units.hpp"

namespace cxlpool {
namespace {

// Enough for every operator's act and a busy minute of lookups; what comes faster is a flood.
constexpr std::uint64_t kLinesPerSecond = 200;

class LineBudget {
  public:
    bool take() {
        const std::uint64_t second = system_clock().monotonic().ns / 1'000'000'000ULL;
        if (second != second_) {
            if (dropped_ > 0) {
                spdlog::warn("audit event=dropped lines={}", dropped_);
            }
            second_ = second;
            used_ = 0;
            dropped_ = 0;
        }
        if (used_ >= kLinesPerSecond) {
            ++dropped_;
            return false;
        }
        ++used_;
        return true;
    }

  private:
    std::uint64_t second_ = 0;
    std::uint64_t used_ = 0;
    std::uint64_t dropped_ = 0;
};

// Peers' decisions may be dropped in a flood; operators' acts never are.
LineBudget& peer_budget() {
    static LineBudget budget;
    return budget;
}

std::string hex(const SpanDigest& span) {
    return to_hex(span.bytes.data(), span.bytes.size());
}

}  // namespace

void audit_refused_identity(const PeerCredentials& peer, std::string_view why) {
    if (peer_budget().take()) {
        spdlog::warn("audit event=identity_refused uid={} gid={} pid={} why=\"{}\"", peer.uid,
                     peer.gid, peer.pid, why);
    }
}

void audit_cross_tenant(const Session& session, const LookupResult& found, const SpanDigest& span) {
    if (peer_budget().take()) {
        spdlog::info(
            "audit event=cross_tenant uid={} requester={} owner={} cell={} span={} verdict={} "
            "told={}",
            session.peer.uid, session.tenant.value, found.owner.value, found.cell.value, hex(span),
            to_word(found.verdict), to_word(found.outward));
    }
}

void audit_adjudicated(uid_t uid, TenantId owner, CellId cell, const SpanDigest& span,
                       Judgement judgement) {
    spdlog::info("audit event=adjudicated uid={} owner={} cell={} span={} judgement={}", uid,
                 owner.value, cell.value, hex(span), to_word(judgement));
}

}  // namespace cxlpool

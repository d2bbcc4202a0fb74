#include "server/placement_request.hpp"

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "domain/placement.hpp"
#include "server/wire_context.hpp"

namespace cxlpool {
namespace {

// The engine's ages are at most as large as this, so that none begins before the clock.
constexpr Timestamp kNow{std::numeric_limits<std::uint64_t>::max()};

Timestamp before_now(std::uint64_t age_ns) {
    return Timestamp{kNow.ns - age_ns};
}

Tier tier_from(std::uint8_t number) {
    return static_cast<Tier>(number - 1);
}

Result<PlacementTier> tier_from(const wire::PlacementTierField& said,
                                const FindProfile& find_profile) {
    PlacementTier out;
    const Tier tier = tier_from(said.tier);
    if (const Profile* const profile = find_profile(tier, said.pool)) {
        out.profile = *profile;
    } else if (!said.pool.empty()) {
        return Error{Errc::not_found,
                     "no pool '" + said.pool + "' in tier " + std::string(to_word(tier))};
    }
    out.profile.tier = tier;
    if (said.capacity_bytes != 0) {
        out.profile.capacity_bytes =
            Known<std::uint64_t>::of(said.capacity_bytes, Source::declared, "the engine");
    }
    out.used_bytes = said.used_bytes;
    if (said.ttl_ns != 0) {
        out.policy.ttl_ns = said.ttl_ns;
    }
    out.policy.demote_expired = (said.flags & wire::kTierDemoteExpired) != 0;
    if ((said.flags & wire::kTierPromote) != 0) {
        out.policy.promote_touches_per_hour = said.promote_touches_per_hour;
    }
    return out;
}

PlacementCell cell_from(const wire::PlacementCellField& said) {
    PlacementCell out;
    out.life.state = static_cast<Lifecycle>(said.state);
    out.life.entered_at = before_now(said.in_tier_ns);
    if ((said.flags & wire::kCellRevived) != 0) {
        out.life.revived_at = before_now(said.since_revival_ns);
    }
    if (said.touches != 0) {
        out.life.last_touch = before_now(said.since_touch_ns);
    }
    out.life.touches = said.touches;
    out.tier = tier_from(said.tier);
    out.bytes = said.bytes;
    out.leased = (said.flags & wire::kCellLeased) != 0;
    if (said.recompute_ns != 0) {
        out.recompute = {said.recompute_ns, Source::declared};
    }
    return out;
}

wire::PlacementItem to_wire(const PlacementDirective& directive) {
    constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
    wire::PlacementItem out;
    out.action = wire_number(directive.action);
    out.reason = wire_number(directive.reason);
    out.state = static_cast<std::uint8_t>(directive.state);
    out.to = directive.to ? wire_number(*directive.to) : std::uint8_t{0};
    if (directive.weighed) {
        out.weighed = wire_number(*directive.weighed);
        out.return_source = wire_number(directive.return_cost.source);
        out.return_cost_ns = directive.return_cost.ns.value_or(kUnknown);
    }
    out.recompute_ns = directive.recompute.ns.value_or(kUnknown);
    return out;
}

}  // namespace

Result<wire::PlanPlacementReply> plan_placement(const wire::PlanPlacementRequest& request,
                                                const FindProfile& find_profile) {
    PlacementLadder ladder;
    for (const wire::PlacementTierField& said : request.tiers) {
        Result<PlacementTier> tier = tier_from(said, find_profile);
        if (!tier) {
            return std::move(tier).error();
        }
        CXLPOOL_TRY(ladder.add(*std::move(tier)));
    }
    wire::PlanPlacementReply out;
    out.items.reserve(request.cells.size());
    for (const wire::PlacementCellField& said : request.cells) {
        const Result<PlacementDirective> directive = plan_placement(cell_from(said), ladder, kNow);
        wire::PlacementItem& item = out.items.emplace_back();
        if (directive) {
            item = to_wire(*directive);
            ladder.carry_out(*directive);
        } else {
            item.status = static_cast<std::uint16_t>(directive.error().code());
        }
    }
    return out;
}

}  // namespace cxlpool

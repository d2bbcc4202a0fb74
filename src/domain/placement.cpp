#include "domain/placement.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kNsPerHour = 3'600'000'000'000ULL;

constexpr std::array kActionWords{
    Word<PlacementAction>{PlacementAction::keep, "keep"},
    Word<PlacementAction>{PlacementAction::promote, "promote"},
    Word<PlacementAction>{PlacementAction::demote, "demote"},
    Word<PlacementAction>{PlacementAction::spill, "spill"},
    Word<PlacementAction>{PlacementAction::evict, "evict"},
};

constexpr std::array kReasonWords{
    Word<PlacementReason>{PlacementReason::hot_promoted, "hot_promoted"},
    Word<PlacementReason>{PlacementReason::fresh_and_room, "fresh_and_room"},
    Word<PlacementReason>{PlacementReason::expired_no_demote, "expired_no_demote"},
    Word<PlacementReason>{PlacementReason::no_colder_tier_with_room, "no_colder_tier_with_room"},
    Word<PlacementReason>{PlacementReason::demote_beats_recompute, "demote_beats_recompute"},
    Word<PlacementReason>{PlacementReason::spill_beats_recompute, "spill_beats_recompute"},
    Word<PlacementReason>{PlacementReason::recompute_cheaper_than_retain,
                          "recompute_cheaper_than_retain"},
};

// The rung of a tier; kTiers.size() for a number that is no tier.
std::size_t rung_of(Tier tier) noexcept {
    return std::min(static_cast<std::size_t>(tier), kTiers.size());
}
constexpr bool ladder_is_in_order() {
    for (std::size_t rung = 0; rung < kTiers.size(); ++rung) {
        if (static_cast<std::size_t>(kTiers[rung]) != rung) {
            return false;
        }
    }
    return true;
}
static_assert(ladder_is_in_order(), "a tier's number is its rung");

bool times_agree(const CellLife& life) noexcept {
    const Timestamp revived = life.revived_at.value_or(life.entered_at);
    const Timestamp touched = life.last_touch.value_or(Timestamp{});
    const bool counted = life.touches != 0;
    const bool touched_here = life.last_touch && life.entered_at <= touched;
    return revived >= life.entered_at && (counted ? touched_here : touched <= life.entered_at) &&
           (!life.revived_at || (counted && revived <= touched));
}

bool is_hot(const CellLife& life, const TierPolicy& policy, Timestamp now) noexcept {
    if (life.touches == 0 || !policy.promote_touches_per_hour) {
        return false;
    }
    const std::uint64_t in_tier_ns = now.ns - life.entered_at.ns;
    return static_cast<Uint128>(life.touches) * kNsPerHour >=
           static_cast<Uint128>(*policy.promote_touches_per_hour) * in_tier_ns;
}

std::optional<Tier> nearest_warmer(const PlacementLadder& ladder, Tier from, std::uint64_t bytes) {
    for (std::size_t rung = rung_of(from); rung-- > 0;) {
        if (ladder.room_bytes(kTiers[rung]) >= bytes) {
            return kTiers[rung];
        }
    }
    return std::nullopt;
}

const PlacementTier* nearest_colder(const PlacementLadder& ladder, Tier from, std::uint64_t bytes) {
    for (std::size_t rung = rung_of(from) + 1; rung < kTiers.size(); ++rung) {
        if (ladder.room_bytes(kTiers[rung]) >= bytes) {
            return ladder.find(kTiers[rung]);
        }
    }
    return nullptr;
}

// What coming back from a tier costs, into the directive.
Result<void> weigh(const Profile& profile, PlacementDirective& out) {
    const ReadTime read = full_read(profile, out.bytes);
    if (read.overflow) {
        return Error{Errc::overflow, "reading " + std::to_string(out.bytes) + " bytes from '" +
                                         profile.name + "' takes more ns than 64 bits hold"};
    }
    out.weighed = profile.tier;
    out.return_cost.ns = read.ns;
    if (read.ns) {
        out.return_cost.source =
            std::max(profile.read_latency_ns.evidence.source, profile.read_mbps.evidence.source);
    }
    return {};
}

Result<void> check_may_move(const PlacementCell& cell) {
    if (cell.leased) {
        return Error{Errc::wrong_state, "the cell is leased: it stays until its leases end"};
    }
    // What a move is allowed on is what may move.
    if (!allows(cell.life.state, LifecycleEvent::promote)) {
        return Error{Errc::wrong_state, "the cell is " + std::string(to_word(cell.life.state)) +
                                            ": it has no place to plan"};
    }
    return {};
}

// The six rules, for a cell that check_placement_cell() let pass and that may move.
Result<void> decide(const PlacementCell& cell, const PlacementLadder& ladder, Timestamp now,
                    PlacementDirective& out) {
    const TierPolicy& policy = ladder.find(cell.tier)->policy;
    out.state = state_at(cell.life, policy.ttl_ns, now);
    out.from = cell.tier;
    out.bytes = cell.bytes;
    out.recompute = cell.recompute;
    const auto say = [&out](PlacementAction action, PlacementReason reason,
                            std::optional<Tier> to) -> Result<void> {
        out.action = action;
        out.reason = reason;
        out.to = to;
        return {};
    };
    if (is_hot(cell.life, policy, now)) {
        if (const std::optional<Tier> to = nearest_warmer(ladder, cell.tier, cell.bytes)) {
            return say(PlacementAction::promote, PlacementReason::hot_promoted, to);
        }
    }
    const bool expired = out.state == Lifecycle::expired;
    if (!expired && out.state != Lifecycle::expiring && ladder.room_bytes(cell.tier) > 0) {
        return say(PlacementAction::keep, PlacementReason::fresh_and_room, cell.tier);
    }
    if (expired && !policy.demote_expired) {
        return say(PlacementAction::evict, PlacementReason::expired_no_demote, std::nullopt);
    }
    const PlacementTier* const colder = nearest_colder(ladder, cell.tier, cell.bytes);
    if (colder == nullptr) {
        return say(PlacementAction::evict, PlacementReason::no_colder_tier_with_room, std::nullopt);
    }
    CXLPOOL_TRY(weigh(colder->profile, out));
    if (!out.return_cost.ns || !cell.recompute.ns || *out.return_cost.ns >= *cell.recompute.ns) {
        return say(PlacementAction::evict, PlacementReason::recompute_cheaper_than_retain,
                   std::nullopt);
    }
    return attendable_in_place(colder->profile)
               ? say(PlacementAction::demote, PlacementReason::demote_beats_recompute, out.weighed)
               : say(PlacementAction::spill, PlacementReason::spill_beats_recompute, out.weighed);
}

}  // namespace

std::string_view to_word(PlacementAction action) noexcept {
    return words::text_of(kActionWords, action);
}

std::string_view to_word(PlacementReason reason) noexcept {
    return words::text_of(kReasonWords, reason);
}

Result<void> PlacementLadder::add(PlacementTier tier) {
    const std::size_t rung = rung_of(tier.profile.tier);
    if (rung == kTiers.size()) {
        return Error{Errc::invalid_argument, "there is no such tier"};
    }
    if (tiers_[rung]) {
        return Error{Errc::already_exists,
                     "tier " + std::string(to_word(tier.profile.tier)) + " is described twice"};
    }
    tiers_[rung] = std::move(tier);
    return {};
}

const PlacementTier* PlacementLadder::find(Tier tier) const noexcept {
    const std::size_t rung = rung_of(tier);
    return rung < tiers_.size() && tiers_[rung] ? &*tiers_[rung] : nullptr;
}

std::uint64_t PlacementLadder::room_bytes(Tier tier) const noexcept {
    const PlacementTier* const found = find(tier);
    if (found == nullptr || !found->profile.capacity_bytes.value) {
        return 0;
    }
    const std::uint64_t capacity = *found->profile.capacity_bytes.value;
    if (capacity == 0) {
        return kMax;
    }
    const std::uint64_t used = found->used_bytes.value_or(capacity);
    return used < capacity ? capacity - used : 0;
}

void PlacementLadder::carry_out(const PlacementDirective& directive) noexcept {
    if (directive.to == directive.from) {
        return;
    }
    const auto used_in = [this](Tier tier) -> std::uint64_t* {
        const std::size_t rung = rung_of(tier);
        const bool counts = rung < tiers_.size() && tiers_[rung] && tiers_[rung]->used_bytes;
        return counts ? &*tiers_[rung]->used_bytes : nullptr;
    };
    if (std::uint64_t* const used = used_in(directive.from)) {
        *used -= std::min(*used, directive.bytes);
    }
    if (std::uint64_t* const used = directive.to ? used_in(*directive.to) : nullptr) {
        *used = checked_add(*used, directive.bytes).value_or(kMax);
    }
}

Result<void> check_placement_cell(const PlacementCell& cell, const PlacementLadder& ladder,
                                  Timestamp now) {
    const CellLife& life = cell.life;
    if (cell.bytes == 0) {
        return Error{Errc::invalid_argument, "bytes is 0: a cell has at least one byte"};
    }
    if (ladder.find(cell.tier) == nullptr) {
        return Error{Errc::invalid_argument, "the cell lies in " + std::string(to_word(cell.tier)) +
                                                 ", and that tier is not described"};
    }
    if (now < life.entered_at || now < life.revived_at.value_or(Timestamp{}) ||
        now < life.last_touch.value_or(Timestamp{})) {
        return Error{Errc::invalid_argument, "the cell's times are after now"};
    }
    if (!times_agree(life)) {
        return Error{Errc::invalid_argument,
                     "the cell's touches contradict its times: touches are counted from the entry "
                     "into the tier, and a revival is one of them"};
    }
    return {};
}

Result<PlacementDirective> plan_placement(const PlacementCell& cell, const PlacementLadder& ladder,
                                          Timestamp now) {
    // One object from here to the caller: copying a directive costs as much as a rule.
    Result<PlacementDirective> out{PlacementDirective{}};
    Result<void> done = check_placement_cell(cell, ladder, now);
    if (done) {
        done = check_may_move(cell);
    }
    if (done) {
        done = decide(cell, ladder, now, *out);
    }
    if (!done) {
        out = std::move(done).error();
    }
    return out;
}

}  // namespace cxlpool

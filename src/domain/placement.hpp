// Where one cell should lie on the ladder of tiers, and why.
//
// Responsible for: one directive for one cell, by six rules in a fixed order, with the figures that
// it rests on and how each is known. A pure function; time is passed in, all arithmetic is checked,
// and a plan allocates nothing. Refuses to know: who owns the cell, who moves the bytes, and
// whether they may be moved at all. Invariants: what is not known never speaks for keeping or
// moving a cell; a cell that is leased, or not sealed, or not served, is never told to move.
//
// In this order:
//  1. promote, hot_promoted: touched since it entered its tier, at the tier's rate or above, and a
//     warmer tier has room for its bytes. It goes to the nearest such tier: it earns every rung.
//  2. keep, fresh_and_room: its tier is not full, and it is neither expiring nor expired.
//  3. evict, expired_no_demote: it is expired, and its tier's policy lets no expired cell demote.
//  4. The nearest colder tier with room for its bytes is weighed. There is none: evict,
//     no_colder_tier_with_room.
//  5. Coming back from there (latency + bytes x 1000 / MB/s, whole ns) costs less than computing
//     again: demote, demote_beats_recompute, where the bytes can be attended in place; spill,
//     spill_beats_recompute, where they must be copied back.
//  6. Else evict, recompute_cheaper_than_retain. That is also the answer when either cost is
//     unknown: it is then not shown that retaining pays. The directive's figures tell the cases
//     apart.
//
// The ladder is kTiers, warm to cold, without the tiers that nobody described. Room that is not
// known (no capacity, or no figure of what is used) is no room; capacity 0 is room without bound.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "domain/lifecycle.hpp"
#include "domain/profile.hpp"
#include "domain/tier.hpp"

namespace cxlpool {

// A cost and how it is known; without a value it is unknown.
struct Cost {
    std::optional<std::uint64_t> ns;
    Source source = Source::unknown;
    bool operator==(const Cost&) const = default;
};

struct PlacementCell {
    CellLife life;
    Tier tier = Tier::dram;
    std::uint64_t bytes = 0;
    bool leased = false;  // somebody attends or fills it now
    Cost recompute;
};

// What holds for the cells that are in one tier.
struct TierPolicy {
    std::optional<std::uint64_t> ttl_ns;  // none: for ever
    bool demote_expired = true;
    std::optional<std::uint64_t> promote_touches_per_hour;  // none: nothing is promoted from here
    bool operator==(const TierPolicy&) const = default;
};

struct PlacementTier {
    Profile profile;                          // of profile.tier; its capacity bounds the room
    std::optional<std::uint64_t> used_bytes;  // none: not known
    TierPolicy policy;
};

enum class PlacementAction : std::uint8_t { keep, promote, demote, spill, evict };
inline constexpr std::array kPlacementActions{PlacementAction::keep, PlacementAction::promote,
                                              PlacementAction::demote, PlacementAction::spill,
                                              PlacementAction::evict};
std::string_view to_word(PlacementAction action) noexcept;

enum class PlacementReason : std::uint8_t {
    hot_promoted,
    fresh_and_room,
    expired_no_demote,
    no_colder_tier_with_room,
    demote_beats_recompute,
    spill_beats_recompute,
    recompute_cheaper_than_retain,
};
std::string_view to_word(PlacementReason reason) noexcept;

struct PlacementDirective {
    PlacementAction action = PlacementAction::evict;
    PlacementReason reason = PlacementReason::recompute_cheaper_than_retain;
    Lifecycle state = Lifecycle::sealed;  // at the time of the plan
    Tier from = Tier::dram;
    std::optional<Tier> to;  // none: evicted
    std::uint64_t bytes = 0;
    std::optional<Tier> weighed;  // rules 5 and 6: the tier that the return cost is of
    Cost return_cost;             // from `weighed`; its source is the lesser of the two figures'
    Cost recompute;               // of the cell
    bool operator==(const PlacementDirective&) const = default;
};

class PlacementLadder {
  public:
    // Errors: invalid_argument (a tier that does not exist), already_exists.
    Result<void> add(PlacementTier tier);

    // Null for a tier that nobody described.
    const PlacementTier* find(Tier tier) const noexcept;
    // UINT64_MAX where the capacity is unbounded; 0 for a tier that is full, whose room is not
    // known, or that nobody described.
    std::uint64_t room_bytes(Tier tier) const noexcept;

    // As the ladder is when the directive has been carried out, for a plan of many cells. What is
    // used stays between 0 and UINT64_MAX.
    void carry_out(const PlacementDirective& directive) noexcept;

  private:
    std::array<std::optional<PlacementTier>, kTiers.size()> tiers_;
};

// Whether what is said of a cell can be true, whether or not it may move. All times are of one
// clock. Errors: the invalid_argument of plan_placement.
Result<void> check_placement_cell(const PlacementCell& cell, const PlacementLadder& ladder,
                                  Timestamp now);

// The directive for one cell. All times are of one clock. Errors:
//  - wrong_state: the cell is filling, evicted, quarantined, lost, or leased; it is left alone;
//  - invalid_argument: no bytes, a tier that is not on the ladder, times that contradict each other
//    (after `now`, a touch that was counted and lies before the entry into the tier, a revival
//    without a touch at or after it);
//  - overflow: coming back takes longer than 64 bits of ns.
Result<PlacementDirective> plan_placement(const PlacementCell& cell, const PlacementLadder& ladder,
                                          Timestamp now);

}  // namespace cxlpool

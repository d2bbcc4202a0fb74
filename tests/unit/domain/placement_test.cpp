#include "domain/placement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/allocations.hpp"

namespace cxlpool {
namespace {

using Action = PlacementAction;
using Reason = PlacementReason;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kBytes = 64ULL << 20U;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3600 * kSecond;
constexpr Timestamp kNow{10 * kHour};

PlacementTier tier(Tier which, std::optional<std::uint64_t> used = 0) {
    PlacementTier out;
    out.profile = representative_profile(which);
    out.used_bytes = used;
    return out;
}

PlacementTier full(Tier which) {
    return tier(which, representative_profile(which).capacity_bytes.value);
}

PlacementLadder ladder(std::vector<PlacementTier> tiers) {
    PlacementLadder out;
    for (PlacementTier& one : tiers) {
        EXPECT_TRUE(out.add(std::move(one)));
    }
    return out;
}

// Sealed an hour ago, never touched, 8 s to compute again.
PlacementCell cell_in(Tier where) {
    PlacementCell cell;
    cell.life.state = Lifecycle::sealed;
    cell.life.entered_at = Timestamp{kNow.ns - kHour};
    cell.tier = where;
    cell.bytes = kBytes;
    cell.recompute = Cost{8 * kSecond, Source::measured};
    return cell;
}

PlacementCell touched(PlacementCell cell, std::uint64_t touches) {
    cell.life.touches = touches;
    cell.life.last_touch = Timestamp{kNow.ns - kSecond};
    return cell;
}

PlacementDirective must(const PlacementCell& cell, const PlacementLadder& on) {
    const Result<PlacementDirective> out = plan_placement(cell, on, kNow);
    EXPECT_TRUE(out) << out.error().message();
    return out ? *out : PlacementDirective{};
}

Errc code_of(const PlacementCell& cell, const PlacementLadder& on) {
    const Result<PlacementDirective> out = plan_placement(cell, on, kNow);
    return out ? Errc::ok : out.error().code();
}

void expect(const PlacementDirective& out, Action action, Reason reason, std::optional<Tier> to) {
    EXPECT_EQ(to_word(out.action), to_word(action));
    EXPECT_EQ(to_word(out.reason), to_word(reason));
    EXPECT_EQ(out.to, to);
    EXPECT_EQ(out.bytes, kBytes);
}

TEST(Placement, Rule1PromotesWhatIsHot) {
    PlacementTier cxl = tier(Tier::cxl);
    cxl.policy.promote_touches_per_hour = 6;
    const PlacementLadder on = ladder({tier(Tier::dram), cxl, tier(Tier::disk)});
    const PlacementDirective out = must(touched(cell_in(Tier::cxl), 6), on);
    expect(out, Action::promote, Reason::hot_promoted, Tier::dram);
    EXPECT_EQ(out.from, Tier::cxl);
    EXPECT_EQ(out.state, Lifecycle::sealed);
    EXPECT_EQ(out.return_cost, Cost{}) << "nothing was weighed";
    EXPECT_FALSE(out.weighed);
    EXPECT_EQ(out.recompute, (Cost{8 * kSecond, Source::measured}));

    expect(must(touched(cell_in(Tier::cxl), 5), on), Action::keep, Reason::fresh_and_room,
           Tier::cxl);
    expect(must(cell_in(Tier::cxl), on), Action::keep, Reason::fresh_and_room, Tier::cxl);
}

TEST(Placement, Rule1CountsTheRateExactly) {
    // 7 touches in two hours less 1 ns are more than 3.5 an hour; a threshold of 4 is not reached
    // until the time is 7/4 hours.
    PlacementTier cxl = tier(Tier::cxl);
    cxl.policy.promote_touches_per_hour = 4;
    const PlacementLadder on = ladder({tier(Tier::dram), cxl});
    PlacementCell cell = touched(cell_in(Tier::cxl), 7);
    cell.life.entered_at = Timestamp{kNow.ns - 6300 * kSecond};
    EXPECT_EQ(must(cell, on).action, Action::promote);
    cell.life.entered_at = Timestamp{kNow.ns - 6300 * kSecond - 1};
    EXPECT_EQ(must(cell, on).action, Action::keep);
    // In its first moment a touched cell is as hot as can be.
    cell.life.entered_at = kNow;
    cell.life.last_touch = kNow;
    EXPECT_EQ(must(cell, on).action, Action::promote);
}

TEST(Placement, Rule1DoesNotWrap) {
    PlacementTier cxl = tier(Tier::cxl);
    cxl.policy.promote_touches_per_hour = kMax;
    PlacementCell cell = touched(cell_in(Tier::cxl), kMax);
    EXPECT_EQ(must(cell, ladder({tier(Tier::dram), cxl})).action, Action::promote);
    cell.life.touches = kMax - 1;
    EXPECT_EQ(must(cell, ladder({tier(Tier::dram), cxl})).action, Action::keep);
    cxl.policy.promote_touches_per_hour = 0;
    EXPECT_EQ(must(touched(cell, 1), ladder({tier(Tier::dram), cxl})).action, Action::promote);
}

TEST(Placement, Rule1WantsAThresholdAndRoomForTheseBytes) {
    const PlacementCell hot = touched(cell_in(Tier::cxl), 1000);
    EXPECT_EQ(must(hot, ladder({tier(Tier::dram), tier(Tier::cxl)})).action, Action::keep);

    PlacementTier cxl = tier(Tier::cxl);
    cxl.policy.promote_touches_per_hour = 1;
    PlacementTier dram = tier(Tier::dram);
    dram.profile.capacity_bytes.value = 2 * kBytes;
    dram.used_bytes = kBytes + 1;
    EXPECT_EQ(must(hot, ladder({dram, cxl})).action, Action::keep);
    dram.used_bytes = kBytes;
    EXPECT_EQ(must(hot, ladder({dram, cxl})).action, Action::promote);
}

TEST(Placement, Rule1GoesToTheNearestWarmerTierWithRoom) {
    PlacementTier disk = tier(Tier::disk);
    disk.policy.promote_touches_per_hour = 1;
    PlacementCell hot = touched(cell_in(Tier::disk), 1000);
    hot.life.state = Lifecycle::spilled;
    const auto goes_to = [&](std::vector<PlacementTier> tiers) {
        tiers.push_back(disk);
        return must(hot, ladder(std::move(tiers))).to;
    };
    EXPECT_EQ(goes_to({tier(Tier::hbm), tier(Tier::dram), tier(Tier::cxl)}), Tier::cxl);
    EXPECT_EQ(goes_to({tier(Tier::hbm), tier(Tier::dram), full(Tier::cxl)}), Tier::dram);
    EXPECT_EQ(goes_to({tier(Tier::hbm), full(Tier::dram), full(Tier::cxl)}), Tier::hbm);
    EXPECT_EQ(goes_to({full(Tier::hbm), full(Tier::cxl)}), Tier::disk) << "kept";
}

TEST(Placement, Rule1ComesBeforeAllOthers) {
    PlacementTier cxl = full(Tier::cxl);
    cxl.policy = TierPolicy{1, false, 1};
    const PlacementDirective out =
        must(touched(cell_in(Tier::cxl), 1000), ladder({tier(Tier::dram), cxl}));
    EXPECT_EQ(out.state, Lifecycle::expired);
    expect(out, Action::promote, Reason::hot_promoted, Tier::dram);
}

TEST(Placement, Rule2KeepsWhatIsFreshWhereThereIsRoom) {
    for (const Tier where : kTiers) {
        const PlacementDirective out = must(cell_in(where), ladder({tier(where)}));
        expect(out, Action::keep, Reason::fresh_and_room, where);
        EXPECT_EQ(out.from, where);
        EXPECT_FALSE(out.weighed);
    }
    PlacementCell spilled = cell_in(Tier::disk);
    spilled.life.state = Lifecycle::spilled;
    EXPECT_EQ(must(spilled, ladder({tier(Tier::disk)})).action, Action::keep);
}

TEST(Placement, Rule2EndsWhereTheTierIsFullOrTheCellExpires) {
    PlacementTier dram = full(Tier::dram);
    --*dram.used_bytes;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).action, Action::keep);
    ++*dram.used_bytes;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).action, Action::evict);
    *dram.used_bytes = kMax;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).action, Action::evict);

    dram = tier(Tier::dram);
    dram.policy.ttl_ns = 80 * 60 * kSecond;  // its last quarter begins after an hour
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).state, Lifecycle::expiring);
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).action, Action::evict);
    dram.policy.ttl_ns = *dram.policy.ttl_ns + 4;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).state, Lifecycle::sealed);
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram})).action, Action::keep);
}

TEST(Placement, Rule3EvictsWhatExpiredWhereNothingExpiredMayDemote) {
    PlacementTier dram = tier(Tier::dram);
    dram.policy.ttl_ns = kHour;
    dram.policy.demote_expired = false;
    const PlacementDirective out = must(cell_in(Tier::dram), ladder({dram, tier(Tier::cxl)}));
    expect(out, Action::evict, Reason::expired_no_demote, std::nullopt);
    EXPECT_EQ(out.state, Lifecycle::expired);
    EXPECT_FALSE(out.weighed);

    // The policy is about expired cells: one that must go for lack of room is weighed.
    dram = full(Tier::dram);
    dram.policy.demote_expired = false;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({dram, tier(Tier::cxl)})).action, Action::demote);
}

TEST(Placement, Rule4EvictsWhereNoColderTierHasRoom) {
    expect(must(cell_in(Tier::dram), ladder({full(Tier::dram)})), Action::evict,
           Reason::no_colder_tier_with_room, std::nullopt);
    expect(must(cell_in(Tier::dram), ladder({tier(Tier::hbm), full(Tier::dram), full(Tier::cxl)})),
           Action::evict, Reason::no_colder_tier_with_room, std::nullopt);
    PlacementTier cxl = tier(Tier::cxl);
    cxl.profile.capacity_bytes.value = kBytes - 1;
    expect(must(cell_in(Tier::dram), ladder({full(Tier::dram), cxl})), Action::evict,
           Reason::no_colder_tier_with_room, std::nullopt);
    cxl.profile.capacity_bytes.value = kBytes;
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({full(Tier::dram), cxl})).to, Tier::cxl);
}

TEST(Placement, Rule5DemotesWhereTheBytesAreAttendedInPlace) {
    const PlacementDirective out =
        must(cell_in(Tier::dram), ladder({full(Tier::dram), tier(Tier::cxl), tier(Tier::disk)}));
    expect(out, Action::demote, Reason::demote_beats_recompute, Tier::cxl);
    EXPECT_EQ(out.weighed, Tier::cxl);
    // 300 + 67,108,864 x 1000 / 64,000
    EXPECT_EQ(out.return_cost, (Cost{1'048'876, Source::representative}));
    EXPECT_EQ(out.recompute, (Cost{8 * kSecond, Source::measured}));
}

TEST(Placement, Rule5SpillsWhereTheyMustBeCopied) {
    const PlacementDirective out =
        must(cell_in(Tier::dram), ladder({full(Tier::dram), full(Tier::cxl), tier(Tier::disk)}));
    expect(out, Action::spill, Reason::spill_beats_recompute, Tier::disk);
    EXPECT_EQ(out.return_cost.ns, 9'596'980U);  // 10,000 + 67,108,864 x 1000 / 7,000
    EXPECT_EQ(
        must(cell_in(Tier::dram), ladder({full(Tier::dram), tier(Tier::remote)})).return_cost.ns,
        5'692'405U);  // 100,000 + 67,108,864 x 1000 / 12,000
}

TEST(Placement, Rule5NeedsAllThreeFactsToAttendInPlace) {
    const auto action = [](auto change) {
        PlacementTier cxl = tier(Tier::cxl);
        change(cxl.profile);
        return must(cell_in(Tier::dram), ladder({full(Tier::dram), cxl})).action;
    };
    EXPECT_EQ(action([](Profile&) {}), Action::demote);
    EXPECT_EQ(action([](Profile& p) { p.share_kind.value = ShareKind::mmap; }), Action::demote);
    EXPECT_EQ(action([](Profile& p) { p.share_kind.value = ShareKind::dmabuf; }), Action::demote);
    EXPECT_EQ(action([](Profile& p) { p.share_kind.value = ShareKind::none; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.share_kind.value = ShareKind::rdma; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.share_kind = {}; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.byte_addressable.value = false; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.byte_addressable = {}; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.coherent_in_host.value = false; }), Action::spill);
    EXPECT_EQ(action([](Profile& p) { p.coherent_in_host = {}; }), Action::spill);
}

TEST(Placement, Rule6EvictsWhatIsCheaperToCompute) {
    PlacementCell cell = cell_in(Tier::dram);
    cell.recompute.ns = 1'048'876;
    const PlacementDirective out = must(cell, ladder({full(Tier::dram), tier(Tier::cxl)}));
    expect(out, Action::evict, Reason::recompute_cheaper_than_retain, std::nullopt);
    EXPECT_EQ(out.weighed, Tier::cxl);
    EXPECT_EQ(out.return_cost.ns, 1'048'876U);
    cell.recompute.ns = 1'048'877;
    EXPECT_EQ(must(cell, ladder({full(Tier::dram), tier(Tier::cxl)})).action, Action::demote);
}

TEST(Placement, OnlyTheNearestColderTierIsWeighed) {
    // Coming back from disk takes 9.6 ms, which is too long; remote would be quicker, and is not
    // asked.
    PlacementCell cell = cell_in(Tier::dram);
    cell.recompute.ns = 6'000'000;
    const PlacementDirective out =
        must(cell, ladder({full(Tier::dram), tier(Tier::disk), tier(Tier::remote)}));
    expect(out, Action::evict, Reason::recompute_cheaper_than_retain, std::nullopt);
    EXPECT_EQ(out.weighed, Tier::disk);
}

TEST(Placement, AnUnknownCostNeverShowsThatRetainingPays) {
    const auto with = [](auto change) {
        PlacementTier cxl = tier(Tier::cxl);
        PlacementCell cell = cell_in(Tier::dram);
        change(cxl.profile, cell);
        const PlacementDirective out = must(cell, ladder({full(Tier::dram), cxl}));
        expect(out, Action::evict, Reason::recompute_cheaper_than_retain, std::nullopt);
        EXPECT_EQ(out.weighed, Tier::cxl);
        return out;
    };
    const PlacementDirective latency =
        with([](Profile& p, PlacementCell&) { p.read_latency_ns = {}; });
    EXPECT_EQ(latency.return_cost, Cost{}) << "null, never 0";
    EXPECT_EQ(with([](Profile& p, PlacementCell&) { p.read_mbps = {}; }).return_cost, Cost{});
    EXPECT_EQ(with([](Profile& p, PlacementCell&) { p.read_mbps.value = 0; }).return_cost, Cost{});
    EXPECT_EQ(with([](Profile& p, PlacementCell&) { p.read_latency_ns.value = 0; }).return_cost,
              Cost{});
    const PlacementDirective recompute = with([](Profile&, PlacementCell& c) { c.recompute = {}; });
    EXPECT_EQ(recompute.recompute, Cost{});
    EXPECT_EQ(recompute.return_cost.ns, 1'048'876U);
}

TEST(Placement, TheReturnCostIsKnownAsWellAsItsLesserFigure) {
    PlacementTier cxl = tier(Tier::cxl);
    cxl.profile.read_latency_ns.evidence.source = Source::measured;
    cxl.profile.read_mbps.evidence.source = Source::declared;
    const PlacementLadder on = ladder({full(Tier::dram), cxl});
    EXPECT_EQ(must(cell_in(Tier::dram), on).return_cost.source, Source::declared);
}

TEST(Placement, RoomThatIsNotKnownIsNoRoom) {
    PlacementTier cxl = tier(Tier::cxl, std::nullopt);
    EXPECT_EQ(ladder({cxl}).room_bytes(Tier::cxl), 0U);
    EXPECT_EQ(must(cell_in(Tier::dram), ladder({full(Tier::dram), cxl})).reason,
              Reason::no_colder_tier_with_room);
    cxl = tier(Tier::cxl);
    cxl.profile.capacity_bytes = {};
    EXPECT_EQ(ladder({cxl}).room_bytes(Tier::cxl), 0U);
    EXPECT_EQ(must(cell_in(Tier::cxl), ladder({cxl})).action, Action::evict);

    EXPECT_EQ(ladder({}).room_bytes(Tier::cxl), 0U);
    EXPECT_EQ(ladder({tier(Tier::remote, std::nullopt)}).room_bytes(Tier::remote), kMax)
        << "without bound, whatever is used";
    EXPECT_EQ(ladder({tier(Tier::cxl, 1)}).room_bytes(Tier::cxl), (2ULL << 40U) - 1);
}

TEST(Placement, LeavesAloneWhatIsNotAtRest) {
    const PlacementLadder on = ladder({full(Tier::dram), tier(Tier::cxl)});
    for (const Lifecycle state : kLifecycles) {
        PlacementCell cell = cell_in(Tier::dram);
        cell.life.state = state;
        const bool at_rest = state == Lifecycle::sealed || state == Lifecycle::expiring ||
                             state == Lifecycle::expired || state == Lifecycle::spilled;
        EXPECT_EQ(code_of(cell, on), at_rest ? Errc::ok : Errc::wrong_state) << to_word(state);
        cell.leased = true;
        EXPECT_EQ(code_of(cell, on), Errc::wrong_state) << to_word(state);
    }
    PlacementCell cell = cell_in(Tier::dram);
    cell.life.state = static_cast<Lifecycle>(8);
    EXPECT_EQ(code_of(cell, on), Errc::wrong_state);
}

TEST(Placement, RefusesWhatMakesNoSense) {
    const PlacementLadder on = ladder({full(Tier::dram), tier(Tier::cxl)});
    const auto code = [&](auto change) {
        PlacementCell cell = touched(cell_in(Tier::dram), 3);
        change(cell);
        return code_of(cell, on);
    };
    EXPECT_EQ(code([](PlacementCell&) {}), Errc::ok);
    EXPECT_EQ(code([](PlacementCell& c) { c.bytes = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.tier = Tier::disk; }), Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.tier = static_cast<Tier>(7); }),
              Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.entered_at.ns = kNow.ns + 1; }),
              Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.last_touch = Timestamp{kNow.ns + 1}; }),
              Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.last_touch.reset(); }), Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.last_touch->ns = c.life.entered_at.ns - 1; }),
              Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.touches = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.revived_at = Timestamp{kNow.ns + 1}; }),
              Errc::invalid_argument);
    EXPECT_EQ(code([](PlacementCell& c) { c.life.revived_at = Timestamp{0}; }),
              Errc::invalid_argument);
    // 2^64 / 1000 bytes are the most whose reading can be priced.
    EXPECT_EQ(code([](PlacementCell& c) { c.bytes = kMax; }), Errc::ok) << "no room, not weighed";
    PlacementCell huge = cell_in(Tier::dram);
    huge.bytes = kMax / 1000 + 1;
    EXPECT_EQ(code_of(huge, ladder({full(Tier::dram), tier(Tier::remote)})), Errc::overflow);
    huge.bytes = kMax / 1000;
    EXPECT_EQ(code_of(huge, ladder({full(Tier::dram), tier(Tier::remote)})), Errc::ok);
}

TEST(Placement, LaddersTakeEachTierOnce) {
    PlacementLadder on = ladder({tier(Tier::dram)});
    EXPECT_EQ(on.add(tier(Tier::dram)).error().code(), Errc::already_exists);
    PlacementTier none = tier(Tier::dram);
    none.profile.tier = static_cast<Tier>(7);
    EXPECT_EQ(on.add(none).error().code(), Errc::invalid_argument);
    EXPECT_EQ(on.find(Tier::cxl), nullptr);
    EXPECT_EQ(on.find(static_cast<Tier>(7)), nullptr);
}

TEST(Placement, CarryingOutMovesTheRoom) {
    PlacementTier cxl = tier(Tier::cxl, 10);
    PlacementLadder on = ladder({tier(Tier::dram, kBytes), cxl, tier(Tier::disk, std::nullopt)});
    PlacementDirective move;
    move.from = Tier::dram;
    move.to = Tier::cxl;
    move.bytes = kBytes;
    on.carry_out(move);
    EXPECT_EQ(on.find(Tier::dram)->used_bytes, 0U);
    EXPECT_EQ(on.find(Tier::cxl)->used_bytes, kBytes + 10);
    move.from = Tier::cxl;
    on.carry_out(move);  // kept
    EXPECT_EQ(on.find(Tier::cxl)->used_bytes, kBytes + 10);
    move.to.reset();
    on.carry_out(move);
    EXPECT_EQ(on.find(Tier::cxl)->used_bytes, 10U);
    on.carry_out(move);
    EXPECT_EQ(on.find(Tier::cxl)->used_bytes, 0U) << "never below nothing";
    move.to = Tier::disk;
    on.carry_out(move);
    EXPECT_FALSE(on.find(Tier::disk)->used_bytes);
    move = {};
    move.from = Tier::dram;
    move.to = Tier::cxl;
    move.bytes = kMax;
    on.carry_out(move);
    on.carry_out(move);
    EXPECT_EQ(on.find(Tier::cxl)->used_bytes, kMax);
}

TEST(Placement, AllocatesNothing) {
    PlacementTier cxl = tier(Tier::cxl);
    cxl.policy.promote_touches_per_hour = 1;
    const PlacementLadder warm = ladder({tier(Tier::dram), cxl});
    const PlacementLadder tight = ladder({full(Tier::dram), tier(Tier::cxl)});
    const PlacementCell hot = touched(cell_in(Tier::cxl), 1000);
    const PlacementCell cold = cell_in(Tier::dram);
    const std::size_t before = test::allocations();
    const bool all = plan_placement(hot, warm, kNow) && plan_placement(cold, warm, kNow) &&
                     plan_placement(cold, tight, kNow);
    const std::size_t after = test::allocations();
    EXPECT_EQ(after, before);
    EXPECT_TRUE(all);
    const std::vector<int> something(100);
    EXPECT_GT(test::allocations(), after) << "nothing is counted";
}

// --- against a naive reference -------------------------------------------------------------------

using Random = std::mt19937_64;

std::uint64_t pick(Random& random, std::initializer_list<std::uint64_t> values) {
    return *(values.begin() + random() % values.size());
}

bool coin(Random& random) {
    return random() % 2 == 0;
}

PlacementTier random_tier(Random& random, Tier which) {
    PlacementTier out = tier(which, pick(random, {0, 50, 90, 100, 150}));
    const Source source = coin(random) ? Source::measured : Source::declared;
    out.profile.capacity_bytes.value = pick(random, {0, 100, 100, 200});
    out.profile.read_latency_ns = Known<std::uint64_t>::of(pick(random, {0, 1, 9}), source, "");
    out.profile.read_mbps.value = pick(random, {0, 1000, 2000, 3000});
    if (random() % 8 == 0) {
        out.profile.read_latency_ns = {};
    }
    if (random() % 8 == 0) {
        out.profile.capacity_bytes = {};
    }
    if (random() % 8 == 0) {
        out.used_bytes.reset();
    }
    out.profile.byte_addressable.value = coin(random);
    out.profile.share_kind.value = coin(random) ? ShareKind::mmap : ShareKind::rdma;
    out.profile.coherent_in_host.value = random() % 4 != 0;
    out.policy.demote_expired = coin(random);
    if (coin(random)) {
        out.policy.ttl_ns = pick(random, {1, 40, 80, 100, 1000});
    }
    if (coin(random)) {
        out.policy.promote_touches_per_hour = pick(random, {0, kHour / 10, kHour / 50, kMax});
    }
    return out;
}

// The tiers by rung, absent ones included.
using Tiers = std::vector<std::optional<PlacementTier>>;

Tiers random_tiers(Random& random) {
    Tiers out;
    for (const Tier which : kTiers) {
        out.push_back(random() % 3 == 0 ? std::nullopt : std::optional(random_tier(random, which)));
    }
    return out;
}

PlacementLadder ladder(const Tiers& tiers) {
    PlacementLadder out;
    for (const std::optional<PlacementTier>& one : tiers) {
        if (one) {
            EXPECT_TRUE(out.add(*one));
        }
    }
    return out;
}

constexpr Timestamp kSmallNow{1000};

PlacementCell random_cell(Random& random) {
    PlacementCell cell;
    cell.life.state = kLifecycles[random() % kLifecycles.size()];
    cell.life.entered_at = Timestamp{kSmallNow.ns - pick(random, {0, 1, 30, 39, 40, 75, 80, 99})};
    if (coin(random)) {
        cell.life.touches = pick(random, {1, 2, 5});
        cell.life.last_touch = kSmallNow;
        if (random() % 2 == 0) {
            cell.life.revived_at = kSmallNow;
        }
    }
    cell.tier = kTiers[random() % kTiers.size()];
    cell.bytes = pick(random, {1, 10, 50, 100});
    cell.leased = random() % 16 == 0;
    if (random() % 8 != 0) {
        cell.recompute = Cost{pick(random, {0, 5, 19, 20, 60, 200}), Source::observed};
    }
    return cell;
}

// The rules again, written down for reading and not for speed; nothing for a cell left alone.
std::optional<PlacementDirective> naive(const PlacementCell& cell, const Tiers& tiers) {
    const std::size_t here = static_cast<std::size_t>(cell.tier);
    const std::string state(to_word(cell.life.state));
    const bool rests =
        state == "sealed" || state == "expiring" || state == "expired" || state == "spilled";
    if (!rests || cell.leased || !tiers[here]) {
        return std::nullopt;
    }
    const auto room = [&](std::size_t rung) -> double {
        if (!tiers[rung] || !tiers[rung]->profile.capacity_bytes.value) {
            return 0;
        }
        const double capacity = static_cast<double>(*tiers[rung]->profile.capacity_bytes.value);
        if (capacity == 0) {
            return 1e30;
        }
        if (!tiers[rung]->used_bytes) {
            return 0;
        }
        return capacity - static_cast<double>(*tiers[rung]->used_bytes);
    };
    const double bytes = static_cast<double>(cell.bytes);
    const TierPolicy& policy = tiers[here]->policy;

    PlacementDirective out;
    out.from = cell.tier;
    out.bytes = cell.bytes;
    out.recompute = cell.recompute;
    out.state = cell.life.state;
    if (policy.ttl_ns && state != "expired") {
        const Timestamp start = cell.life.revived_at ? *cell.life.revived_at : cell.life.entered_at;
        const std::uint64_t age = kSmallNow.ns - start.ns;
        if (age >= *policy.ttl_ns) {
            out.state = Lifecycle::expired;
        } else if (state == "sealed" && *policy.ttl_ns - age <= *policy.ttl_ns / 4) {
            out.state = Lifecycle::expiring;
        }
    }
    const bool touched = cell.life.touches > 0;
    const double hours =
        static_cast<double>(kSmallNow.ns - cell.life.entered_at.ns) / static_cast<double>(kHour);
    const bool hot = touched && policy.promote_touches_per_hour &&
                     static_cast<double>(cell.life.touches) >=
                         static_cast<double>(*policy.promote_touches_per_hour) * hours;
    for (std::size_t rung = here; hot && rung > 0; --rung) {
        if (room(rung - 1) >= bytes) {
            out.action = Action::promote;
            out.reason = Reason::hot_promoted;
            out.to = kTiers[rung - 1];
            return out;
        }
    }
    const bool fresh = out.state == Lifecycle::sealed || out.state == Lifecycle::spilled;
    if (room(here) > 0 && fresh) {
        out.action = Action::keep;
        out.reason = Reason::fresh_and_room;
        out.to = cell.tier;
        return out;
    }
    out.action = Action::evict;
    if (out.state == Lifecycle::expired && !policy.demote_expired) {
        out.reason = Reason::expired_no_demote;
        return out;
    }
    out.reason = Reason::no_colder_tier_with_room;
    for (std::size_t rung = here + 1; rung < kTiers.size(); ++rung) {
        if (room(rung) < bytes) {
            continue;
        }
        const Profile& profile = tiers[rung]->profile;
        out.weighed = kTiers[rung];
        out.reason = Reason::recompute_cheaper_than_retain;
        if (profile.read_latency_ns.value.value_or(0) == 0 || *profile.read_mbps.value == 0) {
            return out;
        }
        out.return_cost.ns =
            *profile.read_latency_ns.value + cell.bytes * 1000 / *profile.read_mbps.value;
        out.return_cost.source = Source::representative;  // the bandwidth's
        if (cell.recompute.ns && *out.return_cost.ns < *cell.recompute.ns) {
            const bool in_place = *profile.byte_addressable.value &&
                                  *profile.coherent_in_host.value &&
                                  *profile.share_kind.value == ShareKind::mmap;
            out.action = in_place ? Action::demote : Action::spill;
            out.reason = in_place ? Reason::demote_beats_recompute : Reason::spill_beats_recompute;
            out.to = kTiers[rung];
        }
        return out;
    }
    return out;
}

TEST(PlacementModel, AgreesWithTheNaiveReference) {
    constexpr std::uint64_t kSeed = 20260302;
    SCOPED_TRACE(kSeed);
    Random random(kSeed);
    std::array<int, 7> seen{};
    int alone = 0;
    for (int round = 0; round < 150'000; ++round) {
        const Tiers tiers = random_tiers(random);
        const PlacementCell cell = random_cell(random);
        const Result<PlacementDirective> out = plan_placement(cell, ladder(tiers), kSmallNow);
        const std::optional<PlacementDirective> wanted = naive(cell, tiers);
        ASSERT_EQ(out.has_value(), wanted.has_value()) << "round " << round;
        if (wanted) {
            ASSERT_EQ(to_word(out->action), to_word(wanted->action)) << "round " << round;
            ASSERT_EQ(to_word(out->reason), to_word(wanted->reason)) << "round " << round;
            ASSERT_EQ(*out, *wanted) << "round " << round;
            ++seen[static_cast<std::size_t>(out->reason)];
        } else {
            ++alone;
        }
    }
    for (const int count : seen) {
        EXPECT_GT(count, 500) << "a reason hardly occurs: the inputs prove nothing about it";
    }
    EXPECT_GT(alone, 1000);
}

// Whether the cell's bytes stay somewhere.
bool retained(const Result<PlacementDirective>& out) {
    return out && out->action != Action::evict;
}

TEST(PlacementModel, WorseEvidenceNeverRetainsMore) {
    constexpr std::uint64_t kSeed = 20260303;
    SCOPED_TRACE(kSeed);
    Random random(kSeed);
    int lost = 0;
    for (int round = 0; round < 40'000; ++round) {
        Tiers tiers = random_tiers(random);
        PlacementCell cell = random_cell(random);
        const Result<PlacementDirective> before = plan_placement(cell, ladder(tiers), kSmallNow);
        const std::size_t here = static_cast<std::size_t>(cell.tier);
        switch (random() % 4) {
            case 0:
                cell.recompute = {};
                break;
            case 1:
                if (before && before->weighed) {
                    tiers[static_cast<std::size_t>(*before->weighed)]->profile.read_mbps = {};
                }
                break;
            case 2:
                if (before && before->weighed) {
                    tiers[static_cast<std::size_t>(*before->weighed)]->profile.read_latency_ns = {};
                }
                break;
            default:
                if (tiers[here]) {
                    tiers[here]->policy.promote_touches_per_hour.reset();
                }
                break;
        }
        const Result<PlacementDirective> after = plan_placement(cell, ladder(tiers), kSmallNow);
        ASSERT_EQ(before.has_value(), after.has_value()) << "round " << round;
        if (before && before->action != Action::promote) {
            ASSERT_LE(retained(after), retained(before)) << "round " << round;
            lost += retained(before) && !retained(after) ? 1 : 0;
        }
        ASSERT_FALSE(after && after->action == Action::promote && !retained(before)) << round;
    }
    EXPECT_GT(lost, 100);
}

TEST(PlacementModel, MoreRoomHereNeverTurnsKeepingIntoLeaving) {
    constexpr std::uint64_t kSeed = 20260304;
    SCOPED_TRACE(kSeed);
    Random random(kSeed);
    int kept = 0;
    for (int round = 0; round < 40'000; ++round) {
        Tiers tiers = random_tiers(random);
        const PlacementCell cell = random_cell(random);
        const Result<PlacementDirective> before = plan_placement(cell, ladder(tiers), kSmallNow);
        if (!before) {
            continue;
        }
        PlacementTier& here = *tiers[static_cast<std::size_t>(cell.tier)];
        if (here.used_bytes) {
            here.used_bytes = *here.used_bytes / 2;
        }
        const Result<PlacementDirective> after = plan_placement(cell, ladder(tiers), kSmallNow);
        ASSERT_TRUE(after);
        if (before->action == Action::keep || before->action == Action::promote) {
            ASSERT_EQ(*before, *after) << "round " << round;
            ++kept;
        } else {
            ASSERT_TRUE(after->action == Action::keep || *after == *before) << "round " << round;
        }
        // A full tier keeps nothing.
        here.used_bytes = kMax;
        const Result<PlacementDirective> none = plan_placement(cell, ladder(tiers), kSmallNow);
        ASSERT_TRUE(none->action != Action::keep || here.profile.capacity_bytes.value == 0U);
    }
    EXPECT_GT(kept, 1000);
}

TEST(PlacementModel, ADearerRecomputationNeverTurnsMovingIntoEviction) {
    constexpr std::uint64_t kSeed = 20260305;
    SCOPED_TRACE(kSeed);
    Random random(kSeed);
    for (int round = 0; round < 40'000; ++round) {
        const Tiers tiers = random_tiers(random);
        PlacementCell cell = random_cell(random);
        const Result<PlacementDirective> before = plan_placement(cell, ladder(tiers), kSmallNow);
        if (before && cell.recompute.ns) {
            *cell.recompute.ns += random() % 100;
            ASSERT_GE(retained(plan_placement(cell, ladder(tiers), kSmallNow)), retained(before))
                << "round " << round;
        }
    }
}

}  // namespace
}  // namespace cxlpool

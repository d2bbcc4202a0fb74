// A placement plan as an engine asks for it, against the domain's own directives.
#include "server/placement_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/placement.hpp"
#include "server/wire_context.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;
using wire::PlacementCellField;
using wire::PlacementItem;
using wire::PlacementTierField;
using wire::PlanPlacementReply;
using wire::PlanPlacementRequest;

constexpr std::uint64_t kMax = UINT64_MAX;
constexpr std::uint64_t kHour = 3'600'000'000'000;
constexpr std::uint64_t kMiB = 1U << 20U;

// A pool "cxl0" of 64 MiB and the host's DRAM; nothing else is known.
Profile measured(Tier tier, const std::string& name) {
    Profile out = representative_profile(tier);
    out.name = name;
    out.read_latency_ns.evidence.source = Source::measured;
    out.read_mbps.evidence.source = Source::firmware;
    out.capacity_bytes = Known<std::uint64_t>::of(64 * kMiB, Source::declared, "test");
    return out;
}

const Profile* find_profile(Tier tier, std::string_view pool) {
    static const Profile cxl = measured(Tier::cxl, "cxl0");
    static const Profile dram = measured(Tier::dram, "dram");
    if (tier == Tier::cxl && (pool.empty() || pool == "cxl0")) {
        return &cxl;
    }
    return tier == Tier::dram && pool.empty() ? &dram : nullptr;
}

PlacementTierField tier_of(Tier tier, std::uint64_t used_bytes) {
    PlacementTierField out;
    out.tier = wire_number(tier);
    out.used_bytes = used_bytes;
    return out;
}

// Sealed an hour ago, never touched, and dear to compute again.
PlacementCellField cell_in(Tier tier) {
    PlacementCellField out;
    out.state = static_cast<std::uint8_t>(Lifecycle::sealed);
    out.tier = wire_number(tier);
    out.bytes = kMiB;
    out.in_tier_ns = kHour;
    out.recompute_ns = kHour;
    return out;
}

class Placing : public ::testing::Test {
  protected:
    std::vector<PlacementItem> plan() {
        const Result<PlanPlacementReply> reply = plan_placement(request, find_profile);
        EXPECT_TRUE(reply) << reply.error().message();
        return reply ? reply->items : std::vector<PlacementItem>();
    }
    Error refusal() {
        const Result<PlanPlacementReply> reply = plan_placement(request, find_profile);
        EXPECT_FALSE(reply);
        return reply ? Error{Errc::ok, ""} : reply.error();
    }
    PlacementTierField& dram() { return request.tiers[0]; }
    PlacementTierField& cxl() { return request.tiers[1]; }
    PlacementCellField& cell() { return request.cells[0]; }

    // The DRAM is full, the pool empty.
    PlanPlacementRequest request{{tier_of(Tier::dram, 64 * kMiB), tier_of(Tier::cxl, 0)},
                                 {cell_in(Tier::dram)}};
};

// 300 ns + 1,048,576 bytes x 1000 / 64,000 MB/s = 16,684 ns; the lesser of measured and firmware.
TEST_F(Placing, ADirectiveHasActionReasonTierAndCosts) {
    const PlacementItem expected{0, 3, 5, 1, 4, 4, 3, 16'684, kHour};
    EXPECT_EQ(plan(), std::vector{expected});
}

TEST_F(Placing, EachCellIsPlannedAfterThoseBeforeIt) {
    cxl().used_bytes = 63 * kMiB;
    request.cells.assign(3, cell_in(Tier::dram));
    const auto items = plan();
    ASSERT_EQ(items.size(), 3U);
    EXPECT_EQ(items[0].action, wire_number(PlacementAction::demote));
    EXPECT_EQ(items[1].action, wire_number(PlacementAction::keep)) << "the first has made room";
    EXPECT_EQ(items[2], items[1]);
    EXPECT_EQ(items[1].weighed, 0) << "nothing was weighed, and so there is no cost";
    EXPECT_EQ(items[1].return_source, 0);
    EXPECT_EQ(items[1].return_cost_ns, 0U);
    EXPECT_EQ(items[1].to, wire_number(Tier::dram));
}

TEST_F(Placing, CostsThatAreNotKnownAreTheLargestNumberAndEvict) {
    cell().recompute_ns = 0;
    const PlacementItem unknown_recompute{0, 5, 7, 1, 0, 4, 3, 16'684, kMax};
    EXPECT_EQ(plan(), std::vector{unknown_recompute});
    cell().recompute_ns = kHour;
    cxl() = tier_of(Tier::disk, 0);
    cxl().capacity_bytes = kMax;
    const PlacementItem unknown_return{0, 5, 7, 1, 0, 6, 6, kMax, kHour};
    EXPECT_EQ(plan(), std::vector{unknown_return});
}

TEST_F(Placing, TheRoomIsWhatTheEngineSays) {
    cxl().used_bytes = 64 * kMiB;
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::no_colder_tier_with_room))
        << "the capacity of the profile is used up";
    cxl().capacity_bytes = 65 * kMiB;
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::demote_beats_recompute));
    cxl() = tier_of(Tier::disk, 0);
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::no_colder_tier_with_room))
        << "neither the engine nor a profile has a capacity";
}

TEST_F(Placing, TimeToLiveAndRevival) {
    dram().ttl_ns = kHour;
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::expired_no_demote));
    EXPECT_EQ(plan()[0].state, static_cast<std::uint8_t>(Lifecycle::expired));
    dram().flags = wire::kTierDemoteExpired;
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::demote_beats_recompute));
    dram().used_bytes = 0;
    dram().ttl_ns = kHour + 1;
    EXPECT_EQ(plan()[0].state, static_cast<std::uint8_t>(Lifecycle::expiring));
    cell().touches = 1;
    cell().since_touch_ns = 5;
    cell().since_revival_ns = 5;
    cell().flags = wire::kCellRevived;
    EXPECT_EQ(plan()[0].state, static_cast<std::uint8_t>(Lifecycle::sealed));
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::fresh_and_room));
}

TEST_F(Placing, OnlyWithARateIsAnythingPromoted) {
    cell() = cell_in(Tier::cxl);
    cell().touches = 60;
    dram().used_bytes = 0;
    EXPECT_EQ(plan()[0].action, wire_number(PlacementAction::keep));
    cxl().flags = wire::kTierPromote;
    cxl().promote_touches_per_hour = 60;
    EXPECT_EQ(plan()[0].action, wire_number(PlacementAction::promote));
    EXPECT_EQ(plan()[0].to, wire_number(Tier::dram));
    cxl().promote_touches_per_hour = 61;
    EXPECT_EQ(plan()[0].action, wire_number(PlacementAction::keep));
    cxl().promote_touches_per_hour = 0;
    EXPECT_EQ(plan()[0].action, wire_number(PlacementAction::promote)) << "any touch is enough";
}

TEST_F(Placing, ACellWithoutADirectiveSpoilsNoOther) {
    PlacementCellField leased = cell_in(Tier::dram);
    leased.flags = wire::kCellLeased;
    PlacementCellField elsewhere = cell_in(Tier::hbm);
    PlacementCellField untrue = cell_in(Tier::dram);
    untrue.touches = 1;
    untrue.since_touch_ns = kHour + 1;
    PlacementCellField empty = cell_in(Tier::dram);
    empty.bytes = 0;
    PlacementCellField huge = cell_in(Tier::dram);
    huge.bytes = kMax;
    cxl().capacity_bytes = kMax;
    request.cells = {leased, elsewhere, untrue, empty, huge, cell_in(Tier::dram)};
    const auto status = [](Errc code) {
        PlacementItem item;
        item.status = static_cast<std::uint16_t>(code);
        return item;
    };
    const PlacementItem moved{0, 3, 5, 1, 4, 4, 3, 16'684, kHour};
    EXPECT_EQ(plan(), (std::vector{status(Errc::wrong_state), status(Errc::invalid_argument),
                                   status(Errc::invalid_argument), status(Errc::invalid_argument),
                                   status(Errc::overflow), moved}));
}

TEST_F(Placing, TheOldestCellThereCanBe) {
    cell().in_tier_ns = kMax;
    cell().touches = kMax;
    cell().since_touch_ns = kMax;
    EXPECT_EQ(plan()[0].reason, wire_number(PlacementReason::demote_beats_recompute));
}

TEST_F(Placing, APoolIsOfItsTier) {
    cxl().pool = "cxl0";
    EXPECT_EQ(plan()[0].weighed, wire_number(Tier::cxl));
    cxl().pool = "cxl1";
    EXPECT_EQ(refusal().code(), Errc::not_found);
    EXPECT_THAT(refusal().message(), HasSubstr("no pool 'cxl1' in tier cxl"));
    cxl().pool.clear();
    dram().pool = "cxl0";
    EXPECT_EQ(refusal().code(), Errc::not_found);
}

TEST_F(Placing, ATierStandsOnce) {
    request.tiers.push_back(request.tiers[0]);
    EXPECT_EQ(refusal().code(), Errc::already_exists);
    EXPECT_THAT(refusal().message(), HasSubstr("dram"));
}

}  // namespace
}  // namespace cxlpool

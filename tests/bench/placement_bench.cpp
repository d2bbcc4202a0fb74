// One directive of the placement plan, against a walk over the whole ladder that only reads what
// each tier has used. Allocations are counted: a directive takes none.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "against_floor.hpp"
#include "base/check.hpp"
#include "domain/placement.hpp"
#include "support/allocations.hpp"

namespace cxlpool::bench {
namespace {

constexpr Timestamp kNow{1'000'000'000'000};
constexpr std::size_t kBatch = 10'000;  // some nanoseconds each: the clock must not count
constexpr int kTurns = 300;             // a turn counts as one call's time, not as a batch's

PlacementLadder full_ladder(std::uint64_t promote_touches_per_hour) {
    PlacementLadder ladder;
    for (const Tier tier : kTiers) {
        PlacementTier described;
        described.profile = representative_profile(tier);
        // The cell's tier and the next one are full, so that both walks have somewhere to go.
        const bool full = tier == Tier::dram || tier == Tier::numa_far;
        described.used_bytes = full ? *described.profile.capacity_bytes.value : 0;
        described.policy.ttl_ns = 1'000'000'000;
        described.policy.promote_touches_per_hour = promote_touches_per_hour;
        CXLPOOL_CHECK(ladder.add(described).has_value());
    }
    return ladder;
}

PlacementCell cell_in_dram() {
    PlacementCell cell;
    cell.life.state = Lifecycle::sealed;
    cell.life.entered_at = Timestamp{kNow.ns - 500};
    cell.life.last_touch = kNow;
    cell.life.touches = 3;
    cell.tier = Tier::dram;
    cell.bytes = 64ULL << 20U;
    cell.recompute = Cost{8'000'000'000, Source::measured};
    return cell;
}

void plan(benchmark::State& state, PlacementAction wanted) {
    const bool hot = wanted == PlacementAction::promote;
    const PlacementLadder ladder = full_ladder(hot ? 1 : UINT64_MAX);
    const PlacementCell cell = cell_in_dram();
    const Result<PlacementDirective> once = plan_placement(cell, ladder, kNow);
    CXLPOOL_CHECK(once && once->action == wanted);
    const std::size_t before = test::allocations();
    for (std::size_t i = 0; i < kBatch; ++i) {
        benchmark::DoNotOptimize(plan_placement(cell, ladder, kNow));
    }
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - before) / static_cast<double>(kBatch);
    against_floor(
        state, kBatch, [&] { return plan_placement(cell, ladder, kNow); },
        [&] {
            std::uint64_t used = 0;
            for (const Tier tier : kTiers) {
                used += ladder.find(tier)->used_bytes.value_or(0);
            }
            return used;
        });
}
BENCHMARK_CAPTURE(plan, promote, PlacementAction::promote)->Iterations(kTurns)->UseManualTime();
BENCHMARK_CAPTURE(plan, demote, PlacementAction::demote)->Iterations(kTurns)->UseManualTime();

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

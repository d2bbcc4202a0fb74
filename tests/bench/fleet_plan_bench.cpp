// One fleet plan of the reference case, against the four multiplications and the division that no
// plan can do without.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "against_floor.hpp"
#include "base/check.hpp"
#include "domain/fleet_plan.hpp"
#include "support/allocations.hpp"

namespace cxlpool::bench {
namespace {

constexpr std::size_t kBatch = 10'000;  // some nanoseconds each: the clock must not count
constexpr int kTurns = 300;             // a turn counts as one call's time, not as a batch's

void plan(benchmark::State& state, Tier tier, Regime wanted) {
    FleetPlanInput input;
    input.tenants = 8;
    input.tokens = 4000;
    input.bytes = 64ULL << 20U;
    input.recompute_ns_per_token = 2'000'000;
    const Profile profile = representative_profile(tier);
    const Result<FleetPlan> once = plan_fleet(input, profile);
    CXLPOOL_CHECK(once && once->holds == wanted);
    const std::size_t before = test::allocations();
    for (std::size_t i = 0; i < kBatch; ++i) {
        benchmark::DoNotOptimize(plan_fleet(input, profile));
    }
    state.counters["allocations"] =
        static_cast<double>(test::allocations() - before) / static_cast<double>(kBatch);
    std::uint64_t hosts = 8;
    against_floor(
        state, kBatch, [&] { return plan_fleet(input, profile); },
        [&] {
            benchmark::DoNotOptimize(hosts);
            return hosts * input.tokens + hosts * input.bytes +
                   input.tokens * input.recompute_ns_per_token +
                   input.bytes * 1000 / *profile.read_mbps.value;
        });
}
BENCHMARK_CAPTURE(plan, coherent, Tier::cxl, Regime::coherent)->Iterations(kTurns)->UseManualTime();
BENCHMARK_CAPTURE(plan, copy_only, Tier::remote, Regime::copy_only)
    ->Iterations(kTurns)
    ->UseManualTime();

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

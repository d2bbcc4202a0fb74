// A verdict of the trust gate, against comparing the two identities and nothing else.
//
// The gate asks all its checks whichever refuses, so a refusal takes as long as a hit.
#include <benchmark/benchmark.h>

#include <array>

#include "against_floor.hpp"
#include "domain/gate.hpp"
#include "support/allocations.hpp"

namespace cxlpool::bench {
namespace {

constexpr std::size_t kBatch = 4096;
constexpr int kTurns = 500;
constexpr std::size_t kCells = 64;  // in turn, so that no answer is the last one's

struct World {
    GateRequester requester{true, true, TenantId{2}, Reach::in_place};
    ContextKey wanted;
    std::array<GateCell, kCells> cells;
    std::array<TenantId, 4> allowed{TenantId{9}, TenantId{8}, TenantId{7}, TenantId{2}};
    std::size_t next = 0;

    explicit World(bool listed) {
        for (std::size_t i = 0; i < kAxisCount; ++i) {
            wanted.axes[i] = AxisId{static_cast<std::uint32_t>(i + 1)};
        }
        for (GateCell& cell : cells) {
            cell.owner = TenantId{1};
            cell.key = wanted;
            cell.lifecycle = Lifecycle::sealed;
            cell.taint = Taint::trusted;
            cell.admission = Admission::allow;
            cell.scope = Scope::fleet;
            cell.adjudicated_epoch = cell.owner_epoch = 3;
            cell.length_bytes = 64;
            cell.digest_present = cell.extent_alive = true;
            if (listed) {
                cell.allow_list = allowed;
            }
        }
    }
    const GateCell& turn() { return cells[next++ % kCells]; }
};

void measure(benchmark::State& state, World& world) {
    const std::size_t before = test::allocations();
    benchmark::DoNotOptimize(judge(world.requester, world.turn(), world.wanted, Timestamp{1000}));
    state.counters["allocations"] = static_cast<double>(test::allocations() - before);
    against_floor(
        state, kBatch,
        [&] { return judge(world.requester, world.turn(), world.wanted, Timestamp{1000}); },
        [&] { return world.turn().key == world.wanted; });
}

void gate_served(benchmark::State& state) {
    World world(false);
    measure(state, world);
}
BENCHMARK(gate_served)->Iterations(kTurns)->UseManualTime();

void gate_served_by_allow_list(benchmark::State& state) {
    World world(true);
    measure(state, world);
}
BENCHMARK(gate_served_by_allow_list)->Iterations(kTurns)->UseManualTime();

void gate_poisoned(benchmark::State& state) {
    World world(false);
    for (GateCell& cell : world.cells) {
        cell.taint = Taint::poisoned;
    }
    measure(state, world);
}
BENCHMARK(gate_poisoned)->Iterations(kTurns)->UseManualTime();

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

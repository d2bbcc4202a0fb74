// What a subject costs, beside the least that anything of its kind can cost (its floor).
//
// Both are timed in turns within one run, so that a busy or throttled machine slows both and their
// ratio still says something.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

namespace cxlpool::bench {

// Seconds that one of `batch` calls took.
template <typename F>
double seconds_a_call(std::size_t batch, F&& call) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < batch; ++i) {
        benchmark::DoNotOptimize(call());
        benchmark::ClobberMemory();
    }
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(batch);
}

// The time that is reported is the subject's, for one call. Counters: `best_ns` and `floor_ns`, the
// quickest turn of each, which nothing interrupted, and `ratio` of the two. Both callables return
// what the compiler must not leave out. `batch` calls are timed at once: enough that reading the
// clock (about 30 ns) does not count. Needs ->UseManualTime().
template <typename Subject, typename Floor>
void against_floor(benchmark::State& state, std::size_t batch, Subject&& subject, Floor&& floor) {
    double best_subject = std::numeric_limits<double>::infinity();
    double best_floor = std::numeric_limits<double>::infinity();
    for (auto turn : state) {
        static_cast<void>(turn);
        const double seconds = seconds_a_call(batch, subject);
        best_subject = std::min(best_subject, seconds);
        best_floor = std::min(best_floor, seconds_a_call(batch, floor));
        state.SetIterationTime(seconds);
    }
    state.counters["best_ns"] = best_subject * 1e9;
    state.counters["floor_ns"] = best_floor * 1e9;
    state.counters["ratio"] = best_subject / best_floor;
}

}  // namespace cxlpool::bench

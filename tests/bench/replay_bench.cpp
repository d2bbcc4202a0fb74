// A million requests of many tenants, read and replayed as `cxlpoolctl simulate` does it: how many
// requests a minute, in pools with and without a bound. Beside it, the least that anything of its
// kind does: walking over the lines, and one look into a hash table for each span.
//
// Run whole it takes some minutes; --benchmark_filter=simulate/bound is the figure to look at.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <istream>
#include <random>
#include <streambuf>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "against_floor.hpp"
#include "base/check.hpp"
#include "replay/replay.hpp"
#include "replay/trace_reader.hpp"

namespace cxlpool::bench {
namespace {

constexpr std::uint64_t kRequests = 1'000'000;
constexpr std::uint32_t kTenants = 64;
constexpr std::uint32_t kPrompts = 24;         // system prompts, which tenants have in common
constexpr std::uint32_t kPromptSpans = 4;      // of each
constexpr std::uint32_t kConversations = 512;  // of a tenant at a time
constexpr std::size_t kMostTurns = 12;
constexpr std::uint64_t kSpanBytes = 64ULL << 20U;
constexpr std::uint64_t kPoolSpans = 100'000;  // of some million distinct ones

// Conversations that grow by a span or two with each request, some much more often than others, and
// end after a dozen spans. The same trace in every run.
std::string make_trace() {
    std::mt19937_64 random(20'260'101);
    const auto uniform = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    std::vector<std::vector<std::uint64_t>> conversations(std::size_t{kTenants} * kConversations);
    std::uint64_t last_span = std::uint64_t{kPrompts} * kPromptSpans;
    std::string text;
    text.reserve(kRequests * 160);
    for (std::uint64_t i = 0; i < kRequests; ++i) {
        const auto tenant = static_cast<std::uint32_t>(random() % kTenants);
        // The cube makes few of them frequent.
        const auto which = static_cast<std::uint32_t>(kConversations * std::pow(uniform(), 3));
        auto& turns = conversations[std::size_t{tenant} * kConversations + which];
        if (turns.size() >= kMostTurns) {
            turns.clear();
        }
        for (std::uint64_t more = 1 + random() % 2; more > 0; --more) {
            turns.push_back(++last_span);
        }
        text += "{\"time_ms\": " + std::to_string(i) + ", \"tenant\": \"t" +
                std::to_string(tenant) + "\", \"spans\": [";
        const std::uint64_t prompt = (tenant + which) % kPrompts;
        for (std::uint64_t n = 1; n <= kPromptSpans; ++n) {
            text += std::to_string(prompt * kPromptSpans + n) + ", ";
        }
        for (std::size_t n = 0; n < turns.size(); ++n) {
            text += (n == 0 ? "" : ", ") + std::to_string(turns[n]);
        }
        text += "], \"tokens\": " + std::to_string((kPromptSpans + turns.size()) * 512) + "}\n";
    }
    return text;
}

const std::string& trace_text() {
    static const std::string text = make_trace();
    return text;
}

// Bytes that are there already, as a stream.
class Bytes : public std::streambuf {
  public:
    explicit Bytes(std::string_view text) {
        char* const begin = const_cast<char*>(text.data());  // only read
        setg(begin, begin, begin + text.size());
    }
};

replay::Trace read() {
    Bytes bytes(trace_text());
    std::istream in(&bytes);
    Result<replay::Trace> trace = replay::read_trace("trace", in, {});
    CXLPOOL_CHECK(trace.has_value() && trace->requests().size() == kRequests);
    return std::move(*trace);
}

const replay::Trace& trace() {
    static const replay::Trace read_once = read();
    return read_once;
}

std::size_t walk_lines() {
    std::size_t lines = 0;
    const std::string& text = trace_text();
    for (const char* at = text.data(); at != nullptr; ++lines) {
        at = static_cast<const char*>(
            std::memchr(at, '\n', static_cast<std::size_t>(text.data() + text.size() - at)));
        at = at == nullptr ? at : at + 1;
    }
    return lines;
}

// A cache without bound, tenants, leases and judgement.
std::uint64_t look_each_span_up() {
    std::unordered_map<std::uint32_t, std::uint64_t> cells;
    std::uint64_t hits = 0;
    for (const replay::Trace::Request& request : trace().requests()) {
        for (const std::uint32_t span : trace().spans_of(request)) {
            hits += cells.emplace(span, request.time_ns).second ? 0 : 1;
        }
    }
    return hits;
}

replay::ReplayOptions options_of(Regime regime, EvictionPolicy policy, bool bound) {
    replay::ReplayOptions options;
    options.regime = regime;
    options.policy = policy;
    options.pool_bytes = bound ? kPoolSpans * kSpanBytes : 0;
    if (bound && regime == Regime::private_copies) {
        options.pool_bytes /= kTenants;
    }
    return options;
}

std::uint64_t replayed(const replay::Trace& of, const replay::ReplayOptions& options) {
    const Result<replay::ReplayReport> report = replay::replay(of, options);
    CXLPOOL_CHECK(report.has_value());
    CXLPOOL_CHECK((report->total.evictions_suffered != 0) == (options.pool_bytes != 0));
    return report->total.hits;
}

void count(benchmark::State& state) {
    state.counters["requests_a_minute"] =
        60e9 / state.counters["best_ns"] * static_cast<double>(kRequests);
    state.counters["spans"] = static_cast<double>(trace().span_count());
    state.counters["distinct"] = static_cast<double>(trace().distinct_spans());
}

void reading(benchmark::State& state) {
    trace_text();
    against_floor(
        state, 1, [] { return read().span_count(); }, walk_lines);
    count(state);
}
BENCHMARK(reading)->Iterations(2)->UseManualTime()->Unit(benchmark::kMillisecond);

void replaying(benchmark::State& state, Regime regime, EvictionPolicy policy, bool bound) {
    trace();
    const replay::ReplayOptions options = options_of(regime, policy, bound);
    against_floor(
        state, 1, [&] { return replayed(trace(), options); }, look_each_span_up);
    count(state);
}
#define CXLPOOL_REPLAYING(name, ...)                \
    BENCHMARK_CAPTURE(replaying, name, __VA_ARGS__) \
        ->Iterations(2)                             \
        ->UseManualTime()                           \
        ->Unit(benchmark::kMillisecond)
CXLPOOL_REPLAYING(coherent_no_bound, Regime::coherent, EvictionPolicy::fair, false);
CXLPOOL_REPLAYING(coherent_fair, Regime::coherent, EvictionPolicy::fair, true);
CXLPOOL_REPLAYING(coherent_lru, Regime::coherent, EvictionPolicy::lru, true);
CXLPOOL_REPLAYING(copy_only_fair, Regime::copy_only, EvictionPolicy::fair, true);
CXLPOOL_REPLAYING(private_fair, Regime::private_copies, EvictionPolicy::fair, true);

// From the text to the figures.
void simulate(benchmark::State& state, bool bound) {
    trace();
    const replay::ReplayOptions options = options_of(Regime::coherent, EvictionPolicy::fair, bound);
    against_floor(
        state, 1, [&] { return replayed(read(), options); },
        [] { return walk_lines() + look_each_span_up(); });
    count(state);
}
BENCHMARK_CAPTURE(simulate, no_bound, false)
    ->Iterations(2)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate, bound, true)
    ->Iterations(2)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

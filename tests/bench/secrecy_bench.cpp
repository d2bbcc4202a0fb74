// How much the time of an answer tells: looking up a span whose cell belongs to another tenant and
// is refused, beside one that nobody has. Both in turns, over a registry that fits no cache; the
// answers are the same bytes, and the distributions should be the same, too.
//
// Counters: p10, p50 and p90 of each in ns, `gap_ns` of the medians, and `telling`, the share of
// pairs in which the refused one took longer (Mann-Whitney: 0.5 is no information at all).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "base/check.hpp"
#include "registry/registry.hpp"

namespace cxlpool::bench {
namespace {

constexpr std::uint64_t kCells = 200'000;
constexpr int kPairs = 100'000;
constexpr TenantId kOwner{1};
constexpr TenantId kStranger{2};

SpanDigest span_of(std::uint64_t n) {
    SpanDigest span;
    span.bytes[31] = 1;
    std::memcpy(span.bytes.data(), &n, sizeof n);
    return span;
}

ContextKey whole_key() {
    ContextKey key;
    for (AxisId& axis : key.axes) {
        axis = AxisId{1};
    }
    return key;
}

class World {
  public:
    World() : registry_(TenancyMode::multi, limits()) {
        registry_.add_pool({Isolation::kernel});
        CXLPOOL_CHECK(registry_.add_tenant(kOwner, "owner").has_value());
        CXLPOOL_CHECK(registry_.add_tenant(kStranger, "stranger").has_value());
        const ConnectionId owner = registry_.open_connection(kOwner, 1, "e");
        stranger_ = registry_.open_connection(kStranger, 2, "e");
        for (std::uint64_t n = 0; n < kCells; ++n) {
            Location location;
            location.placement = {SegmentId{n + 1}, {0, 4096}, 4096};
            const auto begun = registry_.begin(owner, key_, span_of(n), location, {}, {});
            const auto work = registry_.start_seal(owner, begun->lease);
            ContentDigest digest;
            digest.bytes[0] = 1;
            CXLPOOL_CHECK(registry_.finish_seal(*work, digest, std::nullopt, {}).has_value());
            static_cast<void>(registry_.take_ended());
        }
    }
    double ns_of_lookup(std::uint64_t n) {
        const SpanDigest span = span_of(n);
        const auto start = std::chrono::steady_clock::now();
        const LookupResult found = registry_.lookup(stranger_, key_, span, {});
        const auto end = std::chrono::steady_clock::now();
        CXLPOOL_CHECK(found.told == Told());
        return std::chrono::duration<double, std::nano>(end - start).count();
    }

  private:
    static RegistryLimits limits() {
        RegistryLimits limits;
        limits.cells_per_tenant = kCells;
        return limits;
    }
    ContextKey key_ = whole_key();
    Registry registry_;
    ConnectionId stranger_;
};

double percentile(const std::vector<double>& sorted, double p) {
    return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

// The share of pairs (a, b) with a > b, a tie being half of one; both are sorted.
double share_above(const std::vector<double>& a, const std::vector<double>& b) {
    double above = 0;
    for (const double value : a) {
        const auto [low, high] = std::equal_range(b.begin(), b.end(), value);
        above += static_cast<double>(low - b.begin()) + 0.5 * static_cast<double>(high - low);
    }
    return above / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

void refused_beside_absent(benchmark::State& state) {
    World world;
    std::mt19937_64 random(1);
    for (auto turn : state) {
        static_cast<void>(turn);
        std::vector<double> refused;
        std::vector<double> absent;
        for (int i = 0; i < kPairs; ++i) {
            const std::uint64_t n = random() % kCells;
            // In turns, and the first of a pair in turns, too.
            if (i % 2 == 0) {
                refused.push_back(world.ns_of_lookup(n));
                absent.push_back(world.ns_of_lookup(kCells + n));
            } else {
                absent.push_back(world.ns_of_lookup(kCells + n));
                refused.push_back(world.ns_of_lookup(n));
            }
        }
        std::sort(refused.begin(), refused.end());
        std::sort(absent.begin(), absent.end());
        for (const auto& [name, sorted] : {std::pair{"refused", &refused}, {"absent", &absent}}) {
            const std::string prefix = std::string(name) + "_";
            state.counters[prefix + "p10"] = percentile(*sorted, 0.1);
            state.counters[prefix + "p50"] = percentile(*sorted, 0.5);
            state.counters[prefix + "p90"] = percentile(*sorted, 0.9);
        }
        state.counters["gap_ns"] = percentile(refused, 0.5) - percentile(absent, 0.5);
        state.counters["telling"] = share_above(refused, absent);
    }
}
BENCHMARK(refused_beside_absent)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

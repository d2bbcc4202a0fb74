// The hit shares that the publication of two traces states, as ../shared/traces/README.md has them.
// They are not part of the project: where they are absent, the test is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <utility>

#include "replay/replay.hpp"
#include "replay/trace_reader.hpp"

namespace cxlpool::replay {
namespace {

struct Known {
    const char* file;
    std::uint64_t requests;
    std::uint64_t spans;
    std::uint64_t distinct_spans;
    double hit_share;  // with memory without bound
};

class PublishedTrace : public ::testing::TestWithParam<Known> {};

TEST_P(PublishedTrace, HasItsHitShareWithMemoryWithoutBound) {
    const Known known = GetParam();
    const std::string path = std::string(TRACES_DIR "/") + known.file;
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        GTEST_SKIP() << path << " is not here: the traces are published apart from the project";
    }
    const Result<Trace> trace = read_trace(known.file, in, {});
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(trace->requests().size(), known.requests);
    EXPECT_EQ(trace->span_count(), known.spans);
    EXPECT_EQ(trace->distinct_spans(), known.distinct_spans);
    // Every id stands for all that lies before it, so what was found is always a prefix, and with
    // one tenant no regime differs from another.
    for (const auto& [regime, rule] : {std::pair(Regime::private_copies, HitRule::blocks),
                                       std::pair(Regime::coherent, HitRule::prefix)}) {
        ReplayOptions options;
        options.regime = regime;
        options.count = rule;
        const Result<ReplayReport> report = replay(*trace, options);
        ASSERT_TRUE(report);
        EXPECT_EQ(report->total.spans, known.spans);
        // Without bound a span misses exactly once.
        EXPECT_EQ(report->total.hits, known.spans - known.distinct_spans);
        const double share =
            static_cast<double>(report->total.hits) / static_cast<double>(known.spans);
        EXPECT_EQ(std::round(share * 1e4), std::round(known.hit_share * 1e4));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Traces, PublishedTrace,
    ::testing::Values(Known{"conversation_trace.jsonl", 12'031, 288'500, 182'790, 0.3664},
                      Known{"synthetic_trace.jsonl", 3'993, 121'877, 43'924, 0.6396}),
    [](const ::testing::TestParamInfo<Known>& known) {
        return std::string(known.param.file).substr(0, std::string(known.param.file).find('_'));
    });

}  // namespace
}  // namespace cxlpool::replay

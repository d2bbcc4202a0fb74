#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/progress.hpp"
#include "cxlpoolctl/simulation_plot.hpp"
#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Five requests of two tenants; the answers are worked out in tests/unit/replay/replay_test.cpp.
const std::string kTrace =
    R"({"time_ms":0,"tenant":"chat","spans":[1,2],"tokens":1024}
{"time_ms":1,"tenant":"search","spans":[1,2],"tokens":1024}
{"time_ms":2,"tenant":"chat","spans":[1,3],"tokens":1024}
{"time_ms":3,"tenant":"search","spans":[1,2,4],"tokens":1536}
{"time_ms":4,"tenant":"chat","spans":[1,2],"tokens":1024}
)";

std::vector<std::string> simulate(std::vector<std::string> more) {
    more.insert(more.begin(), {"simulate", "--trace", "-"});
    return more;
}

TEST(SimulateVerb, ComparesSizesRegimesAndPolicies) {
    const Outcome outcome = run_ctl(
        simulate({"--pool", "128MiB,0", "--regime", "all", "--policy", "fair,lru"}), kTrace);
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_THAT(outcome.out, StartsWith("Trace standard input: 5 requests of 2 tenants over 4 ms, "
                                        "5632 tokens of prompts\n"));
    EXPECT_THAT(outcome.out, HasSubstr("11 spans of 512 tokens, 4 distinct, 128 KiB a token"));
    EXPECT_THAT(outcome.out, ContainsRegex("private +fair +no bound +2 +5 +0.4545 +2560"));
    EXPECT_THAT(outcome.out, ContainsRegex("copy_only +lru +no bound +1 +7 +0.6364 +3584"));
    EXPECT_THAT(outcome.out,
                ContainsRegex("coherent +fair +128 MiB +1 +5 +0.4545 +2560 +0.4545 +3 +1 +128"));
    EXPECT_THAT(outcome.out,
                ContainsRegex("coherent +lru +128 MiB +1 +5 +0.4545 +2560 +0.4545 +4 +0 +128"));
    EXPECT_THAT(outcome.out, HasSubstr("\ncoherent, lru, 128 MiB\n"));
    EXPECT_THAT(outcome.out, ContainsRegex("search +2 +3 +2 +0.6000 +3 +1536 +2 +2 +0 +0 B"));
}

TEST(SimulateVerb, SaysTheSameAsJson) {
    const Outcome outcome =
        run_ctl(simulate({"--pool", "128MiB", "--policy", "lru", "--json"}), kTrace);
    EXPECT_EQ(outcome.status, kExitOk);
    const Result<json::Value> document = json::parse("out", outcome.out);
    ASSERT_TRUE(document) << document.error().message();
    const json::Value* const trace = member(*document, "trace");
    ASSERT_NE(trace, nullptr);
    EXPECT_EQ(number_of(*trace, "requests"), 5U);
    EXPECT_EQ(number_of(*trace, "distinct_spans"), 4U);
    EXPECT_EQ(number_of(*trace, "duration_ns"), 4'000'000U);
    EXPECT_EQ(number_of(*document, "block_tokens"), 512U);
    EXPECT_EQ(number_of(*document, "bytes_per_token"), 131072U);
    EXPECT_EQ(text_of(*document, "count"), "prefix");
    const std::vector<json::Value>& runs = items_of(*document, "runs");
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(text_of(runs[0], "regime"), "coherent");
    EXPECT_EQ(text_of(runs[0], "policy"), "lru");
    EXPECT_EQ(number_of(runs[0], "pool_bytes"), 128U << 20U);
    EXPECT_EQ(number_of(*member(runs[0], "total"), "hits"), 5U);
    EXPECT_EQ(number_of(*member(runs[0], "total"), "misses"), 6U);
    EXPECT_DOUBLE_EQ(member(*member(runs[0], "total"), "hit_share")->real_number, 5.0 / 11);
    const std::vector<json::Value>& tenants = items_of(runs[0], "tenants");
    ASSERT_EQ(tenants.size(), 2U);
    EXPECT_EQ(text_of(tenants[1], "name"), "search");
    EXPECT_EQ(number_of(tenants[1], "hits_of_others"), 3U);
    EXPECT_EQ(number_of(tenants[1], "bytes_resident"), 0U);
    const std::vector<json::Value>& evictions = items_of(runs[0], "evictions");
    ASSERT_EQ(evictions.size(), 4U);
    EXPECT_EQ(text_of(evictions[1], "causer"), "chat");
    EXPECT_EQ(text_of(evictions[1], "victim"), "search");
    EXPECT_EQ(number_of(evictions[1], "bytes"), 64U << 20U);
}

TEST(SimulateVerb, NeverSaysThatNothingIsAShareOfNothing) {
    const Outcome outcome =
        run_ctl(simulate({}), R"({"time_ms":0,"tenant":"a","spans":[],"tokens":0})");
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.out, ContainsRegex("coherent +fair +no bound +1 +0 +- +0 +- +0 +0 +0 B"));
    EXPECT_THAT(
        run_ctl(simulate({"--json"}), R"({"time_ms":0,"tenant":"a","spans":[],"tokens":0})").out,
        HasSubstr("\"hit_share\": null"));
}

TEST(SimulateVerb, AssignsTenantsAndSizes) {
    const std::string published =
        R"({"timestamp":0,"input_length":9,"output_length":0,"hash_ids":[1,2,3]})"
        "\n"
        R"({"timestamp":0,"input_length":9,"output_length":0,"hash_ids":[1,2,3]})";
    const Outcome outcome = run_ctl(simulate({"--tenants", "2", "--regime", "private",
                                              "--block-tokens", "4", "--bytes-per-token", "1KiB"}),
                                    published);
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.out, ContainsRegex("private +fair +no bound +2 +0 +0.0000 +0 +0.0000 +0 "
                                           "+0 +18 KiB"));
    EXPECT_THAT(run_ctl(simulate({"--tenants", "2", "--assign", "first-block", "--block-tokens",
                                  "4", "--regime", "private"}),
                        published)
                    .out,
                ContainsRegex("private +fair +no bound +2 +3 +0.5000"));
}

TEST(SimulateVerb, SaysWhatIsWrongWithTheCommandLine) {
    const auto refused = [](const std::vector<std::string>& more, const std::string& message) {
        const Outcome outcome = run_ctl(simulate(more), kTrace);
        EXPECT_EQ(outcome.status, kExitUsage) << message;
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_THAT(outcome.err, HasSubstr(message));
        EXPECT_THAT(outcome.err, HasSubstr("Try 'cxlpoolctl simulate --help'."));
    };
    refused({"--pool", "1GiB,1GiB"}, "--pool: '1GiB' is given twice");
    refused({"--pool", "1GiB,"}, "--pool: '' is not a size");
    refused({"--pool", "big"}, "--pool: 'big' is not a size");
    refused({"--regime", "coherent,shared"},
            "--regime: 'shared' is no regime: known are private, copy_only, coherent");
    refused({"--policy", "mru"}, "--policy: 'mru' is no policy: known are fair, lru");
    refused({"--count", "all"}, "--count: unknown rule of counting 'all': known are prefix blocks");
    refused({"--tenants", "0"}, "--tenants: a number from 1 to 1024 is wanted");
    refused({"--tenants", "1025"}, "--tenants: a number from 1 to 1024 is wanted");
    refused({"--assign", "first-block"}, "--assign: first-block needs --tenants");
    refused({"--assign", "single", "--tenants", "2"}, "--assign: single leaves one tenant");
    refused({"--assign", "random"}, "--assign: unknown rule of assignment 'random'");
    refused({"--block-tokens", "0"}, "--block-tokens: a number from 1 to 1048576 is wanted");
    refused({"--block-tokens", "1048576"}, "a block of 1048576 tokens of 131072 bytes each");
    refused({"--bytes-per-token", "0"}, "--bytes-per-token: a number from 1 to");
    refused({"--plot", "a.svg"}, "--plot: a file's name is wanted, and a --pool with a bound");
    refused({"--plot", "-", "--pool", "1GiB"}, "--plot: a file's name is wanted");
    std::string sizes = "1";
    for (int i = 2; i <= 201; ++i) {
        sizes += "," + std::to_string(i);
    }
    refused({"--pool", sizes}, "201 simulations are more than 200: give fewer sizes");
    EXPECT_THAT(run_ctl({"simulate"}).err, HasSubstr("missing: --trace"));
}

TEST(SimulateVerb, SaysWhatIsWrongWithTheTrace) {
    const Outcome broken = run_ctl(simulate({}), kTrace + "{\"time_ms\":1");
    EXPECT_EQ(broken.status, kExitUsage);
    EXPECT_THAT(broken.out, IsEmpty());
    EXPECT_THAT(broken.err, StartsWith("cxlpoolctl: standard input:6:13: the end of the line"));
    const Outcome named = run_ctl(simulate({"--tenants", "2"}), kTrace);
    EXPECT_EQ(named.status, kExitUsage);
    EXPECT_THAT(named.err, HasSubstr("1:23: the requests of this trace name their tenants"));
    const Outcome absent = run_ctl({"simulate", "--trace", "/nonexistent/trace"});
    EXPECT_EQ(absent.status, kExitUsage);
    EXPECT_THAT(absent.err, HasSubstr("/nonexistent/trace: cannot be opened: No such file"));
}

replay::ReplayReport report(Regime regime, EvictionPolicy policy, std::uint64_t pool_bytes,
                            std::uint64_t hits) {
    replay::ReplayReport out;
    out.options.regime = regime;
    out.options.policy = policy;
    out.options.pool_bytes = pool_bytes;
    out.total.spans = 8;
    out.total.hits = hits;
    return out;
}

TEST(SimulationPlot, DrawsALineForEachRegimeAndPolicyOverTheSizes) {
    constexpr std::uint64_t kGiB = 1ULL << 30U;
    SimulationPlot plot;
    plot.title = "it's a trace";
    plot.runs = {report(Regime::coherent, EvictionPolicy::lru, 4 * kGiB, 4),
                 report(Regime::coherent, EvictionPolicy::lru, 0, 6),
                 report(Regime::coherent, EvictionPolicy::lru, 1 * kGiB, 2),
                 report(Regime::private_copies, EvictionPolicy::lru, 1 * kGiB, 1)};
    plot.runs[3].pools = 3;
    const std::string script = gnuplot_script(plot);
    EXPECT_THAT(script, HasSubstr("$series0 << end_of_series\n 1 0.250000\n 4 0.500000\nend"));
    EXPECT_THAT(script, HasSubstr("$series1 << end_of_series\n 1 0.125000\nend"));
    EXPECT_THAT(script, HasSubstr(" 0.750000 with lines lw 1"));
    EXPECT_THAT(script, HasSubstr("title 'coherent, lru, without bound'"));
    EXPECT_THAT(script, HasSubstr("title 'private, lru, 3 pools'"));
    EXPECT_THAT(script, HasSubstr("set title 'it''s a trace'"));
    EXPECT_THAT(script, HasSubstr("set xlabel 'pool, GiB'"));
    EXPECT_THAT(script, HasSubstr("set logscale x 2\nset xrange [ 1: 4 ]"));
    plot.runs = {plot.runs[0]};
    EXPECT_THAT(gnuplot_script(plot), Not(HasSubstr("logscale")));
}

class FakeClock : public Clock {
  public:
    Timestamp monotonic() const override { return now; }
    Timestamp wall() const override { return now; }
    Timestamp now{5'000'000'000};
};

TEST(Progress, IsOneLineThatGoesAwayInTheEnd) {
    FakeClock clock;
    std::ostringstream err;
    {
        Progress progress(err, clock, true);
        progress.start("reading a\tb", 0);
        clock.now.ns += 500'000'000;
        progress.done(1000);
        EXPECT_EQ(err.str(), "\rreading a?b: 1000 requests, 2000/s");
        clock.now.ns += 199'999'999;
        progress.done(1001);
        EXPECT_EQ(err.str(), "\rreading a?b: 1000 requests, 2000/s");
        err.str({});
        progress.start("run", 9);
        clock.now.ns += 1'000'000'000;
        progress.done(3);
        EXPECT_EQ(err.str(), "\rrun: 3 of 9 requests, 3/s         ");
        err.str({});
    }
    EXPECT_EQ(err.str(), "\r" + std::string(25, ' ') + "\r");
}

TEST(Progress, IsSilentWhereNobodyLooks) {
    FakeClock clock;
    std::ostringstream err;
    EXPECT_FALSE(is_terminal(err));
    {
        Progress progress(err, clock, false);
        progress.start("reading", 0);
        clock.now.ns += 1'000'000'000;
        progress.done(1000);
    }
    EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace cxlpool::ctl

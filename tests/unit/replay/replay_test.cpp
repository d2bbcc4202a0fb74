#include "replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "replay/trace_reader.hpp"

namespace cxlpool::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Blocks of one token of one byte, so that a pool of N bytes holds N spans.
Trace trace_of(const std::string& text, std::uint64_t block_tokens = 1) {
    std::istringstream in(text);
    TraceOptions options;
    options.block_tokens = block_tokens;
    Result<Trace> trace = read_trace("t", in, options);
    EXPECT_TRUE(trace) << trace.error().message();
    return std::move(trace).value();
}

std::string request(const std::string& tenant, const std::string& spans, std::uint64_t tokens) {
    return R"({"time_ms":0,"tenant":")" + tenant + R"(","spans":[)" + spans + R"(],"tokens":)" +
           std::to_string(tokens) + "}\n";
}

ReplayReport run(const Trace& trace, Regime regime, EvictionPolicy policy, std::uint64_t pool_bytes,
                 HitRule count = HitRule::prefix) {
    ReplayOptions options;
    options.regime = regime;
    options.policy = policy;
    options.pool_bytes = pool_bytes;
    options.count = count;
    options.bytes_per_token = 1;
    Result<ReplayReport> report = replay(trace, options);
    EXPECT_TRUE(report) << report.error().message();
    return std::move(report).value();
}

// What one tenant came to, in one line: hits/spans, those of others, not kept, bytes at the end.
std::string line(const TenantOutcome& o) {
    return o.name + " " + std::to_string(o.hits) + "/" + std::to_string(o.spans) + " others " +
           std::to_string(o.hits_of_others) + " not kept " + std::to_string(o.not_kept) +
           " resident " + std::to_string(o.bytes_resident);
}
// "a>b 2": two cells of b went for new ones of a.
std::vector<std::string> flows(const ReplayReport& report) {
    std::vector<std::string> out;
    for (const EvictionFlow& flow : report.evictions) {
        out.push_back(report.tenants[flow.causer.value - 1].name + ">" +
                      report.tenants[flow.victim.value - 1].name + " " +
                      std::to_string(flow.cells));
        EXPECT_EQ(flow.bytes, flow.cells);
    }
    return out;
}

// Five requests of two tenants; "1" is what all prompts begin with.
//     r0 a: 1 2      r1 b: 1 2      r2 a: 1 3      r3 b: 1 2 4      r4 a: 1 2
class Worked : public ::testing::Test {
  protected:
    const Trace trace_ =
        trace_of(request("a", "1,2", 2) + request("b", "1,2", 2) + request("a", "1,3", 2) +
                 request("b", "1,2,4", 3) + request("a", "1,2", 2));

    void wants(Regime regime, EvictionPolicy policy, std::uint64_t pool_bytes, const char* a,
               const char* b, const std::vector<std::string>& evictions) {
        for (const HitRule rule : {HitRule::prefix, HitRule::blocks}) {  // all that is found here
            const ReplayReport report = run(trace_, regime, policy, pool_bytes, rule);
            EXPECT_EQ(line(report.tenants[0]), a);
            EXPECT_EQ(line(report.tenants[1]), b);
            EXPECT_EQ(flows(report), evictions);
        }
    }
};

// r0 misses both. r2 finds 1, r4 finds 1 and 2. b finds its own: nothing in r1, 1 and 2 in r3.
TEST_F(Worked, PrivatePoolsWithoutBound) {
    for (const EvictionPolicy policy : {EvictionPolicy::fair, EvictionPolicy::lru}) {
        wants(Regime::private_copies, policy, 0, "a 3/6 others 0 not kept 0 resident 3",
              "b 2/5 others 0 not kept 0 resident 3", {});
    }
}

// r1 finds a's 1 and 2 and copies both, so that r3 finds b's own.
TEST_F(Worked, CopiesWithoutBound) {
    for (const EvictionPolicy policy : {EvictionPolicy::fair, EvictionPolicy::lru}) {
        wants(Regime::copy_only, policy, 0, "a 3/6 others 0 not kept 0 resident 3",
              "b 4/5 others 2 not kept 0 resident 3", {});
    }
}

// r1 and r3 use a's 1 and 2 where they lie; b keeps 4 alone.
TEST_F(Worked, OneCopyWithoutBound) {
    for (const EvictionPolicy policy : {EvictionPolicy::fair, EvictionPolicy::lru}) {
        wants(Regime::coherent, policy, 0, "a 3/6 others 0 not kept 0 resident 3",
              "b 4/5 others 4 not kept 0 resident 1", {});
    }
}

// Two bytes for each. a: {1 2}; r2 holds 1, so 2 goes for 3: {1 3}; r4 finds 1, 3 goes for 2.
// b: {1 2}; r3 holds both, so that nothing may go for 4.
TEST_F(Worked, PrivatePoolsOfTwo) {
    for (const EvictionPolicy policy : {EvictionPolicy::fair, EvictionPolicy::lru}) {
        wants(Regime::private_copies, policy, 2, "a 2/6 others 0 not kept 0 resident 2",
              "b 2/5 others 0 not kept 1 resident 2", {"a>a 2"});
    }
}

// Two bytes for both. r0: {a1 a2}. r1 finds both. r2 holds a1; a2 goes for 3: {a1 a3}. r3 holds a1;
// a3 goes for b's 2, and that for b's 4: {a1 b4}. r4 holds a1; b4 is what was touched least
// recently and goes for 2: {a1 a2}.
TEST_F(Worked, OneCopyInTwoByRecency) {
    wants(Regime::coherent, EvictionPolicy::lru, 2, "a 2/6 others 0 not kept 0 resident 2",
          "b 3/5 others 3 not kept 0 resident 0", {"a>a 1", "a>b 1", "b>a 1", "b>b 1"});
}

// The same up to r4: a holds 1 and wants one more, b holds one and is not above it; a's own 1 is
// held. So nothing goes, and 2 is not kept.
TEST_F(Worked, OneCopyInTwoByShares) {
    wants(Regime::coherent, EvictionPolicy::fair, 2, "a 2/6 others 0 not kept 1 resident 1",
          "b 3/5 others 3 not kept 0 resident 1", {"a>a 1", "b>a 1", "b>b 1"});
}

// Three bytes. r0: {a1 a2}. r1 holds both; its copy of 1 goes for that of 2: {a1 a2 b2}. r2 holds
// a1; a2 was touched before b2 was begun and goes for 3: {a1 a3 b2}. r3 holds a1 and b2; a3 goes
// for a copy of 1, and that for 4: {a1 b2 b4}. r4 holds a1 and b2; b4 goes for a copy of 2: {a1 a2
// b2}.
TEST_F(Worked, CopiesInThreeByRecency) {
    wants(Regime::copy_only, EvictionPolicy::lru, 3, "a 3/6 others 1 not kept 0 resident 2",
          "b 4/5 others 3 not kept 0 resident 1", {"a>a 1", "a>b 1", "b>a 1", "b>b 2"});
}

// The same up to r3: b holds one byte and wants a second, a holds two and is not above that; b's
// own is held. So neither the copy of 1 nor 4 is kept: {a1 a3 b2}. r4 holds a1 and b2; a3 goes for
// a copy of 2.
TEST_F(Worked, CopiesInThreeByShares) {
    wants(Regime::copy_only, EvictionPolicy::fair, 3, "a 3/6 others 1 not kept 0 resident 2",
          "b 4/5 others 3 not kept 2 resident 1", {"a>a 2", "b>b 1"});
}

TEST_F(Worked, SumsUpWhatTheTenantsCameTo) {
    const ReplayReport report = run(trace_, Regime::coherent, EvictionPolicy::lru, 2);
    EXPECT_EQ(line(report.total), " 5/11 others 3 not kept 0 resident 2");
    EXPECT_EQ(report.total.requests, 5U);
    EXPECT_EQ(report.total.prefill_tokens, 11U);
    EXPECT_EQ(report.total.prefill_tokens_saved, 5U);
    EXPECT_EQ(report.total.evictions_caused, 4U);
    EXPECT_EQ(report.total.evictions_suffered, 4U);
    EXPECT_EQ(report.tenants[0].evictions_caused, 2U);
    EXPECT_EQ(report.tenants[0].evictions_suffered, 2U);
    EXPECT_EQ(report.tenants[1].requests, 2U);
    EXPECT_EQ(report.pools, 1U);
    EXPECT_EQ(run(trace_, Regime::private_copies, EvictionPolicy::lru, 2).pools, 2U);
}

// A pool of two: [1 2], then 3 puts 1 out. The last request finds 2 and not what lies before it.
TEST(Replay, CountsPrefixesOrBlocks) {
    const Trace trace =
        trace_of(request("a", "1,2", 2) + request("a", "3", 1) + request("a", "1,2", 2));
    EXPECT_EQ(run(trace, Regime::coherent, EvictionPolicy::lru, 2, HitRule::prefix).total.hits, 0U);
    EXPECT_EQ(run(trace, Regime::coherent, EvictionPolicy::lru, 2, HitRule::blocks).total.hits, 1U);
    for (const HitRule rule : {HitRule::prefix, HitRule::blocks}) {
        EXPECT_EQ(*parse_hit_rule(to_word(rule)), rule);
    }
    EXPECT_EQ(parse_hit_rule("all").error().code(), Errc::unknown_word);
}

// Under copy_only what is found behind the first miss is computed, and so it is no copy: it is
// kept, and counts as no hit.
TEST(Replay, KeepsWhatWasComputedThoughAnotherHasIt) {
    const Trace trace = trace_of(request("a", "1,2", 2) + request("b", "9,2", 2));
    const ReplayReport report = run(trace, Regime::copy_only, EvictionPolicy::fair, 0);
    EXPECT_EQ(line(report.tenants[1]), "b 0/2 others 0 not kept 0 resident 2");
    const ReplayReport coherent = run(trace, Regime::coherent, EvictionPolicy::fair, 0);
    EXPECT_EQ(line(coherent.tenants[1]), "b 0/2 others 0 not kept 0 resident 1");
}

// 10 tokens in blocks of 4: the last span has two, and they are what it saves and takes.
TEST(Replay, TakesTheLastSpanForWhatItHolds) {
    const Trace trace = trace_of(request("a", "1,2,3", 10) + request("a", "1,2,3", 10), 4);
    const ReplayReport report = run(trace, Regime::coherent, EvictionPolicy::fair, 0);
    EXPECT_EQ(report.total.prefill_tokens, 20U);
    EXPECT_EQ(report.total.prefill_tokens_saved, 10U);
    EXPECT_EQ(report.total.bytes_resident, 10U);
}

TEST(Replay, TakesTheBytesThatARequestStates) {
    const Trace trace =
        trace_of(R"({"time_ms":0,"tenant":"a","spans":[1,2],"tokens":2,"bytes_per_span":7})"
                 "\n"
                 R"({"time_ms":1,"tenant":"a","spans":[3],"tokens":1})");
    EXPECT_EQ(run(trace, Regime::coherent, EvictionPolicy::fair, 0).total.bytes_resident, 15U);
    // A span of 7 bytes never fits in 6, and nothing has to go for it.
    const ReplayReport small = run(trace, Regime::coherent, EvictionPolicy::fair, 6);
    EXPECT_EQ(small.total.bytes_resident, 1U);
    EXPECT_EQ(small.total.not_kept, 2U);
    EXPECT_THAT(small.evictions, IsEmpty());
}

TEST(Replay, BearsWithASpanTwiceInARequest) {
    const Trace trace = trace_of(request("a", "1,1", 2) + request("a", "1,1", 2));
    const ReplayReport report = run(trace, Regime::coherent, EvictionPolicy::lru, 1);
    EXPECT_EQ(line(report.total), " 2/4 others 0 not kept 0 resident 1");
}

TEST(Replay, RefusesBlocksOfNoSize) {
    const Trace trace = trace_of(request("a", "1", 1), 1024);
    ReplayOptions options;
    options.bytes_per_token = 4U << 20U;
    EXPECT_TRUE(replay(trace, options));
    for (const std::uint64_t bytes : {0UL, (4UL << 20U) + 1, UINT64_MAX}) {
        options.bytes_per_token = bytes;
        const Result<ReplayReport> report = replay(trace, options);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code(), Errc::invalid_argument);
        EXPECT_THAT(report.error().message(), HasSubstr("a block of 1024 tokens"));
    }
}

TEST(Replay, TellsHowFarItIs) {
    std::string text;
    for (int i = 0; i < 9000; ++i) {
        text += request("a", "", 1);
    }
    std::vector<std::uint64_t> told;
    EXPECT_TRUE(replay(trace_of(text), {}, [&](std::uint64_t done) { told.push_back(done); }));
    EXPECT_THAT(told, ElementsAre(4096, 8192));
}

}  // namespace
}  // namespace cxlpool::replay

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

// The reference case: 8 tenants, 4000 tokens, 64 MiB, 2 ms a token.
std::vector<std::string> reference(std::initializer_list<std::string> more) {
    std::vector<std::string> arguments{"plan",    "fleet",    "--tenants",
                                       "8",       "--tokens", "4000",
                                       "--bytes", "64MiB",    "--recompute-ns-per-token",
                                       "2000000"};
    arguments.insert(arguments.end(), more);
    return arguments;
}

Json plan(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const Outcome outcome = run_ctl(arguments, input);
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    return Json::parse(outcome.out, nullptr, false);
}

TEST(PlanFleet, ReferenceOverCxl) {
    const Json document = plan(reference({"--tier", "cxl", "--json"}));
    const Json inputs = document["inputs"];
    EXPECT_EQ(inputs["tenants"], 8);
    EXPECT_EQ(inputs["hosts"], 8);
    EXPECT_EQ(inputs["tokens"], 4000);
    EXPECT_EQ(inputs["bytes"], 67108864);
    EXPECT_EQ(inputs["recompute_ns_per_token"], 2000000);
    EXPECT_EQ(inputs["tier"], "cxl");
    EXPECT_EQ(document["holds"], "coherent");
    EXPECT_EQ(document["advice"], "reuse");
    EXPECT_EQ(document["regimes"].size(), 3U);

    const Json alone = document["regimes"]["private"];
    EXPECT_EQ(alone["prefill_tokens"], 32000);
    EXPECT_EQ(alone["resident_bytes"], 536870912);
    EXPECT_EQ(alone["prefill_tokens_saved"], 0);
    EXPECT_EQ(alone["bytes_saved"], 0);
    EXPECT_EQ(alone["reader_cost_ns"], 8000000000);
    EXPECT_FALSE(alone.contains("full_pass_ns"));

    const Json coherent = document["regimes"]["coherent"];
    EXPECT_EQ(coherent["prefill_tokens"], 4000);
    EXPECT_EQ(coherent["resident_copies"], 1);
    EXPECT_EQ(coherent["resident_bytes"], 67108864);
    EXPECT_EQ(coherent["prefill_tokens_saved"], 28000);
    EXPECT_EQ(coherent["bytes_saved"], 469762048);
    EXPECT_EQ(coherent["reader_cost_ns"], 300);
    EXPECT_EQ(coherent["full_pass_ns"], 300 + 67108864LL * 1000 / 64000);
    EXPECT_TRUE(coherent["full_pass_shared_ns"].is_number_unsigned());
}

TEST(PlanFleet, ReferenceOverRemoteAndDram) {
    const Json remote = plan(reference({"--tier=remote", "--json"}));
    EXPECT_EQ(remote["holds"], "copy_only");
    EXPECT_EQ(remote["regimes"]["copy_only"]["prefill_tokens"], 4000);
    EXPECT_EQ(remote["regimes"]["copy_only"]["resident_bytes"], 536870912);
    EXPECT_EQ(remote["regimes"]["copy_only"]["prefill_tokens_saved"], 28000);
    EXPECT_EQ(remote["regimes"]["copy_only"]["reader_cost_ns"], 5692405);

    const Json dram = plan(reference({"--tier", "dram", "--json"}));
    EXPECT_EQ(dram["holds"], "private");
    EXPECT_EQ(dram["advice"], "build_private");
}

TEST(PlanFleet, PlansOverCxlWhenNoProfileIsNamed) {
    EXPECT_EQ(plan(reference({"--json"}))["inputs"]["tier"], "cxl");
}

// A profile file with one tier or pool that has these fields.
std::string tier_file(const std::string& fields) {
    return R"({"schema":"cxlpool-profile/1","tiers":{"cxl":{)" + fields + "}}}";
}
std::string pool_file(const std::string& fields) {
    return R"({"schema":"cxlpool-profile/1","pools":{"p0":{"tier":"cxl",)" + fields + "}}}";
}

TEST(PlanFleet, OnlyTheProfileChangesTheRegime) {
    const auto with = [&](const std::string& fields) {
        return plan(reference({"--profile", "-", "--json"}), tier_file(fields));
    };
    EXPECT_EQ(with(R"("hosts":8)")["holds"], "coherent");
    EXPECT_EQ(with(R"("hosts":1)")["holds"], "private");
    EXPECT_EQ(with(R"("cross_host_coherence":"none")")["holds"], "copy_only");
    EXPECT_EQ(with(R"("cross_host_coherence":"managed")")["holds"], "coherent");
    EXPECT_EQ(with(R"("read_latency_ns":250)")["regimes"]["coherent"]["reader_cost_ns"], 250);
}

TEST(PlanFleet, WhatAPoolDoesNotSayIsUnknown) {
    const auto with = [&](const std::string& fields) {
        return plan(reference({"--profile", "-", "--json"}), pool_file(fields));
    };
    const std::string shared =
        R"("share_kind":"cxl_hdm","hosts":8,"cross_host_coherence":"managed")";
    EXPECT_EQ(with(shared)["holds"], "coherent");
    EXPECT_EQ(with(shared)["inputs"]["profile"], "p0");
    EXPECT_EQ(with(shared)["regimes"]["coherent"]["reader_cost_ns"], nullptr);
    EXPECT_EQ(with(shared)["regimes"]["coherent"]["full_pass_ns"], nullptr);
    EXPECT_EQ(with(R"("share_kind":"cxl_hdm","hosts":8)")["holds"], "copy_only");
    EXPECT_EQ(with(R"("share_kind":"cxl_hdm")")["holds"], "private");
}

TEST(PlanFleet, TakesFewerHostsThanTenants) {
    const Json document = plan(reference({"--hosts", "2", "--json"}));
    EXPECT_EQ(document["inputs"]["hosts"], 2);
    EXPECT_EQ(document["regimes"]["private"]["prefill_tokens"], 8000);
    EXPECT_EQ(document["regimes"]["coherent"]["bytes_saved"], 67108864);
}

TEST(PlanFleet, SaysWhenThePoolReachesOnlySomeHosts) {
    const Outcome outcome = run_ctl(reference({"--profile", "-"}), tier_file(R"("hosts":2)"));
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.out, HasSubstr("The pool reaches 2 of the 8 hosts"));
}

TEST(PlanFleet, SaysWhatRowsAreWorthThatNoOtherHostCanUse) {
    const Outcome outcome = run_ctl(reference({"--tier", "dram"}));
    EXPECT_THAT(outcome.out, HasSubstr("are what it would be if all 8 hosts reached it"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("which the figures include")));
}

TEST(PlanFleet, OneHostHasNothingToSave) {
    const Outcome outcome = run_ctl(reference({"--hosts", "1"}));
    EXPECT_THAT(outcome.out, HasSubstr("between hosts there is nothing to save"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("other hosts attend")));
}

TEST(PlanFleet, TableShowsThreeRegimesAndOneConclusion) {
    const Outcome outcome = run_ctl(reference({"--tier", "cxl"}));
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.out, HasSubstr("8 tenants on 8 hosts, a prefix of 4000 tokens in 64 MiB"));
    EXPECT_THAT(outcome.out, HasSubstr("representative"));
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("private +32000 +0 +8 +512 MiB +0 B +8 s"));
    EXPECT_THAT(outcome.out,
                ::testing::ContainsRegex("copy_only +4000 +28000 +8 +512 MiB +0 B +1.048876 ms"));
    EXPECT_THAT(outcome.out,
                ::testing::ContainsRegex("coherent +yes +4000 +28000 +1 +64 MiB +448 MiB +300 ns"));
    EXPECT_THAT(outcome.out,
                HasSubstr("reuse saves 28000 of 32000 prefill tokens and 448 MiB of 512 MiB, and "
                          "one more reader costs 300 ns instead of 8 s.\n"));
    EXPECT_THAT(run_ctl(reference({"--tier", "dram"})).out,
                HasSubstr("the private regime holds, because no other host reaches it (hosts 1): "
                          "every host builds its own copy, and nothing is saved.\n"));
}

// The reference case over every tier, by hand: B x 1000 is 67,108,864,000, eight times that
// 536,870,912,000; each is divided by the tier's MB/s without a remainder, and its latency added.
struct TierRow {
    const char* tier;
    const char* holds;
    std::uint64_t attend_ns;
    std::uint64_t pass_ns;
    std::uint64_t shared_pass_ns;
    const char* pass_text;
};
constexpr TierRow kTierRows[] = {
    {"hbm", "private", 200, 33'754, 268'635, "33.754 us"},
    {"dram", "private", 90, 223'786, 1'789'659, "223.786 us"},
    {"numa_far", "private", 140, 335'684, 2'684'494, "335.684 us"},
    {"cxl", "coherent", 300, 1'048'876, 8'388'908, "1.048876 ms"},
    {"remote_dram", "copy_only", 2'000, 5'594'405, 44'741'242, "5.594405 ms"},
    {"disk", "private", 10'000, 9'596'980, 76'705'844, "9.59698 ms"},
    {"remote", "copy_only", 100'000, 5'692'405, 44'839'242, "5.692405 ms"},
};

TEST(PlanFleet, ReferenceFiguresOfEveryTierAreExactInBothForms) {
    for (const TierRow& row : kTierRows) {
        const Json document = plan(reference({"--tier", row.tier, "--json"}));
        EXPECT_EQ(document["holds"], row.holds) << row.tier;
        const Json& regimes = document["regimes"];
        EXPECT_EQ(regimes["private"]["prefill_tokens"], 32000);
        EXPECT_EQ(regimes["private"]["resident_bytes"], 536870912);
        EXPECT_EQ(regimes["private"]["reader_cost_ns"], 8000000000);
        EXPECT_EQ(regimes["copy_only"]["prefill_tokens"], 4000);
        EXPECT_EQ(regimes["copy_only"]["resident_bytes"], 536870912);
        EXPECT_EQ(regimes["copy_only"]["reader_cost_ns"], row.pass_ns) << row.tier;
        EXPECT_EQ(regimes["coherent"]["prefill_tokens"], 4000);
        EXPECT_EQ(regimes["coherent"]["resident_bytes"], 67108864);
        EXPECT_EQ(regimes["coherent"]["reader_cost_ns"], row.attend_ns) << row.tier;
        EXPECT_EQ(regimes["coherent"]["full_pass_ns"], row.pass_ns) << row.tier;
        EXPECT_EQ(regimes["coherent"]["full_pass_shared_ns"], row.shared_pass_ns) << row.tier;
        const Outcome outcome = run_ctl(reference({"--tier", row.tier}));
        EXPECT_THAT(outcome.out,
                    ::testing::ContainsRegex("copy_only .*" + std::string(row.pass_text) + "\n"));
        EXPECT_THAT(outcome.out, HasSubstr(std::string(row.holds) + " regime holds, because"));
    }
}

TEST(PlanFleet, ManagedCoherenceShowsItsCostsApart) {
    const std::string speeds = R"("cross_host_coherence":"managed","cache_writeback_mbps":12000,)"
                               R"("cache_invalidate_mbps":20000)";
    const Json known = plan(reference({"--profile", "-", "--json"}), tier_file(speeds));
    EXPECT_EQ(known["holds"], "coherent");
    EXPECT_EQ(known["regimes"]["coherent"]["reader_cost_ns"], 300);
    EXPECT_EQ(known["regimes"]["coherent"]["seal_writeback_ns"], 5592406);
    EXPECT_EQ(known["regimes"]["coherent"]["reader_invalidate_ns"], 3355444);
    const Outcome text = run_ctl(reference({"--profile", "-"}), tier_file(speeds));
    EXPECT_THAT(text.out,
                HasSubstr("Managed coherence takes, besides, 5.592406 ms once at sealing, "
                          "and 3.355444 ms for each attending reader"));
    EXPECT_THAT(text.out, HasSubstr("costs 300 ns instead of 8 s, besides 5.59 ms once to write "
                                    "the cache lines back at sealing and 3.36 ms for each reader"));

    const std::string silent = R"("cross_host_coherence":"managed")";
    const Json unknown = plan(reference({"--profile", "-", "--json"}), tier_file(silent));
    EXPECT_EQ(unknown["regimes"]["coherent"]["seal_writeback_ns"], nullptr);
    EXPECT_EQ(unknown["regimes"]["coherent"]["reader_invalidate_ns"], nullptr);
    EXPECT_THAT(run_ctl(reference({"--profile", "-"}), tier_file(silent)).out,
                HasSubstr("besides an unknown time once to write the cache lines back"));

    const Json hardware = plan(reference({"--json"}));
    EXPECT_EQ(hardware["regimes"]["coherent"]["seal_writeback_ns"], 0);
    EXPECT_THAT(run_ctl(reference({})).out, ::testing::Not(HasSubstr("Managed")));
}

TEST(PlanFleet, SaysWhatItsCoherenceRestsOn) {
    EXPECT_THAT(run_ctl(reference({})).out, HasSubstr("coherence across hosts hardware, "
                                                      "representative)"));
    const std::string declared = R"("cross_host_coherence":"hardware")";
    EXPECT_THAT(run_ctl(reference({"--profile", "-"}), tier_file(declared)).out,
                HasSubstr("coherence across hosts hardware, declared and not proven)"));
    const Json document = plan(reference({"--profile", "-", "--json"}), tier_file(declared));
    EXPECT_EQ(document["because"]["cross_host_coherence"]["value"], "hardware");
    EXPECT_EQ(document["because"]["cross_host_coherence"]["source"], "declared");
    EXPECT_EQ(document["because"]["hosts"]["source"], "representative");
}

TEST(PlanFleet, SaysWhatIsNotKnown) {
    const Outcome outcome =
        run_ctl(reference({"--profile", "-"}), pool_file(R"("share_kind":"cxl_hdm","hosts":8)"));
    EXPECT_THAT(outcome.out, HasSubstr("whether the prefix fits is not checked"));
    EXPECT_THAT(outcome.out, HasSubstr("one full pass over the bytes takes an unknown time"));
    EXPECT_THAT(outcome.out, HasSubstr("one more reader costs an unknown time instead of 8 s.\n"));
}

std::vector<Json> lines_of(const std::string& text) {
    std::vector<Json> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        out.push_back(Json::parse(line, nullptr, false));
    }
    return out;
}

TEST(PlanFleetSweep, GivesOnePlanALine) {
    std::vector<std::string> arguments = reference({"--sweep", "tenants=1..1024"});
    arguments.erase(arguments.begin() + 2, arguments.begin() + 4);  // --tenants
    const Outcome outcome = run_ctl(arguments);
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    const std::vector<Json> plans = lines_of(outcome.out);
    ASSERT_EQ(plans.size(), 1024U);
    for (std::size_t i = 0; i < plans.size(); ++i) {
        EXPECT_EQ(plans[i]["inputs"]["tenants"], i + 1);
        EXPECT_EQ(plans[i]["inputs"]["hosts"], i + 1);
        EXPECT_EQ(plans[i]["regimes"]["private"]["prefill_tokens"], 4000 * (i + 1));
    }
    // A line is the plan itself.
    EXPECT_EQ(plans[7], plan(reference({"--json"})));
}

TEST(PlanFleetSweep, SaysWhichPointsHaveNoPlan) {
    std::vector<std::string> arguments = reference({"--sweep", "bytes=1TiB..4TiB*2"});
    arguments.erase(arguments.begin() + 6, arguments.begin() + 8);  // --bytes
    const Outcome outcome = run_ctl(arguments);
    EXPECT_EQ(outcome.status, kExitNo);
    const std::vector<Json> plans = lines_of(outcome.out);
    ASSERT_EQ(plans.size(), 3U);
    EXPECT_EQ(plans[1]["holds"], "coherent");
    EXPECT_EQ(plans[2]["refused"], "span_exceeds_capacity");
    EXPECT_EQ(plans[2]["inputs"]["bytes"], 4ULL << 40U);
    EXPECT_THAT(outcome.err, HasSubstr("1 of 3 points have no plan; the first: bytes 4398046511104"
                                       ": span_exceeds_capacity: "));
}

TEST(PlanFleetSweep, RefusesOptionsThatDoNotGoTogether) {
    const std::pair<std::vector<std::string>, const char*> table[] = {
        {{"--sweep", "tenants=1..4"}, "--tenants and --sweep both give tenants"},
        {{"--sweep", "speed=1..4"}, "no input of this name varies"},
        {{"--plot", "x.svg"}, "--plot draws a sweep: give --sweep, too"},
        {{"--sweep", "hosts=1..4", "--plot", "-"}, "--plot needs the name of a file"},
    };
    for (const auto& [more, message] : table) {
        std::vector<std::string> arguments = reference({});
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = run_ctl(arguments);
        EXPECT_EQ(outcome.status, kExitUsage);
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_THAT(outcome.err, HasSubstr(message));
    }
}

TEST(PlanFleet, SaysWhenComputingAgainIsCheaper) {
    std::vector<std::string> arguments = reference({"--tier", "remote"});
    arguments[9] = "1";  // 4 us in all, less than any copy
    const Outcome outcome = run_ctl(arguments);
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(
        outcome.out,
        HasSubstr("one more reader costs 5.69 ms, which is no less than computing it again (4 us), "
                  "so compute it.\n"));
    arguments.push_back("--json");
    EXPECT_EQ(plan(arguments)["advice"], "recompute_cheaper");
}

TEST(PlanFleet, NamesWhatIsMissing) {
    const Outcome outcome = run_ctl({"plan", "fleet", "--tenants", "8"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err,
                StartsWith("cxlpoolctl: missing: --tokens, --bytes, --recompute-ns-per-token\n"));
}

struct Refusal {
    std::vector<std::string> more;
    int status;
    std::string message;
};

TEST(PlanFleet, RefusesWhatMakesNoSense) {
    const std::vector<Refusal> refusals{
        {{"--tier", "hdm"}, kExitUsage, "hdm"},
        {{"--tier", "cxl", "--pool", "x"}, kExitUsage, "--tier and --pool both choose"},
        {{"--from", "x"}, kExitUsage, "choose one with --pool"},
        {{"--hosts", "9"}, kExitUsage, "invalid_argument: "},
        {{"--hosts", "0"}, kExitUsage, "invalid_argument: "},
        {{"--hosts", "-1"}, kExitUsage, "--hosts"},
        {{"--profile", "/nonexistent/profile"}, kExitUsage, "/nonexistent/profile"},
    };
    for (const Refusal& refusal : refusals) {
        std::vector<std::string> arguments = reference({});
        arguments.insert(arguments.end(), refusal.more.begin(), refusal.more.end());
        const Outcome outcome = run_ctl(arguments);
        EXPECT_EQ(outcome.status, refusal.status) << refusal.message;
        EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: "));
        EXPECT_THAT(outcome.err, HasSubstr(refusal.message));
        EXPECT_THAT(outcome.out, IsEmpty());
    }
}

TEST(PlanFleet, RefusesNumbersThatAreNone) {
    const std::vector<std::pair<std::size_t, std::string>> wrong{
        {3, "-8"}, {3, "eight"}, {3, "0"},   {5, "4e3"},
        {5, "0"},  {7, "64MB!"}, {7, "inf"}, {9, "nan"}};
    for (const auto& [at, text] : wrong) {
        std::vector<std::string> arguments = reference({});
        arguments[at - 1] += "=" + text;
        arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(at));
        const Outcome outcome = run_ctl(arguments);
        EXPECT_EQ(outcome.status, kExitUsage) << text;
        EXPECT_THAT(outcome.out, IsEmpty());
    }
}

TEST(PlanFleet, RefusesFiguresThatDoNotFit) {
    std::vector<std::string> arguments = reference({});
    arguments[5] = "18446744073709551615";
    const Outcome outcome = run_ctl(arguments);
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: overflow: "));
}

TEST(PlanFleet, RefusesASpanLargerThanThePool) {
    std::vector<std::string> arguments = reference({"--tier", "cxl"});
    arguments[7] = "3TiB";
    const Outcome outcome = run_ctl(arguments);
    EXPECT_EQ(outcome.status, kExitNo);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: span_exceeds_capacity: "));
}

TEST(PlanFleet, ChoosesAProfileOfAFileByName) {
    const std::string file = R"({"schema":"cxlpool-profile/1","tiers":{"remote":{"hosts":4}},
        "pools":{"a":{"tier":"dram"}}})";
    EXPECT_EQ(plan(reference({"--profile", "-", "--pool", "a", "--json"}), file)["holds"],
              "private");
    EXPECT_EQ(
        plan(reference({"--profile", "-", "--tier", "remote", "--json"}), file)["attending_hosts"],
        4);
    // A tier that the file does not name is planned on paper.
    EXPECT_EQ(plan(reference({"--profile", "-", "--tier", "cxl", "--json"}), file)["holds"],
              "coherent");
    const Outcome open = run_ctl(reference({"--profile", "-"}), file);
    EXPECT_EQ(open.status, kExitUsage);
    EXPECT_THAT(open.err, HasSubstr("choose with --tier or --pool: remote, a"));
    const Outcome absent = run_ctl(reference({"--profile", "-", "--pool", "c"}), file);
    EXPECT_EQ(absent.status, kExitUsage);
    EXPECT_THAT(absent.err, HasSubstr("no pool is called 'c'; there are: a"));
}

TEST(PlanFleet, RefusesABrokenProfileFileWithItsPlace) {
    const Outcome outcome =
        run_ctl(reference({"--profile", "-"}), tier_file(R"("share_kind":"mmapp")"));
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: standard input:1:"));
    EXPECT_THAT(outcome.out, IsEmpty());
}

}  // namespace
}  // namespace cxlpool::ctl

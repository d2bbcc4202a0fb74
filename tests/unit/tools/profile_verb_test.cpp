#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "domain/profile_fields.hpp"
#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kProfiles = std::string(GOLDEN_DIR) + "/profiles/";

TEST(ProfileSchemaVerb, PrintsTheSchemaAndNothingElse) {
    const Outcome outcome = run_ctl({"profile", "--schema"});
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.err, IsEmpty());
    const Json schema = Json::parse(outcome.out, nullptr, false);
    EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for_each_profile_field([&](const auto& field) {
        EXPECT_TRUE(schema["$defs"]["tier"]["properties"].contains(std::string(field.key)));
    });
    const Outcome with = run_ctl({"profile", "--schema", "--with", "x"});
    EXPECT_EQ(with.status, kExitUsage);
    EXPECT_THAT(with.out, IsEmpty());
    EXPECT_THAT(with.err, HasSubstr("it goes without --with"));
}

TEST(ProfileCheck, SaysWhatAFileNames) {
    const Outcome outcome = run_ctl({"profile", "check", kProfiles + "rack7.json"});
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.err, IsEmpty());
    EXPECT_THAT(outcome.out, StartsWith(kProfiles + "rack7.json: good, 1 tier, 1 pool, label rack 7"
                                                    ", host node-a\n"));
    EXPECT_THAT(outcome.out, HasSubstr("tier cxl\n"));
    EXPECT_THAT(outcome.out, HasSubstr("pool cxl0 in tier cxl\n"));
    EXPECT_THAT(outcome.out, ContainsRegex("read latency +596 ns +measured +pointer chase"));
    EXPECT_THAT(outcome.out, ContainsRegex("hosts +8 +declared +.*rack7.json:11:16\n"));
    EXPECT_THAT(outcome.out, ContainsRegex("cache write-back +12000 MB/s +declared"));
    // What it does not name has no row.
    EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("persistent")));
}

TEST(ProfileCheck, IsJsonToo) {
    const Outcome outcome = run_ctl(
        {"profile", "check", "--json", kProfiles + "hosts-only.json", kProfiles + "empty.json"});
    EXPECT_EQ(outcome.status, kExitOk);
    const Json files = Json::parse(outcome.out, nullptr, false)["files"];
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0]["good"], true);
    EXPECT_EQ(files[0]["label"], nullptr);
    ASSERT_EQ(files[0]["tiers"].size(), 1U);
    EXPECT_EQ(files[0]["tiers"][0], (Json{{"name", "cxl"},
                                          {"tier", "cxl"},
                                          {"hosts",
                                           {{"value", 16},
                                            {"source", "declared"},
                                            {"detail", kProfiles + "hosts-only.json:1:60"},
                                            {"time_ns", nullptr}}}}));
    EXPECT_EQ(files[1]["tiers"], Json::array());
    EXPECT_EQ(files[1]["pools"], Json::array());
}

TEST(ProfileCheck, NamesThePlaceInEachBadFileAndReadsTheOthers) {
    const Outcome outcome =
        run_ctl({"profile", "check", kProfiles + "bad-unit.json", kProfiles + "hosts-only.json",
                 kProfiles + "bad-measurement.json", kProfiles + "bad-twice.json",
                 kProfiles + "bad-nan.json", kProfiles + "bad-string.json", "/nonexistent.json"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.out, StartsWith(kProfiles + "hosts-only.json: good"));
    EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("bad-")));
    const auto complains = [&](const std::string& file, const std::string& text) {
        EXPECT_THAT(outcome.err, HasSubstr("cxlpoolctl: " + kProfiles + file + text));
    };
    complains("bad-unit.json", ":1:70: unknown key 'read_latency_us': write read_latency_ns, in");
    complains("bad-measurement.json", ":1:74: read_mbps is 10485760, measured: above 10000000");
    complains("bad-twice.json", ":1:63: the key \"hosts\" stands twice");
    complains("bad-nan.json", ":1:");
    complains("bad-string.json", ":1:83: capacity_bytes is the string '2TiB': ");
    EXPECT_THAT(outcome.err, HasSubstr("cxlpoolctl: /nonexistent.json: cannot be opened"));
}

TEST(ProfileCheck, ReadsStandardInputOnce) {
    const Outcome outcome =
        run_ctl({"profile", "check", "-"}, R"({"schema":"cxlpool-profile/1","x":1})");
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: standard input:1:"));
    EXPECT_EQ(run_ctl({"profile", "check", "-", "-"}).status, kExitUsage);
    EXPECT_EQ(run_ctl({"profile", "check"}).status, kExitUsage);
    EXPECT_THAT(run_ctl({"profile", "check"}).err, HasSubstr("no file to check"));
}

TEST(ProfileCheck, IsAVerbBesideProfile) {
    EXPECT_THAT(run_ctl({"profile", "--help"}).out, StartsWith("usage: cxlpoolctl profile [OPT"));
    EXPECT_THAT(run_ctl({"profile", "check", "--help"}).out,
                StartsWith("usage: cxlpoolctl profile c"));
    const Outcome misspelt = run_ctl({"profile", "chek"});
    EXPECT_EQ(misspelt.status, kExitUsage);
    EXPECT_THAT(misspelt.err, HasSubstr("unexpected argument 'chek'"));
}

}  // namespace
}  // namespace cxlpool::ctl

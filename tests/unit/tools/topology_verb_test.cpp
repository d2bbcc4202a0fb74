// `topology` and `profile` over captured files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const std::string kCaptured = std::string(GOLDEN_DIR) + "/captured/";
const std::string kCxl = kCaptured + "guest-pmem.cxl-list.json";
const std::string kDax = kCaptured + "guest-pmem.daxctl-list.json";

Json document(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const Outcome outcome = run_ctl(arguments, input);
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    return Json::parse(outcome.out, nullptr, false);
}

std::string slurp(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

TEST(TopologyFrom, HasTheDocumentedShape) {
    const Json topology = document({"topology", "--from", kCxl, kDax, "--json"});
    for (const char* key :
         {"source", "memdevs", "regions", "dax_devices", "nodes", "pools", "findings"}) {
        EXPECT_TRUE(topology.contains(key)) << key;
    }
    EXPECT_EQ(topology["source"], "captured");
    ASSERT_EQ(topology["memdevs"].size(), 1U);
    EXPECT_TRUE(topology["memdevs"][0]["serial"].is_number_unsigned());
    ASSERT_EQ(topology["dax_devices"].size(), 1U);
    EXPECT_EQ(topology["dax_devices"][0]["name"], "dax0.0");
    EXPECT_EQ(topology["dax_devices"][0]["mode"], "devdax");
    ASSERT_EQ(topology["pools"].size(), 1U);
    EXPECT_EQ(topology["pools"][0]["name"], "dax0.0");
    EXPECT_EQ(topology["pools"][0]["tier"], "cxl");
}

TEST(TopologyFrom, TakesFilesInAnyOrderAndOneFromStandardInput) {
    const Json expected = document({"topology", "--from", kCxl, kDax, "--json"});
    EXPECT_EQ(document({"topology", "--from", kDax, "--from", kCxl, "--json"}), expected);
    EXPECT_EQ(document({"topology", "--json", "--from", "-", kDax}, slurp(kCxl)), expected);
}

TEST(TopologyFrom, TableShowsEverySection) {
    const Outcome outcome = run_ctl({"topology", "--from", kCxl, kDax});
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    for (const char* title : {"CXL memory devices", "CXL regions", "Dax devices", "Pools"}) {
        EXPECT_THAT(outcome.out, HasSubstr(title));
    }
    EXPECT_THAT(outcome.out, ::testing::ContainsRegex("dax0.0 +502 MiB +cxl +1 \\(assumed\\)"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("No CXL memory device")));
}

TEST(TopologyFrom, SaysThatNothingIsThere) {
    const Outcome outcome = run_ctl({"topology", "--from", "-"}, "[\n]\n");
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("No CXL memory device, no CXL region and no dax device"));
}

TEST(TopologyFrom, RefusesBrokenFilesWithTheirPlace) {
    const Outcome broken = run_ctl({"topology", "--from", "-"}, "[\n {\"memdev\":\"mem0\" 1}\n]");
    EXPECT_EQ(broken.status, kExitUsage);
    EXPECT_THAT(broken.out, IsEmpty());
    EXPECT_THAT(broken.err, HasSubstr("standard input:2:"));
    const Outcome absent = run_ctl({"topology", "--from", "/nonexistent/list.json"});
    EXPECT_EQ(absent.status, kExitUsage);
    EXPECT_THAT(absent.err, HasSubstr("/nonexistent/list.json: cannot be opened"));
}

TEST(TopologyStrict, FailsOnSeriousFindings) {
    // A region that is not committed: never a pool.
    std::string text = slurp(kCxl);
    const std::size_t at = text.find("\"commit\"");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 8, "\"reset\"");
    const Outcome lax = run_ctl({"topology", "--from", "-"}, text);
    EXPECT_EQ(lax.status, kExitOk) << lax.err;
    EXPECT_THAT(lax.out, HasSubstr("[region_not_committed]"));
    EXPECT_THAT(lax.out, HasSubstr("    next: "));
    const Outcome strict = run_ctl({"topology", "--from", "-", "--strict"}, text);
    EXPECT_EQ(strict.status, kExitNo);
    EXPECT_EQ(strict.out, lax.out);
    EXPECT_EQ(run_ctl({"topology", "--from", "-", "--strict", "--json"}, text).status, kExitNo);
}

TEST(TopologySave, WritesASnapshotThatReadsBackTheSame) {
    std::string pattern = (fs::temp_directory_path() / "cxlpoolctl-save.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    const std::string snapshot = pattern + "/snapshot.json";
    const Json expected =
        document({"topology", "--from", kCxl, kDax, "--save", snapshot, "--json"});
    EXPECT_EQ(document({"topology", "--from", snapshot, "--json"}), expected);
    const Outcome to_stdout = run_ctl({"topology", "--from", kCxl, kDax, "--save", "-"});
    EXPECT_EQ(to_stdout.out, slurp(snapshot) + (slurp(snapshot).back() == '\n' ? "" : "\n"));
    EXPECT_EQ(run_ctl({"topology", "--from", kCxl, "--save", pattern + "/no/dir"}).status, kExitNo);
    fs::remove_all(pattern);
}

TEST(Topology, RefusesContradictions) {
    EXPECT_EQ(run_ctl({"topology", "--daemon", "--from", kCxl}).status, kExitUsage);
    EXPECT_EQ(run_ctl({"topology", "--daemon", "--save", "x"}).status, kExitUsage);
    EXPECT_EQ(run_ctl({"profile", "--daemon", "--with", "x"}).status, kExitUsage);
}

TEST(ProfileFrom, ShowsEachFieldWithItsSource) {
    const Json profiles = document({"profile", "--from", kCxl, kDax, "--json"});
    ASSERT_TRUE(profiles["profiles"].is_array());
    bool seen = false;
    for (const Json& profile : profiles["profiles"]) {
        if (profile["name"] == "dax0.0") {
            seen = true;
            EXPECT_EQ(profile["hosts"]["source"], "unknown");
            EXPECT_EQ(profile["capacity_bytes"]["source"], "observed");
        }
    }
    EXPECT_TRUE(seen);
    const Outcome table = run_ctl({"profile", "--from", kCxl, kDax});
    EXPECT_THAT(table.out, HasSubstr("dax0.0 (tier cxl)"));
    EXPECT_THAT(table.out, ::testing::ContainsRegex("capacity +502 MiB +observed"));
}

TEST(ProfileWith, LaysAFileOverWhatWasFound) {
    const Json profiles =
        document({"profile", "--from", kCxl, kDax, "--with", "-", "--json"},
                 R"({"schema":"cxlpool-profile/1","pools":{"dax0.0":{"tier":"cxl","hosts":2}}})");
    bool seen = false;
    for (const Json& profile : profiles["profiles"]) {
        if (profile["name"] == "dax0.0") {
            seen = true;
            EXPECT_EQ(profile["hosts"]["value"], 2);
            EXPECT_EQ(profile["hosts"]["source"], "declared");
            EXPECT_EQ(profile["capacity_bytes"]["source"], "observed");
        }
    }
    EXPECT_TRUE(seen);
    const Outcome broken = run_ctl({"profile", "--from", kCxl, kDax, "--with", "-"}, "{}");
    EXPECT_EQ(broken.status, kExitUsage);
    EXPECT_THAT(broken.err, HasSubstr("standard input:1:1"));
}

TEST(PlanFleetOverAPool, TakesThePoolFromCapturedFiles) {
    const std::vector<std::string> arguments{"plan",    "fleet",    "--tenants",
                                             "2",       "--tokens", "10",
                                             "--bytes", "1MiB",     "--recompute-ns-per-token",
                                             "1000",    "--from",   kCxl,
                                             kDax,      "--pool",   "dax0.0",
                                             "--json"};
    const Json plan = document(arguments);
    EXPECT_EQ(plan["holds"], "private");
    EXPECT_EQ(plan["inputs"]["profile"], "dax0.0");
    std::vector<std::string> unknown = arguments;
    unknown[14] = "dax7.7";
    const Outcome refused = run_ctl(unknown);
    EXPECT_EQ(refused.status, kExitUsage);
    EXPECT_THAT(refused.err, HasSubstr("no pool is called 'dax7.7'; there are: dax0.0"));
}

}  // namespace
}  // namespace cxlpool::ctl

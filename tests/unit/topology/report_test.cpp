#include "topology/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "golden.hpp"

namespace cxlpool {
namespace {

using nlohmann::json;
using test::read_golden;
using test::read_text;

json report(const Topology& topology) {
    return json::parse(topology_json(topology, assess(topology)));
}

TEST(Report, TheShapeOfTheGuestsTopology) {
    const json r = report(read_golden({"guest-pmem.cxl-list.json", "guest-pmem.daxctl-list.json"}));
    EXPECT_EQ(r["source"], "captured");
    EXPECT_EQ(r["memdevs"], json::parse(R"([{"name":"mem0","serial":4660,"host":"0000:0d:00.0",
        "ram_bytes":0,"pmem_bytes":536870912,"numa_node":null,"enabled":true,"dynamic_bytes":0,
        "firmware_version":null}])"));
    ASSERT_EQ(r["regions"].size(), 1U);
    const json& region = r["regions"][0];
    EXPECT_EQ(region["name"], "region0");
    EXPECT_EQ(region["capacity_bytes"], 536870912U);
    EXPECT_EQ(region["interleave_ways"], 1);
    EXPECT_EQ(region["interleave_granularity_bytes"], nullptr);
    EXPECT_EQ(region["type"], "pmem");
    EXPECT_EQ(region["state"], "committed");
    EXPECT_EQ(region["host_bridges"], 1);
    EXPECT_EQ(region["memdevs"], json::array({"mem0"}));
    EXPECT_EQ(region["cross_host_coherence"], "none");
    EXPECT_EQ(region["window"], "decoder0.0");
    const json& dax = r["dax_devices"][0];
    EXPECT_EQ(dax["name"], "dax0.0");
    EXPECT_EQ(dax["capacity_bytes"], 526385152U);
    EXPECT_EQ(dax["align_bytes"], 2097152);
    EXPECT_EQ(dax["mode"], "devdax");
    EXPECT_EQ(dax["target_node"], 1);
    EXPECT_EQ(dax["region"], "region0");
    EXPECT_EQ(dax["numa_node"], nullptr);
    const json& pool = r["pools"][0];
    EXPECT_EQ(pool["name"], "dax0.0");
    EXPECT_EQ(pool["capacity_bytes"], 526385152U);
    EXPECT_EQ(pool["tier"], "cxl");
    EXPECT_EQ(pool["serials"], json::array({4660}));
    EXPECT_EQ(pool["hosts"], 1);
    EXPECT_EQ(pool["hosts_source"], "unknown");
    EXPECT_EQ(pool["share_kind"], "cxl_hdm");
    EXPECT_EQ(pool["persistent"], true);
    EXPECT_EQ(r["findings"], json::array());
    EXPECT_EQ(r["nodes"], json::array());
}

TEST(Report, KeysStandInTheDocumentedOrder) {
    const Topology t = read_golden({"guest-pmem.cxl-list.json", "guest-pmem.daxctl-list.json"});
    const auto r = nlohmann::ordered_json::parse(topology_json(t, assess(t)));
    std::vector<std::string> keys;
    for (const auto& [key, value] : r.items()) {
        keys.push_back(key);
    }
    EXPECT_THAT(keys, testing::ElementsAre("source", "memdevs", "regions", "dax_devices", "nodes",
                                           "pools", "findings"));
    std::vector<std::string> region;
    for (const auto& [key, value] : r["regions"][0].items()) {
        region.push_back(key);
    }
    region.resize(9);
    EXPECT_THAT(region, testing::ElementsAre("name", "capacity_bytes", "interleave_ways",
                                             "interleave_granularity_bytes", "type", "state",
                                             "host_bridges", "memdevs", "cross_host_coherence"));
}

TEST(Report, SerialsAreExact) {
    const std::string text = topology_json(
        read_golden({"a05-legacy-type3-u64-serial-negative-extent.cxl-list.json"}), Assessment{});
    EXPECT_NE(text.find("\"serial\": 9947034521128865123,"), std::string::npos);
    EXPECT_NE(text.find("\"serial\": 9947034521128865126,"), std::string::npos);
}

TEST(Report, MemdevsOfARegionStandInTheOrderOfTheirPositions) {
    const json r = report(read_golden({"a03-multi-level-x4.cxl-list.json"}));
    EXPECT_EQ(r["regions"][0]["memdevs"], json::array({"mem0", "mem2", "mem1", "mem3"}));
    EXPECT_EQ(r["memdevs"][1]["name"], "mem2");
    EXPECT_EQ(r["regions"][0]["interleave_granularity_bytes"], 256);
    EXPECT_EQ(r["regions"][0]["host_bridges"], 2);
    EXPECT_EQ(r["pools"][0]["capacity_bytes"], 549755813888U);
    EXPECT_EQ(r["pools"][0]["dax_device"], nullptr);
}

TEST(Report, DynamicCapacityIsWhatWasAccepted) {
    const json r = report(read_golden({"a20-dcd-extents.cxl-list.json"}));
    EXPECT_EQ(r["regions"][0]["capacity_bytes"], 1744830464U);
    EXPECT_EQ(r["regions"][0]["window_bytes"], 4294967296U);
    EXPECT_EQ(r["regions"][0]["may_shrink"], true);
    EXPECT_EQ(r["regions"][0]["host_bridges"], nullptr);
    EXPECT_EQ(r["pools"][0]["may_shrink"], true);
}

TEST(Report, ExtentsThatOverlapCountOnce) {
    const json r = report(read_text(R"([{"region":"region0","size":16384,"decode_state":"commit",
        "extents":[{"offset":4096,"length":4096},{"offset":0,"length":8192},
                   {"offset":4096,"length":8192}]}])"));
    EXPECT_EQ(r["regions"][0]["capacity_bytes"], 12288);
}

TEST(Report, FindingsCarryWhatToDoNext) {
    const json r = report(read_golden({"a17-region-reset-disabled.cxl-list.json"}));
    bool found = false;
    for (const json& finding : r["findings"]) {
        EXPECT_TRUE(finding["code"].is_string());
        EXPECT_TRUE(finding["next"].is_string());
        if (finding["code"] == "region_not_committed") {
            found = true;
            EXPECT_EQ(finding["subject"], "region0");
            EXPECT_EQ(finding["severity"], "warning");
            EXPECT_NE(finding["next"], "");
        }
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(r["regions"][0]["state"], "reset");
}

TEST(Report, NodesAndUnknownsOfALiveMachine) {
    Topology t;
    t.nodes.push_back(NumaNode{
        .id = 0, .has_cpus = true, .capacity_bytes = 4096, .distances = {{0, 10}, {2, 20}}});
    t.memdevs.push_back(Memdev{.name = "mem0", .firmware_version = "bad \xff byte"});
    const json r = report(t);
    EXPECT_EQ(r["source"], "live");
    EXPECT_EQ(r["nodes"][0]["distances"][1], json::parse(R"({"node":2,"distance":20})"));
    EXPECT_EQ(r["nodes"][0]["read_latency_ns"], nullptr);
    EXPECT_EQ(r["memdevs"][0]["serial"], nullptr);
    EXPECT_EQ(r["memdevs"][0]["enabled"], nullptr);
    EXPECT_EQ(r["memdevs"][0]["host"], nullptr);
}

TEST(Report, ProfilesShowTheEvidenceOfEachField) {
    Profile p = representative_profile(Tier::cxl);
    p.hosts.evidence.time.ns = 5;
    p.read_latency_ns = Known<std::uint64_t>::unknown("not measured");
    const json r = json::parse(profiles_json({p}));
    ASSERT_EQ(r["profiles"].size(), 1U);
    const json& profile = r["profiles"][0];
    EXPECT_EQ(profile["name"], "cxl");
    EXPECT_EQ(profile["tier"], "cxl");
    EXPECT_EQ(profile["read_latency_ns"]["value"], nullptr);
    EXPECT_EQ(profile["read_latency_ns"]["source"], "unknown");
    EXPECT_EQ(profile["read_latency_ns"]["detail"], "not measured");
    EXPECT_EQ(profile["read_mbps"]["value"], 64000);
    EXPECT_EQ(profile["read_mbps"]["source"], "representative");
    EXPECT_EQ(profile["hosts"]["time_ns"], 5);
    EXPECT_EQ(profile["read_mbps"]["time_ns"], nullptr);
    EXPECT_EQ(profile["share_kind"]["value"], "cxl_hdm");
    EXPECT_EQ(profile["cross_host_coherence"]["value"], "hardware");
    EXPECT_EQ(profile["persistent"]["value"], false);
    EXPECT_EQ(profile["fabric_shareable"], true);
    EXPECT_EQ(json::parse(profiles_json({}))["profiles"], json::array());
}

}  // namespace
}  // namespace cxlpool

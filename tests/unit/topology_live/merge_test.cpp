#include "topology/live/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool::live {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Memdev memdev(const std::string& name) {
    Memdev out;
    out.name = name;
    return out;
}

Region region(const std::string& name) {
    Region out;
    out.name = name;
    return out;
}

TEST(MergeCxl, KeepsTheValuesOfTheLibraryAndFillsTheRest) {
    Topology topology;
    topology.memdevs = {memdev("mem0")};
    topology.memdevs[0].serial = 7;
    Topology sysfs;
    sysfs.memdevs = {memdev("mem0")};
    sysfs.memdevs[0].serial = 8;
    sysfs.memdevs[0].sysfs_path = "/sys/devices/mem0";
    sysfs.memdevs[0].numa_node = 1;
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    ASSERT_EQ(topology.memdevs.size(), 1U);
    EXPECT_EQ(topology.memdevs[0].serial, 7U);
    EXPECT_EQ(topology.memdevs[0].sysfs_path, "/sys/devices/mem0");
    EXPECT_EQ(topology.memdevs[0].numa_node, 1U);
    EXPECT_THAT(log.take(), IsEmpty());
}

TEST(MergeCxl, TakesFromSysfsWhetherADriverIsBound) {
    // libcxl says "no" for a driver that it cannot see.
    Topology topology;
    topology.memdevs = {memdev("mem0"), memdev("mem1")};
    topology.memdevs[0].enabled = topology.memdevs[1].enabled = false;
    Topology sysfs;
    sysfs.memdevs = {memdev("mem0"), memdev("mem1")};
    sysfs.memdevs[1].enabled = false;
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    EXPECT_EQ(topology.memdevs[0].enabled, std::nullopt);
    EXPECT_EQ(topology.memdevs[1].enabled, false);
}

TEST(MergeCxl, AddsWhatTheLibraryLeftOutAndSaysSo) {
    Topology topology;
    topology.memdevs = {memdev("mem10")};
    Topology sysfs;
    sysfs.memdevs = {memdev("mem2"), memdev("mem10")};
    sysfs.regions = {region("region0")};
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    ASSERT_EQ(topology.memdevs.size(), 2U);
    EXPECT_EQ(topology.memdevs[0].name, "mem2");
    EXPECT_EQ(topology.memdevs[1].name, "mem10");
    const std::vector<Finding> findings = log.take();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "read_from_sysfs");
    EXPECT_EQ(findings[0].message, "libcxl does not show mem2 region0; they were read from sysfs");
}

TEST(MergeCxl, NamesOnlyTheFirstOfMany) {
    Topology topology;
    Topology sysfs;
    for (int i = 0; i < 20; ++i) {
        sysfs.memdevs.push_back(memdev("mem" + std::to_string(i)));
    }
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    const std::vector<Finding> findings = log.take();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].message.find("mem7 and 12 more;"), std::string::npos);
}

TEST(MergeCxl, TakesTheStateOfARegionFromSysfs) {
    // libcxl has no word for a state that it could not read, and says reset.
    Topology topology;
    topology.regions = {region("region0")};
    topology.regions[0].state = Region::State::reset;
    Topology sysfs;
    sysfs.regions = {region("region0")};
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    EXPECT_EQ(topology.regions[0].state, Region::State::unknown);
}

TEST(MergeCxl, CompletesMappingsByPosition) {
    Topology topology;
    topology.regions = {region("region0")};
    topology.regions[0].mappings = {{0, "", "decoder4.0"}};
    Topology sysfs;
    sysfs.regions = {region("region0")};
    sysfs.regions[0].mappings = {{0, "mem0", "decoder4.0"}, {1, "mem1", "decoder5.0"}};
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    EXPECT_THAT(topology.regions[0].mappings, ElementsAre(RegionMapping{0, "mem0", "decoder4.0"},
                                                          RegionMapping{1, "mem1", "decoder5.0"}));
}

TEST(MergeCxl, LeavesACapabilityUnknownThatTheLibraryCouldNotRead) {
    Topology topology;
    topology.decoders.resize(1);
    topology.decoders[0].name = "decoder0.0";
    topology.decoders[0].mem_capable = false;
    topology.decoders[0].pmem_capable = false;
    Topology sysfs;
    sysfs.decoders.resize(1);
    sysfs.decoders[0].name = "decoder0.0";
    sysfs.decoders[0].pmem_capable = true;
    FindingLog log;
    merge_cxl(topology, sysfs, log);
    EXPECT_EQ(topology.decoders[0].mem_capable, std::nullopt);
    EXPECT_EQ(topology.decoders[0].pmem_capable, true);
}

TEST(MergeDax, FillsOnlyWhatSysfsDoesNotSay) {
    std::vector<DaxDevice> devices(2);
    devices[0].name = "dax0.0";
    devices[0].capacity_bytes = 100;
    devices[1].name = "dax1.0";
    std::vector<DaxDevice> library(2);
    library[0].name = "dax0.0";
    library[0].capacity_bytes = 200;
    library[0].total_memblocks = 8;
    library[0].online_memblocks = 7;
    library[1].name = "dax9.0";
    library[1].capacity_bytes = 300;
    merge_dax(devices, library);
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[0].capacity_bytes, 100U);
    EXPECT_EQ(devices[0].total_memblocks, 8U);
    EXPECT_EQ(devices[0].online_memblocks, 7U);
    EXPECT_EQ(devices[1].capacity_bytes, std::nullopt);
}

}  // namespace
}  // namespace cxlpool::live

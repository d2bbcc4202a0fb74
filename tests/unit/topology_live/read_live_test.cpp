// read_live() with the code of libcxl and libdaxctl, on recorded trees that umockdev puts in the
// place of /sys and /dev, and on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/sysfs_tree.hpp"
#include "support/umockdev_testbed.hpp"
#include "topology/live/live.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

using test::Testbed;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kGolden = CXLPOOL_GOLDEN_DIR;

Topology read() {
    Result<Topology> topology = read_live();
    EXPECT_TRUE(topology) << topology.error().message();
    return topology ? std::move(topology).value() : Topology{};
}

std::vector<std::string> codes(const Topology& topology) {
    std::vector<std::string> codes;
    for (const Finding& finding : topology.source_findings) {
        codes.push_back(finding.code);
    }
    return codes;
}

test::SysfsTree tree(const std::string& name) {
    return test::load_sysfs_tree(kGolden + name);
}

TEST(ReadLive, SeesTheGuestThroughTheLibraries) {
    const Testbed testbed(tree("/captured/guest-pmem.sysfs.json"));
    const Topology topology = read();
    EXPECT_THAT(codes(topology), IsEmpty()) << topology.source_findings.at(0).message;

    ASSERT_EQ(topology.memdevs.size(), 1U);
    EXPECT_EQ(topology.memdevs[0].name, "mem0");
    EXPECT_EQ(topology.memdevs[0].serial, 4660U);
    EXPECT_EQ(topology.memdevs[0].host, "0000:0d:00.0");
    EXPECT_EQ(topology.memdevs[0].pmem_bytes, 536870912U);
    EXPECT_EQ(topology.memdevs[0].ram_bytes, 0U);
    EXPECT_EQ(topology.memdevs[0].numa_node, std::nullopt);
    EXPECT_EQ(topology.memdevs[0].enabled, true);
    EXPECT_EQ(topology.memdevs[0].sysfs_path,
              "/sys/devices/pci0000:0c/0000:0c:00.0/0000:0d:00.0/mem0");

    ASSERT_EQ(topology.regions.size(), 1U);
    EXPECT_EQ(topology.regions[0].root_decoder, "decoder0.0");
    EXPECT_EQ(topology.regions[0].resource, 15300820992U);
    EXPECT_EQ(topology.regions[0].capacity_bytes, 536870912U);
    EXPECT_EQ(topology.regions[0].type, "pmem");
    EXPECT_EQ(topology.regions[0].state, Region::State::committed);
    EXPECT_THAT(topology.regions[0].mappings, ElementsAre(RegionMapping{0, "mem0", "decoder2.0"}));
    EXPECT_EQ(topology.regions[0].host_bridges, 1U);
    EXPECT_EQ(topology.regions[0].switch_depth, 0U);

    EXPECT_EQ(topology.ports.size(), 3U);
    ASSERT_EQ(topology.decoders.size(), 3U);
    EXPECT_EQ(topology.decoders[0].name, "decoder0.0");
    // Only libcxl works this one out.
    EXPECT_EQ(topology.decoders[0].max_available_extent_bytes, 3758096384U);

    ASSERT_EQ(topology.dax_devices.size(), 1U);
    EXPECT_EQ(topology.dax_devices[0].name, "dax0.0");
    EXPECT_EQ(topology.dax_devices[0].region, "region0");
    EXPECT_EQ(topology.dax_devices[0].mode, DaxMode::devdax);
    EXPECT_EQ(topology.dax_devices[0].capacity_bytes, 526385152U);
    EXPECT_EQ(topology.dax_devices[0].align_bytes, 2097152U);
    EXPECT_EQ(topology.dax_devices[0].target_node, 1U);
    ASSERT_EQ(topology.nodes.size(), 1U);
    EXPECT_EQ(topology.nodes[0].capacity_bytes, 1945644ULL * 1024);
}

TEST(ReadLive, ReadsTheGuestFromSysfsWhereItHasNoDeviceNodes) {
    const Testbed testbed(tree("/captured/guest-pmem.sysfs.json"), false);
    const Topology topology = read();
    ASSERT_EQ(topology.memdevs.size(), 1U);
    EXPECT_EQ(topology.memdevs[0].serial, 4660U);
    ASSERT_EQ(topology.dax_devices.size(), 1U);
    EXPECT_EQ(topology.dax_devices[0].region, "region0");
    EXPECT_THAT(codes(topology), Contains("read_from_sysfs"));
}

// The record lacks what libcxl wants of a port: only sysfs leads from the region to its device.
TEST(ReadLive, ResolvesTheChainThatLibcxlDoesNotAccept) {
    const Testbed testbed(tree("/sysfs/a13-cxl-ram-x1-kmem.sysfs.json"));
    const Topology topology = read();
    ASSERT_EQ(topology.memdevs.size(), 1U);
    EXPECT_EQ(topology.memdevs[0].serial, 0xc200f2f0ULL);
    EXPECT_EQ(topology.memdevs[0].numa_node, 0U);
    ASSERT_EQ(topology.regions.size(), 1U);
    EXPECT_EQ(topology.regions[0].capacity_bytes, 268435456U);
    EXPECT_EQ(topology.regions[0].state, Region::State::committed);
    EXPECT_THAT(topology.regions[0].mappings, ElementsAre(RegionMapping{0, "mem0", "decoder4.0"}));
    ASSERT_EQ(topology.dax_devices.size(), 1U);
    EXPECT_EQ(topology.dax_devices[0].mode, DaxMode::system_ram);
    EXPECT_EQ(topology.dax_devices[0].region, "region0");
    EXPECT_EQ(topology.dax_devices[0].target_node, 2U);
    EXPECT_EQ(topology.dax_devices[0].numa_node, std::nullopt);
    EXPECT_TRUE(std::none_of(topology.nodes.begin(), topology.nodes.end(),
                             [](const NumaNode& node) { return node.id == 2; }));
    EXPECT_THAT(codes(topology), Contains("read_from_sysfs"));
}

TEST(ReadLive, MakesOnePoolOfTwoInterleavedDevices) {
    const Testbed testbed(tree("/sysfs/a13-cxl-ram-x2-devdax.sysfs.json"));
    const Topology topology = read();
    ASSERT_EQ(topology.memdevs.size(), 2U);
    EXPECT_EQ(topology.memdevs[0].enabled, std::nullopt);
    const Assessment assessment = assess(topology);
    ASSERT_EQ(assessment.pools.size(), 1U);
    const PoolCandidate& pool = assessment.pools[0];
    EXPECT_EQ(pool.name, "dax0.0");
    EXPECT_EQ(pool.capacity_bytes, 536870912U);
    EXPECT_THAT(pool.memdevs, ElementsAre("mem1", "mem0"));
    EXPECT_EQ(pool.profile.memory_node.value, 2U);
    EXPECT_EQ(pool.profile.cpu_affinity_node.value, std::nullopt);
    for (const Finding& finding : assessment.findings) {
        EXPECT_NE(finding.next, "") << finding.code;
    }
}

TEST(ReadLive, ReadsEightDevicesOfTwoBuses) {
    const Testbed testbed(tree("/sysfs/a15-mixed-hmem-pmem-dax.sysfs.json"));
    const Topology topology = read();
    std::vector<std::string> mappable;
    std::vector<std::string> system_ram;
    for (const DaxDevice& device : topology.dax_devices) {
        (device.mode == DaxMode::devdax ? mappable : system_ram).push_back(device.name);
    }
    EXPECT_THAT(mappable, ElementsAre("dax0.0", "dax2.0", "dax6.0"));
    EXPECT_THAT(system_ram, ElementsAre("dax1.0", "dax3.0", "dax5.0", "dax7.0", "dax8.0"));
    EXPECT_EQ(topology.nodes.size(), 7U);
    EXPECT_THAT(topology.memdevs, IsEmpty());
    EXPECT_THAT(codes(topology), Not(Contains("read_failed")));
}

TEST(ReadLive, LetsLibdaxctlCountMemoryBlocks) {
    test::SysfsTree recorded = tree("/sysfs/a15-mixed-hmem-pmem-dax.sysfs.json");
    const std::string memory = "sys/devices/system/memory/";
    recorded.file(memory + "block_size_bytes", "8000000\n");
    for (int block = 0x2c; block < 0x31; ++block) {  // dax1.0 is 0x160000000 to 0x17fffffff
        char index[12];
        std::snprintf(index, sizeof index, "%08x\n", static_cast<unsigned>(block));
        const std::string name = "memory" + std::to_string(block);
        recorded.file(memory + name + "/phys_index", index);
        recorded.file(memory + name + "/state", block == 0x2d ? "offline\n" : "online\n");
        recorded.link("sys/devices/system/node/node4/" + name, "../../memory/" + name);
    }
    const Testbed testbed(recorded);
    const Topology topology = read();
    const auto device = std::find_if(topology.dax_devices.begin(), topology.dax_devices.end(),
                                     [](const DaxDevice& d) { return d.name == "dax1.0"; });
    ASSERT_NE(device, topology.dax_devices.end());
    EXPECT_EQ(device->total_memblocks, 4U);
    EXPECT_EQ(device->online_memblocks, 3U);
}

TEST(ReadLive, TurnsLinesOfTheLibraryIntoFindings) {
    test::SysfsTree recorded = tree("/captured/guest-pmem.sysfs.json");
    recorded.file("sys/devices/platform/ACPI0017:00/root0/decoder0.0/region0/target0",
                  "decoder9.9\n");
    const Testbed testbed(recorded);
    ::testing::internal::CaptureStderr();
    const Topology topology = read();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    const auto line =
        std::find_if(topology.source_findings.begin(), topology.source_findings.end(),
                     [](const Finding& finding) { return finding.code == "library_message"; });
    ASSERT_NE(line, topology.source_findings.end());
    EXPECT_EQ(line->subject, "libcxl");
    EXPECT_EQ(line->message, "libcxl says: region0 target0: decoder9.9 lookup failure");
}

TEST(ReadLive, FindsNoDevicesOnAnEmptyMachine) {
    test::SysfsTree empty;
    empty.file("sys/devices/system/node/online", "0\n");
    empty.file("sys/devices/system/node/node0/cpulist", "0-3\n");
    const Testbed testbed(empty);
    const Topology topology = read();
    EXPECT_THAT(topology.memdevs, IsEmpty());
    EXPECT_THAT(topology.regions, IsEmpty());
    EXPECT_THAT(topology.dax_devices, IsEmpty());
    ASSERT_EQ(topology.nodes.size(), 1U);
    EXPECT_TRUE(topology.nodes[0].has_cpus);
    EXPECT_THAT(codes(topology), IsEmpty());
}

TEST(ReadLive, AsksLibnumaWhereSysfsHidesTheNodes) {
    test::SysfsTree empty;
    empty.file("sys/devices/system/cpu/online", "0-3\n");
    const Testbed testbed(empty);
    const Topology topology = read();
    ASSERT_THAT(topology.nodes, Not(IsEmpty()));
    EXPECT_TRUE(topology.nodes.size() > 1 || topology.nodes[0].capacity_bytes.value_or(0) > 0);
    EXPECT_TRUE(std::any_of(topology.nodes.begin(), topology.nodes.end(),
                            [](const NumaNode& node) { return node.has_cpus; }));
}

TEST(ReadLive, IsUnavailableWithoutSysfs) {
    const Testbed testbed(test::SysfsTree{});
    std::filesystem::remove_all(testbed.root() / "sys");
    const Result<Topology> topology = read_live();
    ASSERT_FALSE(topology);
    EXPECT_EQ(topology.error().code(), Errc::unavailable);
}

TEST(ReadLive, ReadsThisMachine) {
    const Topology topology = read();
    EXPECT_EQ(topology.origin, Topology::Origin::live);
    ASSERT_THAT(topology.nodes, Not(IsEmpty()));
    EXPECT_TRUE(std::any_of(topology.nodes.begin(), topology.nodes.end(),
                            [](const NumaNode& node) { return node.has_cpus; }));
}

}  // namespace
}  // namespace cxlpool

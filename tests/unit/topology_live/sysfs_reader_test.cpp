// Recorded trees by the sysfs reader alone, below a scratch directory.
#include "topology/live/sysfs_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/sysfs_tree.hpp"
#include "topology/live/reader.hpp"
#include "topology/report.hpp"
#include "topology/rules.hpp"

namespace cxlpool::live {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kGolden = CXLPOOL_GOLDEN_DIR;
const std::string kA13Region = "sys/devices/platform/ACPI0017:00/root0/decoder0.0/region0";
const std::string kA13Port = "sys/devices/platform/ACPI0017:00/root0/port1";

test::SysfsTree a13() {
    return test::load_sysfs_tree(kGolden + "/sysfs/a13-cxl-ram-x1-kmem.sysfs.json");
}
test::SysfsTree a13_x2() {
    return test::load_sysfs_tree(kGolden + "/sysfs/a13-cxl-ram-x2-devdax.sysfs.json");
}
test::SysfsTree a15b() {
    return test::load_sysfs_tree(kGolden + "/sysfs/a15b-old-kernel-three-dax-one-bus.sysfs.json");
}
test::SysfsTree a15() {
    return test::load_sysfs_tree(kGolden + "/sysfs/a15-mixed-hmem-pmem-dax.sysfs.json");
}
test::SysfsTree guest() {
    return test::load_sysfs_tree(kGolden + "/captured/guest-pmem.sysfs.json");
}

Topology read(const test::SysfsTree& tree) {
    const test::ScratchDirectory directory;
    test::materialise(tree, directory.path());
    Result<Topology> topology = read_topology(directory.path().string());
    EXPECT_TRUE(topology) << topology.error().message();
    return topology ? std::move(topology).value() : Topology{};
}

const DaxDevice& dax(const Topology& topology, const std::string& name) {
    const auto found = std::find_if(topology.dax_devices.begin(), topology.dax_devices.end(),
                                    [&](const DaxDevice& d) { return d.name == name; });
    static const DaxDevice none;
    EXPECT_NE(found, topology.dax_devices.end()) << name;
    return found == topology.dax_devices.end() ? none : *found;
}

const NumaNode& node(const Topology& topology, std::uint32_t id) {
    const auto found = std::find_if(topology.nodes.begin(), topology.nodes.end(),
                                    [&](const NumaNode& n) { return n.id == id; });
    static const NumaNode none;
    EXPECT_NE(found, topology.nodes.end()) << id;
    return found == topology.nodes.end() ? none : *found;
}

std::vector<std::string> names_in_mode(const Topology& topology, DaxMode mode) {
    std::vector<std::string> names;
    for (const DaxDevice& device : topology.dax_devices) {
        if (device.mode == mode) {
            names.push_back(device.name);
        }
    }
    return names;
}

std::vector<std::string> codes(const Topology& topology) {
    std::vector<std::string> codes;
    for (const Finding& finding : topology.source_findings) {
        codes.push_back(finding.code);
    }
    return codes;
}

TEST(SysfsReader, FollowsARegionToItsMemdev) {
    const Topology topology = read(a13());
    ASSERT_EQ(topology.regions.size(), 1U);
    const Region& region = topology.regions[0];
    EXPECT_EQ(region.name, "region0");
    EXPECT_EQ(region.sysfs_path, "/" + kA13Region);
    EXPECT_EQ(region.root_decoder, "decoder0.0");
    EXPECT_EQ(region.resource, 0x5d0000000ULL);
    EXPECT_EQ(region.capacity_bytes, 268435456U);
    EXPECT_EQ(region.type, "ram");
    EXPECT_EQ(region.interleave_ways, 1U);
    EXPECT_EQ(region.state, Region::State::committed);
    EXPECT_THAT(region.mappings, ElementsAre(RegionMapping{0, "mem0", "decoder4.0"}));
    EXPECT_EQ(region.host_bridges, 1U);
    EXPECT_THAT(codes(topology), IsEmpty());
}

TEST(SysfsReader, ReadsAMemdev) {
    const Topology topology = read(a13());
    ASSERT_EQ(topology.memdevs.size(), 1U);
    const Memdev& memdev = topology.memdevs[0];
    EXPECT_EQ(memdev.name, "mem0");
    EXPECT_EQ(memdev.sysfs_path, "/sys/devices/pci0000:bf/0000:c1:00.0/mem0");
    EXPECT_EQ(memdev.serial, 0xc200f2f0ULL);
    EXPECT_EQ(memdev.host, "0000:c1:00.0");
    EXPECT_EQ(memdev.ram_bytes, 268435456U);
    EXPECT_EQ(memdev.pmem_bytes, 0U);
    EXPECT_EQ(memdev.numa_node, 0U);
    EXPECT_EQ(memdev.enabled, std::nullopt);  // the record has no drivers at all
    EXPECT_EQ(memdev.firmware_version, "BWFW VERSION 00");
}

TEST(SysfsReader, ReadsADaxDeviceInSystemRamMode) {
    const Topology topology = read(a13());
    ASSERT_EQ(topology.dax_devices.size(), 1U);
    const DaxDevice& device = topology.dax_devices[0];
    EXPECT_EQ(device.name, "dax0.0");
    EXPECT_EQ(device.region, "region0");
    EXPECT_EQ(device.region_path, "/platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0");
    EXPECT_EQ(device.mode, DaxMode::system_ram);
    EXPECT_EQ(device.capacity_bytes, 268435456U);
    EXPECT_EQ(device.align_bytes, 2097152U);
    EXPECT_EQ(device.resource, 0x5d0000000ULL);
    EXPECT_THAT(device.ranges, ElementsAre(PhysicalRange{0x5d0000000, 0x5dfffffff}));
    EXPECT_EQ(device.target_node, 2U);
    EXPECT_EQ(device.numa_node, std::nullopt);  // -1
    EXPECT_EQ(device.devnode, "/dev/dax0.0");
    EXPECT_EQ(device.dev_major, 252U);
    EXPECT_EQ(device.dev_minor, 0U);
    // Node 2 is possible and not online.
    ASSERT_EQ(topology.nodes.size(), 2U);
    EXPECT_EQ(topology.nodes[0].id, 0U);
    EXPECT_EQ(topology.nodes[1].id, 1U);
    EXPECT_TRUE(topology.nodes[1].online);
    EXPECT_THAT(topology.possible_nodes, ElementsAre(0, 1, 2));
}

TEST(SysfsReader, A13SystemRamIsAFindingWithAllThatIsKnown) {
    const Topology topology = read(a13());
    const Assessment assessment = assess(topology);
    EXPECT_THAT(assessment.pools, IsEmpty());
    const auto finding = [&](const std::string& code) {
        const auto found = std::find_if(assessment.findings.begin(), assessment.findings.end(),
                                        [&](const Finding& f) { return f.code == code; });
        return found == assessment.findings.end() ? Finding{} : *found;
    };
    EXPECT_EQ(finding("dax_system_ram").subject, "dax0.0");
    EXPECT_EQ(finding("dax_system_ram").message,
              "dax0.0, 256 MiB (268435456 bytes) of region0 (mem0), on node 2: system RAM, not "
              "mappable as a pool");
    EXPECT_EQ(finding("memory_node_offline").subject, "dax0.0");
    EXPECT_EQ(finding("memory_node_offline").severity, Finding::Severity::warning);
    const auto report = nlohmann::json::parse(topology_json(topology, assessment));
    const auto& device = report.at("dax_devices").at(0);
    EXPECT_EQ(device.at("target_node"), 2);
    EXPECT_EQ(device.at("target_node_online"), false);
    EXPECT_EQ(device.at("is_pool"), false);
    EXPECT_EQ(device.at("numa_node"), nullptr);
}

TEST(SysfsReader, A13InterleavedRegionIsOnePool) {
    for (const char* const unknown : {"-1\n", "4294967295\n"}) {
        test::SysfsTree tree = a13_x2();
        tree.file(kA13Region + "/dax_region0/dax0.0/numa_node", unknown);
        const Topology topology = read(tree);
        EXPECT_THAT(codes(topology), IsEmpty());
        const Assessment assessment = assess(topology);
        ASSERT_EQ(assessment.pools.size(), 1U);
        const PoolCandidate& pool = assessment.pools[0];
        EXPECT_EQ(pool.name, "dax0.0");
        EXPECT_EQ(pool.capacity_bytes, 536870912U);
        EXPECT_THAT(pool.memdevs, ElementsAre("mem1", "mem0"));
        EXPECT_THAT(pool.serials, ElementsAre(0xc200f2f1U, 0xc200f2f0U));
        EXPECT_EQ(pool.profile.memory_node.value, 2U);
        EXPECT_EQ(pool.profile.cpu_affinity_node.value, std::nullopt);
        EXPECT_EQ(topology.regions.at(0).host_bridges, 2U);
        EXPECT_EQ(topology.dax_devices.at(0).numa_node, std::nullopt);
    }
}

TEST(SysfsReader, AMemdevWithoutDriverIsDisabledOnlyWhereDriversAreSeen) {
    test::SysfsTree tree = a13_x2();
    tree.link("sys/devices/pci0000:bf/0000:c1:00.0/mem0/driver",
              "../../../../bus/cxl/drivers/cxl_mem");
    const Topology topology = read(tree);
    ASSERT_EQ(topology.memdevs.size(), 2U);
    EXPECT_EQ(topology.memdevs[0].name, "mem1");
    EXPECT_EQ(topology.memdevs[0].enabled, false);
    EXPECT_EQ(topology.memdevs[1].enabled, true);
    EXPECT_THAT(assess(topology).pools, IsEmpty());
}

TEST(SysfsReader, A15bOlderKernelWithAttributesAbove) {
    const Topology topology = read(a15b());
    EXPECT_THAT(codes(topology), IsEmpty());
    ASSERT_EQ(topology.dax_devices.size(), 3U);
    const std::pair<const char*, std::uint32_t> wanted[] = {
        {"dax0.0", 4}, {"dax1.3", 5}, {"dax1.4", 5}};
    for (std::size_t i = 0; i < 3; ++i) {
        const DaxDevice& device = topology.dax_devices[i];
        EXPECT_EQ(device.name, wanted[i].first);
        EXPECT_EQ(device.target_node, wanted[i].second);
        EXPECT_EQ(device.align_bytes, 2097152U);
        EXPECT_EQ(device.mode, DaxMode::devdax);
        EXPECT_NE(device.resource.value_or(0), 0U);
        EXPECT_EQ(device.online_memblocks, std::nullopt);
    }
    EXPECT_EQ(topology.dax_devices[0].numa_node, 0U);
    EXPECT_EQ(topology.dax_devices[1].numa_node, 1U);
    EXPECT_EQ(topology.dax_devices[1].resource, 0x3060000000U);
    EXPECT_EQ(topology.dax_devices[2].resource, 0x4060000000U);
    EXPECT_THAT(topology.possible_nodes, ElementsAre(0, 1));
    EXPECT_THAT(node(topology, 1).distances, ElementsAre(Pair(0, 21), Pair(1, 10)));
    EXPECT_TRUE(node(topology, 1).has_cpus);

    const Assessment assessment = assess(topology);
    EXPECT_EQ(assessment.pools.size(), 3U);
    std::vector<std::string> impossible;
    for (const Finding& finding : assessment.findings) {
        if (finding.code == "target_node_impossible") {
            impossible.push_back(finding.subject);
        }
        EXPECT_NE(finding.code, "memory_node_offline");
    }
    EXPECT_THAT(impossible, ElementsAre("dax0.0", "dax1.3", "dax1.4"));
}

// dax5.0, dax7.0 and dax8.0 are NVDIMMs of this host, dax1.0 is memory that firmware set aside.
TEST(SysfsReader, A15OnlyWhatMayBeCxlIsACxlTier) {
    const Assessment assessment = assess(read(a15()));
    std::vector<std::string> cxl;
    for (const Profile& tier : assessment.tiers) {
        if (tier.tier == Tier::cxl) {
            cxl.push_back(std::to_string(tier.memory_node.value.value_or(99)));
        }
    }
    EXPECT_THAT(cxl, ElementsAre("4"));
    std::vector<std::string> no_tier;
    for (const Finding& finding : assessment.findings) {
        if (finding.code == "memory_only_node") {
            no_tier.push_back(finding.subject);
        }
    }
    EXPECT_THAT(no_tier, ElementsAre("node6", "node8", "node9"));
}

TEST(SysfsReader, EveryFindingOfEveryTreeHasANextStep) {
    int findings = 0;
    for (const test::SysfsTree& tree : {a13(), a13_x2(), a15(), a15b(), guest()}) {
        for (const Finding& finding : assess(read(tree)).findings) {
            EXPECT_NE(finding.next, "") << finding.code;
            ++findings;
        }
    }
    EXPECT_GE(findings, 10);
}

// The initiator of a node is not the numa_node of the device behind it.
TEST(SysfsReader, KeepsWhichInitiatorAFigureIsOf) {
    const Topology recorded = read(a15());
    EXPECT_THAT(node(recorded, 6).initiators, ElementsAre(InitiatorFigures{1, {}, 100}));
    EXPECT_EQ(dax(recorded, "dax5.0").target_node, 6U);
    EXPECT_EQ(dax(recorded, "dax5.0").numa_node, 0U);

    test::SysfsTree tree = a15();
    const std::string nodes = "sys/devices/system/node/";
    tree.link(nodes + "node4/access1/initiators/node2", "../../../node2");
    tree.link(nodes + "node4/access0/initiators/node2", "../../../node2");
    tree.file(nodes + "node4/access0/initiators/read_bandwidth", "12000\n");
    EXPECT_THAT(node(read(tree), 4).initiators,
                ElementsAre(InitiatorFigures{2, {}, 12000}, InitiatorFigures{1, {}, 10000}));
}

TEST(SysfsReader, ReadsWhatTheKernelAddedUpForARegion) {
    test::SysfsTree tree = a13_x2();
    tree.file(kA13Region + "/access0/read_latency", "0\n");
    tree.file(kA13Region + "/access0/read_bandwidth", "25600\n");
    tree.file(kA13Region + "/access1/read_latency", "260\n");
    tree.file(kA13Region + "/access1/read_bandwidth", "20000\n");
    const Topology topology = read(tree);
    EXPECT_EQ(topology.regions.at(0).read_latency_ns, 260U);
    EXPECT_EQ(topology.regions[0].read_mbps, 25600U);
    EXPECT_EQ(assess(topology).pools.at(0).profile.read_latency_ns.value, 260U);
    EXPECT_EQ(read(a13_x2()).regions.at(0).read_latency_ns, std::nullopt);
}

// Absent: the device has none. Present and empty: reading it failed.
TEST(SysfsReader, E02AnEmptyCdatIsAFindingAndAnAbsentOneIsNot) {
    test::SysfsTree tree = a13();
    EXPECT_THAT(codes(read(tree)), IsEmpty());
    tree.file(kA13Port + "/endpoint4/CDAT", std::string("\x30\0\0\0\x01\x50", 6));
    EXPECT_THAT(codes(read(tree)), IsEmpty());
    tree.file(kA13Port + "/endpoint4/CDAT", "");
    const Topology topology = read(tree);
    ASSERT_THAT(codes(topology), ElementsAre("cdat_unreadable"));
    EXPECT_EQ(topology.source_findings[0].subject, "endpoint4");
    EXPECT_EQ(topology.source_findings[0].severity, Finding::Severity::warning);
}

TEST(SysfsReader, OrdersInterleavedMemdevsByPosition) {
    const Topology topology = read(a13_x2());
    ASSERT_EQ(topology.regions.size(), 1U);
    EXPECT_THAT(topology.regions[0].mappings, ElementsAre(RegionMapping{0, "mem1", "decoder5.0"},
                                                          RegionMapping{1, "mem0", "decoder4.0"}));
    EXPECT_EQ(topology.regions[0].interleave_granularity_bytes, 256U);
    ASSERT_EQ(topology.memdevs.size(), 2U);
    EXPECT_EQ(topology.memdevs[0].name, "mem1");
    EXPECT_EQ(topology.memdevs[0].numa_node, std::nullopt);
    EXPECT_EQ(topology.memdevs[1].name, "mem0");
    const DaxDevice& device = dax(topology, "dax0.0");
    EXPECT_EQ(device.mode, DaxMode::devdax);
    EXPECT_EQ(device.capacity_bytes, 536870912U);
}

TEST(SysfsReader, CallsAnUnreadableCommitUnknownAndAZeroReset) {
    test::SysfsTree tree = a13();
    tree.file(kA13Region + "/commit", "0\n");
    EXPECT_EQ(read(tree).regions.at(0).state, Region::State::reset);
    tree.files.erase(kA13Region + "/commit");
    EXPECT_EQ(read(tree).regions.at(0).state, Region::State::unknown);
}

TEST(SysfsReader, CallsACommittedRegionWithoutDriverDisabled) {
    test::SysfsTree tree;
    tree.file("sys/devices/root0/decoder0.0/region3/commit", "1\n");
    tree.link("sys/bus/cxl/devices/region3", "../../../devices/root0/decoder0.0/region3");
    EXPECT_EQ(read(tree).regions.at(0).state, Region::State::disabled);
    tree.link("sys/devices/root0/decoder0.0/region3/driver", "../../../../bus/cxl/drivers/region");
    EXPECT_EQ(read(tree).regions.at(0).state, Region::State::committed);
}

TEST(SysfsReader, SeparatesMappableDevicesFromSystemRam) {
    const Topology topology = read(a15());
    EXPECT_THAT(names_in_mode(topology, DaxMode::devdax),
                ElementsAre("dax0.0", "dax2.0", "dax6.0"));
    EXPECT_THAT(names_in_mode(topology, DaxMode::system_ram),
                ElementsAre("dax1.0", "dax3.0", "dax5.0", "dax7.0", "dax8.0"));
    EXPECT_EQ(dax(topology, "dax0.0").target_node, 3U);
    EXPECT_EQ(dax(topology, "dax2.0").target_node, 5U);
    EXPECT_EQ(dax(topology, "dax6.0").target_node, 7U);
    EXPECT_EQ(dax(topology, "dax6.0").numa_node, 2U);
    EXPECT_EQ(dax(topology, "dax6.0").region, "");
    EXPECT_EQ(dax(topology, "dax6.0").region_path,
              "/LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region6/dax6.1");
    EXPECT_THAT(topology.memdevs, IsEmpty());
    EXPECT_THAT(codes(topology), IsEmpty());
}

TEST(SysfsReader, AssignsDistanceColumnsToOnlineNodes) {
    const Topology topology = read(a15());
    ASSERT_EQ(topology.nodes.size(), 7U);
    EXPECT_THAT(node(topology, 6).distances,
                ElementsAre(Pair(0, 20), Pair(1, 20), Pair(2, 20), Pair(4, 20), Pair(6, 10),
                            Pair(8, 20), Pair(9, 20)));
    for (const std::uint32_t offline : {3U, 5U, 7U}) {
        EXPECT_TRUE(std::none_of(topology.nodes.begin(), topology.nodes.end(),
                                 [&](const NumaNode& n) { return n.id == offline; }));
    }
}

TEST(SysfsReader, ReadsSizesAndProcessorsOfNodes) {
    const Topology topology = read(a15());
    EXPECT_TRUE(node(topology, 2).has_cpus);
    EXPECT_FALSE(node(topology, 9).has_cpus);
    EXPECT_EQ(node(topology, 9).capacity_bytes, 393216ULL * 1024);
    EXPECT_EQ(node(topology, 9).free_bytes, std::nullopt);
}

TEST(SysfsReader, TakesAccess1WhenItIsAloneAndZeroForUnknown) {
    const Topology topology = read(a15());
    for (const NumaNode& n : topology.nodes) {
        EXPECT_EQ(n.read_latency_ns, std::nullopt) << n.id;
    }
    EXPECT_EQ(node(topology, 4).read_mbps, 10000U);
}

TEST(SysfsReader, PrefersAccess0) {
    test::SysfsTree tree = a15();
    const std::string initiators = "sys/devices/system/node/node4/access0/initiators/";
    tree.file(initiators + "read_latency", "310\n");
    tree.file(initiators + "read_bandwidth", "9000\n");
    const Topology topology = read(tree);
    EXPECT_EQ(node(topology, 4).read_latency_ns, 310U);
    EXPECT_EQ(node(topology, 4).read_mbps, 9000U);
}

TEST(SysfsReader, ReadsNodeFilesThatEndInNul) {
    test::SysfsTree tree = a15();
    const std::string nodes = "sys/devices/system/node/";
    tree.file(nodes + "online", std::string("0-2,4,6,8-9\n\0", 13));
    tree.file(nodes + "node9/cpulist", std::string("\n\0", 2));
    tree.file(nodes + "node9/distance", std::string("20 20 20 20 20 20 10\n\0", 22));
    const Topology topology = read(tree);
    EXPECT_FALSE(node(topology, 9).has_cpus);
    EXPECT_EQ(node(topology, 9).distances.size(), 7U);
    EXPECT_THAT(codes(topology), IsEmpty());
}

TEST(SysfsReader, RefusesDistancesThatDoNotFitTheOnlineNodes) {
    test::SysfsTree tree = a15();
    tree.file("sys/devices/system/node/node9/distance", "20 20 10\n");
    const Topology topology = read(tree);
    EXPECT_THAT(node(topology, 9).distances, IsEmpty());
    EXPECT_THAT(codes(topology), ElementsAre("distance_columns_mismatch"));
}

TEST(SysfsReader, ShowsANodeThatExistsAndIsOffline) {
    test::SysfsTree tree = a15();
    tree.file("sys/devices/system/node/node3/cpulist", "\n");
    const Topology topology = read(tree);
    EXPECT_FALSE(node(topology, 3).online);
    EXPECT_TRUE(node(topology, 4).online);
}

TEST(SysfsReader, ReportsAMalformedListOfNodes) {
    test::SysfsTree tree = a15();
    tree.file("sys/devices/system/node/online", "all\n");
    const Topology topology = read(tree);
    EXPECT_FALSE(node(topology, 0).online);
    EXPECT_THAT(codes(topology), ::testing::Contains("malformed_attribute"));
}

TEST(SysfsReader, FindsTheRegionBehindThePersistentDevice) {
    const Topology topology = read(guest());
    ASSERT_EQ(topology.regions.size(), 1U);
    EXPECT_EQ(topology.regions[0].type, "pmem");
    EXPECT_EQ(topology.regions[0].capacity_bytes, 536870912U);
    const DaxDevice& device = dax(topology, "dax0.0");
    EXPECT_EQ(device.region, "region0");
    EXPECT_EQ(device.mode, DaxMode::devdax);
    EXPECT_EQ(device.capacity_bytes, 526385152U);
    EXPECT_EQ(device.target_node, 1U);
    EXPECT_EQ(device.numa_node, 0U);
    EXPECT_EQ(topology.memdevs.at(0).serial, 4660U);
    EXPECT_EQ(topology.memdevs.at(0).enabled, true);
}

// The guest's nvdimm region and CXL region both have number 0 by chance only.
TEST(SysfsReader, DoesNotTieByTheNumberOfTheNvdimmRegion) {
    const std::string nd_region =
        "sys/devices/platform/ACPI0017:00/root0/nvdimm-bridge0/ndbus0/region0/";
    test::SysfsTree tree = guest();
    tree.file(nd_region + "size", "268435456\n");
    tree.file(nd_region + "resource", "0x690000000\n");
    tree.file(nd_region + "dax0.0/dax0.0/resource", "0x690a00000\n");
    tree.file(nd_region + "dax0.0/dax0.0/mapping0/start", "0x690a00000\n");
    tree.file(nd_region + "dax0.0/dax0.0/mapping0/end", "0x69fffffff\n");
    const test::ScratchDirectory directory;
    test::materialise(tree, directory.path());
    FindingLog log;
    const Sysfs sysfs(directory.path().string(), log);
    const SysfsReader reader(sysfs);
    Topology topology;
    reader.read_cxl(topology);
    topology.dax_devices = reader.dax_devices();
    reader.tie_dax_devices(topology);
    EXPECT_EQ(topology.dax_devices.at(0).region, "");
}

// What an unprivileged reader sees: addresses are zero or may not be read.
test::SysfsTree guest_without_addresses() {
    test::SysfsTree tree = guest();
    for (auto& [path, text] : tree.files) {
        const std::string name = base_name(path);
        if (name == "resource" || name == "start" || name == "end") {
            text = "0x0\n";
        }
    }
    return tree;
}

TEST(SysfsReader, TiesByDevicesWhenAddressesAreHidden) {
    test::SysfsTree tree = guest_without_addresses();
    const std::string dimm = "sys/devices/platform/ACPI0017:00/root0/nvdimm-bridge0/ndbus0/nmem0";
    tree.file(dimm + "/cxl/provider", "pmem0\n");
    const Topology topology = read(tree);
    EXPECT_EQ(dax(topology, "dax0.0").region, "region0");
    EXPECT_EQ(dax(topology, "dax0.0").resource, std::nullopt);
    EXPECT_THAT(dax(topology, "dax0.0").ranges, IsEmpty());
}

TEST(SysfsReader, LeavesTheRegionOpenWhenTwoFit) {
    test::SysfsTree tree = guest_without_addresses();
    const std::string twin = "sys/devices/platform/ACPI0017:00/root0/decoder0.0/region7";
    tree.file(twin + "/size", "0x20000000\n");
    tree.file(twin + "/mode", "pmem\n");
    tree.file(twin + "/commit", "1\n");
    tree.file(twin + "/interleave_ways", "1\n");
    tree.file(twin + "/target0", "decoder9.0\n");
    tree.file(twin + "/pmem_region7/devtype", "cxl_pmem_region\n");
    tree.link("sys/bus/cxl/devices/region7",
              "../../../devices/platform/ACPI0017:00/root0/decoder0.0/region7");
    EXPECT_EQ(dax(read(tree), "dax0.0").region, "");
}

TEST(SysfsReader, WalksPortsDecodersAndTargetsOfTheGuest) {
    const Topology topology = read(guest());
    ASSERT_EQ(topology.ports.size(), 3U);
    const auto port = [&](const std::string& name) {
        return *std::find_if(topology.ports.begin(), topology.ports.end(),
                             [&](const Port& p) { return p.name == name; });
    };
    EXPECT_EQ(port("root0").kind, Port::Kind::root);
    EXPECT_EQ(port("root0").parent, "");
    EXPECT_THAT(port("root0").dports, ElementsAre("ACPI0016:00"));
    EXPECT_EQ(port("port1").parent, "root0");
    EXPECT_EQ(port("port1").host, "ACPI0016:00");
    EXPECT_EQ(port("port1").parent_dport, "ACPI0016:00");
    EXPECT_EQ(port("port1").depth, 1U);
    EXPECT_EQ(port("endpoint2").host, "mem0");
    EXPECT_EQ(port("endpoint2").parent, "port1");
    EXPECT_EQ(port("endpoint2").parent_dport, "0000:0c:00.0");
    EXPECT_EQ(port("endpoint2").depth, 2U);

    ASSERT_EQ(topology.decoders.size(), 3U);
    const auto decoder = [&](const std::string& name) {
        return *std::find_if(topology.decoders.begin(), topology.decoders.end(),
                             [&](const Decoder& d) { return d.name == name; });
    };
    const Decoder root = decoder("decoder0.0");
    EXPECT_EQ(root.kind, Decoder::Kind::root);
    EXPECT_EQ(root.resource, 15300820992U);
    EXPECT_EQ(root.size_bytes, 4294967296U);
    EXPECT_EQ(root.mem_capable, true);
    EXPECT_EQ(root.accelmem_capable, true);
    ASSERT_EQ(root.targets.size(), 1U);
    EXPECT_EQ(root.targets[0].target, "ACPI0016:00");
    const Decoder endpoint = decoder("decoder2.0");
    EXPECT_EQ(endpoint.kind, Decoder::Kind::endpoint);
    EXPECT_EQ(endpoint.mode, "pmem");
    EXPECT_EQ(endpoint.region, "region0");
    EXPECT_EQ(endpoint.target_type, "expander");
    EXPECT_EQ(endpoint.dpa_resource, 0U);
    EXPECT_EQ(endpoint.dpa_size_bytes, 536870912U);
    EXPECT_EQ(endpoint.locked, false);
}

TEST(SysfsReader, FallsBackToTheObjectAboveForOlderKernels) {
    test::SysfsTree tree;
    const std::string outer = "sys/devices/ndbus0/region1/dax1.1";
    tree.file(outer + "/align", "2097152\n");
    tree.file(outer + "/numa_node", "1\n");
    tree.file(outer + "/resource", "0x1e0a00000\n");
    tree.file(outer + "/size", "526385152\n");
    tree.file(outer + "/dax1.3/dev", "253:5\n");
    tree.file(outer + "/dax1.3/size", "526385152\n");
    tree.file(outer + "/dax1.3/target_node", "4\n");
    tree.link("sys/bus/dax/devices/dax1.3", "../../../devices/ndbus0/region1/dax1.1/dax1.3");
    const Topology topology = read(tree);
    ASSERT_EQ(topology.dax_devices.size(), 1U);
    const DaxDevice& device = topology.dax_devices[0];
    EXPECT_EQ(device.name, "dax1.3");
    EXPECT_EQ(device.align_bytes, 2097152U);
    EXPECT_EQ(device.numa_node, 1U);
    EXPECT_EQ(device.target_node, 4U);
    EXPECT_EQ(device.resource, 0x1e0a00000ULL);
    EXPECT_EQ(device.mode, DaxMode::unbound);
}

TEST(SysfsReader, TakesNoAddressFromAnObjectThatHoldsMore) {
    test::SysfsTree tree;
    const std::string outer = "sys/devices/ndbus0/region1/dax1.1";
    tree.file(outer + "/resource", "0x1e0a00000\n");
    tree.file(outer + "/size", "526385152\n");
    tree.file(outer + "/dax1.3/size", "2097152\n");
    tree.link("sys/bus/dax/devices/dax1.3", "../../../devices/ndbus0/region1/dax1.1/dax1.3");
    const Topology topology = read(tree);
    EXPECT_EQ(dax(topology, "dax1.3").resource, std::nullopt);
    EXPECT_EQ(dax(topology, "dax1.3").align_bytes, std::nullopt);
    EXPECT_EQ(dax(topology, "dax1.3").target_node, std::nullopt);
    EXPECT_EQ(dax(topology, "dax1.3").devnode, "");
}

TEST(SysfsReader, KeepsTheSeedDevice) {
    test::SysfsTree tree = a13();
    const std::string seed = kA13Region + "/dax_region0/dax0.1";
    tree.file(seed + "/size", "0\n");
    tree.file(seed + "/target_node", "2\n");
    tree.link("sys/bus/dax/devices/dax0.1", "../../../" + seed.substr(4));
    const Topology topology = read(tree);
    const DaxDevice& device = dax(topology, "dax0.1");
    EXPECT_EQ(device.capacity_bytes, 0U);
    EXPECT_EQ(device.resource, std::nullopt);
    EXPECT_EQ(device.mode, DaxMode::unbound);
    EXPECT_EQ(device.region, "region0");
}

TEST(SysfsReader, NamesADriverThatItDoesNotKnow) {
    test::SysfsTree tree = a13();
    const std::string driver = kA13Region + "/dax_region0/dax0.0/driver";
    const std::string drivers = "../../../../../../../../bus/dax/drivers/";
    tree.link(driver, drivers + "vendor_dax");
    const Topology topology = read(tree);
    EXPECT_EQ(dax(topology, "dax0.0").mode, DaxMode::unknown);
    ASSERT_EQ(topology.source_findings.size(), 1U);
    EXPECT_EQ(topology.source_findings[0].code, "unknown_dax_driver");
    EXPECT_NE(topology.source_findings[0].message.find("vendor_dax"), std::string::npos);
    tree.link(driver, drivers + "fsdev_dax");
    EXPECT_EQ(dax(read(tree), "dax0.0").mode, DaxMode::famfs);
}

TEST(SysfsReader, SaysWhichFileSystemHoldsADevice) {
    test::SysfsTree tree = a13();
    tree.file("proc/self/mounts", "proc /proc proc rw 0 0\n/dev/dax0.0 /mnt/famfs famfs rw 0 0\n");
    EXPECT_EQ(dax(read(tree), "dax0.0").held_by, "/mnt/famfs");
    EXPECT_EQ(dax(read(a13()), "dax0.0").held_by, "");
}

TEST(SysfsReader, CountsMemoryBlocksInsideTheDevice) {
    test::SysfsTree tree = a13();
    const std::string memory = "sys/devices/system/memory/";
    tree.file(memory + "block_size_bytes", "8000000\n");  // hexadecimal: 128 MiB
    tree.file(memory + "memory186/phys_index", "000000ba\n");
    tree.file(memory + "memory186/state", "online\n");
    tree.file(memory + "memory187/phys_index", "000000bb\n");
    tree.file(memory + "memory187/state", "offline\n");
    tree.file(memory + "memory188/phys_index", "000000bc\n");  // behind the end
    tree.file(memory + "memory188/state", "online\n");
    for (const char* const name : {"memory186", "memory187", "memory188"}) {
        tree.link(std::string("sys/devices/system/node/node2/") + name,
                  std::string("../../memory/") + name);
    }
    const Topology topology = read(tree);
    EXPECT_EQ(dax(topology, "dax0.0").total_memblocks, 2U);
    EXPECT_EQ(dax(topology, "dax0.0").online_memblocks, 1U);
    EXPECT_EQ(dax(read(a13()), "dax0.0").total_memblocks, std::nullopt);
}

TEST(SysfsReader, ReadsExtentsOfDynamicCapacity) {
    test::SysfsTree tree = a13();
    tree.file(kA13Region + "/mode", "dynamic_ram_a\n");
    const std::string extents = kA13Region + "/dax_region0/extent0.";
    tree.file(extents + "1/offset", "0x10000000\n");
    tree.file(extents + "1/length", "0x8000000\n");
    tree.file(extents + "1/uuid", "2a6a1c9e-8b6b-4d0e-9d0c-1f1e2d3c4b5a\n");
    tree.file(extents + "0/offset", "0x0\n");
    tree.file(extents + "0/length", "0x8000000\n");
    tree.file(extents + "0/uuid", "00000000-0000-0000-0000-000000000000\n");
    tree.file(extents + "2/offset", "0x20000000\n");  // no length: taken back just now
    const Topology topology = read(tree);
    ASSERT_EQ(topology.regions.size(), 1U);
    EXPECT_TRUE(topology.regions[0].has_dynamic_capacity);
    EXPECT_THAT(
        topology.regions[0].extents,
        ElementsAre(RegionExtent{0, 0x8000000, ""},
                    RegionExtent{0x10000000, 0x8000000, "2a6a1c9e-8b6b-4d0e-9d0c-1f1e2d3c4b5a"}));
}

TEST(SysfsReader, SurvivesDevicesThatVanish) {
    const test::ScratchDirectory directory;
    test::materialise(a13(), directory.path());
    std::filesystem::remove_all(directory.path() / kA13Region);
    const Result<Topology> topology = read_topology(directory.path().string());
    ASSERT_TRUE(topology);
    EXPECT_THAT(topology->regions, IsEmpty());
    EXPECT_THAT(topology->dax_devices, IsEmpty());
    EXPECT_EQ(topology->memdevs.size(), 1U);
    EXPECT_THAT(codes(*topology), ElementsAre("vanished", "vanished"));
    EXPECT_EQ(topology->source_findings[0].severity, Finding::Severity::info);
}

TEST(SysfsReader, FindsNothingOnAMachineWithoutDevices) {
    test::SysfsTree tree;
    tree.file("sys/devices/system/node/online", "0\n");
    tree.file("sys/devices/system/node/node0/cpulist", "0-1\n");
    const Topology topology = read(tree);
    EXPECT_EQ(topology.origin, Topology::Origin::live);
    EXPECT_THAT(topology.memdevs, IsEmpty());
    EXPECT_THAT(topology.dax_devices, IsEmpty());
    EXPECT_EQ(topology.nodes.size(), 1U);
    EXPECT_THAT(codes(topology), IsEmpty());
}

TEST(SysfsReader, RefusesADirectoryWithoutSys) {
    const test::ScratchDirectory directory;
    const Result<Topology> topology = read_topology(directory.path().string());
    ASSERT_FALSE(topology);
    EXPECT_EQ(topology.error().code(), Errc::unavailable);
    EXPECT_NE(topology.error().message().find("is sysfs mounted there?"), std::string::npos);
}

}  // namespace
}  // namespace cxlpool::live

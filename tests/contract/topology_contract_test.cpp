// One machine, told by `cxl list -vvv` and `daxctl list -RD`, and by its /sys: what both carry is
// the same, whether libcxl and libdaxctl read the tree or the sysfs reader does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>

#include "support/sysfs_tree.hpp"
#include "support/umockdev_testbed.hpp"
#include "topology/captured/captured.hpp"
#include "topology/live/live.hpp"
#include "topology/live/reader.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

const std::string kGolden = std::string(CXLPOOL_GOLDEN_DIR) + "/";

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(file) << path;
    return text.str();
}

const std::string kGuest = "guest-pmem";
const std::string kInterleaved = "a13-cxl-ram-x2-devdax";

Topology from_tools(const std::string& machine) {
    const std::string cxl = content_of(kGolden + "captured/" + machine + ".cxl-list.json");
    const std::string daxctl = content_of(kGolden + "captured/" + machine + ".daxctl-list.json");
    const std::array texts{CapturedText{"cxl", cxl}, CapturedText{"daxctl", daxctl}};
    Result<Topology> topology = read_captured(texts);
    EXPECT_TRUE(topology) << topology.error().message();
    return topology ? std::move(topology).value() : Topology{};
}

enum class Reader { libraries, sysfs_alone };

test::SysfsTree tree_of(const std::string& machine) {
    if (machine == kGuest) {
        return test::load_sysfs_tree(kGolden + "captured/guest-pmem.sysfs.json");
    }
    test::SysfsTree tree = test::load_sysfs_tree(kGolden + "sysfs/" + machine + ".sysfs.json");
    if (machine == kInterleaved) {
        // The record leaves out the drivers of the CXL bus; the tools say that they are bound.
        const std::string driver = "../../../../bus/cxl/drivers/cxl_mem";
        tree.link("sys/devices/pci0000:bf/0000:c1:00.0/mem0/driver", driver);
        tree.link("sys/devices/pci0000:35/0000:36:00.0/mem1/driver", driver);
    }
    return tree;
}

Topology from_sysfs(Reader reader, const std::string& machine) {
    const test::SysfsTree tree = tree_of(machine);
    if (reader == Reader::libraries) {
        const test::Testbed testbed(tree);
        Result<Topology> topology = read_live();
        EXPECT_TRUE(topology) << topology.error().message();
        return topology ? std::move(topology).value() : Topology{};
    }
    const test::ScratchDirectory directory;
    test::materialise(tree, directory.path());
    Result<Topology> topology = live::read_topology(directory.path().string());
    EXPECT_TRUE(topology) << topology.error().message();
    return topology ? std::move(topology).value() : Topology{};
}

// A value that the tools do not print proves nothing; what they print must be there.
template <typename T>
void expect_same(const char* field, const std::optional<T>& tools, const std::optional<T>& live) {
    if (tools) {
        EXPECT_EQ(tools, live) << field;
    }
}

void expect_same(const char* field, const std::string& tools, const std::string& live) {
    if (!tools.empty()) {
        EXPECT_EQ(tools, live) << field;
    }
}

template <typename T>
std::vector<T> by_name(std::vector<T> objects) {
    std::sort(objects.begin(), objects.end(),
              [](const T& a, const T& b) { return a.name < b.name; });
    return objects;
}

template <typename T>
std::vector<std::string> names(const std::vector<T>& objects) {
    std::vector<std::string> names;
    for (const T& object : objects) {
        names.push_back(object.name);
    }
    return names;
}

void expect_same(const Memdev& tools, const Memdev& live) {
    expect_same("serial", tools.serial, live.serial);
    expect_same("host", tools.host, live.host);
    EXPECT_EQ(tools.ram_bytes, live.ram_bytes);
    EXPECT_EQ(tools.pmem_bytes, live.pmem_bytes);
    EXPECT_EQ(tools.dynamic_bytes, live.dynamic_bytes);
    EXPECT_EQ(tools.numa_node, live.numa_node);  // not printed when it is -1
    expect_same("enabled", tools.enabled, live.enabled);
}

void expect_same(const Port& tools, const Port& live) {
    EXPECT_EQ(tools.kind, live.kind);
    EXPECT_EQ(tools.parent, live.parent);
    expect_same("host", tools.host, live.host);
    expect_same("parent_dport", tools.parent_dport, live.parent_dport);
    expect_same("depth", tools.depth, live.depth);
    expect_same("declared_dports", tools.declared_dports, live.declared_dports);
    if (!tools.dports.empty()) {
        EXPECT_EQ(tools.dports, live.dports);
    }
}

void expect_same(const Decoder& tools, const Decoder& live) {
    EXPECT_EQ(tools.kind, live.kind);
    EXPECT_EQ(tools.parent, live.parent);
    EXPECT_EQ(tools.resource, live.resource);
    EXPECT_EQ(tools.size_bytes, live.size_bytes);
    EXPECT_EQ(tools.interleave_ways, live.interleave_ways);
    EXPECT_EQ(tools.interleave_granularity_bytes, live.interleave_granularity_bytes);
    expect_same("volatile_capable", tools.volatile_capable, live.volatile_capable);
    expect_same("pmem_capable", tools.pmem_capable, live.pmem_capable);
    expect_same("mem_capable", tools.mem_capable, live.mem_capable);
    expect_same("accelmem_capable", tools.accelmem_capable, live.accelmem_capable);
    expect_same("locked", tools.locked, live.locked);
    expect_same("target_type", tools.target_type, live.target_type);
    expect_same("region", tools.region, live.region);
    expect_same("mode", tools.mode, live.mode);
    EXPECT_EQ(tools.dpa_resource, live.dpa_resource);
    EXPECT_EQ(tools.dpa_size_bytes, live.dpa_size_bytes);
    expect_same("declared_targets", tools.declared_targets, live.declared_targets);
    ASSERT_EQ(tools.targets.size(), live.targets.size());
    for (std::size_t i = 0; i < tools.targets.size(); ++i) {
        EXPECT_EQ(tools.targets[i].target, live.targets[i].target);
        EXPECT_EQ(tools.targets[i].position, live.targets[i].position);
    }
}

void expect_same(const Region& tools, const Region& live) {
    expect_same("root_decoder", tools.root_decoder, live.root_decoder);
    expect_same("resource", tools.resource, live.resource);
    EXPECT_EQ(tools.capacity_bytes, live.capacity_bytes);
    expect_same("type", tools.type, live.type);
    EXPECT_EQ(tools.interleave_ways, live.interleave_ways);
    EXPECT_EQ(tools.interleave_granularity_bytes, live.interleave_granularity_bytes);
    EXPECT_EQ(tools.state, live.state);
    EXPECT_EQ(tools.mappings, live.mappings);
    EXPECT_EQ(tools.extents, live.extents);
    EXPECT_EQ(tools.host_bridges, live.host_bridges);
    EXPECT_EQ(tools.switch_depth, live.switch_depth);
    EXPECT_EQ(tools.back_invalidate, live.back_invalidate);
}

void expect_same(const DaxDevice& tools, const DaxDevice& live) {
    expect_same("region_path", tools.region_path, live.region_path);
    EXPECT_EQ(tools.capacity_bytes, live.capacity_bytes);
    EXPECT_EQ(tools.align_bytes, live.align_bytes);
    EXPECT_EQ(tools.mode, live.mode);
    EXPECT_EQ(tools.target_node, live.target_node);
    EXPECT_EQ(tools.region, live.region);
    expect_same("online_memblocks", tools.online_memblocks, live.online_memblocks);
    expect_same("total_memblocks", tools.total_memblocks, live.total_memblocks);
}

template <typename T>
void expect_same_objects(const std::vector<T>& tools, const std::vector<T>& live) {
    ASSERT_EQ(names(tools), names(live));
    for (std::size_t i = 0; i < tools.size(); ++i) {
        SCOPED_TRACE(tools[i].name);
        expect_same(tools[i], live[i]);
    }
}

class TopologyContract : public ::testing::TestWithParam<Reader> {};

void expect_same_machine(const Topology& tools, const Topology& live) {
    ASSERT_FALSE(tools.memdevs.empty());
    ASSERT_EQ(tools.regions.size(), 1U);
    ASSERT_EQ(tools.dax_devices.size(), 1U);
    EXPECT_EQ(tools.dax_listed, live.dax_listed);
    expect_same_objects(tools.memdevs, live.memdevs);  // in the order of their positions
    expect_same_objects(by_name(tools.ports), by_name(live.ports));
    expect_same_objects(by_name(tools.decoders), by_name(live.decoders));
    expect_same_objects(tools.regions, live.regions);
    expect_same_objects(tools.dax_devices, live.dax_devices);
}

TEST_P(TopologyContract, ToolsAndSysfsTellTheSameMachine) {
    const Topology live = from_sysfs(GetParam(), kGuest);
    expect_same_machine(from_tools(kGuest), live);
    EXPECT_TRUE(live.source_findings.empty()) << live.source_findings.at(0).message;
}

TEST_P(TopologyContract, ToolsAndSysfsTellTheSameOfInterleavedVolatileMemory) {
    expect_same_machine(from_tools(kInterleaved), from_sysfs(GetParam(), kInterleaved));
}

void expect_same_pool(const std::vector<PoolCandidate>& tools,
                      const std::vector<PoolCandidate>& live) {
    ASSERT_EQ(tools.size(), 1U);
    ASSERT_EQ(names(tools), names(live));
    EXPECT_EQ(tools[0].capacity_bytes, live[0].capacity_bytes);
    EXPECT_EQ(tools[0].align_bytes, live[0].align_bytes);
    EXPECT_EQ(tools[0].region, live[0].region);
    EXPECT_EQ(tools[0].memdevs, live[0].memdevs);
    EXPECT_EQ(tools[0].serials, live[0].serials);
    EXPECT_EQ(tools[0].profile.memory_node.value, live[0].profile.memory_node.value);
    EXPECT_EQ(coherence_or_none(tools[0].profile), coherence_or_none(live[0].profile));
    EXPECT_EQ(tools[0].profile.persistent.value, live[0].profile.persistent.value);
}

TEST_P(TopologyContract, ToolsAndSysfsMakeTheSamePool) {
    const std::vector<PoolCandidate> live = assess(from_sysfs(GetParam(), kGuest)).pools;
    expect_same_pool(assess(from_tools(kGuest)).pools, live);
    EXPECT_EQ(live.at(0).capacity_bytes, 526385152U);
    EXPECT_EQ(live[0].serials, std::vector<std::uint64_t>{4660});

    const std::vector<PoolCandidate> x2 = assess(from_sysfs(GetParam(), kInterleaved)).pools;
    expect_same_pool(assess(from_tools(kInterleaved)).pools, x2);
    EXPECT_EQ(x2.at(0).capacity_bytes, 536870912U);
    EXPECT_EQ(x2[0].memdevs, (std::vector<std::string>{"mem1", "mem0"}));
}

TEST_P(TopologyContract, MappableDevicesOfAMixedTreeAreThePools) {
    const Topology live = from_sysfs(GetParam(), "a15-mixed-hmem-pmem-dax");
    const std::vector<PoolCandidate> pools = assess(live).pools;
    EXPECT_EQ(names(pools), (std::vector<std::string>{"dax0.0", "dax2.0", "dax6.0"}));
}

TEST_P(TopologyContract, AVolatileRegionInSystemRamModeIsAFindingAndNoPool) {
    const Topology live = from_sysfs(GetParam(), "a13-cxl-ram-x1-kmem");
    const Assessment assessment = assess(live);
    EXPECT_TRUE(assessment.pools.empty());
    EXPECT_TRUE(std::any_of(assessment.findings.begin(), assessment.findings.end(),
                            [](const Finding& finding) { return finding.subject == "dax0.0"; }));
}

INSTANTIATE_TEST_SUITE_P(Readers, TopologyContract,
                         ::testing::Values(Reader::libraries, Reader::sysfs_alone),
                         [](const auto& instance) {
                             return instance.param == Reader::libraries ? "libraries"
                                                                        : "sysfs_alone";
                         });

}  // namespace
}  // namespace cxlpool

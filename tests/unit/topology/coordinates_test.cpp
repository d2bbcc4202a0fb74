#include "topology/coordinates.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden.hpp"

namespace cxlpool {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Coordinates, E02PathSharedLinkAndTables) {
    const json table = json::parse(test::golden_file("topology/e02-coordinates.json"));
    std::vector<PathSegment> segments;
    for (const json& segment : table.at("segments")) {
        segments.push_back({segment.at("latency_ps"), segment.at("bandwidth_mbs")});
    }
    const json& want = table.at("expect");
    const auto path = along(segments);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->read_latency_ns, want.at("latency_ns"));
    EXPECT_EQ(path->read_mbps, want.at("one_device_bandwidth_mbs"));
    EXPECT_EQ(path->read_latency_ns, 260U);
    EXPECT_EQ(path->read_mbps, 25600U);
    EXPECT_EQ(shared_mbps(path->read_mbps, table.at("devices_on_one_upstream_link"),
                          table.at("upstream_link_mbs")),
              want.at("four_devices_bandwidth_mbs"));
    const json& link = table.at("link_rule");
    EXPECT_EQ(link_mbps(link.at("gt_per_s"), link.at("lanes")), link.at("mb_per_s"));

    ASSERT_EQ(table.at("asymmetric_topology"), "no figure");
    EXPECT_EQ(common(std::array{*path, PathFigures{path->read_latency_ns + 70, path->read_mbps}}),
              std::nullopt);
    EXPECT_EQ(common(std::array{*path, *path}), path);

    const json& entry = table.at("cdat").at(2);
    const auto ps = table_latency_ps(entry.at("entry"), entry.at("entry_base_unit_ps"));
    EXPECT_EQ(ps.value() / 1000, entry.at("ns"));
    EXPECT_EQ(ps, 150'000U);
}

TEST(Coordinates, LatencyIsRoundedUpAndNeverPromisesTooMuch) {
    EXPECT_EQ(along(std::array{PathSegment{1, 5}}), (PathFigures{1, 5}));
    EXPECT_EQ(along(std::array{PathSegment{600, 9}, PathSegment{401, 7}}), (PathFigures{2, 7}));
    EXPECT_EQ(along(std::array{PathSegment{0, 5}}), (PathFigures{0, 5}));
}

TEST(Coordinates, NoFigureIsNotZero) {
    EXPECT_EQ(along({}), std::nullopt);
    EXPECT_EQ(along(std::array{PathSegment{1, 5}, PathSegment{1, 0}}), std::nullopt);
    EXPECT_EQ(common({}), std::nullopt);
    EXPECT_EQ(shared_mbps(0, 4, 32000), std::nullopt);
    EXPECT_EQ(shared_mbps(25600, 0, 32000), std::nullopt);
    EXPECT_EQ(shared_mbps(25600, 4, 0), std::nullopt);
    EXPECT_EQ(link_mbps(0, 8), std::nullopt);
    EXPECT_EQ(link_mbps(32, 0), std::nullopt);
    EXPECT_EQ(table_latency_ps(0, 1000), std::nullopt);
    EXPECT_EQ(table_latency_ps(0xFFFF, 1000), std::nullopt);
    EXPECT_EQ(table_latency_ps(150, 0), std::nullopt);
}

TEST(Coordinates, ArithmeticIsChecked) {
    EXPECT_EQ(along(std::array{PathSegment{kMost, 5}, PathSegment{1, 5}}), std::nullopt);
    EXPECT_EQ(along(std::array{PathSegment{kMost, 5}})->read_latency_ns, kMost / 1000 + 1);
    EXPECT_EQ(shared_mbps(kMost, 2, 32000), 32000U);
    EXPECT_EQ(table_latency_ps(2, kMost), std::nullopt);
    EXPECT_EQ(link_mbps(0xFFFFFFFF, 0xFFFFFFFF), std::nullopt);
}

TEST(Coordinates, ALinkBelowItsUpstreamIsTheLimit) {
    EXPECT_EQ(shared_mbps(25600, 1, 32000), 25600U);
    EXPECT_EQ(link_mbps(64, 16), 128000U);
}

// The table, as the nodes of a machine.
std::vector<NumaNode> nodes_of(const json& matrix) {
    std::vector<NumaNode> nodes;
    for (const auto& [cpu, row] : matrix.items()) {
        const auto cpu_node =
            static_cast<std::uint32_t>(std::stoul(cpu.substr(cpu.rfind('_') + 1)));
        for (const auto& [name, gbs] : row.items()) {
            const auto id = static_cast<std::uint32_t>(std::stoul(name));
            if (nodes.size() <= id) {
                nodes.resize(id + 1);
            }
            nodes[id].id = id;
            nodes[id].has_cpus = id <= 1;
            nodes[id].initiators.push_back({cpu_node, {}, gbs.get<std::uint64_t>() * 1000});
        }
    }
    return nodes;
}

TEST(Initiators, E09EachCpuNodeHasFiguresOfItsOwn) {
    const json table = json::parse(test::golden_file("topology/e09-per-initiator-matrix.json"));
    const std::vector<NumaNode> nodes = nodes_of(table.at("bandwidth_gbs"));
    ASSERT_EQ(nodes.size(), 4U);
    const std::uint64_t want[2][4] = {{300'000, 150'000, 100'000, 50'000},
                                      {150'000, 300'000, 50'000, 100'000}};
    for (std::uint32_t cpu = 0; cpu < 2; ++cpu) {
        for (std::uint32_t memory = 0; memory < 4; ++memory) {
            const InitiatorFigures* const figures = figures_from(nodes[memory], cpu);
            ASSERT_NE(figures, nullptr);
            EXPECT_EQ(figures->read_mbps, want[cpu][memory]);
            EXPECT_EQ(figures->read_latency_ns, std::nullopt);
        }
    }
    ASSERT_EQ(table.at("expect").at("engine on cpu node 0"), "prefers CXL node 2");
    ASSERT_EQ(table.at("expect").at("engine on cpu node 1"), "prefers CXL node 3");
    EXPECT_EQ(preferred_memory(nodes, 0), &nodes[2]);
    EXPECT_EQ(preferred_memory(nodes, 1), &nodes[3]);

    // The whole matrix survives the file that a machine is handed on with.
    Topology topology;
    topology.nodes = nodes;
    EXPECT_EQ(test::read_text(write_snapshot(topology)).nodes, nodes);
}

TEST(Initiators, TheFiguresOfAnotherCpuAreNoAnswer) {
    NumaNode memory{.id = 2, .read_mbps = 100'000};
    memory.initiators = {{0, 300, 100'000}};
    EXPECT_EQ(figures_from(memory, 1), nullptr);
    EXPECT_EQ(preferred_memory(std::array{memory}, 1), nullptr);
    EXPECT_EQ(preferred_memory({}, 0), nullptr);
    memory.initiators = {{1, {}, {}}};
    EXPECT_EQ(preferred_memory(std::array{memory}, 1), nullptr);
}

TEST(Initiators, OfEqualBandwidthTheQuickerIsPreferred) {
    std::array nodes{NumaNode{.id = 2}, NumaNode{.id = 3}, NumaNode{.id = 4}};
    nodes[0].initiators = {{0, {}, 100}};
    nodes[1].initiators = {{0, 300, 100}};
    nodes[2].initiators = {{0, 300, 100}};
    EXPECT_EQ(preferred_memory(nodes, 0), &nodes[1]);
    nodes[2].initiators = {{0, {}, 101}};
    EXPECT_EQ(preferred_memory(nodes, 0), &nodes[2]);
    nodes[2].initiators = {{0, 1, {}}};  // a latency without a bandwidth
    EXPECT_EQ(preferred_memory(nodes, 0), &nodes[1]);
}

}  // namespace
}  // namespace cxlpool

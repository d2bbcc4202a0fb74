#include "topology/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "golden.hpp"

namespace cxlpool {
namespace {

using test::golden_file;
using test::names_of;
using test::read_golden;
using test::read_text;
using test::with_code;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kMib = 1ULL << 20U;
constexpr std::uint64_t kGib = 1ULL << 30U;

// The one finding of a code.
Finding the(const Assessment& assessment, const std::string& code) {
    const auto found = with_code(assessment.findings, code);
    EXPECT_EQ(found.size(), 1U) << code;
    return found.empty() ? Finding{} : *found.front();
}

bool has(const Assessment& assessment, const std::string& code) {
    return !with_code(assessment.findings, code).empty();
}

std::vector<std::string> codes(const Assessment& assessment) {
    std::vector<std::string> out;
    for (const Finding& finding : assessment.findings) {
        out.push_back(finding.code);
    }
    return out;
}

// A committed region of one expander in a host-only window, with a devdax device on it.
Topology one_pool() {
    Topology t;
    t.memdevs.push_back(Memdev{.name = "mem0",
                               .serial = 77,
                               .host = "0000:0d:00.0",
                               .ram_bytes = kGib,
                               .numa_node = 0,
                               .enabled = true});
    t.ports.push_back(Port{.name = "root0", .kind = Port::Kind::root});
    t.ports.push_back(Port{.name = "port1", .parent = "root0", .host = "pci0000:0c"});
    t.ports.push_back(
        Port{.name = "endpoint2", .parent = "port1", .kind = Port::Kind::endpoint, .host = "mem0"});
    t.decoders.push_back(Decoder{.name = "decoder0.0",
                                 .parent = "root0",
                                 .kind = Decoder::Kind::root,
                                 .resource = 0x100000000,
                                 .size_bytes = kGib,
                                 .max_available_extent_bytes = 0,
                                 .volatile_capable = true,
                                 .mem_capable = true});
    t.decoders.push_back(Decoder{.name = "decoder2.0",
                                 .parent = "endpoint2",
                                 .kind = Decoder::Kind::endpoint,
                                 .region = "region0",
                                 .mode = "ram",
                                 .dpa_size_bytes = kGib});
    t.regions.push_back(Region{.name = "region0",
                               .root_decoder = "decoder0.0",
                               .resource = 0x100000000,
                               .capacity_bytes = kGib,
                               .type = "ram",
                               .interleave_ways = 1,
                               .state = Region::State::committed,
                               .mappings = {{0, "mem0", "decoder2.0"}}});
    t.dax_devices.push_back(DaxDevice{.name = "dax0.0",
                                      .capacity_bytes = kGib,
                                      .align_bytes = 2 * kMib,
                                      .resource = 0x100000000,
                                      .mode = DaxMode::devdax,
                                      .target_node = 1,
                                      .region = "region0"});
    resolve(t);
    return t;
}

DaxDevice hmem(const std::string& name, std::uint64_t start, std::uint64_t end) {
    return DaxDevice{.name = name,
                     .region_path = "/platform/hmem.0",
                     .capacity_bytes = end - start + 1,
                     .resource = start,
                     .mode = DaxMode::devdax,
                     .target_node = 1};
}

TEST(Rules, ADaxDeviceOfACommittedRegionIsAPool) {
    const Assessment a = assess(one_pool());
    ASSERT_EQ(a.pools.size(), 1U);
    const PoolCandidate& pool = a.pools[0];
    EXPECT_EQ(pool.name, "dax0.0");
    EXPECT_EQ(pool.dax_device, "dax0.0");
    EXPECT_EQ(pool.region, "region0");
    EXPECT_THAT(pool.memdevs, ElementsAre("mem0"));
    EXPECT_THAT(pool.serials, ElementsAre(77U));
    EXPECT_EQ(pool.capacity_bytes, kGib);
    EXPECT_EQ(pool.align_bytes, 2 * kMib);
    EXPECT_EQ(pool.resource, 0x100000000U);
    EXPECT_THAT(codes(a), IsEmpty());
}

TEST(Rules, TheProfileSaysHowEachFieldIsKnown) {
    const Profile p = assess(one_pool()).pools.at(0).profile;
    EXPECT_EQ(p.name, "dax0.0");
    EXPECT_EQ(p.tier, Tier::cxl);
    EXPECT_EQ(p.capacity_bytes.value, kGib);
    EXPECT_EQ(p.capacity_bytes.evidence.source, Source::observed);
    EXPECT_EQ(p.hosts.value, 1U);
    EXPECT_EQ(p.hosts.evidence.source, Source::unknown);
    EXPECT_THAT(p.hosts.evidence.detail, HasSubstr("assumed"));
    EXPECT_EQ(p.cross_host_coherence.value, CrossHostCoherence::none);
    EXPECT_EQ(p.cross_host_coherence.evidence.source, Source::observed);
    EXPECT_EQ(p.coherent_in_host.value, true);
    EXPECT_EQ(p.share_kind.value, ShareKind::cxl_hdm);
    EXPECT_EQ(p.persistent.value, false);
    EXPECT_EQ(p.byte_addressable.value, true);
    EXPECT_EQ(p.read_latency_ns.value, std::nullopt);
    EXPECT_EQ(p.read_mbps.value, std::nullopt);
    EXPECT_EQ(p.memory_node.value, 1U);
    EXPECT_EQ(p.cpu_affinity_node.value, 0U);
    EXPECT_FALSE(p.may_shrink);
    EXPECT_FALSE(reachable(p));
    EXPECT_FALSE(fabric_shareable(p));
}

TEST(Rules, FirmwareFiguresComeFromTheNodeOfTheMemory) {
    Topology t = one_pool();
    t.nodes.push_back(NumaNode{.id = 0, .has_cpus = true, .read_latency_ns = 80});
    t.nodes.push_back(NumaNode{.id = 1, .read_latency_ns = 250, .read_mbps = 0});
    const Profile p = assess(t).pools.at(0).profile;
    EXPECT_EQ(p.read_latency_ns.value, 250U);
    EXPECT_EQ(p.read_latency_ns.evidence.source, Source::firmware);
    EXPECT_EQ(p.read_mbps.value, std::nullopt);  // 0 is not a figure
    EXPECT_EQ(p.read_mbps.evidence.source, Source::unknown);
}

TEST(Rules, ATargetNodeWithCpusIsFlaggedAndItsFiguresAreNotUsed) {
    Topology t = one_pool();
    t.dax_devices[0].target_node = 0;
    t.nodes.push_back(NumaNode{.id = 0, .has_cpus = true, .read_latency_ns = 80});
    const Assessment a = assess(t);
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].profile.read_latency_ns.value, std::nullopt);
    EXPECT_EQ(the(a, "target_node_has_cpus").subject, "dax0.0");
}

TEST(Rules, A01OneRegionIsOnePool) {
    const Assessment a = assess(read_golden({"a01-single-device.cxl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].name, "region0");
    EXPECT_EQ(a.pools[0].dax_device, "");
    EXPECT_EQ(a.pools[0].capacity_bytes, 128 * kGib);
    EXPECT_THAT(a.pools[0].memdevs, ElementsAre("mem0"));
    EXPECT_THAT(a.pools[0].serials, IsEmpty());  // serial 0 is no identity
    EXPECT_EQ(a.pools[0].profile.hosts.value, 1U);
    EXPECT_EQ(a.pools[0].profile.memory_node.value, std::nullopt);
    EXPECT_THAT(codes(a), UnorderedElementsAre("serial_zero", "dax_not_listed"));
}

TEST(Rules, A02AndA03CountARegionOnce) {
    const Assessment across = assess(read_golden({"a02-host-bridge-interleave-x2.cxl-list.json"}));
    ASSERT_EQ(across.pools.size(), 1U);
    EXPECT_EQ(across.pools[0].capacity_bytes, 256 * kGib);
    const Assessment inside = assess(read_golden({"a02-intra-bridge-x2.cxl-list.json"}));
    ASSERT_EQ(inside.pools.size(), 1U);
    EXPECT_EQ(inside.pools[0].capacity_bytes, 256 * kGib);
    EXPECT_TRUE(has(inside, "target_mismatch"));
    EXPECT_TRUE(has(inside, "count_mismatch"));

    const Assessment four = assess(read_golden({"a03-multi-level-x4.cxl-list.json"}));
    ASSERT_EQ(four.pools.size(), 1U);
    EXPECT_EQ(four.pools[0].capacity_bytes, 512 * kGib);
    EXPECT_THAT(four.pools[0].memdevs, ElementsAre("mem0", "mem2", "mem1", "mem3"));
    EXPECT_EQ(with_code(four.findings, "duplicate_host").size(), 2U);
    EXPECT_FALSE(has(four, "duplicate_serial"));
    EXPECT_FALSE(has(four, "unprovisioned_capacity"));
}

TEST(Rules, A05FirmwareHasTheMemory) {
    const Topology t = read_golden({"a05-legacy-type3-u64-serial-negative-extent.cxl-list.json"});
    const Assessment a = assess(t);
    EXPECT_THAT(a.pools, IsEmpty());
    const Finding finding = the(a, "firmware_system_ram");
    EXPECT_EQ(finding.severity, Finding::Severity::info);
    EXPECT_EQ(finding.subject, "mem0, mem1");
    EXPECT_THAT(finding.message,
                AllOf(HasSubstr("128 GiB (137438953472 bytes)"),
                      HasSubstr("in use as System RAM by firmware, nothing to pool")));
    EXPECT_EQ(with_code(a.findings, "negative_extent").size(), 2U);
    EXPECT_FALSE(has(a, "unprovisioned_capacity"));
    EXPECT_FALSE(has(a, "unreachable_capacity"));
}

TEST(Rules, A06SystemRamWithoutAMemdev) {
    const Assessment a =
        assess(read_golden({"a06-cxl-list-empty.txt", "a06-hmem-dax-system-ram.daxctl-list.json"}));
    EXPECT_THAT(a.pools, IsEmpty());
    EXPECT_THAT(the(a, "no_cxl_memdev").message,
                AllOf(HasSubstr("no CXL memdev known"), HasSubstr("host only, unproven"),
                      HasSubstr("1 assumed")));
    const Finding ram = the(a, "dax_system_ram");
    EXPECT_EQ(ram.subject, "dax0.0");
    EXPECT_THAT(ram.message, HasSubstr("system RAM, 0/4 blocks online"));
    EXPECT_THAT(ram.next, HasSubstr("auto-online policy"));
}

TEST(Rules, A07FourDevicesNobodyProvisioned) {
    const Assessment a = assess(read_golden({"a07-qemu-unprovisioned.cxl-list.json"}));
    EXPECT_THAT(a.pools, IsEmpty());
    const Finding finding = the(a, "unprovisioned_capacity");
    EXPECT_EQ(finding.subject, "mem0, mem1, mem2, mem3");
    EXPECT_THAT(finding.message, HasSubstr("1 GiB (1073741824 bytes) unprovisioned"));
    EXPECT_EQ(
        finding.next,
        "cxl create-region -t ram -m -d ROOT_DECODER -w 1 mem0, then: daxctl list -RD (and so "
        "on for the others); cxl create-region -t pmem -m -d ROOT_DECODER -w 1 mem1, then: "
        "ndctl create-namespace -m devdax (and so on for the others); ROOT_DECODER: see 'cxl "
        "list -D -d root'");
    EXPECT_EQ(the(a, "serial_zero").subject, "mem0, mem1, mem2, mem3");
}

// Two host bridges with a window over each and one over both, and a device of each type below each.
Topology unprovisioned() {
    Topology t;
    t.ports = {Port{.name = "root0", .kind = Port::Kind::root}};
    for (const std::string bridge : {"1", "2"}) {
        t.ports.push_back(
            Port{.name = "port" + bridge, .parent = "root0", .host = "pci0000:0" + bridge});
        for (const std::string device : {"0", "1"}) {
            const std::string name = "mem" + bridge + device;
            t.ports.push_back(Port{.name = "endpoint" + bridge + device,
                                   .parent = "port" + bridge,
                                   .kind = Port::Kind::endpoint,
                                   .host = name});
            t.memdevs.push_back(Memdev{.name = name, .enabled = true});
            (device == "0" ? t.memdevs.back().ram_bytes : t.memdevs.back().pmem_bytes) = kGib;
        }
    }
    const DecoderTarget one{"pci0000:01", 0};
    const DecoderTarget two{"pci0000:02", 0};
    const auto window = [](const char* name, std::uint64_t room, std::vector<DecoderTarget> targets,
                           bool ram, bool pmem) {
        return Decoder{.name = name,
                       .parent = "root0",
                       .kind = Decoder::Kind::root,
                       .interleave_ways = static_cast<std::uint32_t>(targets.size()),
                       .max_available_extent_bytes = room,
                       .volatile_capable = ram,
                       .pmem_capable = pmem,
                       .targets = std::move(targets)};
    };
    t.decoders = {
        window("decoder0.0", 4 * kGib, {one}, true, false),
        window("decoder0.1", 3 * kGib, {two}, false, true),
        window("decoder0.2", 8 * kGib, {{"pci0000:01", 1}, {"pci0000:02", 0}}, true, false)};
    resolve(t);
    return t;
}

TEST(Rules, TheNextStepFitsTheTypeTheWindowAndItsTargets) {
    Topology t = unprovisioned();
    // The window over both bridges has the most room, and its first target is the second bridge.
    EXPECT_EQ(the(assess(t), "unprovisioned_capacity").next,
              "cxl create-region -t ram -m -d decoder0.2 -w 2 mem20 mem10, then: daxctl list -RD; "
              "cxl create-region -t pmem -m -d decoder0.1 -w 1 mem21, then: ndctl create-namespace "
              "-m devdax (and so on for the others)");
    // With one volatile device left it cannot be filled, and the smaller one can.
    t.memdevs[2].enabled = false;
    EXPECT_THAT(the(assess(t), "unprovisioned_capacity").next,
                HasSubstr("-t ram -m -d decoder0.0 -w 1 mem10, then: daxctl list -RD; "));
    // A window that has less room than the device gives what it has.
    t.decoders[0].max_available_extent_bytes = 700 * kMib;
    EXPECT_THAT(the(assess(t), "unprovisioned_capacity").next,
                HasSubstr("-d decoder0.0 -w 1 -s 536870912 mem10,"));
    // No window takes persistent memory.
    t.decoders[1].pmem_capable = false;
    EXPECT_THAT(the(assess(t), "unprovisioned_capacity").next,
                HasSubstr("; no window with room takes persistent memory of these devices"));
}

TEST(Rules, MemoryIsUnusedByTypeAndNotByDevice) {
    Topology t = one_pool();
    t.memdevs[0].pmem_bytes = 2 * kGib;
    t.decoders[0].max_available_extent_bytes = 4 * kGib;
    const Finding finding = the(assess(t), "unprovisioned_capacity");
    EXPECT_THAT(finding.message, HasSubstr("2 GiB (2147483648 bytes)"));
    EXPECT_THAT(finding.next, HasSubstr("-t pmem "));
    EXPECT_THAT(finding.next, testing::Not(HasSubstr("-t ram ")));
    // What a decoder took without saying of which partition is taken from the volatile one first.
    t.decoders[1].mode.clear();
    t.regions[0].type.clear();
    EXPECT_THAT(the(assess(t), "unprovisioned_capacity").next, testing::Not(HasSubstr("-t ram ")));
}

TEST(Rules, UnprovisionedCapacityNamesTheWindowWithRoom) {
    Topology t = one_pool();
    t.memdevs.push_back(Memdev{.name = "mem1", .pmem_bytes = 2 * kGib, .enabled = true});
    t.decoders.push_back(Decoder{.name = "decoder0.1",
                                 .kind = Decoder::Kind::root,
                                 .size_bytes = 4 * kGib,
                                 .max_available_extent_bytes = 4 * kGib});
    const Finding finding = the(assess(t), "unprovisioned_capacity");
    EXPECT_EQ(finding.subject, "mem1");
    EXPECT_THAT(finding.next, HasSubstr("-t pmem -m -d decoder0.1 -w 1 mem1"));

    t.decoders.back().max_available_extent_bytes = 0;
    EXPECT_THAT(the(assess(t), "unprovisioned_capacity").next, HasSubstr("no window has room"));
}

TEST(Rules, A10PartlyOnlineAndBusy) {
    const Assessment a = assess(read_golden({"a10-partially-online-busy.daxctl-list.json"}));
    EXPECT_THAT(a.pools, IsEmpty());
    const Finding ram = the(a, "dax_system_ram");
    EXPECT_THAT(ram.message, HasSubstr("system RAM, 504/512 blocks online"));
    EXPECT_THAT(ram.next, AllOf(HasSubstr("never forces"), HasSubstr("next boot"),
                                HasSubstr("memhp_default_state=offline")));
}

TEST(Rules, A12NodeUnknown) {
    const Assessment a = assess(read_golden({"a12-no-target-node.daxctl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].capacity_bytes, 133175443456U);
    EXPECT_EQ(a.pools[0].align_bytes, 2 * kMib);
    EXPECT_EQ(a.pools[0].profile.memory_node.value, std::nullopt);
    EXPECT_EQ(a.pools[0].profile.persistent.value, true);
    // An NVDIMM is never shared between hosts, whatever anybody declares.
    EXPECT_EQ(a.pools[0].profile.share_kind.value, ShareKind::mmap);
    EXPECT_THAT(the(a, "node_unknown").message, HasSubstr("not placed by distance"));
    EXPECT_EQ(the(a, "no_cxl_memdev").next,
              "nothing: it serves this host alone, whatever is declared");
}

TEST(Rules, A13InterleavedVolatileRegion) {
    const Assessment a = assess(read_golden(
        {"a13-cxl-ram-x2-devdax.cxl-list.json", "a13-cxl-ram-x2-devdax.daxctl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].name, "dax0.0");
    EXPECT_EQ(a.pools[0].capacity_bytes, 536870912U);
    EXPECT_THAT(a.pools[0].memdevs, ElementsAre("mem1", "mem0"));
    EXPECT_EQ(a.pools[0].profile.memory_node.value, 2U);
    // One of its devices does not say where it hangs.
    EXPECT_EQ(a.pools[0].profile.cpu_affinity_node.value, std::nullopt);
    EXPECT_THAT(codes(a), IsEmpty());
}

TEST(Rules, AMemdevWhoseDriverCannotBeToldIsNotDisabled) {
    Topology t = one_pool();
    t.memdevs[0].enabled.reset();
    EXPECT_THAT(names_of(assess(t).pools), ElementsAre("dax0.0"));
    EXPECT_FALSE(has(assess(t), "memdev_disabled"));
}

TEST(Rules, AnOfflineNodeIsAFindingWhoseWeightDependsOnTheMode) {
    Topology t = one_pool();
    EXPECT_FALSE(has(assess(t), "memory_node_offline"));  // nothing is known of nodes
    t.nodes = {NumaNode{.id = 0, .has_cpus = true}};
    const Assessment mapped = assess(t);
    EXPECT_EQ(mapped.pools.size(), 1U);
    EXPECT_EQ(the(mapped, "memory_node_offline").severity, Finding::Severity::info);

    t.dax_devices[0].mode = DaxMode::system_ram;
    const Finding ram = the(assess(t), "memory_node_offline");
    EXPECT_EQ(ram.severity, Finding::Severity::warning);
    EXPECT_EQ(ram.subject, "dax0.0");
    EXPECT_EQ(ram.message, "node 1 of dax0.0 is not online: nobody uses the memory");
    EXPECT_THAT(ram.next, AllOf(HasSubstr("daxctl online-memory dax0.0"),
                                HasSubstr("daxctl reconfigure-device --mode=devdax dax0.0")));

    t.nodes.push_back(NumaNode{.id = 1, .online = false});
    EXPECT_TRUE(has(assess(t), "memory_node_offline"));
    t.nodes[1].online = true;
    EXPECT_FALSE(has(assess(t), "memory_node_offline"));
    // Where no node at all is online, the list could not be read.
    t.nodes[0].online = t.nodes[1].online = false;
    EXPECT_FALSE(has(assess(t), "memory_node_offline"));
}

TEST(Rules, ATargetNodeThatCannotBeIsNamed) {
    Topology t = one_pool();
    t.nodes = {NumaNode{.id = 0, .has_cpus = true}};
    t.possible_nodes = {0};
    const Assessment a = assess(t);
    EXPECT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(the(a, "target_node_impossible").subject, "dax0.0");
    EXPECT_FALSE(has(a, "memory_node_offline"));
    t.possible_nodes = {0, 1};
    EXPECT_FALSE(has(assess(t), "target_node_impossible"));
}

TEST(Rules, WithoutANodesFiguresThoseOfTheRegionCount) {
    Topology t = one_pool();
    t.regions[0].read_latency_ns = 260;
    t.regions[0].read_mbps = 25600;
    t.nodes = {NumaNode{.id = 0, .has_cpus = true}, NumaNode{.id = 1, .read_mbps = 20000}};
    const Profile p = assess(t).pools.at(0).profile;
    EXPECT_EQ(p.read_latency_ns.value, 260U);
    EXPECT_EQ(p.read_latency_ns.evidence.source, Source::firmware);
    EXPECT_EQ(p.read_latency_ns.evidence.detail, "path to region0, by HMAT and CDAT");
    EXPECT_EQ(p.read_mbps.value, 20000U);
    EXPECT_EQ(p.read_mbps.evidence.detail, "HMAT of node 1");
}

TEST(Rules, A17RegionInReset) {
    const Assessment a = assess(read_golden({"a17-region-reset-disabled.cxl-list.json"}));
    EXPECT_THAT(a.pools, IsEmpty());
    const Finding region = the(a, "region_not_committed");
    EXPECT_EQ(region.subject, "region0");
    EXPECT_THAT(region.message, HasSubstr("reset"));
    const auto disabled = with_code(a.findings, "memdev_disabled");
    ASSERT_EQ(disabled.size(), 2U);
    for (const Finding* const finding : disabled) {
        EXPECT_THAT(finding->next, testing::StartsWith("see region0 first"));
    }
    EXPECT_THAT(the(a, "unreachable_capacity").message,
                AllOf(HasSubstr("13.50 GiB (14495514624 bytes) not reachable")));
    EXPECT_FALSE(has(a, "unprovisioned_capacity"));
}

TEST(Rules, A20DynamicCapacity) {
    const Assessment a = assess(read_golden({"a20-dcd-extents.cxl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].name, "dax0.1");
    EXPECT_EQ(a.pools[0].capacity_bytes, 256 * kMib);
    EXPECT_TRUE(a.pools[0].profile.may_shrink);
    EXPECT_THAT(a.pools[0].serials, ElementsAre(99U));
    EXPECT_THAT(the(a, "dynamic_capacity_may_shrink").message,
                AllOf(HasSubstr("(1744830464 bytes)"), HasSubstr("6 extents")));
    EXPECT_THAT(the(a, "unexposed_capacity").message, HasSubstr("(1476395008 bytes)"));
    EXPECT_FALSE(has(a, "unprovisioned_capacity"));
}

TEST(Rules, A22TwoRegionsAtOneAddress) {
    const Assessment a = assess(read_golden({"a22-same-hpa-twice.cxl-list.json"}));
    EXPECT_THAT(names_of(a.pools), ElementsAre("region0"));
    const Finding overlap = the(a, "physical_overlap");
    EXPECT_EQ(overlap.subject, "region1");
    EXPECT_EQ(overlap.severity, Finding::Severity::error);
    EXPECT_THAT(overlap.message, AllOf(HasSubstr("region0 is kept"), HasSubstr("region1")));
    // It lost to region0: what else might keep it from being committed is beside the point.
    EXPECT_FALSE(has(a, "region_not_committed"));
}

TEST(Rules, OfTwoRegionsAtOneAddressTheCommittedOneIsKept) {
    Topology t = one_pool();
    t.regions.push_back(t.regions[0]);
    t.regions[0].state = Region::State::reset;
    t.regions[1].name = "region1";
    t.dax_devices[0].region = "region1";
    const Assessment a = assess(t);
    EXPECT_THAT(names_of(a.pools), ElementsAre("dax0.0"));
    EXPECT_EQ(the(a, "physical_overlap").subject, "region0");

    // Both committed: the first.
    t.regions[0].state = Region::State::committed;
    const Assessment both = assess(t);
    EXPECT_THAT(both.pools, IsEmpty());  // dax0.0 is on the refused one
    EXPECT_EQ(the(both, "physical_overlap").subject, "region1");
}

TEST(Rules, B12AliasedDevices) {
    const auto table = nlohmann::json::parse(golden_file("topology/b12-aliased-devices.json"));
    const auto address = [](const nlohmann::json& text) {
        return parse_u64(text.get<std::string>()).value();
    };
    Topology t;
    for (const auto& device : table.at("devices")) {
        const std::string name = device.at("name");
        t.dax_devices.push_back(hmem(name, address(device.at("start")), address(device.at("end"))));
        t.dax_devices.back().mode =
            parse_dax_mode(table.at("modes").at(name).get<std::string>()).value();
    }
    ASSERT_EQ(table.at("expect").at("conflict"), (nlohmann::json{"dax0.0", "dax1.0"}));
    const Assessment a = assess(t);
    EXPECT_THAT(names_of(a.pools), ElementsAre("dax0.0"));
    const Finding overlap = the(a, "physical_overlap");
    EXPECT_EQ(overlap.subject, "dax1.0");
    EXPECT_THAT(overlap.message, HasSubstr("dax0.0 is kept"));
    const Finding famfs = the(a, "dax_famfs");
    EXPECT_EQ(famfs.subject, "dax2.0");
    EXPECT_THAT(famfs.message, HasSubstr("owned by a file system"));
}

TEST(Rules, BytesThatAreInUseElsewhereAreNeverAPool) {
    // The raw device comes first, but the other is a mounted file system.
    for (const DaxMode mode : {DaxMode::system_ram, DaxMode::famfs, DaxMode::unknown}) {
        Topology t;
        t.dax_devices = {hmem("dax0.0", 0x1000, 0x1fff), hmem("dax1.0", 0x1800, 0x27ff)};
        t.dax_devices[1].mode = mode;
        const Assessment a = assess(t);
        EXPECT_THAT(a.pools, IsEmpty());
        EXPECT_EQ(the(a, "physical_overlap").subject, "dax0.0");
    }
    Topology held;
    held.dax_devices = {hmem("dax0.0", 0x1000, 0x1fff), hmem("dax1.0", 0x1800, 0x27ff)};
    held.dax_devices[1].held_by = "famfs on /mnt/famfs";
    const Assessment a = assess(held);
    EXPECT_THAT(a.pools, IsEmpty());
    EXPECT_THAT(the(a, "dax_held").message, HasSubstr("/mnt/famfs"));
}

TEST(Rules, ADeviceThatReachesIntoARegionOfAnotherIsRefused) {
    Topology t = one_pool();
    t.dax_devices.push_back(hmem("dax1.0", 0x100000000 + kGib - 1, 0x100000000 + 2 * kGib));
    const Assessment a = assess(t);
    EXPECT_THAT(names_of(a.pools), ElementsAre("dax0.0"));
    EXPECT_EQ(the(a, "physical_overlap").subject, "dax1.0");
}

TEST(Rules, NeighboursAndUnseenAddressesDoNotOverlap) {
    Topology t;
    t.dax_devices = {hmem("dax0.0", 0x1000, 0x1fff), hmem("dax1.0", 0x2000, 0x2fff)};
    EXPECT_EQ(assess(t).pools.size(), 2U);
    // To an unprivileged reader every address is 0.
    t.dax_devices[0].resource = 0;
    t.dax_devices[1].resource = 0;
    EXPECT_EQ(assess(t).pools.size(), 2U);
    // Ranges of a device in pieces count piece by piece.
    t.dax_devices[0].ranges = {{0x5000, 0x5fff}, {0x1000, 0x1fff}};
    t.dax_devices[1].ranges = {{0x3000, 0x3fff}};
    EXPECT_EQ(assess(t).pools.size(), 2U);
    t.dax_devices[1].ranges = {{0x3000, 0x3fff}, {0x5800, 0x5900}};
    EXPECT_EQ(assess(t).pools.size(), 1U);
}

TEST(Rules, OnlyABoundDevdaxDeviceWithASizeIsAPool) {
    const std::tuple<DaxMode, std::optional<std::uint64_t>, std::string> rows[] = {
        {DaxMode::system_ram, kGib, "dax_system_ram"},
        {DaxMode::famfs, kGib, "dax_famfs"},
        {DaxMode::unbound, kGib, "dax_no_driver"},
        {DaxMode::unknown, kGib, "dax_mode_unknown"},
        {DaxMode::devdax, 0, "dax_seed"},
        {DaxMode::unbound, 0, "dax_seed"},
        {DaxMode::devdax, std::nullopt, "dax_size_unknown"},
    };
    for (const auto& [mode, capacity, code] : rows) {
        Topology t = one_pool();
        t.dax_devices[0].mode = mode;
        t.dax_devices[0].capacity_bytes = capacity;
        const Assessment a = assess(t);
        EXPECT_THAT(a.pools, IsEmpty()) << code;
        EXPECT_EQ(the(a, code).subject, "dax0.0");
        EXPECT_NE(the(a, code).next, "") << code;
    }
}

TEST(Rules, ADeviceIsOnlyAsGoodAsItsRegion) {
    for (const Region::State state :
         {Region::State::unknown, Region::State::reset, Region::State::disabled}) {
        Topology t = one_pool();
        t.regions[0].state = state;
        const Assessment a = assess(t);
        EXPECT_THAT(a.pools, IsEmpty());
        EXPECT_EQ(the(a, "region_not_committed").subject, "region0");
    }
    Topology disabled = one_pool();
    disabled.memdevs[0].enabled = false;
    const Assessment a = assess(disabled);
    EXPECT_THAT(a.pools, IsEmpty());
    EXPECT_EQ(the(a, "memdev_disabled").subject, "mem0");
}

TEST(Rules, ARegionWithoutADaxDeviceIsNoPoolWhereDaxWasListed) {
    Topology t = one_pool();
    t.dax_devices.clear();
    const Assessment a = assess(t);
    EXPECT_THAT(a.pools, IsEmpty());
    EXPECT_EQ(the(a, "region_without_dax").subject, "region0");
    t.regions[0].type = "pmem";
    EXPECT_THAT(the(assess(t), "region_without_dax").next, HasSubstr("ndctl create-namespace"));
    t.dax_listed = false;
    EXPECT_THAT(names_of(assess(t).pools), ElementsAre("region0"));
}

// A region in the window of a28-window-coherence-flags.json.
Topology in_window(const nlohmann::json& window) {
    Topology t = one_pool();
    const auto restricted = [&](const char* word) {
        const auto& words = window.at("restrictions");
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    t.decoders[0].mem_capable = restricted("host-only coherent");
    t.decoders[0].accelmem_capable = restricted("device coherent");
    t.decoders[0].target_type = window.at("target_type");
    return t;
}

TEST(Rules, A28CoherenceNeedsProof) {
    const auto table =
        nlohmann::json::parse(golden_file("topology/a28-window-coherence-flags.json"));
    using C = CrossHostCoherence;
    struct Want {
        bool pool;
        std::optional<bool> in_host;
        C proven;  // with back-invalidate seen on every device; without, it is none for each
    };
    const std::map<std::string, Want> wants{{"w0", {true, true, C::none}},
                                            {"w1", {true, true, C::hardware}},
                                            {"w2", {false, {}, C::none}},
                                            {"w3", {true, {}, C::none}}};
    ASSERT_EQ(table.at("windows").size(), wants.size());
    ASSERT_EQ(table.at("expect").size(), wants.size());
    for (const auto& window : table.at("windows")) {
        const std::string name = window.at("name");
        const Want& want = wants.at(name);
        for (const std::optional<bool> proof : {std::optional<bool>{}, {false}, {true}}) {
            SCOPED_TRACE(name + (!proof ? "" : *proof ? " proven" : " off"));
            Topology t = in_window(window);
            t.regions[0].back_invalidate = proof;
            const Assessment a = assess(t);
            EXPECT_EQ(has(a, "accelerator_memory"), !want.pool);
            ASSERT_EQ(a.pools.size(), want.pool ? 1U : 0U);
            if (!want.pool) {
                continue;
            }
            const Profile& p = a.pools[0].profile;
            EXPECT_EQ(coherence_or_none(p), proof.value_or(false) ? want.proven : C::none);
            EXPECT_EQ(p.cross_host_coherence.evidence.source,
                      name == "w0" || coherence_or_none(p) == C::hardware ? Source::observed
                                                                          : Source::unknown);
            EXPECT_EQ(p.coherent_in_host.value, want.in_host);
            EXPECT_EQ(has(a, "window_coherence_unknown"), !want.in_host.has_value());
            EXPECT_FALSE(fabric_shareable(p));  // one host
        }
    }
}

TEST(Rules, WhatIsNotSaidOfAWindowProvesNothing) {
    Topology t = one_pool();
    t.regions[0].back_invalidate = true;
    t.decoders[0].mem_capable = false;
    t.decoders[0].accelmem_capable = true;  // of no type
    EXPECT_EQ(coherence_or_none(assess(t).pools.at(0).profile), CrossHostCoherence::none);
    t.decoders[0].target_type = "expander";
    EXPECT_EQ(coherence_or_none(assess(t).pools.at(0).profile), CrossHostCoherence::hardware);
    t.decoders[0].mem_capable.reset();
    t.decoders[0].accelmem_capable.reset();
    EXPECT_EQ(coherence_or_none(assess(t).pools.at(0).profile), CrossHostCoherence::none);
    EXPECT_TRUE(has(assess(t), "window_coherence_unknown"));
}

TEST(Rules, AnAcceleratorIsToldByItsEndpointDecoderToo) {
    Topology t = one_pool();
    t.decoders[1].target_type = "accelerator";
    EXPECT_THAT(assess(t).pools, IsEmpty());
    EXPECT_TRUE(has(assess(t), "accelerator_memory"));
}

TEST(Rules, SoftReservedMemoryIsAPoolOfThisHost) {
    const Assessment a = assess(read_golden({"guest-hmem.daxctl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    const Profile& p = a.pools[0].profile;
    EXPECT_EQ(p.share_kind.value, ShareKind::cxl_hdm);
    EXPECT_EQ(p.coherent_in_host.value, true);
    EXPECT_THAT(p.coherent_in_host.evidence.detail, HasSubstr("host only, unproven"));
    EXPECT_EQ(p.cross_host_coherence.value, CrossHostCoherence::none);
    EXPECT_EQ(p.persistent.value, std::nullopt);
    EXPECT_TRUE(has(a, "no_cxl_memdev"));
}

TEST(Rules, TheGuestsPersistentPool) {
    const Assessment a =
        assess(read_golden({"guest-pmem-x2.cxl-list.json", "guest-pmem-x2.daxctl-list.json"}));
    ASSERT_EQ(a.pools.size(), 1U);
    EXPECT_EQ(a.pools[0].name, "dax0.0");
    EXPECT_EQ(a.pools[0].capacity_bytes, 1054867456U);
    EXPECT_THAT(a.pools[0].memdevs, ElementsAre("mem1", "mem0"));
    EXPECT_THAT(a.pools[0].serials, ElementsAre(4660U, 22136U));
    EXPECT_EQ(a.pools[0].profile.persistent.value, true);
    EXPECT_EQ(a.pools[0].profile.cross_host_coherence.value, CrossHostCoherence::none);
    EXPECT_THAT(codes(a), IsEmpty());
}

TEST(Rules, SerialsOfSeveralDevicesIdentifyNone) {
    Topology t = one_pool();
    t.memdevs.push_back(Memdev{.name = "mem1", .serial = 77});
    const Assessment a = assess(t);
    EXPECT_EQ(the(a, "duplicate_serial").subject, "mem0, mem1");
    EXPECT_THAT(a.pools.at(0).serials, IsEmpty());
}

TEST(Rules, MemdevsOnDifferentNodesHaveNoCommonAffinity) {
    Topology t = one_pool();
    t.memdevs.push_back(Memdev{.name = "mem1", .numa_node = 1});
    t.regions[0].mappings.push_back({1, "mem1", "decoder3.0"});
    EXPECT_EQ(assess(t).pools.at(0).profile.cpu_affinity_node.value, std::nullopt);
    t.memdevs.clear();
    t.dax_devices[0].numa_node = 3;
    EXPECT_EQ(assess(t).pools.at(0).profile.cpu_affinity_node.value, 3U);
}

TEST(Rules, NothingAtAllIsSaidSo) {
    const Assessment a = assess(Topology{});
    EXPECT_THAT(codes(a), ElementsAre("no_cxl"));
    EXPECT_EQ(a.findings[0].severity, Finding::Severity::info);
    EXPECT_THAT(a.pools, IsEmpty());
    EXPECT_THAT(a.tiers, IsEmpty());
}

// What a person has to do is never left open.
TEST(Rules, EveryFindingOfEveryListingHasANextStep) {
    int findings = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CXLPOOL_GOLDEN_DIR "/captured")) {
        const std::string name = entry.path().filename().string();
        if (name.find("-list") == std::string::npos) {
            continue;
        }
        for (const Finding& finding : assess(read_golden({name})).findings) {
            EXPECT_NE(finding.next, "") << name << ": " << finding.code;
            ++findings;
        }
    }
    EXPECT_GE(findings, 30);
}

TEST(Rules, FindingsOfTheSourceComeFirst) {
    Topology t;
    t.source_findings.push_back(Finding{Finding::Severity::warning, "vanished", "f", "m", "n"});
    EXPECT_THAT(codes(assess(t)), ElementsAre("vanished", "no_cxl"));
}

TEST(Tiers, NodesBecomeTiersByCpusDistanceAndDax) {
    Topology t = one_pool();
    t.dax_devices[0].mode = DaxMode::system_ram;
    t.dax_devices[0].target_node = 3;
    t.nodes = {
        NumaNode{.id = 0,
                 .has_cpus = true,
                 .capacity_bytes = 8 * kGib,
                 .distances = {{0, 10}, {1, 32}, {2, 21}, {3, 17}},
                 .read_latency_ns = 90,
                 .read_mbps = 100000},
        NumaNode{.id = 1, .has_cpus = true, .capacity_bytes = 4 * kGib},
        NumaNode{.id = 2, .has_cpus = true, .capacity_bytes = 2 * kGib},
        NumaNode{.id = 3, .capacity_bytes = kGib, .read_latency_ns = 0},
        NumaNode{.id = 4, .capacity_bytes = kGib},
        NumaNode{.id = 5, .online = false, .capacity_bytes = kGib},
        NumaNode{.id = 6, .has_cpus = true, .capacity_bytes = 0},
        NumaNode{.id = 7, .capacity_bytes = kGib},
    };
    t.dax_devices.push_back(
        DaxDevice{.name = "dax5.0",
                  .region_path = "/LNXSYSTM:00/ACPI0012:00/ndbus0/region5/dax5.1",
                  .capacity_bytes = kGib,
                  .mode = DaxMode::system_ram,
                  .target_node = 7});
    const Assessment a = assess(t);
    EXPECT_THAT(names_of(a.tiers), ElementsAre("dram", "numa_far:node2", "numa_far:node1", "cxl"));
    EXPECT_EQ(a.tiers[0].tier, Tier::dram);
    EXPECT_EQ(a.tiers[0].capacity_bytes.value, 8 * kGib);
    EXPECT_EQ(a.tiers[0].read_latency_ns.value, 90U);
    EXPECT_EQ(a.tiers[0].read_mbps.value, 100000U);
    EXPECT_EQ(a.tiers[0].read_mbps.evidence.source, Source::firmware);
    EXPECT_EQ(a.tiers[0].share_kind.value, ShareKind::mmap);
    EXPECT_EQ(a.tiers[0].memory_node.value, 0U);
    EXPECT_EQ(a.tiers[1].tier, Tier::numa_far);
    EXPECT_EQ(a.tiers[1].memory_node.value, 2U);
    EXPECT_EQ(a.tiers[3].tier, Tier::cxl);
    EXPECT_EQ(a.tiers[3].memory_node.value, 3U);
    EXPECT_EQ(a.tiers[3].read_latency_ns.value, std::nullopt);
    EXPECT_EQ(a.tiers[3].cpu_affinity_node.value, std::nullopt);
    EXPECT_THAT(a.pools, IsEmpty());  // system RAM is never a pool
    const auto no_tier = with_code(a.findings, "memory_only_node");
    ASSERT_EQ(no_tier.size(), 2U);
    EXPECT_EQ(no_tier[0]->subject, "node4");
    EXPECT_EQ(no_tier[1]->subject, "node7");
    EXPECT_THAT(no_tier[1]->message, HasSubstr("dax5.0, an NVDIMM of this host and not CXL"));
}

TEST(Declaration, IsLaidOverWhatIsKnown) {
    const Profile base = assess(one_pool()).pools.at(0).profile;
    const auto nothing = apply_declaration(base, PoolDeclaration{});
    ASSERT_TRUE(nothing);
    EXPECT_EQ(*nothing, base);

    const auto declared = apply_declaration(
        base, PoolDeclaration{8, CrossHostCoherence::managed, "cxlpoold.toml:12"});
    ASSERT_TRUE(declared) << declared.error().message();
    EXPECT_EQ(declared->hosts.value, 8U);
    EXPECT_EQ(declared->hosts.evidence.source, Source::declared);
    EXPECT_EQ(declared->hosts.evidence.detail, "cxlpoold.toml:12");
    EXPECT_EQ(declared->cross_host_coherence.value, CrossHostCoherence::managed);
    EXPECT_TRUE(fabric_shareable(*declared));

    const auto one = apply_declaration(base, PoolDeclaration{1, {}, "f:1"});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->hosts.evidence.source, Source::declared);
}

TEST(Declaration, IsRefusedWhereItSaysLessOrMoreThanIsKnown) {
    Profile base = assess(one_pool()).pools.at(0).profile;
    const auto refused = [&](PoolDeclaration declaration) {
        declaration.where = "cxlpoold.toml:12";
        auto got = apply_declaration(base, declaration);
        EXPECT_FALSE(got);
        if (got) {
            return std::string();
        }
        EXPECT_EQ(got.error().code(), Errc::invalid_argument);
        EXPECT_THAT(got.error().message(), HasSubstr("cxlpoold.toml:12: "));
        return got.error().message();
    };
    EXPECT_THAT(refused({0, {}, {}}), HasSubstr("hosts = 0"));
    EXPECT_THAT(refused({{}, CrossHostCoherence::hardware, {}}),
                AllOf(HasSubstr("\"managed\" declares"), HasSubstr("cxlpoold does not")));
    base.hosts = Known<std::uint32_t>::of(3, Source::observed, "3 daemons");
    EXPECT_THAT(refused({2, {}, {}}), HasSubstr("3 hosts that were observed (3 daemons)"));
    const auto same = apply_declaration(base, PoolDeclaration{3, {}, "f:1"});
    ASSERT_TRUE(same);
    EXPECT_EQ(same->hosts.evidence.source, Source::observed);
    base.may_shrink = true;
    base.hosts = Known<std::uint32_t>::of(1, Source::unknown, "assumed");
    EXPECT_THAT(refused({2, {}, {}}), HasSubstr("shareable"));
    EXPECT_TRUE(apply_declaration(base, PoolDeclaration{1, {}, "f:1"}));
}

TEST(Declaration, HardwareCoherenceStandsOnlyWhereItWasSeen) {
    Profile base = assess(one_pool()).pools.at(0).profile;
    base.cross_host_coherence =
        Known<CrossHostCoherence>::of(CrossHostCoherence::hardware, Source::observed, "bi");
    const auto kept =
        apply_declaration(base, PoolDeclaration{{}, CrossHostCoherence::hardware, "f:1"});
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->cross_host_coherence.evidence.source, Source::observed);
    const auto narrowed =
        apply_declaration(base, PoolDeclaration{{}, CrossHostCoherence::none, "f:1"});
    ASSERT_TRUE(narrowed);
    EXPECT_EQ(narrowed->cross_host_coherence.value, CrossHostCoherence::none);
    // Somebody's declaration or a planning figure proves nothing.
    base.cross_host_coherence.evidence.source = Source::declared;
    EXPECT_FALSE(apply_declaration(base, PoolDeclaration{{}, CrossHostCoherence::hardware, "f:1"}));
}

}  // namespace
}  // namespace cxlpool

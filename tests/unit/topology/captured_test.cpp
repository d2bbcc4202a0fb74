#include "topology/captured/captured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.hpp"

namespace cxlpool {
namespace {

using test::golden;
using test::names_of;
using test::read_golden;
using test::read_text;
using test::read_texts;
using test::with_code;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kGib = 1ULL << 30U;

Error refused(const std::string& text) {
    auto topology = read_texts({text});
    if (topology) {
        ADD_FAILURE() << "accepted: " << text;
        return Error{Errc::ok, ""};
    }
    return std::move(topology).error();
}

std::vector<std::string> mapped_memdevs(const Region& region) {
    std::vector<std::string> names;
    for (const RegionMapping& mapping : region.mappings) {
        names.push_back(mapping.memdev);
    }
    return names;
}

TEST(Captured, A01OneDeviceInANestedTree) {
    const Topology t = read_golden({"a01-single-device.cxl-list.json"});
    EXPECT_EQ(t.origin, Topology::Origin::captured);
    EXPECT_FALSE(t.dax_listed);
    ASSERT_EQ(t.memdevs.size(), 1U);
    const Memdev& mem0 = t.memdevs[0];
    EXPECT_EQ(mem0.name, "mem0");
    EXPECT_EQ(mem0.ram_bytes, 128 * kGib);
    EXPECT_EQ(mem0.pmem_bytes, 0U);
    EXPECT_EQ(mem0.serial, 0U);
    EXPECT_EQ(mem0.numa_node, 0U);
    EXPECT_EQ(mem0.host, "0000:e7:00.0");
    EXPECT_EQ(mem0.enabled, true);

    EXPECT_THAT(names_of(t.ports),
                ElementsAre("root0", "port1", "endpoint5", "port2", "port3", "port4"));
    EXPECT_EQ(t.ports[0].kind, Port::Kind::root);
    EXPECT_EQ(t.ports[1].parent, "root0");
    EXPECT_EQ(t.ports[2].parent, "port1");
    EXPECT_EQ(t.ports[2].kind, Port::Kind::endpoint);
    EXPECT_EQ(t.ports[2].parent_dport, "0000:e6:01.1");
    EXPECT_THAT(t.ports[1].dports, ElementsAre("0000:e6:01.1", "0000:e6:01.3", "0000:e6:07.1"));

    ASSERT_EQ(t.decoders.size(), 3U);
    EXPECT_EQ(t.decoders[0].name, "decoder5.0");
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::endpoint);
    EXPECT_EQ(t.decoders[0].parent, "endpoint5");
    EXPECT_EQ(t.decoders[0].dpa_size_bytes, 128 * kGib);
    EXPECT_EQ(t.decoders[1].kind, Decoder::Kind::port);
    const Decoder& root = t.decoders[2];
    EXPECT_EQ(root.kind, Decoder::Kind::root);
    EXPECT_EQ(root.parent, "root0");
    EXPECT_EQ(root.resource, 825975898112U);
    EXPECT_EQ(root.max_available_extent_bytes, 0U);
    EXPECT_EQ(root.mem_capable, true);
    EXPECT_EQ(root.accelmem_capable, false);
    EXPECT_EQ(root.targets[0].alias, "ACPI0016:00");

    ASSERT_EQ(t.regions.size(), 1U);
    const Region& region = t.regions[0];
    EXPECT_EQ(region.name, "region0");
    EXPECT_EQ(region.root_decoder, "decoder0.0");
    EXPECT_EQ(region.capacity_bytes, 128 * kGib);
    EXPECT_EQ(region.interleave_ways, 1U);
    EXPECT_EQ(region.interleave_granularity_bytes, std::nullopt);
    EXPECT_EQ(region.state, Region::State::committed);
    EXPECT_EQ(region.type, "ram");
    EXPECT_EQ(region.host_bridges, 1U);
    EXPECT_EQ(region.switch_depth, 0U);
    EXPECT_TRUE(t.source_findings.empty());
}

TEST(Captured, A02AcrossTwoBridges) {
    const Topology t = read_golden({"a02-host-bridge-interleave-x2.cxl-list.json"});
    const Region& region = t.regions.at(0);
    EXPECT_EQ(region.capacity_bytes, 256 * kGib);
    EXPECT_EQ(region.interleave_ways, 2U);
    EXPECT_EQ(region.interleave_granularity_bytes, 256U);
    EXPECT_EQ(region.host_bridges, 2U);
    EXPECT_THAT(mapped_memdevs(region), ElementsAre("mem0", "mem1"));
    EXPECT_TRUE(t.source_findings.empty());
}

TEST(Captured, A02InsideOneBridgeWithAContradictingRoot) {
    const Topology t = read_golden({"a02-intra-bridge-x2.cxl-list.json"});
    const Region& region = t.regions.at(0);
    EXPECT_EQ(region.capacity_bytes, 256 * kGib);
    EXPECT_EQ(region.interleave_ways, 2U);
    EXPECT_EQ(region.host_bridges, 1U);
    EXPECT_THAT(mapped_memdevs(region), ElementsAre("mem0", "mem1"));
    const auto targets = with_code(t.source_findings, "target_mismatch");
    ASSERT_EQ(targets.size(), 1U);
    EXPECT_EQ(targets[0]->subject, "decoder0.0");
    EXPECT_THAT(targets[0]->message, HasSubstr("pci0000:e6"));
    EXPECT_EQ(targets[0]->severity, Finding::Severity::warning);
    const auto counts = with_code(t.source_findings, "count_mismatch");
    ASSERT_EQ(counts.size(), 1U);
    EXPECT_EQ(counts[0]->subject, "decoder0.0");
    EXPECT_THAT(counts[0]->message, HasSubstr("nr_targets says 2"));
}

TEST(Captured, A03FourDevicesInTwoLevels) {
    const Topology t = read_golden({"a03-multi-level-x4.cxl-list.json"});
    const Region& region = t.regions.at(0);
    EXPECT_EQ(region.capacity_bytes, 512 * kGib);
    EXPECT_EQ(region.interleave_ways, 4U);
    EXPECT_EQ(region.host_bridges, 2U);
    EXPECT_THAT(mapped_memdevs(region), ElementsAre("mem0", "mem2", "mem1", "mem3"));
    // Memdevs come in the order of their positions.
    EXPECT_THAT(names_of(t.memdevs), ElementsAre("mem0", "mem2", "mem1", "mem3"));
    std::vector<std::string> subjects;
    for (const Finding* finding : with_code(t.source_findings, "count_mismatch")) {
        subjects.push_back(finding->subject);
    }
    EXPECT_THAT(subjects, ElementsAre("port3", "decoder3.0"));
}

TEST(Captured, A03BrokenTextsAreRefusedWithThePlace) {
    const std::string comma = golden("a03-invalid-missing-comma.txt");
    const CapturedText missing{"comma.txt", comma};
    const auto first = read_captured({&missing, 1});
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().code(), Errc::malformed);
    EXPECT_THAT(first.error().message(), StartsWith("comma.txt:304:15: syntax error"));

    const std::string open_string = golden("a03-invalid-open-string.txt");
    const CapturedText unterminated{"string.txt", open_string};
    const auto second = read_captured({&unterminated, 1});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::malformed);
    EXPECT_THAT(second.error().message(), StartsWith("string.txt:114:43: syntax error"));
}

TEST(Captured, A05SerialsAboveInt64AndANegativeExtent) {
    const Topology t = read_golden(
        {"a05-legacy-type3-u64-serial-negative-extent.cxl-list.json", "a05-daxctl-list-empty.txt"});
    EXPECT_TRUE(t.dax_listed);
    EXPECT_THAT(names_of(t.memdevs), ElementsAre("mem0", "mem1"));
    EXPECT_EQ(t.memdevs[0].serial, 9947034521128865126U);
    EXPECT_EQ(t.memdevs[1].serial, 9947034521128865123U);
    ASSERT_EQ(t.decoders.size(), 2U);
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::root);
    EXPECT_EQ(t.decoders[0].max_available_extent_bytes, std::nullopt);
    EXPECT_EQ(t.decoders[0].resource, std::nullopt);
    EXPECT_EQ(t.decoders[0].mem_capable, true);
    const auto negative = with_code(t.source_findings, "negative_extent");
    ASSERT_EQ(negative.size(), 2U);
    EXPECT_EQ(negative[0]->subject, "decoder0.0");
    EXPECT_THAT(negative[0]->message, HasSubstr("-139586437121"));
    // nr_targets without a list proves nothing.
    EXPECT_TRUE(with_code(t.source_findings, "count_mismatch").empty());
}

TEST(Captured, A06OnlyASystemRamDax) {
    const Topology t =
        read_golden({"a06-cxl-list-empty.txt", "a06-hmem-dax-system-ram.daxctl-list.json"});
    EXPECT_TRUE(t.memdevs.empty());
    ASSERT_EQ(t.dax_devices.size(), 1U);
    const DaxDevice& dax = t.dax_devices[0];
    EXPECT_EQ(dax.name, "dax0.0");
    EXPECT_EQ(dax.region_path, "/platform/hmem.0");
    EXPECT_EQ(dax.mode, DaxMode::system_ram);
    EXPECT_EQ(dax.capacity_bytes, 8 * kGib);
    EXPECT_EQ(dax.target_node, 1U);
    EXPECT_EQ(dax.online_memblocks, 0U);
    EXPECT_EQ(dax.total_memblocks, 4U);
    EXPECT_EQ(dax.region, "");
    EXPECT_EQ(dax.resource, std::nullopt);
}

TEST(Captured, A07AFlatListOfMemdevs) {
    const Topology t = read_golden({"a07-qemu-unprovisioned.cxl-list.json"});
    EXPECT_THAT(names_of(t.memdevs), ElementsAre("mem0", "mem1", "mem2", "mem3"));
    EXPECT_EQ(t.memdevs[0].numa_node, std::nullopt);
    EXPECT_EQ(t.memdevs[1].pmem_bytes, 268435456U);
    EXPECT_EQ(t.memdevs[1].ram_bytes, 0U);
}

TEST(Captured, A12NoTargetNodeAndTheAlignmentOfTheRegion) {
    const Topology t = read_golden({"a12-no-target-node.daxctl-list.json"});
    const DaxDevice& dax = t.dax_devices.at(0);
    EXPECT_EQ(dax.target_node, std::nullopt);
    EXPECT_EQ(dax.align_bytes, 2097152U);
    EXPECT_EQ(dax.mode, DaxMode::devdax);
    // The region number in an nvdimm path is not the number of a CXL region.
    EXPECT_EQ(dax.region, "");
}

TEST(Captured, A17AnonymousMemdevsAndARegionInReset) {
    const Topology t = read_golden({"a17-region-reset-disabled.cxl-list.json"});
    ASSERT_EQ(t.memdevs.size(), 2U);
    EXPECT_EQ(t.memdevs[0].enabled, false);
    EXPECT_EQ(t.memdevs[1].enabled, false);
    EXPECT_EQ(t.regions.at(0).state, Region::State::reset);
    EXPECT_TRUE(t.regions[0].mappings.empty());
    EXPECT_EQ(t.regions[0].host_bridges, std::nullopt);
    EXPECT_EQ(refused(golden("a17-stderr.txt")).code(), Errc::malformed);
}

TEST(Captured, A20DynamicCapacity) {
    const Topology t = read_golden({"a20-dcd-extents.cxl-list.json"});
    EXPECT_TRUE(t.dax_listed);
    EXPECT_EQ(t.memdevs.at(0).dynamic_bytes, 4 * kGib);
    EXPECT_EQ(t.memdevs[0].serial, 99U);
    EXPECT_EQ(t.memdevs[0].firmware_version, "TEST FW 00");
    const Region& region = t.regions.at(0);
    EXPECT_TRUE(region.has_dynamic_capacity);
    ASSERT_EQ(region.extents.size(), 6U);
    EXPECT_EQ(region.extents[0].offset_bytes, 0U);
    EXPECT_EQ(region.extents[5].offset_bytes, 3892314112U);
    EXPECT_EQ(region.extents[0].tag, "");
    const DaxDevice& dax = t.dax_devices.at(0);
    EXPECT_EQ(dax.name, "dax0.1");
    EXPECT_EQ(dax.region, "region0");
    EXPECT_EQ(dax.capacity_bytes, 268435456U);
}

TEST(Captured, A22EndpointDecodersWithoutATree) {
    const Topology t = read_golden({"a22-same-hpa-twice.cxl-list.json"});
    ASSERT_EQ(t.decoders.size(), 2U);
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::endpoint);
    EXPECT_EQ(t.decoders[0].parent, "endpoint3");
    EXPECT_EQ(t.regions.at(0).state, Region::State::committed);
    EXPECT_EQ(t.regions.at(1).state, Region::State::reset);
}

TEST(Captured, GuestsOfTheRealDrivers) {
    const Topology one = read_golden({"guest-pmem.cxl-list.json", "guest-pmem.daxctl-list.json"});
    EXPECT_EQ(one.memdevs.at(0).serial, 4660U);
    EXPECT_EQ(one.regions.at(0).type, "pmem");
    EXPECT_EQ(one.regions[0].interleave_granularity_bytes, std::nullopt);
    EXPECT_EQ(one.dax_devices.at(0).region, "region0");

    const Topology two =
        read_golden({"guest-pmem-x2.daxctl-list.json", "guest-pmem-x2.cxl-list.json"});
    EXPECT_THAT(names_of(two.memdevs), ElementsAre("mem1", "mem0"));
    EXPECT_EQ(two.regions.at(0).host_bridges, 2U);
    EXPECT_EQ(two.dax_devices.at(0).region, "region0");
    EXPECT_TRUE(two.source_findings.empty());

    const Topology hmem = read_golden({"guest-hmem.daxctl-list.json"});
    EXPECT_EQ(hmem.dax_devices.at(0).region, "");
}

TEST(Captured, EveryGroupOfAFlatListing) {
    const Topology t = read_text(R"([
        {"anon memdevs":[{"memdev":"mem9","ram_size":1}]},
        {"buses":[{"bus":"root3","provider":"cxl_test","memdevs:root3":[{"memdev":"mem3"}]}]},
        {"ports":[{"port":"port1","host":"pci0000:34","depth":1,
                   "memdevs:port1":[{"memdev":"mem5"}]}]},
        {"endpoints":[{"endpoint":"endpoint2","host":"mem0"}]},
        {"memdevs":[{"memdev":"mem0"}]},
        {"root decoders":[{"decoder":"decoder3.0"}]},
        {"port decoders":[{"decoder":"decoder1.0"}]},
        {"endpoint decoders":[{"decoder":"decoder2.0"}]},
        {"regions":[{"region":"region7","size":4096,"state":"disabled"}]}])");
    EXPECT_THAT(names_of(t.memdevs), ElementsAre("mem0", "mem3", "mem5", "mem9"));
    EXPECT_EQ(t.memdevs[0].enabled, true);
    EXPECT_EQ(t.memdevs[3].enabled, false);
    EXPECT_THAT(names_of(t.ports), ElementsAre("root3", "port1", "endpoint2"));
    EXPECT_EQ(t.ports[1].parent, "");
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::root);
    EXPECT_EQ(t.decoders[0].parent, "root3");
    EXPECT_EQ(t.decoders[1].kind, Decoder::Kind::port);
    EXPECT_EQ(t.decoders[2].kind, Decoder::Kind::endpoint);
    EXPECT_EQ(t.regions[0].state, Region::State::disabled);
}

TEST(Captured, KindsOfDecodersInAPlainArray) {
    const Topology t = read_text(R"([
        {"decoder":"decoder0.0","size":8,"nr_targets":1},
        {"decoder":"decoder7.0","accelmem_capable":true,"nr_targets":1},
        {"decoder":"decoder1.0","nr_targets":2},
        {"decoder":"decoder2.0","state":"disabled"}])");
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::root);
    EXPECT_EQ(t.decoders[0].mem_capable, false);
    EXPECT_EQ(t.decoders[1].kind, Decoder::Kind::root);
    EXPECT_EQ(t.decoders[1].accelmem_capable, true);
    EXPECT_EQ(t.decoders[2].kind, Decoder::Kind::port);
    EXPECT_EQ(t.decoders[3].kind, Decoder::Kind::endpoint);
}

TEST(Captured, WithoutPortsTheDecodersBelowABusKeepTheirKind) {
    const Topology t = read_text(R"({"bus":"root0","decoders:root0":[
        {"decoder":"decoder0.0","nr_targets":1},{"decoder":"decoder1.0","nr_targets":1},
        {"decoder":"decoder2.0","dpa_size":1,"mode":"ram"}],
        "endpoints:root0":[{"endpoint":"endpoint2","host":"mem0","depth":2},
                           {"endpoint":"endpoint3","host":"mem1"},
                           {"endpoint":"endpoint4","host":"mem2","depth":1}]})");
    EXPECT_EQ(t.decoders[0].kind, Decoder::Kind::root);
    EXPECT_EQ(t.decoders[1].kind, Decoder::Kind::port);
    EXPECT_EQ(t.decoders[2].kind, Decoder::Kind::endpoint);
    EXPECT_EQ(t.ports[1].parent, "");
    EXPECT_EQ(t.ports[2].parent, "");
    EXPECT_EQ(t.ports[3].parent, "root0");
}

TEST(Captured, SwitchesBetweenTheBridgeAndTheDevice) {
    const Topology t = read_text(R"({"bus":"root0","ports:root0":[
        {"port":"port1","host":"pci0000:34","depth":1,"ports:port1":[
          {"port":"port2","host":"0000:35:00.0","depth":2,"endpoints:port2":[
            {"endpoint":"endpoint3","host":"mem0","depth":3,"memdev":{"memdev":"mem0"}}]}]}],
        "decoders:root0":[{"decoder":"decoder0.0","regions:decoder0.0":[
          {"region":"region0","size":4096,"decode_state":"commit","interleave_ways":1,
           "mappings":[{"position":0,"memdev":"mem0","decoder":"decoder3.0"}]}]}]})");
    EXPECT_EQ(t.regions.at(0).host_bridges, 1U);
    EXPECT_EQ(t.regions[0].switch_depth, 1U);
}

TEST(Captured, DaxListsOfEveryShape) {
    const Topology t = read_text(R"({"chardev":"dax1.0","size":32828817408})");
    EXPECT_TRUE(t.dax_listed);
    EXPECT_EQ(t.dax_devices.at(0).mode, DaxMode::unknown);
    EXPECT_EQ(t.dax_devices[0].align_bytes, std::nullopt);

    const Topology states = read_text(R"([{"chardev":"dax10.0","size":0,"mode":"devdax"},
        {"chardev":"dax2.0","size":4096,"mode":"devdax","state":"disabled"},
        {"chardev":"dax3.0","size":4096,"mode":"famfs"},
        {"chardev":"dax4.0","size":4096,"mode":"something-new","new_key":[1,{}]}])");
    EXPECT_THAT(names_of(states.dax_devices), ElementsAre("dax2.0", "dax3.0", "dax4.0", "dax10.0"));
    EXPECT_EQ(states.dax_devices[0].mode, DaxMode::unbound);
    EXPECT_EQ(states.dax_devices[1].mode, DaxMode::famfs);
    EXPECT_EQ(states.dax_devices[2].mode, DaxMode::unknown);
    EXPECT_EQ(states.dax_devices[3].capacity_bytes, 0U);

    const Topology regions = read_text(R"([{"path":"/platform/hmem.0","id":0,"size":4096,
        "align":4096}])");
    EXPECT_FALSE(regions.dax_listed);
    EXPECT_TRUE(regions.dax_devices.empty());
}

TEST(Captured, DaxMappingsGiveThePhysicalRanges) {
    const Topology t = read_text(R"([{"chardev":"dax0.0","size":8192,"mode":"devdax","mappings":[
        {"page_offset":1,"start":65536,"end":69631,"size":4096},
        {"page_offset":0,"start":16384,"end":20479,"size":4096}]}])");
    const DaxDevice& dax = t.dax_devices.at(0);
    EXPECT_EQ(dax.resource, 16384U);
    EXPECT_THAT(dax.ranges, ElementsAre(PhysicalRange{16384, 20479}, PhysicalRange{65536, 69631}));
}

TEST(Captured, HumanListingsAreReadWhereTheyAreExact) {
    const Topology t = read_text(R"({"memdev":"mem0","serial":"0x8a0b0c0d0e0f1011",
        "host":"0000:35:00.0"})");
    EXPECT_EQ(t.memdevs.at(0).serial, 0x8a0b0c0d0e0f1011U);
    EXPECT_EQ(read_text(R"([{"memdev":"mem0","serial":"0"}])").memdevs.at(0).serial, 0U);

    const Error rounded =
        refused("[\n{\"memdev\":\"mem0\",\"ram_size\":\"256.00 MiB (268.44 MB)\"}]");
    EXPECT_EQ(rounded.code(), Errc::malformed);
    EXPECT_THAT(rounded.message(), StartsWith("f:2:29: \"ram_size\""));
    EXPECT_THAT(rounded.message(), HasSubstr("without -u"));
}

TEST(Captured, ADaxDeviceFindsItsRegionByPathAndByAddress) {
    const Topology path = read_text(R"([
        {"path":"/platform/ACPI0017:00/root0/decoder0.0/region4/dax_region4","id":4,"size":4096,
         "align":4096,"devices":[{"chardev":"dax4.0","size":4096,"mode":"devdax"}]}])");
    EXPECT_EQ(path.dax_devices.at(0).region, "region4");

    const Topology address = read_text(R"([
        {"regions":[{"region":"region0","resource":4096,"size":4096,"decode_state":"commit"},
                    {"region":"region1","resource":65536,"size":65536,"decode_state":"commit"}]},
        {"chardev":"dax0.0","size":4096,"mode":"devdax",
         "mappings":[{"page_offset":0,"start":65536,"end":69631,"size":4096}]}])");
    EXPECT_EQ(address.dax_devices.at(0).region, "region1");
}

TEST(Captured, TwoPersistentRegionsAreNotGuessedApart) {
    const std::string dax = golden("guest-pmem.daxctl-list.json");
    const auto t = read_texts({R"([
        {"region":"region0","size":536870912,"type":"pmem","decode_state":"commit"},
        {"region":"region1","size":536870912,"type":"pmem","decode_state":"commit"}])",
                               dax});
    ASSERT_TRUE(t);
    EXPECT_EQ(t->dax_devices.at(0).region, "");
}

TEST(Captured, TheSameDeviceInTwoListingsIsOne) {
    const std::string nested = golden("a01-single-device.cxl-list.json");
    const auto both = read_texts(
        {nested, R"([{"memdev":"mem0","ram_size":137438953472,"serial":0,"numa_node":0,
                      "host":"0000:e7:00.0","firmware_version":"1.0"}])",
         R"([{"region":"region0","resource":825975898112,"size":137438953472,"type":"ram",
              "interleave_ways":1,"decode_state":"commit"}])"});
    ASSERT_TRUE(both) << both.error().message();
    ASSERT_EQ(both->memdevs.size(), 1U);
    EXPECT_EQ(both->memdevs[0].firmware_version, "1.0");
    ASSERT_EQ(both->regions.size(), 1U);
    EXPECT_EQ(both->regions[0].root_decoder, "decoder0.0");

    // The same file twice says nothing new.
    const auto twice = read_texts({nested, nested});
    ASSERT_TRUE(twice) << twice.error().message();
    EXPECT_EQ(*twice, *read_texts({nested}));
}

TEST(Captured, TheSameDeviceWithOtherValuesIsRefused) {
    for (const char* other : {R"([{"memdev":"mem0","ram_size":1,"serial":5}])",
                              R"([{"memdev":"mem0","ram_size":2,"serial":4}])",
                              R"([{"memdev":"mem0","ram_size":2,"serial":5,"state":"disabled"}])",
                              R"([{"memdev":"mem0","serial":5}])"}) {
        const auto got = read_texts({R"([{"memdev":"mem0","ram_size":2,"serial":5}])", other});
        ASSERT_FALSE(got) << other;
        EXPECT_EQ(got.error().code(), Errc::invalid_argument);
        EXPECT_THAT(got.error().message(), StartsWith("f:1:2: memdev mem0 was listed before"));
    }
    EXPECT_EQ(refused(R"([{"chardev":"dax0.0","size":1},{"chardev":"dax0.0","size":2}])").code(),
              Errc::invalid_argument);
    EXPECT_EQ(refused(R"([{"region":"region0","size":1},{"region":"region0","size":2}])").code(),
              Errc::invalid_argument);
}

TEST(Captured, NumbersOutOfRangeAreRefusedWithThePlace) {
    const std::pair<const char*, const char*> rows[] = {
        {R"([{"memdev":"mem0","ram_size":-1}])", "f:1:30: "},
        {R"([{"memdev":"mem0","ram_size":1.5}])", "f:1:30: "},
        {R"([{"memdev":"mem0","ram_size":18446744073709551616}])", "f:1:30: "},
        {R"([{"memdev":"mem0","ram_size":true}])", "f:1:30: "},
        {R"([{"memdev":"mem0","ram_size":"12"}])", "f:1:30: "},
        {R"([{"memdev":"mem0","ram_size":"0x"}])", "f:1:30: "},
        {R"([{"memdev":"mem0","serial":-5}])", "f:1:28: "},
        {R"([{"memdev":"mem0","numa_node":4294967296}])", "f:1:31: "},
        {R"([{"memdev":"mem0","numa_node":-2}])", "f:1:31: "},
        {R"([{"memdev":"mem0","dynamic_ram_a_size":18446744073709551615,
              "dynamic_ram_b_size":1}])",
         "f:2:36: "},
        {R"([{"region":"region0","size":4096,"interleave_ways":4294967296}])", "f:1:52: "},
        {R"([{"region":"region0","size":4096,"mappings":[{"memdev":"mem0"}]}])", "f:1:46: "},
        {R"([{"region":"region0","size":4096,"extents":[{"offset":1,"length":4096}]}])",
         "f:1:45: "},
        {R"([{"region":"region0","size":4096,"extents":[{"offset":1}]}])", "f:1:45: "},
        {R"([{"region":"region0","size":4096,"extents":[{"length":1}]}])", "f:1:45: "},
        {R"([{"chardev":"dax0.0","mappings":[{"start":5,"end":4}]}])", "f:1:34: "},
        {R"([{"decoder":"decoder0.0","locked":1}])", "f:1:35: "},
    };
    for (const auto& [text, place] : rows) {
        const Error error = refused(text);
        EXPECT_EQ(error.code(), Errc::malformed) << text;
        EXPECT_THAT(error.message(), StartsWith(place)) << text;
    }
    EXPECT_EQ(read_text(R"([{"memdev":"mem0","numa_node":-1}])").memdevs.at(0).numa_node,
              std::nullopt);
}

TEST(Captured, AnExtentThatWrappedIsUnknown) {
    const Topology t = read_text(R"([{"decoder":"decoder0.0","max_available_extent":
        18446743934123114495,"nr_targets":1}])");
    EXPECT_EQ(t.decoders.at(0).max_available_extent_bytes, std::nullopt);
    EXPECT_THAT(with_code(t.source_findings, "negative_extent").at(0)->message,
                HasSubstr("-139586437121"));
}

TEST(Captured, ANegativeCountOfBlocksIsUnknown) {
    const Topology t = read_text(R"([{"chardev":"dax0.0","size":1,"mode":"system-ram",
        "online_memblocks":-13,"total_memblocks":4}])");
    EXPECT_EQ(t.dax_devices.at(0).online_memblocks, std::nullopt);
    EXPECT_EQ(with_code(t.source_findings, "negative_count").size(), 1U);
}

TEST(Captured, WrongShapesAreRefused) {
    for (const char* text :
         {"[1]", "[[]]", "\"text\"", "7", "null", R"([{"memdev":""}])", R"([{"memdev":"a b"}])",
          R"([{"memdev":"../x"}])", R"([{"memdev":5}])", R"([{"memdev":"mem0","host":5}])",
          R"([{"memdev":"mem0","host":"\u001b[2J"}])", R"([{"memdev":"mem0","host":"\u009b"}])",
          R"([{"bus":"root0","ports:root0":5}])", R"([{"bus":"root0","ports:root0":[5]}])",
          R"([{"region":"region0","mappings":[5]}])", R"([{"chardev":null}])"}) {
        EXPECT_EQ(refused(text).code(), Errc::malformed) << text;
    }
    for (const char* text : {"{}", "[{}]", R"([{"schema_of":"something"}])", R"({"a":[1]})"}) {
        EXPECT_EQ(refused(text).code(), Errc::invalid_argument) << text;
    }
    EXPECT_EQ(read_captured({}).error().code(), Errc::invalid_argument);
}

TEST(Captured, EmptyListsAreAnEmptyMachine) {
    const Topology t = read_golden({"a06-cxl-list-empty.txt", "a05-daxctl-list-empty.txt"});
    EXPECT_TRUE(t.memdevs.empty());
    EXPECT_TRUE(t.dax_devices.empty());
    EXPECT_TRUE(t.dax_listed);
    EXPECT_TRUE(t.source_findings.empty());
}

TEST(Captured, TooManyDevicesAreRefused) {
    std::string text = "[";
    for (int i = 0; i < 16385; ++i) {
        text += (i == 0 ? "" : ",") + std::string("{\"memdev\":\"mem") + std::to_string(i) + "\"}";
    }
    EXPECT_EQ(refused(text + "]").code(), Errc::too_large);
    std::string deep(100, '[');
    EXPECT_EQ(refused(deep).code(), Errc::too_large);
}

}  // namespace
}  // namespace cxlpool

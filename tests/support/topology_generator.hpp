// Topologies made by chance, for tests of what must hold for every one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "topology/topology.hpp"

namespace cxlpool::test {

// Every field is there or not by chance; the same seed gives the same topologies.
class TopologyGenerator {
  public:
    explicit TopologyGenerator(std::uint32_t seed) : random_(seed) {}

    Topology topology() {
        Topology t;
        t.origin = coin() ? Topology::Origin::live : Topology::Origin::captured;
        t.dax_listed = coin();
        for (std::uint64_t i = draw(5); i > 0; --i) {
            t.memdevs.push_back(memdev("mem" + std::to_string(i)));
            t.ports.push_back(port(i));
            t.decoders.push_back(decoder("decoder" + std::to_string(i) + ".0"));
            t.regions.push_back(region("region" + std::to_string(i)));
            t.dax_devices.push_back(dax("dax" + std::to_string(i) + ".0"));
            t.nodes.push_back(node(static_cast<std::uint32_t>(i)));
            t.possible_nodes.push_back(u32());
            t.source_findings.push_back(
                Finding{coin() ? Finding::Severity::info : Finding::Severity::error, text(), text(),
                        "m" + std::to_string(i), text()});
        }
        resolve(t);
        return t;
    }

  private:
    std::uint64_t draw(std::uint64_t below) {
        return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
    }
    bool coin() { return draw(2) == 0; }
    std::uint64_t u64() { return coin() ? draw(4096) : random_() * 4294967296ULL + random_(); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(u64()); }
    std::optional<std::uint64_t> maybe_u64() {
        return coin() ? std::optional(u64()) : std::nullopt;
    }
    std::optional<std::uint32_t> maybe_u32() {
        return coin() ? std::optional(u32()) : std::nullopt;
    }
    std::optional<bool> maybe_bool() { return coin() ? std::optional(coin()) : std::nullopt; }
    std::string text() {
        static const std::array<std::string, 6> kTexts{
            "", "mem1", "decoder2.0", "a \"quoted\" \\ one", "gr\xc3\xbc\xc3\x9f", "endpoint1"};
        return kTexts.at(draw(kTexts.size()));
    }

    Memdev memdev(std::string name) {
        return Memdev{name,  text(), maybe_u64(), text(),       u64(),
                      u64(), u64(),  maybe_u32(), maybe_bool(), text()};
    }
    Port port(std::uint64_t i) {
        Port p;
        p.kind = static_cast<Port::Kind>(draw(3));
        p.name = (p.kind == Port::Kind::endpoint ? "endpoint" : "port") + std::to_string(i);
        p.parent = coin() ? "port1" : "root0";
        p.host = text();
        p.parent_dport = text();
        p.depth = maybe_u32();
        p.declared_dports = maybe_u32();
        p.dports.resize(draw(3), text());
        return p;
    }
    Decoder decoder(std::string name) {
        Decoder d;
        d.name = std::move(name);
        d.parent = text();
        d.kind = static_cast<Decoder::Kind>(draw(3));
        for (auto* field : {&d.resource, &d.size_bytes, &d.max_available_extent_bytes,
                            &d.dpa_resource, &d.dpa_size_bytes}) {
            *field = maybe_u64();
        }
        for (auto* field :
             {&d.interleave_ways, &d.interleave_granularity_bytes, &d.declared_targets}) {
            *field = maybe_u32();
        }
        for (auto* field : {&d.volatile_capable, &d.pmem_capable, &d.mem_capable,
                            &d.accelmem_capable, &d.locked}) {
            *field = maybe_bool();
        }
        for (auto* field : {&d.target_type, &d.region, &d.mode}) {
            *field = text();
        }
        d.targets.resize(draw(3), DecoderTarget{text(), maybe_u32(), text()});
        return d;
    }
    Region region(std::string name) {
        Region r;
        r.name = std::move(name);
        r.sysfs_path = text();
        r.root_decoder = text();
        r.resource = maybe_u64();
        r.capacity_bytes = u64();
        r.type = coin() ? "pmem" : text();
        r.interleave_ways = maybe_u32();
        r.interleave_granularity_bytes = maybe_u32();
        r.state = static_cast<Region::State>(draw(4));
        for (std::uint64_t n = draw(4); n > 0; --n) {
            r.mappings.push_back(RegionMapping{u32(), text(), text()});
            r.extents.push_back(RegionExtent{u64(), u64(), text()});
        }
        r.has_dynamic_capacity = coin();
        r.host_bridges = maybe_u32();
        r.switch_depth = maybe_u32();
        r.back_invalidate = maybe_bool();
        r.read_latency_ns = maybe_u64();
        r.read_mbps = maybe_u64();
        return r;
    }
    DaxDevice dax(std::string name) {
        DaxDevice d;
        d.name = std::move(name);
        for (auto* field : {&d.sysfs_path, &d.region, &d.devnode, &d.held_by}) {
            *field = text();
        }
        d.region_path = coin() ? "/platform/x/nvdimm-bridge0/ndbus0/region0/dax0.0" : text();
        for (auto* field : {&d.capacity_bytes, &d.align_bytes, &d.resource, &d.online_memblocks,
                            &d.total_memblocks}) {
            *field = maybe_u64();
        }
        for (auto* field : {&d.target_node, &d.numa_node, &d.dev_major, &d.dev_minor}) {
            *field = maybe_u32();
        }
        d.ranges.resize(draw(3), PhysicalRange{u64(), u64()});
        d.mode = static_cast<DaxMode>(draw(5));
        return d;
    }
    NumaNode node(std::uint32_t id) {
        NumaNode n;
        n.id = id;
        n.online = coin();
        n.has_cpus = coin();
        for (auto* field : {&n.capacity_bytes, &n.free_bytes, &n.read_latency_ns, &n.read_mbps}) {
            *field = maybe_u64();
        }
        n.distances.resize(draw(3), {u32(), u32()});
        n.initiators.resize(draw(3), InitiatorFigures{u32(), maybe_u64(), maybe_u64()});
        return n;
    }

    std::mt19937 random_;
};

}  // namespace cxlpool::test

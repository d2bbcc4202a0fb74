// What must hold for every topology, from a printed seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "golden.hpp"
#include "support/topology_generator.hpp"
#include "topology/lookup.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

constexpr std::uint32_t kSeeds = 1000;
constexpr std::uint64_t kMib = 1ULL << 20U;

// The generator's devices, made likely to become pools: sizes and addresses that fit together,
// regions and modes that mostly serve.
Topology plausible(std::uint32_t seed) {
    Topology t = test::TopologyGenerator(seed).topology();
    std::mt19937 random(seed);
    const auto draw = [&](std::uint32_t below) { return random() % below; };
    const auto window = [&] { return (1 + draw(12)) * 256 * kMib; };
    for (Memdev& memdev : t.memdevs) {
        memdev.enabled = draw(8) != 0;
    }
    for (Region& region : t.regions) {
        region.state = draw(4) == 0 ? region.state : Region::State::committed;
        region.has_dynamic_capacity = draw(4) == 0;
        region.back_invalidate = draw(2) == 0 ? std::optional(true) : region.back_invalidate;
        region.resource = window();
        region.capacity_bytes = (1 + draw(3)) * 128 * kMib;
        region.root_decoder =
            t.decoders.empty() ? "" : t.decoders[draw(5) % t.decoders.size()].name;
    }
    for (DaxDevice& device : t.dax_devices) {
        device.mode = draw(4) == 0 ? device.mode : DaxMode::devdax;
        device.held_by = draw(8) == 0 ? "/mnt" : "";
        device.ranges.clear();
        device.resource = window();
        device.capacity_bytes = (1 + draw(3)) * 128 * kMib;
        device.region =
            draw(2) == 0 || t.regions.empty() ? "" : t.regions[draw(5) % t.regions.size()].name;
    }
    for (Decoder& decoder : t.decoders) {
        decoder.accelmem_capable = draw(2) == 0 ? std::optional(true) : decoder.accelmem_capable;
        decoder.target_type = draw(4) == 0 ? "accelerator" : "expander";
    }
    return t;
}

std::set<std::string> names(const std::vector<PoolCandidate>& pools) {
    std::set<std::string> out;
    for (const PoolCandidate& pool : pools) {
        out.insert(pool.name);
    }
    return out;
}

std::vector<PhysicalRange> ranges_of(const Topology& t, const PoolCandidate& pool) {
    for (const DaxDevice& device : t.dax_devices) {
        if (device.name == pool.dax_device) {
            return physical_ranges(device);
        }
    }
    const auto range = physical_range(pool.resource, pool.capacity_bytes);
    return range ? std::vector<PhysicalRange>{*range} : std::vector<PhysicalRange>{};
}

TEST(RulesProperty, NoByteIsInTwoPools) {
    std::size_t pools = 0;
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Topology t = plausible(seed);
        const std::vector<PoolCandidate> all = assess(t).pools;
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t j = i + 1; j < all.size(); ++j) {
                for (const PhysicalRange& a : ranges_of(t, all[i])) {
                    for (const PhysicalRange& b : ranges_of(t, all[j])) {
                        EXPECT_TRUE(a.end < b.start || b.end < a.start);
                    }
                }
            }
        }
        pools += all.size();
    }
    EXPECT_GT(pools, kSeeds / 4) << "too few pools to prove anything";
}

TEST(RulesProperty, APoolHasADeviceThatCanBeMappedOrStandsForOneOfACommittedRegion) {
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Topology t = plausible(seed);
        for (const PoolCandidate& pool : assess(t).pools) {
            const auto device =
                std::find_if(t.dax_devices.begin(), t.dax_devices.end(),
                             [&](const DaxDevice& d) { return d.name == pool.dax_device; });
            const auto region =
                std::find_if(t.regions.begin(), t.regions.end(),
                             [&](const Region& r) { return r.name == pool.region; });
            if (device != t.dax_devices.end()) {
                EXPECT_EQ(device->mode, DaxMode::devdax);
                EXPECT_EQ(device->held_by, "");
                EXPECT_EQ(device->capacity_bytes, pool.capacity_bytes);
            } else {
                EXPECT_TRUE(pool.dax_device.empty() && !t.dax_listed && t.dax_devices.empty());
                ASSERT_NE(region, t.regions.end());
            }
            if (region != t.regions.end()) {
                EXPECT_EQ(region->state, Region::State::committed);
            }
            EXPECT_FALSE(fabric_shareable(pool.profile));  // nobody has declared another host
            EXPECT_EQ(hosts_or_assumed(pool.profile), 1U);
        }
    }
}

// Forgets one thing that a source might not have said.
using Forget = std::function<void(Topology&)>;

template <typename Device, typename... Fields>
void forget_each(std::vector<Forget>& out, std::vector<Device> Topology::*devices,
                 Fields... fields) {
    const auto add = [&](auto field) {
        out.push_back([=](Topology& t) {
            for (Device& device : t.*devices) {
                (device.*field).reset();
            }
        });
    };
    (add(fields), ...);
}

std::vector<Forget> things_to_forget() {
    std::vector<Forget> out;
    forget_each(out, &Topology::memdevs, &Memdev::serial, &Memdev::numa_node, &Memdev::enabled);
    forget_each(out, &Topology::ports, &Port::depth, &Port::declared_dports);
    forget_each(out, &Topology::decoders, &Decoder::resource, &Decoder::size_bytes,
                &Decoder::interleave_ways, &Decoder::interleave_granularity_bytes,
                &Decoder::max_available_extent_bytes, &Decoder::volatile_capable,
                &Decoder::pmem_capable, &Decoder::mem_capable, &Decoder::accelmem_capable,
                &Decoder::locked, &Decoder::dpa_resource, &Decoder::dpa_size_bytes);
    forget_each(out, &Topology::regions, &Region::resource, &Region::interleave_ways,
                &Region::interleave_granularity_bytes, &Region::host_bridges, &Region::switch_depth,
                &Region::back_invalidate, &Region::read_latency_ns, &Region::read_mbps);
    forget_each(out, &Topology::dax_devices, &DaxDevice::capacity_bytes, &DaxDevice::align_bytes,
                &DaxDevice::resource, &DaxDevice::target_node, &DaxDevice::numa_node,
                &DaxDevice::online_memblocks, &DaxDevice::total_memblocks);
    forget_each(out, &Topology::nodes, &NumaNode::capacity_bytes, &NumaNode::read_latency_ns,
                &NumaNode::read_mbps);
    out.push_back([](Topology& t) {
        for (Region& region : t.regions) {
            region.state = Region::State::unknown;
        }
    });
    out.push_back([](Topology& t) {
        for (DaxDevice& device : t.dax_devices) {
            device.mode = DaxMode::unknown;
        }
    });
    out.push_back([](Topology& t) {
        for (Decoder& decoder : t.decoders) {
            decoder.target_type = decoder.target_type == "accelerator" ? "accelerator" : "";
        }
    });
    out.push_back([](Topology& t) { t.nodes.clear(); });
    out.push_back([](Topology& t) { t.possible_nodes.clear(); });
    return out;
}

// Of several pools of one machine, those that several hosts could share once hosts are declared.
std::set<std::string> shareable(const Assessment& assessment) {
    std::set<std::string> out;
    for (const PoolCandidate& pool : assessment.pools) {
        const auto declared = apply_declaration(pool.profile, PoolDeclaration{8, {}, "f:1"});
        if (declared && fabric_shareable(*declared)) {
            out.insert(pool.name);
        }
    }
    return out;
}

bool is_subset(const std::set<std::string>& part, const std::set<std::string>& whole) {
    return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// A conflict cannot be seen without the addresses, nor an unbound driver without the bus: only what
// speaks against a pool may be lost with them, so those topologies are left out.
bool has_known_conflict(const Topology& t, const Assessment& a) {
    return !test::with_code(a.findings, "physical_overlap").empty() ||
           std::any_of(t.memdevs.begin(), t.memdevs.end(),
                       [](const Memdev& memdev) { return memdev.enabled == false; });
}

TEST(RulesProperty, KnowingLessNeverAddsAPoolNorMakesOneShareable) {
    const std::vector<Forget> forgets = things_to_forget();
    std::size_t checked = 0;
    std::size_t shared = 0;
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        const Topology t = plausible(seed);
        const Assessment before = assess(t);
        if (has_known_conflict(t, before)) {
            continue;
        }
        const std::set<std::string> pools = names(before.pools);
        const std::set<std::string> sharing = shareable(before);
        for (std::size_t i = 0; i < forgets.size(); ++i) {
            SCOPED_TRACE("seed " + std::to_string(seed) + ", thing " + std::to_string(i));
            Topology less = t;
            forgets[i](less);
            const Assessment after = assess(less);
            EXPECT_TRUE(is_subset(names(after.pools), pools));
            EXPECT_TRUE(is_subset(shareable(after), sharing));
        }
        checked += pools.size();
        shared += sharing.size();
    }
    EXPECT_GT(checked, 200U) << "too few pools to prove anything";
    EXPECT_GT(shared, 10U) << "too few shareable pools to prove anything";
}

// With the conflict known, the loss of a fact that is no address keeps the verdict.
TEST(RulesProperty, KnowingLessOfOtherThingsNeverResolvesAConflict) {
    const std::vector<Forget> forgets = things_to_forget();
    for (std::uint32_t seed = 0; seed < kSeeds / 10; ++seed) {
        const Topology t = plausible(seed);
        const std::set<std::string> pools = names(assess(t).pools);
        for (std::size_t i = 0; i < forgets.size(); ++i) {
            Topology less = t;
            forgets[i](less);
            const bool same_facts =
                std::equal(
                    t.memdevs.begin(), t.memdevs.end(), less.memdevs.begin(),
                    [](const Memdev& a, const Memdev& b) { return a.enabled == b.enabled; }) &&
                std::equal(t.regions.begin(), t.regions.end(), less.regions.begin(),
                           [](const Region& a, const Region& b) {
                               return a.resource == b.resource && a.state == b.state;
                           }) &&
                std::equal(t.dax_devices.begin(), t.dax_devices.end(), less.dax_devices.begin(),
                           [](const DaxDevice& a, const DaxDevice& b) {
                               return physical_ranges(a) == physical_ranges(b) && a.mode == b.mode;
                           });
            if (same_facts) {
                EXPECT_TRUE(is_subset(names(assess(less).pools), pools))
                    << "seed " << seed << ", thing " << i;
            }
        }
    }
}

}  // namespace
}  // namespace cxlpool

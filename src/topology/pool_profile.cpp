#include <algorithm>
#include <set>

#include "topology/assess.hpp"
#include "topology/window.hpp"

namespace cxlpool {
namespace {

template <typename T>
Known<T> observed(T value, std::string detail) {
    return Known<T>::of(std::move(value), Source::observed, std::move(detail));
}

Known<bool> persistent(const DaxDevice* device, const Region* region) {
    if (region != nullptr && !region->type.empty()) {
        return observed(region->type == "pmem", region->name + " is of type " + region->type);
    }
    if (device != nullptr && device->region_path.find("/ndbus") != std::string::npos) {
        return observed(true, "on an nvdimm bus: " + device->region_path);
    }
    return Known<bool>::unknown("no region says so");
}

// The node that the device hangs on: that of its memdevs when they agree, else what dax says.
Known<std::uint32_t> affinity(const Lookup& lookup, const DaxDevice* device, const Region* region) {
    if (region != nullptr) {
        std::set<std::optional<std::uint32_t>> nodes;
        for (const RegionMapping& mapping : region->mappings) {
            if (const Memdev* const memdev = lookup.memdev(mapping.memdev)) {
                nodes.insert(memdev->numa_node);
            }
        }
        if (nodes.size() > 1) {
            return Known<std::uint32_t>::unknown("its memdevs do not all name the same node");
        }
        if (nodes.size() == 1 && *nodes.begin()) {
            return observed(**nodes.begin(), "numa_node of its memdevs");
        }
    }
    if (device != nullptr && device->numa_node) {
        return observed(*device->numa_node, "numa_node of " + device->name);
    }
    return Known<std::uint32_t>::unknown("no numa_node given");
}

const NumaNode* node_of_memory(const Topology& topology, const DaxDevice* device) {
    if (device == nullptr || !device->target_node) {
        return nullptr;
    }
    const auto found =
        std::find_if(topology.nodes.begin(), topology.nodes.end(),
                     [&](const NumaNode& node) { return node.id == *device->target_node; });
    return found == topology.nodes.end() ? nullptr : &*found;
}

// A figure as the node of the memory has it, or else as the kernel added it up for the region.
template <typename Figure>
Known<std::uint64_t> figure(const NumaNode* node, const Region* region, Figure&& of) {
    // The figures of a node with CPUs are those of its DRAM.
    if (node != nullptr && !node->has_cpus && of(*node).value_or(0) != 0) {
        return Known<std::uint64_t>::of(*of(*node), Source::firmware,
                                        "HMAT of node " + std::to_string(node->id));
    }
    if (region != nullptr && of(*region).value_or(0) != 0) {
        return Known<std::uint64_t>::of(*of(*region), Source::firmware,
                                        "path to " + region->name + ", by HMAT and CDAT");
    }
    return Known<std::uint64_t>::unknown("not measured; firmware gives none");
}

}  // namespace

Profile pool_profile(const Topology& topology, const Lookup& lookup, const DaxDevice* device,
                     const Region* region, std::uint64_t capacity_bytes) {
    const std::string subject = device != nullptr ? device->name : region->name;
    Profile profile;
    profile.name = subject;
    profile.tier = Tier::cxl;
    profile.capacity_bytes = observed(capacity_bytes, "size of " + subject);
    profile.byte_addressable = observed(true, "mapped in place");
    profile.coherent_in_host = coherent_in_host(region, lookup);
    profile.cross_host_coherence = cross_host_coherence(region, lookup);
    profile.persistent = persistent(device, region);
    profile.share_kind = device != nullptr && is_plain_nvdimm(*device)
                             ? observed(ShareKind::mmap, "an NVDIMM of this host, not CXL")
                             : observed(ShareKind::cxl_hdm, "host-managed device memory");
    profile.hosts = Known<std::uint32_t>::of(1, Source::unknown,
                                             "assumed: nothing observed or declared another host");
    const NumaNode* const node = node_of_memory(topology, device);
    profile.read_latency_ns =
        figure(node, region, [](const auto& of) { return of.read_latency_ns; });
    profile.read_mbps = figure(node, region, [](const auto& of) { return of.read_mbps; });
    profile.memory_node = device != nullptr && device->target_node
                              ? observed(*device->target_node, "target_node of " + subject)
                              : Known<std::uint32_t>::unknown("no target_node given");
    profile.cpu_affinity_node = affinity(lookup, device, region);
    profile.may_shrink = region != nullptr && region->has_dynamic_capacity;
    return profile;
}

}  // namespace cxlpool

#include <algorithm>

#include "topology/assess.hpp"
#include "topology/window.hpp"

namespace cxlpool {
namespace {

template <typename T>
Known<T> observed(T value, std::string detail) {
    return Known<T>::of(std::move(value), Source::observed, std::move(detail));
}

// An NVDIMM of this host: on an nvdimm bus that is not below a CXL root.
bool is_plain_nvdimm(const DaxDevice* device) {
    return device != nullptr && device->region.empty() &&
           device->region_path.find("/ndbus") != std::string::npos &&
           device->region_path.find("/nvdimm-bridge") == std::string::npos;
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
    std::optional<std::uint32_t> node;
    if (region != nullptr) {
        for (const RegionMapping& mapping : region->mappings) {
            const Memdev* const memdev = lookup.memdev(mapping.memdev);
            if (memdev == nullptr || !memdev->numa_node) {
                continue;
            }
            if (node && *node != *memdev->numa_node) {
                return Known<std::uint32_t>::unknown("its memdevs hang on different nodes");
            }
            node = memdev->numa_node;
        }
        if (node) {
            return observed(*node, "numa_node of its memdevs");
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

Known<std::uint64_t> figure(const std::optional<std::uint64_t>& value, const NumaNode* node) {
    if (node == nullptr) {
        return Known<std::uint64_t>::unknown("not measured");
    }
    // The figures of a node with CPUs are those of its DRAM.
    if (node->has_cpus || value.value_or(0) == 0) {
        return Known<std::uint64_t>::unknown("not measured; firmware gives none");
    }
    return Known<std::uint64_t>::of(*value, Source::firmware,
                                    "HMAT of node " + std::to_string(node->id));
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
    profile.share_kind = is_plain_nvdimm(device)
                             ? observed(ShareKind::mmap, "an NVDIMM of this host, not CXL")
                             : observed(ShareKind::cxl_hdm, "host-managed device memory");
    profile.hosts = Known<std::uint32_t>::of(1, Source::unknown,
                                             "assumed: nothing observed or declared another host");
    const NumaNode* const node = node_of_memory(topology, device);
    profile.read_latency_ns = figure(node ? node->read_latency_ns : std::nullopt, node);
    profile.read_mbps = figure(node ? node->read_mbps : std::nullopt, node);
    profile.memory_node = device != nullptr && device->target_node
                              ? observed(*device->target_node, "target_node of " + subject)
                              : Known<std::uint32_t>::unknown("no target_node given");
    profile.cpu_affinity_node = affinity(lookup, device, region);
    profile.may_shrink = region != nullptr && region->has_dynamic_capacity;
    return profile;
}

}  // namespace cxlpool

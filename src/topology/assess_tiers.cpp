#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "topology/assess.hpp"

namespace cxlpool {
namespace {

template <typename T>
Known<T> observed(T value, std::string detail) {
    return Known<T>::of(std::move(value), Source::observed, std::move(detail));
}

Known<std::uint64_t> from_firmware(const std::optional<std::uint64_t>& value,
                                   const std::string& detail) {
    return value.value_or(0) == 0
               ? Known<std::uint64_t>::unknown("not measured; firmware gives none")
               : Known<std::uint64_t>::of(*value, Source::firmware, detail);
}

std::uint32_t distance(const NumaNode& from, std::uint32_t to) {
    for (const auto& [node, value] : from.distances) {
        if (node == to) {
            return value;
        }
    }
    return std::numeric_limits<std::uint32_t>::max();
}

Profile node_profile(const NumaNode& node, Tier tier) {
    const std::string where = "node " + std::to_string(node.id);
    Profile profile;
    profile.name = to_word(tier);
    profile.tier = tier;
    profile.read_latency_ns = from_firmware(node.read_latency_ns, "HMAT of " + where);
    profile.read_mbps = from_firmware(node.read_mbps, "HMAT of " + where);
    profile.capacity_bytes = observed(*node.capacity_bytes, "MemTotal of " + where);
    profile.byte_addressable = observed(true, "system RAM");
    profile.coherent_in_host = observed(true, "system RAM");
    profile.persistent = observed(false, "system RAM");
    profile.share_kind = observed(ShareKind::mmap, "system RAM");
    profile.hosts = observed(std::uint32_t{1}, "system RAM of this host");
    profile.cross_host_coherence = observed(CrossHostCoherence::none, "system RAM of this host");
    profile.memory_node = observed(node.id, where);
    profile.cpu_affinity_node = node.has_cpus ? observed(node.id, where + " has CPUs")
                                              : Known<std::uint32_t>::unknown("memory-only node");
    return profile;
}

// One profile has the tier's plain word for a name; of several, each says its node.
void tell_apart(std::vector<Profile>& tiers) {
    for (const Tier tier : {Tier::dram, Tier::numa_far, Tier::cxl}) {
        const auto same = [&](const Profile& profile) { return profile.tier == tier; };
        if (std::count_if(tiers.begin(), tiers.end(), same) < 2) {
            continue;
        }
        for (Profile& profile : tiers) {
            if (same(profile)) {
                profile.name += ":node" + std::to_string(*profile.memory_node.value);
            }
        }
    }
}

}  // namespace

std::vector<Profile> assess_tiers(const Topology& topology, Findings& findings) {
    std::set<std::uint32_t> behind_dax;
    std::map<std::uint32_t, std::string> nvdimms;
    for (const DaxDevice& device : topology.dax_devices) {
        if (device.mode == DaxMode::system_ram && device.target_node) {
            behind_dax.insert(*device.target_node);
            if (is_plain_nvdimm(device)) {
                nvdimms.emplace(*device.target_node, device.name);
            }
        }
    }
    std::vector<const NumaNode*> nodes;
    for (const NumaNode& node : topology.nodes) {
        if (node.online && node.capacity_bytes.value_or(0) != 0) {
            nodes.push_back(&node);
        }
    }
    const auto first_with_cpus = std::find_if(nodes.begin(), nodes.end(),
                                              [](const NumaNode* node) { return node->has_cpus; });
    const NumaNode* const home = first_with_cpus == nodes.end() ? nullptr : *first_with_cpus;
    if (home != nullptr) {
        std::stable_sort(nodes.begin(), nodes.end(), [&](const NumaNode* a, const NumaNode* b) {
            return (a == home ? 0 : distance(*home, a->id)) <
                   (b == home ? 0 : distance(*home, b->id));
        });
    }
    std::vector<Profile> tiers;
    for (const NumaNode* const node : nodes) {
        if (node->has_cpus) {
            tiers.push_back(node_profile(*node, node == home ? Tier::dram : Tier::numa_far));
        }
    }
    for (const NumaNode* const node : nodes) {
        if (node->has_cpus) {
            continue;
        }
        const auto nvdimm = nvdimms.find(node->id);
        if (behind_dax.count(node->id) != 0 && nvdimm == nvdimms.end()) {
            tiers.push_back(node_profile(*node, Tier::cxl));
            continue;
        }
        const std::string name = "node" + std::to_string(node->id);
        const std::string what =
            name + " has " + bytes_text(*node->capacity_bytes) + " and no CPUs";
        if (nvdimm != nvdimms.end()) {
            findings.info("memory_only_node", name,
                          what + "; behind it stands " + nvdimm->second +
                              ", an NVDIMM of this host and not CXL: it is no tier",
                          "nothing; or make it a pool of this host: daxctl reconfigure-device "
                          "--mode=devdax " +
                              nvdimm->second);
        } else {
            findings.info("memory_only_node", name,
                          what + ", and no dax device stands behind it: it is no tier",
                          "if it is CXL memory that firmware gave to the OS, have the firmware set "
                          "it aside (\"specific purpose\"), so that it comes up as a dax device");
        }
    }
    tell_apart(tiers);
    return tiers;
}

}  // namespace cxlpool

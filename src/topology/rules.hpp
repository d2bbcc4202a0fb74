// From a Topology to pools, profiles and findings.
//
// Responsible for: the rules that say which memory may become a pool, what it is worth, and what
// is in the way of the rest. Pure. Invariants: the unit of capacity is the dax device; a memdev
// size alone never makes a pool; unknown never widens a right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/profile.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// What the operator states about a pool in the configuration.
struct PoolDeclaration {
    std::optional<std::uint32_t> hosts;
    std::optional<CrossHostCoherence> coherence;
    std::string where;  // "cxlpoold.toml:12", used as evidence
};

struct PoolCandidate {
    std::string name;  // of the dax device
    std::string dax_device;
    std::string region;  // empty when no CXL region is known
    std::vector<std::string> memdevs;
    std::vector<std::uint64_t> serials;  // of those memdevs whose serial is an identity
    std::uint64_t capacity_bytes = 0;
    std::uint64_t align_bytes = 0;
    std::optional<std::uint64_t> resource;
    Profile profile;
};

struct Assessment {
    std::vector<PoolCandidate> pools;
    std::vector<Profile> tiers;  // the NUMA tiers this host has: dram, numa_far, cxl in system-ram
    std::vector<Finding> findings;  // those of the source first
};

Assessment assess(const Topology& topology);

// The profile with what the operator declares laid over it. Errors: invalid_argument when the
// declaration is smaller than what was observed, hosts is 0, or `hardware` coherence is declared
// without a passed proof run (write `managed` instead).
Result<Profile> apply_declaration(Profile profile, const PoolDeclaration& declaration);

// How a configuration names a pool's device; exactly one member is set.
struct PoolSelector {
    std::optional<std::uint64_t> serial;
    std::string region;
    std::string dax_device;  // "dax0.0" or "/dev/dax0.0"
    std::string sysfs_path;
};

// The one pool that matches. Errors: not_found (with what there is, and the finding that explains
// why a matching device is no pool), invalid_argument (serial 0, serial of several devices,
// several pools match: all named).
Result<PoolCandidate> find_pool(const Topology& topology, const Assessment& assessment,
                                const PoolSelector& selector);

}  // namespace cxlpool

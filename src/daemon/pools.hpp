// From configured pools and the machine's topology to pools that can be served.
//
// Responsible for: finding the device of each pool, refusing what may not be served, and the
// profile of each with the evidence of every field. Invariants: either every configured pool can
// be served or none is opened; a cooperative pool in tenancy multi needs the override by name.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "memory/host_memory.hpp"
#include "server/server.hpp"
#include "topology/rules.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// What a configured pool turned out to be, before anything is opened.
struct PoolPlan {
    PoolConfig config;
    Profile profile;
    std::string device_path;  // devdax only
};

// Errors: not_found, invalid_argument (a declaration that contradicts what is observed; several
// matches), cooperative_refused (names the line and the key that overrides it).
Result<std::vector<PoolPlan>> plan_pools(const Config& config, const Topology& topology,
                                         const Assessment& assessment);

// A sentence for each memfd pool that promises more than the memory of the machine, or of the node
// that it is bound to: it starts, and cells fail when it fills.
std::vector<std::string> over_memory(const std::vector<PoolPlan>& plans, const HostPaths& host);

// Opens them all. `keeper`, which may be null, is for the segments of memfd pools. Errors: those of
// the providers.
Result<std::vector<ServedPool>> open_pools(const std::vector<PoolPlan>& plans,
                                           const std::shared_ptr<SegmentKeeper>& keeper);

}  // namespace cxlpool

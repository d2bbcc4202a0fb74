// The JSON documents that users and the daemon's clients see; the shapes are stable.
#pragma once

#include <string>
#include <vector>

#include "topology/rules.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// {"source","memdevs","regions","dax_devices","nodes","pools","findings"}: man cxlpoolctl(1).
std::string topology_json(const Topology& topology, const Assessment& assessment);

// {"profiles":[{"name","tier","read_latency_ns":{"value","source","detail"},...}]}
std::string profiles_json(const std::vector<Profile>& profiles);

}  // namespace cxlpool

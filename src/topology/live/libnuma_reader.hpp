// NUMA nodes where sysfs hides them, as in some containers.
#pragma once

#include <vector>

#include "topology/topology.hpp"

namespace cxlpool::live {

// The nodes this process may use, by libnuma; one node with all memory on a kernel without NUMA.
// Never empty.
std::vector<NumaNode> read_libnuma();

}  // namespace cxlpool::live

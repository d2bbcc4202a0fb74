// The whole reading, from any root: read_live() with its seams open for tests.
#pragma once

#include <string>

#include "base/result.hpp"
#include "topology/topology.hpp"

namespace cxlpool::live {

// With an empty `root`, this machine and all its libraries; with a directory that holds a recorded
// `sys`, that tree by the sysfs reader alone (the libraries know no other root than /).
// Errors: unavailable when there is no readable `sys` in it.
Result<Topology> read_topology(const std::string& root);

}  // namespace cxlpool::live

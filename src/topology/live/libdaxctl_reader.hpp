// The dax devices as libdaxctl sees them.
//
// Responsible for: the same traversal as `daxctl list -RD`. Refuses to know: drivers and modes,
// which libdaxctl 76 takes to be devdax whenever they are not system-ram. Invariants: the library
// prints nothing; devices without a node in /dev are left out by it.
#pragma once

#include <vector>

#include "topology/live/finding_log.hpp"
#include "topology/topology.hpp"

namespace cxlpool::live {

std::vector<DaxDevice> read_libdaxctl(FindingLog& log);

}  // namespace cxlpool::live

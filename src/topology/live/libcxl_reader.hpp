// The CXL objects as libcxl sees them.
//
// Responsible for: the same traversal as `cxl list -vvv`. Refuses to know: sysfs paths. Invariants:
// a value that the library marks as unreadable is absent; the library prints nothing. Of its own
// accord libcxl asks the kernel to finish pending probes (/sys/bus/cxl/flush) before it looks.
#pragma once

#include "topology/live/finding_log.hpp"
#include "topology/topology.hpp"

namespace cxlpool::live {

// Fills memdevs, ports, decoders and regions. A library that cannot start is a finding.
void read_libcxl(Topology& topology, FindingLog& log);

}  // namespace cxlpool::live

// Reads the Topology of this machine.
//
// Responsible for: libcxl, libdaxctl, libnuma and sysfs. The two first are included nowhere else,
// libnuma only where memory is bound to a node (memory/memfd_provider.cpp). Invariants: a partial
// failure gives a partial result with findings (first errno kept); files that vanish in mid-scan
// are normal; no setting is changed (libcxl writes to /sys/bus/cxl/flush, which makes the driver
// settle before it is read).
#pragma once

#include "base/result.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// Errors: unavailable only when not even /sys can be read; everything smaller is a finding.
Result<Topology> read_live();

}  // namespace cxlpool

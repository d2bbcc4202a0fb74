// Reads the Topology of this machine.
//
// Responsible for: libcxl, libdaxctl, libnuma and sysfs; nothing else in the program includes
// them. Invariants: a partial failure gives a partial result with findings (first errno kept);
// files that vanish in mid-scan are normal; nothing is ever written.
#pragma once

#include "base/result.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// Errors: unavailable only when not even /sys can be read; everything smaller is a finding.
Result<Topology> read_live();

}  // namespace cxlpool

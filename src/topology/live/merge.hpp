// Lays what sysfs says under what the libraries said.
//
// Responsible for: one list of objects from two readers of the same machine. A library's value
// stands where it has one; sysfs fills in the rest, and adds the objects that the library left out
// (it drops a memdev without a node in /dev, and everything below a port it cannot follow).
#pragma once

#include <vector>

#include "topology/live/finding_log.hpp"
#include "topology/topology.hpp"

namespace cxlpool::live {

// The CXL objects of `sysfs` into `topology`, which libcxl filled. Sorted by name.
void merge_cxl(Topology& topology, Topology sysfs, FindingLog& log);

// Values of libdaxctl into the devices that sysfs lists.
void merge_dax(std::vector<DaxDevice>& devices, const std::vector<DaxDevice>& library);

}  // namespace cxlpool::live

// What newer libraries tell about a region and 76.1 does not.
//
// Responsible for: one answer whether or not the library at hand has the call. meson probes for
// them; without them the answer is "not known here", and sysfs has the last word.
#pragma once

#include <optional>
#include <string>

struct cxl_region;

namespace cxlpool::live {

// "ram", "pmem"; absent when the library cannot tell.
std::optional<std::string> region_mode(cxl_region* region);

}  // namespace cxlpool::live

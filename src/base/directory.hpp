// Directories that are made at a start.
#pragma once

#include <string>

#include "base/result.hpp"

namespace cxlpool {

// Whether mkdir() would find the place for `directory`: the one above it is there, or this user may
// not see it. Reads only. Error: the operating system's, after `doing` ("making '/run/x'").
Result<void> check_makeable(const std::string& directory, std::string doing);

}  // namespace cxlpool

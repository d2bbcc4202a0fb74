// The tenancy mode that a state directory was first used with.
//
// Invariants: a directory stamped with one mode is never used, nor changed, under the other.
#pragma once

#include <string>

#include "base/result.hpp"
#include "domain/gate.hpp"

namespace cxlpool {

// Makes the directory (0700) and the stamp when they are missing. Errors: tenancy_mismatch (names
// both modes and the file), malformed (a stamp that says neither), io.
Result<void> stamp_tenancy(const std::string& state_directory, TenancyMode mode);

// Would stamp_tenancy() refuse? Reads only; what this user may not see counts as good. Errors: as
// stamp_tenancy().
Result<void> check_tenancy(const std::string& state_directory, TenancyMode mode);

}  // namespace cxlpool

// The tables of a state file, and how an older file becomes a newer one.
//
// Invariants: a step runs whole or not at all, and the version that the file says is the one it
// has; a file of a newer version is left alone. A step that is released never changes; a change of
// the tables is one more step.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "state/database.hpp"

namespace cxlpool::state {

// The SQL that makes version i+1 out of version i.
std::span<const char* const> migrations() noexcept;

// Error: unsupported_version (newer than the last step), and those of the database.
Result<void> migrate(Database& database, std::span<const char* const> steps);

}  // namespace cxlpool::state

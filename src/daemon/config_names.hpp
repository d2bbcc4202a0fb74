// Users and groups by name, as this host knows them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace cxlpool {

inline constexpr std::uint64_t kMaxUserOrGroupId = 0xfffffffe;  // -1 means "none" to the kernel

// A name, or a decimal number that need not be known. Errors: invalid_argument (nobody of that
// name, a number out of range).
Result<uid_t> resolve_user(const std::string& user);
Result<gid_t> resolve_group(const std::string& group);

// The path without "//", "." and "..", to see whether two are one. Symbolic links are not followed.
std::string normal_path(const std::string& path);

}  // namespace cxlpool

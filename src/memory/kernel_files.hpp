// Small files in which the kernel states facts: sysfs attributes and /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool {

// The whole file, at most 64 KiB. Errors: not_found, not_permitted, io, too_large.
Result<std::string> read_kernel_file(const std::string& path);

// The number in it. Errors: those of read_kernel_file, malformed, overflow; with the path.
Result<std::uint64_t> read_kernel_u64(const std::string& path);

// Whether a list like "0-1,3" names the number. A list that does not parse names nothing.
bool list_contains(std::string_view list, std::uint32_t number) noexcept;

// The rest of the line that begins with "KEY:", without blanks around it.
std::optional<std::string_view> line_value(std::string_view text, std::string_view key) noexcept;

}  // namespace cxlpool

// Codes and verdicts of the public header in words.
#pragma once

#include <cstdint>

namespace cxlpool::client {

// The stable name of an error code, "not_permitted"; "unknown_error" for any other number.
const char* error_name(int code) noexcept;

// The word of a verdict, as everywhere in cxlpool; "unknown" for any other number.
const char* verdict_name(std::uint32_t verdict) noexcept;

}  // namespace cxlpool::client

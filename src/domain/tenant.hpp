// Bounds of what operators give a tenant.
#pragma once

#include <cstdint>

namespace cxlpool {

// A tenant's share is as large as its weight is beside the others'.
inline constexpr std::uint32_t kDefaultWeight = 100;
inline constexpr std::uint32_t kMaxWeight = 1'000'000;  // ratios of two stay exact in 64 bits

}  // namespace cxlpool

// Context axes and enumerations as messages carry them, and as the domain takes them.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/context.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

// Errors: unknown_word (an axis that does not exist), invalid_argument (an axis twice).
Result<ContextFields> wire_context(const std::vector<wire::AxisField>& axes);

// The number of an enumeration whose 0 means none on the wire.
template <typename Word>
constexpr std::uint8_t wire_number(Word word) noexcept {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(word) + 1);
}

}  // namespace cxlpool

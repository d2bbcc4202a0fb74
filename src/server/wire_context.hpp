// Context axes as messages carry them, and as the domain takes them.
#pragma once

#include <vector>

#include "domain/context.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

// Errors: unknown_word (an axis that does not exist), invalid_argument (an axis twice).
Result<ContextFields> wire_context(const std::vector<wire::AxisField>& axes);

}  // namespace cxlpool

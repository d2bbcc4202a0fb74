// Context files: the axes of a context as a person or an engine writes them down.
//
// Responsible for: reading one JSON object of axis and value, all texts (a whole number may stand
// without quotes). Refuses to know: where the file lies. Invariants: a file is taken whole or not
// at all; every refusal names file, line and column. Whether the values are acceptable is for
// validate() to say, which knows nothing of files.
//
//   {"model": "llama-3-70b", "page_tokens": 16, "weights": "version:3", "adapter": "none"}
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/context.hpp"

namespace cxlpool {

// Fifteen axes of at most 256 bytes, with room for how a person lays them out.
inline constexpr std::size_t kContextFileMaxBytes = 64U << 10U;

// Error: unknown_word, which lists the axes.
Result<void> set_axis(ContextFields& fields, std::string_view name, std::string value);

// `name` is the file's name in messages. Errors: malformed (not JSON, no object, an axis twice, a
// value that is no text), unknown_word (an axis that does not exist), too_large.
Result<ContextFields> parse_context_file(std::string_view name, std::string_view text);

}  // namespace cxlpool

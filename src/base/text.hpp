// Which text may be a name, and which may reach a terminal.
//
// Responsible for: the one rule of each. C0 and C1 controls drive a terminal, and marks of
// direction make a line read otherwise than it is.
#pragma once

#include <string>
#include <string_view>

namespace cxlpool {

// A name of a pool or a tenant: a letter, then letters, digits, '.', '_' and '-', at most 64.
bool is_name(std::string_view text) noexcept;

// UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F) and without marks that
// change the direction of writing (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
bool shows_safely(std::string_view text) noexcept;

// The text with '?' in the place of each such character.
std::string printable(std::string_view text);

}  // namespace cxlpool

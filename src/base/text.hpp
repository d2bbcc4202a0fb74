// Foreign text on a terminal.
//
// Responsible for: the one rule of which characters of a file or a peer may reach a terminal.
// C0 and C1 controls drive it, and marks of direction make a line read otherwise than it is.
#pragma once

#include <string>
#include <string_view>

namespace cxlpool {

// UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F) and without marks that
// change the direction of writing (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
bool shows_safely(std::string_view text) noexcept;

// The text with '?' in the place of each such character.
std::string printable(std::string_view text);

}  // namespace cxlpool

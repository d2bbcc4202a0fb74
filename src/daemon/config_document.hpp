// A TOML document as a value tree that remembers where each value stood.
//
// Responsible for: parsing (toml++, included by its .cpp alone) and the bounds of a document.
// Refuses to know: what any key means. Invariants: members are in the order of the file; no
// exception leaves it; a document is read whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cxlpool::config {

struct Position {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
};

struct Member;

struct Node {
    enum class Kind : std::uint8_t { string, integer, real, boolean, time, array, table };

    Kind kind = Kind::table;
    Position position;
    std::string string;
    std::int64_t integer = 0;
    bool boolean = false;
    std::vector<Node> items;      // array
    std::vector<Member> members;  // table

    const Member* find(std::string_view key) const noexcept;
};

struct Member {
    std::string key;
    Position position;  // of the key
    Node value;
};

// "a string", "a table", ...
std::string_view describe(Node::Kind kind) noexcept;

// Errors: malformed, too_large (over 1 MiB); "FILE:LINE:COLUMN: what".
Result<Node> parse_document(std::string_view file, std::string_view text);

// "FILE:LINE" and the error "FILE:LINE:COLUMN: what".
std::string place(std::string_view file, Position position);
Error error_at(Errc code, std::string_view file, Position position, std::string_view what);

inline constexpr std::size_t kMaxDocumentBytes = 1U << 20U;

}  // namespace cxlpool::config

// JSON from foreign files as a value tree that remembers where each value stood.
//
// Responsible for: parsing (nlohmann-json's SAX parser), exact 64-bit numbers, bounds on depth and
// count, refusal of duplicate keys, and line and column in every message. Invariants: no exception
// leaves it; a document is read whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace cxlpool::json {

// Of the first byte of a value. In a syntax error: of the byte at which the text stopped making
// sense, which for an unexpected word is its last.
struct Position {
    std::uint32_t line = 1;    // from 1
    std::uint32_t column = 1;  // from 1, in bytes
};

struct Member;

class Value {
  public:
    enum class Kind : std::uint8_t {
        null,
        boolean,
        unsigned_number,
        negative_number,  // an integer below zero
        real_number,
        string,
        array,
        object,
    };

    Kind kind = Kind::null;
    Position position;
    bool boolean = false;
    std::uint64_t unsigned_number = 0;
    std::int64_t negative_number = 0;
    double real_number = 0;
    std::string string;
    std::vector<Value> items;     // array
    std::vector<Member> members;  // object, in order

    bool is(Kind k) const noexcept { return kind == k; }
    // The member of an object, or null.
    const Value* find(std::string_view key) const noexcept;
};

struct Member {
    std::string key;
    Value value;
};

std::string_view to_word(Value::Kind kind) noexcept;

struct Limits {
    std::size_t max_bytes = 64U << 20U;
    std::size_t max_depth = 64;
    std::size_t max_values = 4U << 20U;
};

// `name` goes in front of messages: "NAME:LINE:COLUMN: what". Whole numbers that do not fit in 64
// bits are refused, never rounded; so are NaN, infinities, invalid UTF-8 and NUL bytes. Errors:
// malformed, too_large, out_of_memory.
Result<Value> parse(std::string_view name, std::string_view text, const Limits& limits = {});

// The error that a reader gives about `value`: "NAME:LINE:COLUMN: what".
Error error_at(Errc code, std::string_view name, const Value& value, std::string_view what);

}  // namespace cxlpool::json

// Bytes, words and numbers as people write them, read exactly or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool {

// "64MiB", "2 GiB", "1000", "512kB": a whole number with an optional unit (B, kB, MB, GB, TB are
// powers of 1000; KiB, MiB, GiB, TiB powers of 1024; bare K, M, G, T are refused as ambiguous).
// Errors: malformed (not a number, sign, fraction, unknown unit; the message lists the units),
// overflow.
Result<std::uint64_t> parse_bytes(std::string_view text);

// Decimal u64 or 0x-prefixed hexadecimal; surrounding white space and trailing NUL bytes are
// dropped (sysfs prints both forms). Errors: malformed, overflow.
Result<std::uint64_t> parse_u64(std::string_view text);

// The same for a signed decimal number. Errors: malformed, overflow.
Result<std::int64_t> parse_i64(std::string_view text);

// "128 GiB", "1.5 MiB", "502 MiB": the largest binary unit, at most two decimals, and exact
// numbers without decimals. For people only; machines get the number.
std::string format_bytes(std::uint64_t bytes);

// Lower-case hexadecimal, two digits a byte.
std::string to_hex(const void* data, std::size_t size);

// Exactly `size` bytes from 2*size hexadecimal digits; false (out untouched) on anything else.
bool from_hex(std::string_view text, void* out, std::size_t size) noexcept;

// a*b and a+b, or nothing when the result does not fit.
inline std::optional<std::uint64_t> checked_mul(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
inline std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t out = 0;
    return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

}  // namespace cxlpool

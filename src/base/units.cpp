#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace cxlpool {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

constexpr std::uint64_t kKibi = 1024;
constexpr std::array kUnits{
    Unit{"B", 1},
    Unit{"kB", 1000},
    Unit{"MB", 1000 * 1000},
    Unit{"GB", 1000ULL * 1000 * 1000},
    Unit{"TB", 1000ULL * 1000 * 1000 * 1000},
    Unit{"KiB", kKibi},
    Unit{"MiB", kKibi* kKibi},
    Unit{"GiB", kKibi* kKibi* kKibi},
    Unit{"TiB", kKibi* kKibi* kKibi* kKibi},
};

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank(" \t\r\n\0", 5);
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string quoted(std::string_view text) {
    std::string out("'");
    for (const char c : text.substr(0, 64)) {
        out.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    return out.append(text.size() > 64 ? "...'" : "'");
}

template <typename Int>
Result<Int> parse_int(std::string_view text, const char* wanted) {
    const std::string_view digits = trim(text);
    int base = 10;
    std::string_view rest = digits;
    if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
        base = 16;
        rest.remove_prefix(2);
        if (rest.front() == '-') {  // from_chars would read "0x-1".
            return Error{Errc::malformed, quoted(digits) + " is not " + wanted};
        }
    }
    Int value{};
    const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
    if (ec == std::errc::result_out_of_range) {
        return Error{Errc::overflow, quoted(digits) + " does not fit in 64 bits"};
    }
    if (ec != std::errc{} || end != rest.data() + rest.size()) {
        return Error{Errc::malformed, quoted(digits) + " is not " + wanted};
    }
    return value;
}

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

}  // namespace

Result<std::uint64_t> parse_u64(std::string_view text) {
    return parse_int<std::uint64_t>(text, "a whole number (decimal or 0x hexadecimal)");
}

Result<std::int64_t> parse_i64(std::string_view text) {
    return parse_int<std::int64_t>(text, "a whole number");
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    const std::string_view all = trim(text);
    const std::size_t digits = std::min(all.find_first_not_of("0123456789"), all.size());
    const std::string_view unit = trim(all.substr(digits));
    std::uint64_t factor = 0;
    for (const Unit& candidate : kUnits) {
        if (unit == candidate.name) {
            factor = candidate.factor;
        }
    }
    if (unit.empty()) {
        factor = 1;
    }
    if (digits == 0 || factor == 0) {
        return Error{Errc::malformed,
                     quoted(all) +
                         " is not a size: write a whole number of bytes or with one of the units "
                         "B kB MB GB TB KiB MiB GiB TiB, as in 64MiB"};
    }
    const Result<std::uint64_t> number = parse_u64(all.substr(0, digits));
    if (!number) {
        return number;
    }
    const std::optional<std::uint64_t> bytes = checked_mul(*number, factor);
    if (!bytes) {
        return Error{Errc::overflow, quoted(all) + " does not fit in 64 bits"};
    }
    return *bytes;
}

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 7> kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    std::uint64_t scale = 1;
    while (unit + 1 < kNames.size() && bytes / scale >= kKibi) {
        scale *= kKibi;
        ++unit;
    }
    char text[40];
    if (bytes % scale == 0) {
        std::snprintf(text, sizeof text, "%llu %s", static_cast<unsigned long long>(bytes / scale),
                      kNames[unit]);
    } else {
        const double value = static_cast<double>(bytes) / static_cast<double>(scale);
        std::snprintf(text, sizeof text, "%.2f %s", value, kNames[unit]);
    }
    return text;
}

std::string to_hex(const void* data, std::size_t size) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto* bytes = static_cast<const unsigned char*>(data);
    std::string out;
    out.reserve(size * 2);
    for (std::size_t i = 0; i < size; ++i) {
        out.push_back(kDigits[bytes[i] >> 4]);
        out.push_back(kDigits[bytes[i] & 15U]);
    }
    return out;
}

bool from_hex(std::string_view text, void* out, std::size_t size) noexcept {
    if (text.size() != size * 2) {
        return false;
    }
    for (const char c : text) {
        if (hex_digit(c) < 0) {
            return false;
        }
    }
    auto* bytes = static_cast<unsigned char*>(out);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] =
            static_cast<unsigned char>(hex_digit(text[2 * i]) * 16 + hex_digit(text[2 * i + 1]));
    }
    return true;
}

}  // namespace cxlpool

#include "topology/captured/fields.hpp"

#include <algorithm>
#include <limits>

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool::captured {
namespace {

using json::Value;

// The kernel's own limit for most of these is 64 to 256 bytes; the rest is a path.
constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestName = 128;

bool is_control(unsigned char c) {
    return c < 0x20 || c == 0x7f;
}

// A control character, or one of the C1 set (U+0080 to U+009F), which terminals act on too.
bool has_control(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const bool c1 =
            c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if (is_control(c) || c1) {
            return true;
        }
    }
    return false;
}

bool is_hex_word(std::string_view text) {
    return text == "0" || text.substr(0, 2) == "0x";
}

}  // namespace

void Fields::fail(const Value& at, std::string_view key, std::string_view what) {
    source_.fail(Errc::malformed, at, "\"" + std::string(key) + "\" " + std::string(what));
}

std::string Fields::text_of(const Value& value, std::string_view key) {
    if (!value.is(Value::Kind::string)) {
        fail(value, key, "must be a string, not " + std::string(to_word(value.kind)));
        return {};
    }
    if (value.string.size() > kLongestText || has_control(value.string)) {
        fail(value, key, "is too long or has control characters in it");
        return {};
    }
    return value.string;
}

std::string Fields::text(std::string_view key) {
    const Value* const value = find(key);
    return value == nullptr ? std::string{} : text_of(*value, key);
}

std::string Fields::name(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) {
        fail(object_, key, "is missing");
        return {};
    }
    std::string text = text_of(*value, key);
    const auto fits = [](char c) { return c > ' ' && c <= '~' && c != '/'; };
    if (source_.ok() && (text.empty() || text.size() > kLongestName ||
                         !std::all_of(text.begin(), text.end(), fits))) {
        fail(*value, key, words::quoted(text) + " is no device name");
    }
    return text;
}

std::optional<bool> Fields::flag(std::string_view key) {
    const Value* const value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is(Value::Kind::boolean)) {
        fail(*value, key, "must be true or false, not " + std::string(to_word(value->kind)));
        return std::nullopt;
    }
    return value->boolean;
}

std::optional<std::uint64_t> Fields::u64_of(const Value& value, std::string_view key) {
    if (value.is(Value::Kind::unsigned_number)) {
        return value.unsigned_number;
    }
    if (value.is(Value::Kind::string)) {
        const std::string shown = words::quoted(value.string);
        if (value.string.find("iB") != std::string::npos) {
            fail(value, key, shown + " is rounded: take the capture without -u (--human)");
            return std::nullopt;
        }
        if (is_hex_word(value.string)) {
            if (const auto number = parse_u64(value.string)) {
                return *number;
            }
        }
        fail(value, key, shown + " is no number");
        return std::nullopt;
    }
    if (value.is(Value::Kind::negative_number)) {
        fail(value, key, std::to_string(value.negative_number) + " must not be negative");
    } else {
        fail(value, key, "must be a whole number, not " + std::string(to_word(value.kind)));
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Fields::u64(std::string_view key) {
    const Value* const value = find(key);
    return value == nullptr ? std::nullopt : u64_of(*value, key);
}

std::optional<std::uint32_t> Fields::u32(std::string_view key) {
    const std::optional<std::uint64_t> number = u64(key);
    if (!number) {
        return std::nullopt;
    }
    if (*number > std::numeric_limits<std::uint32_t>::max()) {
        fail(*find(key), key, std::to_string(*number) + " does not fit in 32 bits");
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint32_t> Fields::u32_if_set(std::string_view key) {
    const std::optional<std::uint32_t> number = u32(key);
    return number == 0U ? std::nullopt : number;
}

std::optional<std::uint32_t> Fields::node(std::string_view key) {
    const Value* const value = find(key);
    if (value != nullptr && value->is(Value::Kind::negative_number) &&
        value->negative_number == -1) {
        return std::nullopt;
    }
    return u32(key);
}

std::optional<std::uint64_t> Fields::u64_or_negative(std::string_view key,
                                                     std::optional<std::int64_t>& negative) {
    const Value* const value = find(key);
    if (value != nullptr && value->is(Value::Kind::negative_number)) {
        negative = value->negative_number;
        return std::nullopt;
    }
    return u64(key);
}

}  // namespace cxlpool::captured

#include "base/text.hpp"

#include <algorithm>

namespace cxlpool {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

bool between(unsigned byte, unsigned first, unsigned last) noexcept {
    return byte >= first && byte <= last;
}

// Bytes of the character at `at` when a terminal would act on it; 0 when it only shows it.
std::size_t unsafe_bytes(std::string_view text, std::size_t at) noexcept {
    const unsigned first = byte_at(text, at);
    const unsigned second = byte_at(text, at + 1);
    const unsigned third = byte_at(text, at + 2);
    if (first < 0x20 || first == 0x7F) {
        return 1;
    }
    if (first == 0xC2 && between(second, 0x80, 0x9F)) {
        return 2;
    }
    const bool direction =
        (second == 0x80 && (between(third, 0x8E, 0x8F) || between(third, 0xAA, 0xAE))) ||
        (second == 0x81 && between(third, 0xA6, 0xA9));
    return first == 0xE2 && direction ? 3 : 0;
}

}  // namespace

bool is_name(std::string_view text) noexcept {
    constexpr std::size_t kMaxName = 64;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto other = [&](char c) {
        return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    };
    return !text.empty() && text.size() <= kMaxName && letter(text.front()) &&
           std::all_of(text.begin(), text.end(), other);
}

bool shows_safely(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (unsafe_bytes(text, at) != 0) {
            return false;
        }
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t unsafe = unsafe_bytes(text, at);
        out.push_back(unsafe == 0 ? text[at] : '?');
        at += unsafe == 0 ? 1 : unsafe;
    }
    return out;
}

}  // namespace cxlpool

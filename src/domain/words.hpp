// One table a closed vocabulary, read in both directions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool::words {

template <typename Enum>
struct Word {
    Enum value;
    std::string_view text;
};

// The word of a value; "unknown" for a number that is no enumerator.
template <typename Enum, std::size_t N>
constexpr std::string_view text_of(const std::array<Word<Enum>, N>& table, Enum value) noexcept {
    for (const Word<Enum>& row : table) {
        if (row.value == value) {
            return row.text;
        }
    }
    return "unknown";
}

template <typename Enum, std::size_t N>
constexpr std::optional<Enum> find(const std::array<Word<Enum>, N>& table,
                                   std::string_view text) noexcept {
    for (const Word<Enum>& row : table) {
        if (row.text == text) {
            return row.value;
        }
    }
    return std::nullopt;
}

// A foreign word as it may stand in a message: cut short, and nothing that a terminal acts on.
inline std::string quoted(std::string_view text) {
    constexpr std::size_t kShown = 64;
    std::string out("'");
    for (const char c : text.substr(0, kShown)) {
        out.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    return out.append(text.size() > kShown ? "...'" : "'");
}

// What to say of a word that is none of those that `known` has a to_word for.
template <typename Known>
Error unknown(std::string_view what, std::string_view text, const Known& known) {
    std::string message = "unknown " + std::string(what) + " " + quoted(text) + ": known are";
    for (const auto& value : known) {
        message.append(" ").append(to_word(value));
    }
    return Error{Errc::unknown_word, std::move(message)};
}

// The word of a row, for `unknown`.
template <typename Enum>
constexpr std::string_view to_word(const Word<Enum>& row) noexcept {
    return row.text;
}

// The same as find, with an error that lists the words. `what` is the kind of word ("tier").
template <typename Enum, std::size_t N>
Result<Enum> parse(const std::array<Word<Enum>, N>& table, std::string_view what,
                   std::string_view text) {
    if (const std::optional<Enum> value = find(table, text)) {
        return *value;
    }
    return unknown(what, text, table);
}

}  // namespace cxlpool::words

// Typed reading of a configuration table: keys that exist, values in range, else the line.
//
// Responsible for: the form of a configuration file. Refuses to know: what the keys are for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config_document.hpp"

namespace cxlpool::config {

// A known key and what to do with its value.
struct Key {
    std::string_view name;
    std::function<Result<void>(const Node&)> read;
};

class Reader {
  public:
    explicit Reader(std::string_view file) : file_(file) {}

    Error error(Errc code, Position position, std::string_view what) const {
        return error_at(code, file_, position, what);
    }
    Error invalid(const Node& value, std::string_view what) const {
        return error(Errc::invalid_argument, value.position, what);
    }
    // An error of a parser of words, numbers or sizes, with the place in front.
    Error at(const Node& value, const Error& error) const {
        return error_at(error.code(), file_, value.position, error.message());
    }
    std::string where(Position position) const { return place(file_, position); }

    // `what` names the table in messages: "[limits]". Errors: unknown_word with the nearest known
    // key.
    Result<void> check_keys(const Node& table, std::string_view what,
                            const std::vector<Key>& keys) const;
    // check_keys, then every value in the order of the file.
    Result<void> read_table(const Node& table, std::string_view what,
                            const std::vector<Key>& keys) const;

    // Errors of all of these: invalid_argument, and what they name.
    Result<void> expect(const Node& value, Node::Kind kind, std::string_view remedy) const;
    Result<std::string> text(const Node& value) const;
    Result<std::string> absolute_path(const Node& value) const;
    // A letter, then letters, digits, '.', '_', '-'; at most 64.
    Result<std::string> name(const Node& value) const;
    Result<bool> flag(const Node& value) const;
    // A whole number within the bounds.
    Result<std::uint64_t> number(const Node& value, std::uint64_t min, std::uint64_t max) const;
    // A 64-bit number other than 0, which TOML cannot write whole: also "0x..." and "decimal".
    Result<std::uint64_t> wide_number(const Node& value) const;
    // A number of bytes other than 0: an integer, or "4GiB".
    Result<std::uint64_t> bytes(const Node& value) const;
    // "0660": octal digits in a string, so that nobody writes decimal 660.
    Result<std::uint32_t> file_mode(const Node& value) const;

  private:
    std::string_view file_;
};

// The word of `known` that `word` most likely means; empty when none is near.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& known);

// " (did you mean 'x'?)" or ": known are a, b, c".
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known);

// A foreign word for a message: printable and short.
std::string quoted(std::string_view word);

}  // namespace cxlpool::config

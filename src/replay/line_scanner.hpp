// One line of JSON, read from left to right.
//
// Responsible for: the words, numbers and strings of one line, and the place of what is wrong in
// it. No tree is built: a trace has millions of lines. Refuses to know: what a key means.
// Invariants: the first thing that is wrong is the one that is told, everything after it reads as 0
// or empty; nothing reads past the end of the line; depth is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool::replay {

class LineScanner {
  public:
    // `name` is the file's. Both texts outlive the scanner.
    LineScanner(std::string_view name, std::uint64_t line, std::string_view text) noexcept
        : name_(name), line_(line), text_(text) {}

    bool ok() const noexcept { return !error_; }
    // The one that is told. There must be one.
    const Error& error() const { return *error_; }

    // Of the next byte that is no white space: where a value that comes next begins.
    std::size_t position() noexcept {
        skip_space();
        return at_;
    }
    // The next byte that is no white space; 0 at the end of the line.
    char peek() noexcept {
        skip_space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool accept(char wanted) noexcept {
        if (peek() != wanted || !ok()) {
            return false;
        }
        ++at_;
        return true;
    }
    void expect(char wanted);
    void expect_end();

    // A string without escapes: of the keys and names that are read here none needs one.
    std::string_view plain_string(std::string_view what);
    // A whole number from 0 to `max`, without sign, leading zeros, fraction or exponent.
    std::uint64_t whole(std::string_view what, std::uint64_t max);
    // A number of milliseconds from 0 to `max_ns`, with at most six decimals, in nanoseconds.
    std::uint64_t milliseconds(std::string_view what, std::uint64_t max_ns);
    // Any value; nothing of it is kept. `depth`: how many are open around it.
    void skip_value(std::size_t depth = 0);

    // "NAME:LINE:COLUMN: what". Only the first one is kept.
    void fail(Errc code, std::size_t at, std::string_view what);

  private:
    void skip_space() noexcept {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
            ++at_;
        }
    }
    bool digit_at(std::size_t at) const noexcept {
        return at < text_.size() && text_[at] >= '0' && text_[at] <= '9';
    }
    // Digits from here on; nothing when they do not fit in 64 bits.
    std::optional<std::uint64_t> digits() noexcept;
    // At a digit, with no zero in front of others; says what stands there instead.
    bool starts_number(std::string_view what);
    // What stands at the next byte, for a message.
    std::string found() const;
    void skip_string();
    void skip_scalar();

    std::string_view name_;
    std::uint64_t line_;
    std::string_view text_;
    std::size_t at_ = 0;
    std::optional<Error> error_;
};

}  // namespace cxlpool::replay

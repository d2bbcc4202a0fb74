#include "replay/line_scanner.hpp"

#include <algorithm>

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool::replay {
namespace {

// Of a value that is not kept: deeper than any published trace, and little stack.
constexpr std::size_t kMaxDepth = 32;

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::size_t kMsDecimals = 6;  // to the nanosecond

bool ends_scalar(char c) {
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r';
}

bool ends_word(char c) {
    return ends_scalar(c) || c == '{' || c == '[' || c == ':';
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20;
}

}  // namespace

void LineScanner::fail(Errc code, std::size_t at, std::string_view what) {
    if (!error_) {
        error_.emplace(code, std::string(name_) + ':' + std::to_string(line_) + ':' +
                                 std::to_string(at + 1) + ": " + std::string(what));
    }
    at_ = text_.size();  // so that every loop over what follows ends
}

std::string LineScanner::found() const {
    if (at_ >= text_.size()) {
        return "the end of the line";
    }
    const std::string_view rest = text_.substr(at_);
    const auto end = std::find_if(rest.begin(), rest.end(), ends_word);
    return words::quoted(
        rest.substr(0, std::max<std::size_t>(1, static_cast<std::size_t>(end - rest.begin()))));
}

void LineScanner::expect(char wanted) {
    if (!accept(wanted)) {
        fail(Errc::malformed, at_, found() + " where '" + wanted + "' is wanted");
    }
}

void LineScanner::expect_end() {
    if (peek() != '\0' || at_ < text_.size()) {
        fail(Errc::malformed, at_, found() + " behind the object: one object a line is wanted");
    }
}

std::string_view LineScanner::plain_string(std::string_view what) {
    const std::size_t start = position();
    if (!accept('"')) {
        fail(Errc::malformed, at_, std::string(what) + " is " + found() + ": a string is wanted");
        return {};
    }
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\' || is_control(text_[at_])) {
            fail(Errc::malformed, at_,
                 std::string(what) + ": escapes and control characters are not read here");
            return {};
        }
        ++at_;
    }
    if (at_ >= text_.size()) {
        fail(Errc::malformed, start, std::string(what) + ": the string has no end in this line");
        return {};
    }
    return text_.substr(first, at_++ - first);
}

std::optional<std::uint64_t> LineScanner::digits() noexcept {
    std::uint64_t value = 0;
    bool fits = true;
    for (; digit_at(at_); ++at_) {
        const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
        fits = fits && !__builtin_mul_overflow(value, std::uint64_t{10}, &value) &&
               !__builtin_add_overflow(value, digit, &value);
    }
    return fits ? std::optional(value) : std::nullopt;
}

bool LineScanner::starts_number(std::string_view what) {
    skip_space();
    if (!digit_at(at_) || (text_[at_] == '0' && digit_at(at_ + 1))) {
        fail(Errc::malformed, at_,
             std::string(what) + " is " + found() + ": a whole number from 0 is wanted");
        return false;
    }
    return true;
}

std::uint64_t LineScanner::whole(std::string_view what, std::uint64_t max) {
    if (!starts_number(what)) {
        return 0;
    }
    const std::size_t start = at_;
    const std::optional<std::uint64_t> value = digits();
    if (at_ < text_.size() && !ends_scalar(text_[at_])) {
        at_ = start;
        fail(Errc::malformed, start,
             std::string(what) + " is " + found() + ": a whole number from 0 is wanted");
        return 0;
    }
    if (!value || *value > max) {
        fail(Errc::overflow, start,
             std::string(what) + " is " + words::quoted(text_.substr(start, at_ - start)) +
                 ": at most " + std::to_string(max) + " is read");
        return 0;
    }
    return *value;
}

std::uint64_t LineScanner::milliseconds(std::string_view what, std::uint64_t max_ns) {
    if (!starts_number(what)) {
        return 0;
    }
    const std::size_t start = at_;
    const std::optional<std::uint64_t> ms = digits();
    std::uint64_t decimals_ns = 0;
    bool good = true;
    if (at_ < text_.size() && text_[at_] == '.') {
        const std::size_t first = ++at_;
        decimals_ns = digits().value_or(0);
        const std::size_t count = at_ - first;
        good = count >= 1 && count <= kMsDecimals;
        for (std::size_t i = count; good && i < kMsDecimals; ++i) {
            decimals_ns *= 10;
        }
    }
    if (!good || (at_ < text_.size() && !ends_scalar(text_[at_]))) {
        at_ = start;
        fail(Errc::malformed, start,
             std::string(what) + " is " + found() +
                 ": milliseconds from 0, with at most six decimals, are wanted");
        return 0;
    }
    const std::optional<std::uint64_t> whole_ns = ms ? checked_mul(*ms, kNsPerMs) : std::nullopt;
    if (!whole_ns || *whole_ns > max_ns || decimals_ns > max_ns - *whole_ns) {
        fail(Errc::overflow, start,
             std::string(what) + " is " + words::quoted(text_.substr(start, at_ - start)) +
                 ": at most " + std::to_string(max_ns / kNsPerMs) + " ms are read");
        return 0;
    }
    return *whole_ns + decimals_ns;
}

void LineScanner::skip_string() {
    const std::size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
        if (is_control(text_[at_])) {
            fail(Errc::malformed, at_, "a control character in a string");
            return;
        }
        at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size()) {
        fail(Errc::malformed, start, "the string has no end in this line");
        return;
    }
    ++at_;
}

void LineScanner::skip_scalar() {
    const std::size_t start = at_;
    while (at_ < text_.size() && !ends_scalar(text_[at_])) {
        ++at_;
    }
    const std::string_view word = text_.substr(start, at_ - start);
    const bool literal = word == "true" || word == "false" || word == "null";
    const bool number =
        !word.empty() && word.find_first_not_of("0123456789+-.eE") == word.npos &&
        (digit_at(start) || (word.front() == '-' && word.size() > 1 && digit_at(start + 1)));
    if (!literal && !number) {
        at_ = start;
        fail(Errc::malformed, start, found() + " where a value is wanted");
    }
}

void LineScanner::skip_value(std::size_t depth) {
    const char open = peek();
    if (open == '"') {
        skip_string();
        return;
    }
    if (open != '{' && open != '[') {
        skip_scalar();
        return;
    }
    if (depth == kMaxDepth) {
        fail(Errc::too_large, at_, "nested deeper than " + std::to_string(kMaxDepth) + " levels");
        return;
    }
    ++at_;
    const char close = open == '{' ? '}' : ']';
    if (accept(close)) {
        return;
    }
    do {
        if (open == '{') {
            if (peek() != '"') {
                expect('"');
                return;
            }
            skip_string();
            expect(':');
        }
        skip_value(depth + 1);
    } while (accept(','));
    expect(close);
}

}  // namespace cxlpool::replay

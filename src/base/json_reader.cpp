#include "base/json_reader.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

namespace cxlpool::json {
namespace {

// Foreign text inside our messages: printable, and no longer than a line.
std::string printable(std::string_view text) {
    constexpr std::size_t kLongest = 160;
    std::string out;
    for (const char c : text.substr(0, kLongest)) {
        out.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    return text.size() > kLongest ? out.append("...") : out;
}

Error error_at(Errc code, std::string_view name, Position at, std::string_view what) {
    return Error{code, std::string(name) + ":" + std::to_string(at.line) + ":" +
                           std::to_string(at.column) + ": " + std::string(what)};
}

Position position_of(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const std::size_t newline = before.rfind('\n');
    const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
    return Position{
        static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
        static_cast<std::uint32_t>(1 + before.size() - line_start),
    };
}

// Follows the parser through the text. The parser reports tokens without saying where they stand;
// as it has accepted everything so far, the next token begins after white space and separators.
class Cursor {
  public:
    explicit Cursor(std::string_view text) : text_(text) {
        if (text_.substr(0, 3) == "\xEF\xBB\xBF") {
            offset_ = 3;  // the parser skips a byte order mark
        }
    }

    Position to_next_token() {
        while (offset_ < text_.size() && is_filler(text_[offset_])) {
            if (text_[offset_] == '\n') {
                ++line_;
                line_start_ = offset_ + 1;
            }
            ++offset_;
        }
        return Position{line_, static_cast<std::uint32_t>(offset_ - line_start_ + 1)};
    }
    void pass(std::size_t bytes) { offset_ += bytes; }
    void pass_string() {  // no line ends inside: the parser refuses control characters
        ++offset_;
        while (offset_ < text_.size() && text_[offset_] != '"') {
            offset_ += text_[offset_] == '\\' ? 2U : 1U;
        }
        ++offset_;
    }
    void pass_number() {
        offset_ = std::min(text_.find_first_not_of("0123456789+-.eE", offset_), text_.size());
    }

  private:
    static bool is_filler(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ':';
    }

    std::string_view text_;
    std::size_t offset_ = 0;
    std::uint32_t line_ = 1;
    std::size_t line_start_ = 0;
};

// Builds the tree. Each handler returns false to stop; `error()` then says why.
class Builder {
  public:
    Builder(std::string_view name, std::string_view text, const Limits& limits)
        : name_(name), text_(text), limits_(limits), cursor_(text) {}

    bool null() { return scalar(Value::Kind::null, 4) != nullptr; }
    bool boolean(bool flag) {
        Value* const value = scalar(Value::Kind::boolean, flag ? 4 : 5);
        if (value == nullptr) {
            return false;
        }
        value->boolean = flag;
        return true;
    }
    bool number_unsigned(std::uint64_t number) {
        Value* const value = this->number(Value::Kind::unsigned_number);
        if (value == nullptr) {
            return false;
        }
        value->unsigned_number = number;
        return true;
    }
    bool number_integer(std::int64_t number) {
        if (number >= 0) {  // "-0"
            return number_unsigned(static_cast<std::uint64_t>(number));
        }
        Value* const value = this->number(Value::Kind::negative_number);
        if (value == nullptr) {
            return false;
        }
        value->negative_number = number;
        return true;
    }
    bool number_float(double number, const std::string& digits) {
        Value* const value = this->number(Value::Kind::real_number);
        if (value == nullptr) {
            return false;
        }
        // The parser turns an integer that does not fit into a rounded double.
        if (digits.find_first_of(".eE") == std::string::npos) {
            return fail(Errc::malformed, value->position,
                        "the number " + printable(digits) + " does not fit in 64 bits");
        }
        value->real_number = number;
        return true;
    }
    bool string(std::string& text) {
        Value* const value = add(Value::Kind::string);
        if (value == nullptr) {
            return false;
        }
        cursor_.pass_string();
        value->string = std::move(text);
        return true;
    }
    bool binary(nlohmann::json::binary_t&) { return false; }  // not in JSON text
    bool start_object(std::size_t) { return start(Value::Kind::object); }
    bool start_array(std::size_t) { return start(Value::Kind::array); }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool key(std::string& text) {
        const Position at = cursor_.to_next_token();
        cursor_.pass_string();
        if (!open_.back().keys.insert(text).second) {
            return fail(Errc::malformed, at, "the key \"" + printable(text) + "\" stands twice");
        }
        key_ = std::move(text);
        return true;
    }
    bool parse_error(std::size_t bytes_read, const std::string&,
                     const nlohmann::json::exception& why) {
        std::string_view what = why.what();
        for (const std::string_view start : {"syntax error", "number overflow"}) {
            if (const std::size_t at = what.find(start); at != std::string_view::npos) {
                what.remove_prefix(at);
                break;
            }
        }
        return fail(Errc::malformed, position_of(text_, bytes_read == 0 ? 0 : bytes_read - 1),
                    printable(what));
    }

    Result<Value> finish(bool complete) {
        if (error_) {
            return *std::move(error_);
        }
        CXLPOOL_CHECK(complete && open_.empty());
        return std::move(root_);
    }

  private:
    struct Open {
        Value* value;
        std::unordered_set<std::string> keys;
    };

    bool fail(Errc code, Position at, std::string_view what) {
        if (!error_) {
            error_ = error_at(code, name_, at, what);
        }
        return false;
    }

    // The place of the next value in the tree. A container does not grow while a value inside it
    // is open, so the pointers in `open_` stay good.
    Value* add(Value::Kind kind) {
        const Position at = cursor_.to_next_token();
        if (++count_ > limits_.max_values) {
            fail(Errc::too_large, at,
                 "more than " + std::to_string(limits_.max_values) + " values");
            return nullptr;
        }
        Value* value = &root_;
        if (!open_.empty()) {
            Value& parent = *open_.back().value;
            if (parent.is(Value::Kind::array)) {
                value = &parent.items.emplace_back();
            } else {
                value = &parent.members.emplace_back(Member{std::move(key_), Value{}}).value;
            }
        }
        value->kind = kind;
        value->position = at;
        return value;
    }
    Value* scalar(Value::Kind kind, std::size_t bytes) {
        Value* const value = add(kind);
        cursor_.pass(bytes);
        return value;
    }
    Value* number(Value::Kind kind) {
        Value* const value = add(kind);
        cursor_.pass_number();
        return value;
    }
    bool start(Value::Kind kind) {
        Value* const value = add(kind);
        if (value == nullptr) {
            return false;
        }
        cursor_.pass(1);
        if (open_.size() == limits_.max_depth) {
            return fail(Errc::too_large, value->position,
                        "nested deeper than " + std::to_string(limits_.max_depth) + " levels");
        }
        open_.push_back(Open{value, {}});
        return true;
    }
    bool end() {
        cursor_.to_next_token();
        cursor_.pass(1);
        open_.pop_back();
        return true;
    }

    std::string_view name_;
    std::string_view text_;
    const Limits& limits_;
    Cursor cursor_;
    Value root_;
    std::vector<Open> open_;
    std::string key_;
    std::size_t count_ = 0;
    std::optional<Error> error_;
};

}  // namespace

const Value* Value::find(std::string_view key) const noexcept {
    for (const Member& member : members) {
        if (member.key == key) {
            return &member.value;
        }
    }
    return nullptr;
}

std::string_view to_word(Value::Kind kind) noexcept {
    switch (kind) {
        case Value::Kind::null:
            return "null";
        case Value::Kind::boolean:
            return "a boolean";
        case Value::Kind::unsigned_number:
            return "a whole number";
        case Value::Kind::negative_number:
            return "a negative number";
        case Value::Kind::real_number:
            return "a fraction";
        case Value::Kind::string:
            return "a string";
        case Value::Kind::array:
            return "an array";
        case Value::Kind::object:
            return "an object";
    }
    return "unknown";
}

Result<Value> parse(std::string_view name, std::string_view text, const Limits& limits) {
    if (text.size() > limits.max_bytes) {
        return Error{Errc::too_large, std::string(name) + ": " + std::to_string(text.size()) +
                                          " bytes are more than the limit of " +
                                          std::to_string(limits.max_bytes)};
    }
    // The parser takes a NUL byte for the end of the text and would not look at what follows.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        return error_at(Errc::malformed, name, position_of(text, nul), "a NUL byte in the text");
    }
    try {
        Builder builder(name, text, limits);
        const bool complete = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
        return builder.finish(complete);
    } catch (const std::bad_alloc&) {
        return Error{Errc::out_of_memory, std::string(name) + ": no memory to parse it"};
    } catch (const std::exception& why) {
        return Error{Errc::malformed, std::string(name) + ": " + printable(why.what())};
    }
}

Error error_at(Errc code, std::string_view name, const Value& value, std::string_view what) {
    return error_at(code, name, value.position, what);
}

}  // namespace cxlpool::json

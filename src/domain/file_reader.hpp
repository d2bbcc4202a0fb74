// What every reader of a foreign JSON file says about a value that it refuses. Internal to domain.
//
// Invariant: each message names file, line and column, the key, what stands there and what is
// wanted.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "domain/words.hpp"

namespace cxlpool {

class FileReader {
  public:
    // `name` is the file's, and outlives the reader.
    explicit FileReader(std::string_view name) : name_(name) {}

  protected:
    using Value = json::Value;

    std::string_view name() const noexcept { return name_; }

    Error fail(Errc code, const Value& at, std::string_view what) const {
        return json::error_at(code, name_, at, what);
    }
    Error wrong_type(std::string_view key, const Value& at, std::string_view wanted) const {
        return fail(Errc::malformed, at,
                    std::string(key) + " is " + std::string(json::to_word(at.kind)) + ": " +
                        std::string(wanted) + " is wanted");
    }
    Error unknown_key(std::string_view key, const Value& at, std::string_view known) const {
        return fail(Errc::unknown_word, at,
                    "unknown key " + words::quoted(key) + ": known are " + std::string(known));
    }

    Result<void> require_object(std::string_view key, const Value& value) const {
        if (!value.is(Value::Kind::object)) {
            return wrong_type(key, value, "an object");
        }
        return {};
    }
    // The member of an object that must be there.
    Result<const Value*> require(const Value& object, std::string_view key) const {
        if (const Value* const value = object.find(key)) {
            return value;
        }
        return fail(Errc::malformed, object, "no \"" + std::string(key) + "\" in this object");
    }
    Result<void> require_schema(const Value& root, std::string_view wanted) const {
        CXLPOOL_TRY(require_object("the file", root));
        const Value* const schema = root.find("schema");
        if (schema == nullptr) {
            return fail(Errc::malformed, root,
                        "no \"schema\": this reader knows " + std::string(wanted));
        }
        if (!schema->is(Value::Kind::string)) {
            return wrong_type("schema", *schema, "a string");
        }
        if (schema->string != wanted) {
            return fail(Errc::unsupported_version, *schema,
                        "schema is " + words::quoted(schema->string) + ": this reader knows " +
                            std::string(wanted));
        }
        return {};
    }

    Result<std::uint64_t> read_whole(
        std::string_view key, const Value& value, std::uint64_t min,
        std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const {
        if (value.is(Value::Kind::unsigned_number) && value.unsigned_number >= min &&
            value.unsigned_number <= max) {
            return value.unsigned_number;
        }
        const std::string wanted =
            "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
        if (value.is(Value::Kind::unsigned_number) || value.is(Value::Kind::negative_number)) {
            const std::string number = value.is(Value::Kind::unsigned_number)
                                           ? std::to_string(value.unsigned_number)
                                           : std::to_string(value.negative_number);
            return fail(Errc::invalid_argument, value,
                        std::string(key) + " is " + number + ": " + wanted + " is wanted");
        }
        if (value.is(Value::Kind::real_number)) {
            return fail(Errc::invalid_argument, value,
                        std::string(key) + " is written as a fraction or with an exponent: " +
                            wanted + " is wanted");
        }
        return wrong_type(key, value, wanted);
    }
    Result<bool> read_truth(std::string_view key, const Value& value) const {
        if (!value.is(Value::Kind::boolean)) {
            return wrong_type(key, value, "true or false");
        }
        return value.boolean;
    }
    template <typename Word>
    Result<Word> read_word(std::string_view key, const Value& value,
                           Result<Word> (*parse)(std::string_view)) const {
        if (!value.is(Value::Kind::string)) {
            return wrong_type(key, value, "a word");
        }
        Result<Word> word = parse(value.string);
        if (!word) {
            return fail(word.error().code(), value, word.error().message());
        }
        return word;
    }

  private:
    std::string_view name_;
};

}  // namespace cxlpool

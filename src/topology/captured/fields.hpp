// Typed access to the members of a foreign JSON object. Internal to captured.
//
// The first error sticks and names the place; later reads return defaults, so a reader takes all
// its fields and asks once. Numbers are exact or refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.hpp"
#include "base/result.hpp"

namespace cxlpool::captured {

// One text that is being read.
struct Source {
    std::string_view file;
    std::optional<Error> error;

    bool ok() const noexcept { return !error.has_value(); }
    void fail(Errc code, const json::Value& at, std::string_view what) {
        if (!error) {
            error = json::error_at(code, file, at, what);
        }
    }
};

class Fields {
  public:
    Fields(Source& source, const json::Value& object) : source_(source), object_(object) {}

    const json::Value& object() const noexcept { return object_; }
    const json::Value* find(std::string_view key) const noexcept { return object_.find(key); }

    // The name of a device; must be there. Printable, without blanks and slashes.
    std::string name(std::string_view key);
    // Empty when absent. Without control characters.
    std::string text(std::string_view key);
    std::optional<bool> flag(std::string_view key);
    // A whole number, or the hexadecimal string ("0x1f", "0") that the tools print with -u.
    std::optional<std::uint64_t> u64(std::string_view key);
    std::optional<std::uint32_t> u32(std::string_view key);
    // The same, where 0 means "not set".
    std::optional<std::uint32_t> u32_if_set(std::string_view key);
    // A NUMA node: -1 is unknown.
    std::optional<std::uint32_t> node(std::string_view key);
    // The same for counts and sizes that a tool prints below zero when it does not know them.
    // `negative` gets the number.
    std::optional<std::uint64_t> u64_or_negative(std::string_view key,
                                                 std::optional<std::int64_t>& negative);

    // Refusals for values that were read elsewhere.
    std::optional<std::uint64_t> u64_of(const json::Value& value, std::string_view key);
    std::string text_of(const json::Value& value, std::string_view key);
    void fail(const json::Value& at, std::string_view key, std::string_view what);

  private:
    Source& source_;
    const json::Value& object_;
};

}  // namespace cxlpool::captured

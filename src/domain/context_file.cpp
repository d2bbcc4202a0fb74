#include "domain/context_file.hpp"

#include <array>
#include <utility>

#include "base/json_reader.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

constexpr std::array<Axis, kAxisCount> kAxes = [] {
    std::array<Axis, kAxisCount> out{};
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        out[i] = static_cast<Axis>(i);
    }
    return out;
}();

}  // namespace

Result<void> set_axis(ContextFields& fields, std::string_view name, std::string value) {
    if (const std::optional<Axis> axis = parse_axis(name)) {
        fields[*axis] = std::move(value);
        return {};
    }
    return words::unknown("axis", name, kAxes);
}

Result<ContextFields> parse_context_file(std::string_view name, std::string_view text) {
    constexpr json::Limits kLimits{kContextFileMaxBytes, 4, 64};
    const Result<json::Value> document = json::parse(name, text, kLimits);
    if (!document) {
        return document.error();
    }
    if (!document->is(json::Value::Kind::object)) {
        return json::error_at(Errc::malformed, name, *document, "a context is one JSON object");
    }
    ContextFields fields;
    for (const auto& [axis, value] : document->members) {
        std::string written = value.string;
        if (value.is(json::Value::Kind::unsigned_number)) {
            written = std::to_string(value.unsigned_number);  // page_tokens, layers
        } else if (!value.is(json::Value::Kind::string)) {
            return json::error_at(Errc::malformed, name, value,
                                  "the value of axis " + words::quoted(axis) + " is no text");
        }
        const Result<void> set = set_axis(fields, axis, std::move(written));
        if (!set) {
            return json::error_at(set.error().code(), name, value, set.error().message());
        }
    }
    return fields;
}

}  // namespace cxlpool

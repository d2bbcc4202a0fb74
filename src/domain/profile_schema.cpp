#include "domain/profile_schema.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "domain/profile_fields.hpp"
#include "domain/profile_file.hpp"

namespace cxlpool {
namespace {

using Json = nlohmann::ordered_json;

template <typename Enum, std::size_t N>
Json words_of(const std::array<Enum, N>& values) {
    Json out = Json::array();
    for (const Enum value : values) {
        out.push_back(std::string(to_word(value)));
    }
    return out;
}

Json ref(std::string_view definition) {
    return Json{{"$ref", "#/$defs/" + std::string(definition)}};
}

template <typename T>
Json value_schema(const ProfileField<T>& field) {
    if constexpr (std::is_same_v<T, bool>) {
        return Json{{"type", "boolean"}};
    } else if constexpr (std::is_same_v<T, ShareKind>) {
        return Json{{"enum", words_of(kShareKinds)}};
    } else if constexpr (std::is_same_v<T, CrossHostCoherence>) {
        return Json{{"enum", words_of(kCrossHostCoherences)}};
    } else {
        return Json{{"type", "integer"}, {"minimum", field.min}, {"maximum", field.max}};
    }
}

// A field is its bare value, or an object that also says how the value is known.
template <typename T>
Json field_schema(const ProfileField<T>& field) {
    const std::string unit = field.unit.empty() ? "" : " In " + std::string(field.unit) + ".";
    return Json{{"description", std::string(field.meaning) + unit},
                {"anyOf",
                 {value_schema(field),
                  {{"type", "object"},
                   {"additionalProperties", false},
                   {"required", {"value"}},
                   {"properties",
                    {{"value", value_schema(field)},
                     {"source", ref("source")},
                     {"detail", ref("text")},
                     {"time", ref("time")}}}}}}};
}

Json text_schema() {
    return Json{
        {"type", "string"},
        {"maxLength", kProfileMaxTextBytes},
        {"pattern",
         "^[^\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]*$"},
        {"$comment", "the length counts in bytes"}};
}

Json time_schema() {
    return Json{{"description", "UTC, to the second."},
                {"type", "string"},
                {"format", "date-time"},
                {"pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}};
}

Json known_sources() {
    Json out = words_of(kSources);
    out.erase(out.size() - 1);  // what is unknown is left out of a file
    return out;
}

}  // namespace

std::string profile_file_schema() {
    Json definitions{
        {"text", text_schema()}, {"time", time_schema()}, {"source", {{"enum", known_sources()}}}};
    Json fields = Json::object();
    for_each_profile_field([&](const auto& field) {
        definitions[std::string(field.key)] = field_schema(field);
        fields[std::string(field.key)] = ref(field.key);
    });
    const Json tiers = words_of(kTiers);
    Json pool_fields{{"tier", {{"enum", tiers}}}};
    pool_fields.update(fields);
    definitions["tier"] = {
        {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(fields)}};
    definitions["pool"] = {{"type", "object"},
                           {"additionalProperties", false},
                           {"required", {"tier"}},
                           {"properties", std::move(pool_fields)}};
    const std::string name_length = std::to_string(kProfileMaxPoolNameBytes);
    const Json document{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", std::string(kProfileSchema)},
        {"description", "What tiers and pools of memory are worth to cxlpool, field by field."},
        {"type", "object"},
        {"additionalProperties", false},
        {"required", {"schema"}},
        {"properties",
         {{"schema", {{"const", std::string(kProfileSchema)}}},
          {"label", ref("text")},
          {"host", ref("text")},
          {"time", ref("time")},
          {"tiers",
           {{"type", "object"},
            {"propertyNames", {{"enum", tiers}}},
            {"additionalProperties", ref("tier")}}},
          {"pools",
           {{"type", "object"},
            {"propertyNames",
             {{"pattern", "^[!-~]{1," + name_length + "}$"}, {"not", {{"enum", tiers}}}}},
            {"additionalProperties", ref("pool")}}}}},
        {"$defs", std::move(definitions)}};
    return document.dump(2);
}

}  // namespace cxlpool

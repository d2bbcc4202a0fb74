#include "cxlpoolctl/json_view.hpp"

#include "base/units.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {

using Kind = json::Value::Kind;

const json::Value* member(const json::Value& value, std::string_view key) {
    return value.is(Kind::object) ? value.find(key) : nullptr;
}

std::string text_of(const json::Value* value) {
    if (value == nullptr) {
        return "-";
    }
    switch (value->kind) {
        case Kind::null:
            return "-";
        case Kind::boolean:
            return value->boolean ? "yes" : "no";
        case Kind::unsigned_number:
            return std::to_string(value->unsigned_number);
        case Kind::negative_number:
            return std::to_string(value->negative_number);
        case Kind::real_number:
            return std::to_string(value->real_number);
        case Kind::string:
            return value->string.empty() ? "-" : value->string;
        case Kind::array: {
            std::string out;
            for (const json::Value& item : value->items) {
                out += (out.empty() ? "" : ", ") + text_of(&item);
            }
            return out.empty() ? "-" : out;
        }
        case Kind::object: {
            std::string out;
            for (const auto& [key, item] : value->members) {
                out += (out.empty() ? "" : ", ") + key + " " + text_of(&item);
            }
            return out.empty() ? "-" : out;
        }
    }
    return "-";
}

std::string text_of(const json::Value& value, std::string_view key) {
    return text_of(member(value, key));
}

std::optional<std::uint64_t> number_of(const json::Value& value, std::string_view key) {
    const json::Value* found = member(value, key);
    if (found == nullptr || !found->is(Kind::unsigned_number)) {
        return std::nullopt;
    }
    return found->unsigned_number;
}

std::string bytes_text(const json::Value& value, std::string_view key) {
    const std::optional<std::uint64_t> number = number_of(value, key);
    return number ? format_bytes(*number) : "-";
}

std::string ns_text(const json::Value& value, std::string_view key) {
    const std::optional<std::uint64_t> number = number_of(value, key);
    return number ? format_ns(*number) : "-";
}

const std::vector<json::Value>& items_of(const json::Value& value, std::string_view key) {
    static const std::vector<json::Value> kNone;
    const json::Value* found = member(value, key);
    return found != nullptr && found->is(Kind::array) ? found->items : kNone;
}

}  // namespace cxlpool::ctl

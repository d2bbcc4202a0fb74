#include "daemon/config_document.hpp"

#include <toml++/toml.h>

#include <algorithm>

namespace cxlpool::config {
namespace {

Position position_of(const toml::source_region& source) {
    return {source.begin.line, source.begin.column};
}

Node convert(const toml::node& from);

std::vector<Member> members_of(const toml::table& table) {
    std::vector<Member> members;
    for (const auto& [key, value] : table) {
        members.push_back({std::string(key.str()), position_of(key.source()), convert(value)});
    }
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
        return std::pair(a.position.line, a.position.column) <
               std::pair(b.position.line, b.position.column);
    });
    return members;
}

// The parser bounds the depth of what it accepts (TOML_MAX_NESTED_VALUES).
Node convert(const toml::node& from) {
    Node to;
    to.position = position_of(from.source());
    if (const auto* table = from.as_table()) {
        to.kind = Node::Kind::table;
        to.members = members_of(*table);
    } else if (const auto* array = from.as_array()) {
        to.kind = Node::Kind::array;
        for (const toml::node& item : *array) {
            to.items.push_back(convert(item));
        }
    } else if (const auto* string = from.as_string()) {
        to.kind = Node::Kind::string;
        to.string = string->get();
    } else if (const auto* integer = from.as_integer()) {
        to.kind = Node::Kind::integer;
        to.integer = integer->get();
    } else if (const auto* boolean = from.as_boolean()) {
        to.kind = Node::Kind::boolean;
        to.boolean = boolean->get();
    } else {
        to.kind = from.is_floating_point() ? Node::Kind::real : Node::Kind::time;
    }
    return to;
}

}  // namespace

const Member* Node::find(std::string_view key) const noexcept {
    for (const Member& member : members) {
        if (member.key == key) {
            return &member;
        }
    }
    return nullptr;
}

std::string_view describe(Node::Kind kind) noexcept {
    switch (kind) {
        case Node::Kind::string:
            return "a string";
        case Node::Kind::integer:
            return "a whole number";
        case Node::Kind::real:
            return "a fraction, infinity or no number";
        case Node::Kind::boolean:
            return "true or false";
        case Node::Kind::time:
            return "a date or time";
        case Node::Kind::array:
            return "an array";
        case Node::Kind::table:
            return "a table";
    }
    return "something else";
}

std::string place(std::string_view file, Position position) {
    return std::string(file) + ":" + std::to_string(position.line);
}

Error error_at(Errc code, std::string_view file, Position position, std::string_view what) {
    return Error{code, place(file, position) + ":" + std::to_string(position.column) + ": " +
                           std::string(what)};
}

Result<Node> parse_document(std::string_view file, std::string_view text) {
    if (text.size() > kMaxDocumentBytes) {
        return error_at(Errc::too_large, file, {},
                        "the file has " + std::to_string(text.size()) +
                            " bytes, and a configuration at most " +
                            std::to_string(kMaxDocumentBytes));
    }
    try {
        return convert(toml::parse(text, file));
    } catch (const toml::parse_error& error) {
        std::string what(error.description());
        std::replace(what.begin(), what.end(), '\n', ' ');
        return error_at(Errc::malformed, file, position_of(error.source()),
                        "not TOML: " + what + "; see cxlpoold.toml(5)");
    }
}

}  // namespace cxlpool::config

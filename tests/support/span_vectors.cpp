#include "support/span_vectors.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/json_reader.hpp"
#include "base/units.hpp"

namespace cxlpool::test {
namespace {

using json::Value;

const Value& member(const Value& object, std::string_view key) {
    static const Value none;
    const Value* found = object.find(key);
    if (found == nullptr) {
        ADD_FAILURE() << "line " << object.position.line << ": no " << key;
        return none;
    }
    return *found;
}

template <typename Digest>
Digest digest_in(const Value& value) {
    Digest digest;
    EXPECT_TRUE(from_hex(value.string, digest.bytes.data(), digest.bytes.size())) << value.string;
    return digest;
}

std::int64_t signed_in(const Value& value) {
    return value.is(Value::Kind::negative_number)
               ? value.negative_number
               : static_cast<std::int64_t>(value.unsigned_number);
}

void read_span(const Value& from, SpanVector& to) {
    const Value& parent = member(from, "parent");
    if (!parent.is(Value::Kind::null)) {
        to.parent = digest_in<SpanDigest>(parent);
    }
    for (const Value& token : member(from, "tokens").items) {
        to.tokens.push_back(static_cast<std::uint32_t>(token.unsigned_number));
    }
    for (const Value& item : member(from, "items").items) {
        to.items.push_back({signed_in(member(item, "first_token")),
                            member(item, "token_count").unsigned_number,
                            digest_in<Digest256>(member(item, "digest"))});
    }
}

SpanVector read_vector(const Value& from) {
    SpanVector to;
    to.name = member(from, "name").string;
    to.kind = member(from, "kind").string;
    if (to.kind == "context") {
        for (const json::Member& axis : member(from, "axes").members) {
            const std::optional<Axis> known = parse_axis(axis.key);
            EXPECT_TRUE(known) << axis.key;
            to.axes[known.value_or(Axis::model)] = axis.value.string;
        }
    } else {
        read_span(from, to);
    }
    if (const Value* message = from.find("message")) {
        for (const Value& line : message->items) {
            to.message += line.string;
        }
    }
    if (to.kind == "chain") {
        to.page_tokens = static_cast<std::uint32_t>(member(from, "page_tokens").unsigned_number);
        for (const Value& digest : member(from, "digests").items) {
            to.digests.push_back(digest.string);
        }
    } else if (to.kind != "refused") {
        to.digests.push_back(member(from, "digest").string);
    }
    return to;
}

}  // namespace

std::vector<SpanVector> read_span_vectors(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string page = text.str();
    constexpr std::string_view kOpen = "\n```json\n";
    std::vector<SpanVector> vectors;
    std::set<std::string> kinds;
    for (std::size_t at = page.find(kOpen); at != std::string::npos; at = page.find(kOpen, at)) {
        at += kOpen.size();
        const auto block = json::parse(path, page.substr(at, page.find("\n```", at) - at));
        if (!block) {
            ADD_FAILURE() << block.error().message();
            continue;
        }
        for (const Value& vector : block->items) {
            vectors.push_back(read_vector(vector));
            kinds.insert(vectors.back().kind);
        }
    }
    EXPECT_EQ(kinds, (std::set<std::string>{"span", "chain", "context", "refused"})) << path;
    return vectors;
}

}  // namespace cxlpool::test

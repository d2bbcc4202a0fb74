// Pairs of engine identities that must, or must not, share KV bytes: from the words of an engine's
// configuration to the verdict of the gate. And the same pairs against ways to make an identity
// that people have shipped, each of which they must find out.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "base/json_reader.hpp"
#include "domain/context.hpp"
#include "domain/gate.hpp"
#include "domain/span.hpp"
#include "domain/tagged_hash.hpp"

namespace cxlpool {
namespace {

using json::Value;

Value read_golden(const std::string& name) {
    std::ifstream file(CXLPOOL_GOLDEN_DIR "/identity/" + name);
    std::stringstream text;
    text << file.rdbuf();
    Result<Value> value = json::parse(name, text.str(), {});
    EXPECT_TRUE(value) << value.error().message();
    return value ? *std::move(value) : Value{};
}

Digest256 digest_of(std::string_view text) {
    TaggedHash hash("test");
    hash.begin_field(1, text.size());
    hash.text(text);
    return hash.finish();
}

std::string hex_of(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out = "blake2b:";
    for (const std::uint8_t byte : digest_of(text).bytes) {
        out += kDigits[byte >> 4U];
        out += kDigits[byte & 15U];
    }
    return out;
}

std::string text_of(const Value* value) {
    if (value == nullptr) {
        return "";
    }
    switch (value->kind) {
        case Value::Kind::string:
            return value->string;
        case Value::Kind::unsigned_number:
            return std::to_string(value->unsigned_number);
        case Value::Kind::array: {
            std::string out;
            for (const Value& item : value->items) {
                out += (out.empty() ? "" : "/") + text_of(&item);
            }
            return out;
        }
        default:
            return "";
    }
}

// What an engine would tell cxlpool, and what the daemon adds.
struct Identity {
    ContextFields context;
    std::vector<std::uint32_t> tokens{1, 2, 3, 4};
    std::vector<SpanItem> items;
    std::uint64_t salt = 0;
};

// The rule for multimodal items that are absent (null) and for an empty list of them: both are a
// prompt without media, and share.
Identity identity_of(const Value& side) {
    Identity out;
    for (std::optional<std::string>& axis : out.context.axes) {
        axis = "same";
    }
    const auto text = [&side](std::string_view key) { return text_of(side.find(key)); };
    out.context[Axis::model] = text("model");
    out.context[Axis::weights] = hex_of(text("weights_digest"));
    out.context[Axis::tokenizer] = text("tokenizer");
    const Value* lora = side.find("lora");
    out.context[Axis::adapter] = lora != nullptr && lora->is(Value::Kind::object)
                                     ? hex_of(text_of(lora->find("digest")))
                                     : "none";
    out.context[Axis::dtype] = text("dtype");
    out.context[Axis::kv_quant] = text("kv_quant");
    out.context[Axis::rope] = text("rope");
    out.context[Axis::page_tokens] = text("page_tokens");
    out.context[Axis::layers] = text("layer_range");
    out.context[Axis::shard] = text("tp");
    out.context[Axis::layout] = text("engine_layout");
    if (const Value* media = side.find("mm"); media != nullptr) {
        for (const Value& item : media->items) {
            out.items.push_back(
                {static_cast<std::int64_t>(out.items.size()), 1, digest_of(item.string)});
        }
    }
    if (!text("salt").empty()) {
        const Digest256 digest = digest_of(text("salt"));
        for (std::size_t i = 0; i < 8; ++i) {
            out.salt = out.salt << 8U | digest.bytes[i];
        }
    }
    return out;
}

SpanDigest name_of(const Identity& identity) {
    const Result<SpanDigest> span = span_digest(std::nullopt, identity.tokens, identity.items);
    EXPECT_TRUE(span) << span.error().message();
    return in_keyspace(*span, identity.salt);
}

// Would a cell that `writer` sealed, shared and had trusted be served to `reader`?
bool shares(const Identity& writer, const Identity& reader) {
    ContextInterner interner(1000, 1000);
    const Result<ContextKey> written = interner.acquire(writer.context, TenantId{1});
    const Result<ContextKey> wanted = interner.acquire(reader.context, TenantId{2});
    if (!written || !wanted || name_of(writer) != name_of(reader)) {
        return false;
    }
    GateCell cell;
    cell.owner = TenantId{1};
    cell.key = *written;
    cell.lifecycle = Lifecycle::sealed;
    cell.taint = Taint::trusted;
    cell.admission = Admission::allow;
    cell.scope = Scope::fleet;
    cell.adjudicated_epoch = cell.owner_epoch;
    cell.length_bytes = 64;
    cell.digest_present = cell.extent_alive = true;
    return is_hit(judge({true, true, TenantId{2}, Reach::in_place}, cell, *wanted, Timestamp{1}));
}

struct Pair {
    std::string name;
    Value left;
    Value right;
    bool may_share = false;
};

std::vector<Pair> pairs() {
    std::vector<Pair> out;
    const Value file = read_golden("c-key-identity-pairs.json");
    for (const Value& item : file.find("pairs")->items) {
        const Value* rule = item.find("may_share");
        // One pair has a rule to be written down instead of an answer; see identity_of.
        out.push_back({item.find("name")->string, *item.find("left"), *item.find("right"),
                       rule->is(Value::Kind::boolean) ? rule->boolean : true});
    }
    return out;
}

using Maker = std::function<Identity(const Value&)>;

// The pairs about which a way to make identities is wrong, in one direction or the other.
std::vector<std::string> wrong_pairs(const Maker& maker) {
    std::vector<std::string> out;
    for (const Pair& pair : pairs()) {
        for (const auto& [writer, reader] :
             {std::pair(&pair.left, &pair.right), std::pair(&pair.right, &pair.left)}) {
            if (shares(maker(*writer), maker(*reader)) != pair.may_share) {
                out.push_back(pair.name);
                break;
            }
        }
    }
    return out;
}

TEST(IdentityPairs, EachIsDecidedAsItMustBe) {
    ASSERT_EQ(pairs().size(), 15U);
    EXPECT_EQ(wrong_pairs(identity_of), std::vector<std::string>());
}

// Each side shares with itself: no pair is refused for another reason than its difference.
TEST(IdentityPairs, EachSideSharesWithItsTwin) {
    for (const Pair& pair : pairs()) {
        EXPECT_TRUE(shares(identity_of(pair.left), identity_of(pair.left))) << pair.name;
        EXPECT_TRUE(shares(identity_of(pair.right), identity_of(pair.right))) << pair.name;
    }
}

TEST(IdentityPairs, FindOutEveryLeakyIdentity) {
    const auto without = [](Axis axis) {
        return [axis](const Value& side) {
            Identity out = identity_of(side);
            out.context[axis] = axis == Axis::adapter ? "none" : "version:1";
            return out;
        };
    };
    const std::vector<std::pair<std::string, Maker>> leaks{
        {"an adapter by its name instead of its digest",
         [](const Value& side) {
             Identity out = identity_of(side);
             const Value* lora = side.find("lora");
             if (lora != nullptr && lora->is(Value::Kind::object)) {
                 out.context[Axis::adapter] = hex_of(text_of(lora->find("name")));
             }
             return out;
         }},
        {"adapter left out", without(Axis::adapter)},
        {"weights by the name of the model", without(Axis::weights)},
        {"dtype left out", without(Axis::dtype)},
        {"kv quantisation left out", without(Axis::kv_quant)},
        {"tokenizer left out", without(Axis::tokenizer)},
        {"rope left out", without(Axis::rope)},
        {"shard left out", without(Axis::shard)},
        {"layout left out", without(Axis::layout)},
        {"page size left out",
         [](const Value& side) {
             Identity out = identity_of(side);
             out.context[Axis::page_tokens] = "16";
             return out;
         }},
        {"media left out",
         [](const Value& side) {
             Identity out = identity_of(side);
             out.items.clear();
             return out;
         }},
        {"salt left out",
         [](const Value& side) {
             Identity out = identity_of(side);
             out.salt = 0;
             return out;
         }},
        {"adapter name and salt run together, without a tag",
         [](const Value& side) {
             Identity out = identity_of(side);
             const Value* lora = side.find("lora");
             const bool named = lora != nullptr && lora->is(Value::Kind::object);
             out.context[Axis::adapter] =
                 hex_of((named ? text_of(lora->find("name")) : "") + text_of(side.find("salt")));
             out.salt = 0;
             return out;
         }},
    };
    for (const auto& [name, maker] : leaks) {
        EXPECT_FALSE(wrong_pairs(maker).empty()) << "no pair finds out: " << name;
    }
}

// A name is refused where an identity is wanted, so that two engines cannot agree on one.
TEST(IdentityPairs, ANameIsNoIdentity) {
    for (const Axis axis : {Axis::weights, Axis::adapter}) {
        Identity identity = identity_of(pairs().front().left);
        identity.context[axis] = "llama-70b";
        EXPECT_FALSE(validate(identity.context));
        EXPECT_FALSE(shares(identity, identity)) << to_word(axis);
    }
}

std::vector<std::uint32_t> tokens_of(const Value& list) {
    std::vector<std::uint32_t> out;
    for (const Value& token : list.items) {
        out.push_back(static_cast<std::uint32_t>(token.unsigned_number));
    }
    return out;
}

std::uint64_t polynomial(const std::vector<std::uint32_t>& tokens, std::uint64_t multiplier) {
    std::uint64_t out = 0;
    for (const std::uint32_t token : tokens) {
        out = out * multiplier + token;
    }
    return out;
}

// Tokens that collide under a polynomial hash of 64 bits, chosen by somebody who knows it.
TEST(IdentityPairs, ChosenCollisionsOfAPolynomialHashAreDifferentSpans) {
    const Value file = read_golden("c08-polynomial-collisions.json");
    Identity original;
    original.tokens = tokens_of(*file.find("original"));
    for (const char* name : {"collides_low_power_first", "collides_high_power_first"}) {
        Identity chosen = original;
        chosen.tokens = tokens_of(*file.find(name));
        ASSERT_EQ(chosen.tokens.size(), original.tokens.size());
        EXPECT_NE(name_of(chosen), name_of(original)) << name;
    }
    const std::uint64_t multiplier = file.find("multiplier")->unsigned_number;
    EXPECT_EQ(polynomial(tokens_of(*file.find("collides_high_power_first")), multiplier),
              polynomial(original.tokens, multiplier))
        << "the list does collide under such a hash";
}

TEST(InKeyspace, ZeroIsNoneAndEveryOtherSaltIsItsOwnSpace) {
    const SpanDigest span = name_of(Identity{});
    EXPECT_EQ(in_keyspace(span, 0), span);
    EXPECT_NE(in_keyspace(span, 1), span);
    EXPECT_NE(in_keyspace(span, 1), in_keyspace(span, 2));
    EXPECT_EQ(in_keyspace(span, 1), in_keyspace(span, 1));
    EXPECT_NE(in_keyspace(span, 1), in_keyspace(span, 1ULL << 56U)) << "byte order";
}

}  // namespace
}  // namespace cxlpool

// The vectors of docs/span-digest.md, and what a name must never do: be the same for two meanings.
#include "domain/span.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <string>

#include "base/blake2b.hpp"
#include "base/units.hpp"
#include "domain/context_identity.hpp"
#include "domain/tagged_hash.hpp"
#include "support/span_vectors.hpp"

namespace cxlpool {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Items = std::vector<SpanItem>;
using Parent = std::optional<SpanDigest>;

std::string hex(const Digest256& digest) {
    return to_hex(digest.bytes.data(), digest.bytes.size());
}

Digest256 filled(std::uint8_t byte) {
    Digest256 digest;
    digest.bytes.fill(byte);
    return digest;
}

SpanDigest must(const Parent& parent, const Tokens& tokens, const Items& items = {}) {
    auto digest = span_digest(parent, tokens, items);
    EXPECT_TRUE(digest) << digest.error().message();
    return digest ? *digest : SpanDigest{};
}

Errc refusal(const Parent& parent, const Tokens& tokens, const Items& items = {}) {
    const auto digest = span_digest(parent, tokens, items);
    EXPECT_FALSE(digest);
    return digest ? Errc::ok : digest.error().code();
}

TEST(SpanDigest, IsWhatThePageSays) {
    std::size_t messages = 0;
    for (const test::SpanVector& vector : test::read_span_vectors(CXLPOOL_SPAN_DIGEST_DOC)) {
        SCOPED_TRACE(vector.name);
        if (vector.kind == "span") {
            EXPECT_EQ(hex(must(vector.parent, vector.tokens, vector.items)), vector.digests[0]);
        } else if (vector.kind == "refused") {
            refusal(vector.parent, vector.tokens, vector.items);
        } else if (vector.kind == "chain") {
            std::vector<SpanDigest> out(vector.digests.size());
            ASSERT_TRUE(
                span_chain(vector.parent, vector.tokens, vector.items, vector.page_tokens, out));
            for (std::size_t i = 0; i < out.size(); ++i) {
                EXPECT_EQ(hex(out[i]), vector.digests[i]);
            }
        } else {
            const auto identity = context_identity(vector.axes);
            ASSERT_TRUE(identity) << identity.error().message();
            EXPECT_EQ(hex(*identity), vector.digests[0]);
        }
        if (!vector.message.empty()) {
            ++messages;
            std::vector<std::byte> message(vector.message.size() / 2);
            ASSERT_TRUE(from_hex(vector.message, message.data(), message.size()));
            Blake2b256 hash;
            hash.update(message);
            EXPECT_EQ(hex(hash.finish()), vector.digests[0]);
        }
    }
    EXPECT_GE(messages, 5U);
}

// --- everything counts
// ----------------------------------------------------------------------------

TEST(SpanDigest, EveryBitOfEveryFieldCounts) {
    const SpanDigest parent{filled(0x5A)};
    const Tokens tokens{1, 2, 3, 1000};
    const Items items{{0, 2, filled(1)}, {2, 2, filled(2)}};
    std::set<SpanDigest> seen{must(parent, tokens, items)};
    std::size_t changes = 1;
    const auto add = [&](const SpanDigest& digest) {
        ++changes;
        EXPECT_TRUE(seen.insert(digest).second) << "change " << changes;
    };
    for (std::size_t bit = 0; bit < 256; ++bit) {
        const auto flipped = static_cast<std::uint8_t>(1U << (bit % 8));
        SpanDigest other = parent;
        other.bytes[bit / 8] ^= flipped;
        add(must(other, tokens, items));
        Items changed = items;
        changed[1].digest.bytes[bit / 8] ^= flipped;
        add(must(parent, tokens, changed));
    }
    for (std::size_t bit = 0; bit < 32 * tokens.size(); ++bit) {
        Tokens changed = tokens;
        changed[bit / 32] ^= 1U << (bit % 32);
        add(must(parent, changed, items));
    }
    // The last item's count, in every bit that it can have, and the first one's place.
    for (std::uint64_t bit = 2; bit < 62; ++bit) {
        Items changed = items;
        changed[1].token_count = std::uint64_t{1} << bit;
        add(must(parent, tokens, changed));
        changed = items;
        changed[0].first_token = -(std::int64_t{1} << bit);
        changed[0].token_count = (std::uint64_t{1} << bit) + 1;
        add(must(parent, tokens, changed));
    }
}

TEST(SpanDigest, OrderAndLengthCount) {
    const std::set<SpanDigest> all{
        must({}, {1, 2}), must({}, {2, 1}), must({}, {1}),    must({}, {2}),    must({}, {1, 0}),
        must({}, {0, 1}), must({}, {0}),    must({}, {0, 0}), must({}, {1, 1}), must({}, {1, 2, 0}),
    };
    EXPECT_EQ(all.size(), 10U);
}

TEST(SpanDigest, WhereItemsStandCountsAndWhichIsWhich) {
    const Tokens tokens{9, 9, 9, 9};
    const std::set<SpanDigest> all{
        must({}, tokens),
        must({}, tokens, {{0, 1, filled(1)}}),
        must({}, tokens, {{1, 1, filled(1)}}),
        must({}, tokens, {{0, 2, filled(1)}}),
        must({}, tokens, {{-1, 2, filled(1)}}),
        must({}, tokens, {{0, 1, filled(1)}, {1, 1, filled(1)}}),
        must({}, tokens, {{0, 1, filled(1)}, {1, 1, filled(2)}}),
        must({}, tokens, {{0, 1, filled(2)}, {1, 1, filled(1)}}),
    };
    EXPECT_EQ(all.size(), 8U);
}

// --- nothing can be taken for something else
// --------------------------------------------------------

Tokens as_tokens(std::span<const std::uint8_t> bytes) {
    Tokens tokens(bytes.size() / 4);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        tokens[i / 4] |= std::uint32_t{bytes[i]} << (8 * (i % 4));
    }
    return tokens;
}

TEST(SpanDigest, BytesDoNotMoveBetweenFields) {
    const SpanDigest parent{filled(7)};
    const Tokens tokens{1, 2};
    // The parent's bytes in front of the tokens.
    Tokens moved = as_tokens(parent.bytes);
    moved.insert(moved.end(), tokens.begin(), tokens.end());
    EXPECT_NE(must(parent, tokens), must({}, moved));
    // An item's bytes behind them.
    const Items items{{0, 1, filled(3)}};
    moved = tokens;
    moved.insert(moved.end(), {0, 0, 1, 0});
    const Tokens digest_tokens = as_tokens(items[0].digest.bytes);
    moved.insert(moved.end(), digest_tokens.begin(), digest_tokens.end());
    EXPECT_NE(must({}, tokens, items), must({}, moved));
}

TEST(SpanDigest, AChainIsNotOneLongSpan) {
    EXPECT_NE(must(must({}, {1, 2}), {3, 4}), must({}, {1, 2, 3, 4}));
    EXPECT_NE(must(must({}, {1, 2}), {3, 4}), must(must({}, {1}), {2, 3, 4}));
    EXPECT_NE(must(must({}, {1}), {1}), must({}, {1}));
}

TEST(SpanDigest, SpansAndContextsAreNeverNamedAlike) {
    // The same fields under the other tag.
    TaggedHash as_context("cxlpool-context-1");
    as_context.begin_field(1, 0);
    as_context.begin_field(2, 4);
    const std::uint32_t token = 5;
    as_context.u32s({&token, 1});
    as_context.begin_field(3, 0);
    EXPECT_NE(Digest256{must({}, {5})}, as_context.finish());
}

// --- refusals
// -------------------------------------------------------------------------------------

TEST(SpanDigest, SaysWhatItRefuses) {
    constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    const Digest256 d = filled(1);
    EXPECT_EQ(refusal({}, {}), Errc::invalid_argument);
    EXPECT_EQ(refusal(SpanDigest{}, {1}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{0, 0, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{0, 1, {}}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{1, 1, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{-1, 1, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{kMin, 1, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{kMin, kMax, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1, 2}, {{1, 1, d}, {0, 1, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1, 2}, {{0, 2, d}, {1, 1, d}}), Errc::invalid_argument);
    EXPECT_EQ(refusal({}, {1}, {{0, kMax + 1, d}}), Errc::overflow);
    EXPECT_EQ(refusal({}, {1}, {{kMin, ~std::uint64_t{0}, d}}), Errc::overflow);
    EXPECT_EQ(refusal({}, {1, 2}, {{1, kMax, d}}), Errc::overflow);
    must({}, {1, 2}, {{1, kMax - 1, d}});
    must({}, {1, 2}, {{0, kMax, d}});
    must({}, {1, 2}, {{kMin + 2, kMax, d}});
    const auto second = span_digest({}, Tokens{1, 2}, Items{{0, 1, d}, {0, 1, d}});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(),
              "item 1 begins before the end of the one in front of it: give items in the order of "
              "their tokens, and one item a token");
}

TEST(SpanChain, RefusesAndThenWritesNothing) {
    std::vector<SpanDigest> out(2, SpanDigest{filled(9)});
    const Tokens tokens{1, 2, 3, 4, 5};
    const auto code = [&](const Parent& parent, const Items& items, std::uint32_t page_tokens,
                          std::size_t room) {
        const auto done =
            span_chain(parent, tokens, items, page_tokens, std::span(out).first(room));
        return done ? Errc::ok : done.error().code();
    };
    EXPECT_EQ(code({}, {}, 0, 0), Errc::invalid_argument);
    EXPECT_EQ(code({}, {}, 2, 1), Errc::invalid_argument);
    EXPECT_EQ(code({}, {}, 3, 2), Errc::invalid_argument);
    EXPECT_EQ(code(SpanDigest{}, {}, 2, 2), Errc::invalid_argument);
    EXPECT_EQ(code({}, {{5, 1, filled(1)}}, 2, 2), Errc::invalid_argument);
    EXPECT_EQ(code({}, {{4, 1, filled(1)}, {0, 1, filled(1)}}, 2, 2), Errc::invalid_argument);
    EXPECT_EQ(out, (std::vector<SpanDigest>(2, SpanDigest{filled(9)})));
    EXPECT_EQ(code({}, {}, 6, 0), Errc::ok) << "less than one block";
    EXPECT_EQ(code({}, {{4, 1, filled(1)}}, 2, 2), Errc::ok) << "an item in the rest";
    EXPECT_EQ(out[0], must({}, {1, 2}));
    EXPECT_TRUE(span_chain({}, {}, {}, 16, {}));
}

// --- against a naive reference
// ----------------------------------------------------------------------

// The items that hold a token of [first, first + count), seen from there.
Items items_within(const Items& items, std::int64_t first, std::int64_t count) {
    Items within;
    for (const SpanItem& item : items) {
        for (std::int64_t token = first; token < first + count; ++token) {
            if (token >= item.first_token &&
                token - item.first_token < static_cast<std::int64_t>(item.token_count)) {
                within.push_back({item.first_token - first, item.token_count, item.digest});
                break;
            }
        }
    }
    return within;
}

TEST(SpanChain, IsOneCallForEachBlock) {
    const std::uint32_t seed = 3;
    std::mt19937 random(seed);
    for (int round = 0; round < 500; ++round) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
        Tokens tokens(random() % 200);
        for (std::uint32_t& token : tokens) {
            token = static_cast<std::uint32_t>(random());
        }
        Items items;
        for (std::int64_t at = -static_cast<std::int64_t>(random() % 40);;) {
            const std::uint64_t count = 1 + random() % 50;
            const std::int64_t end = at + static_cast<std::int64_t>(count);
            if (at >= static_cast<std::int64_t>(tokens.size())) {
                break;
            }
            if (end > 0 && random() % 3 != 0) {
                items.push_back({at, count, filled(static_cast<std::uint8_t>(1 + random() % 255))});
            }
            at = end;
        }
        const Parent first = random() % 2 == 0 ? Parent{} : SpanDigest{filled(0x33)};
        const auto page_tokens = static_cast<std::uint32_t>(1 + random() % 40);
        std::vector<SpanDigest> chain(tokens.size() / page_tokens);
        ASSERT_TRUE(span_chain(first, tokens, items, page_tokens, chain));
        Parent parent = first;
        for (std::size_t block = 0; block < chain.size(); ++block) {
            const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(block * page_tokens);
            parent = must(
                parent, Tokens(begin, begin + page_tokens),
                items_within(items, static_cast<std::int64_t>(block * page_tokens), page_tokens));
            ASSERT_EQ(chain[block], *parent) << "block " << block;
        }
        // And in two calls, the second with what is left from some block on.
        const std::size_t cut = chain.empty() ? 0 : random() % chain.size();
        std::vector<SpanDigest> rest(chain.size() - cut);
        const std::size_t done = cut * page_tokens;
        const auto left = static_cast<std::int64_t>(tokens.size() - done);
        ASSERT_TRUE(span_chain(
            cut == 0 ? first : Parent{chain[cut - 1]}, std::span(tokens).subspan(done),
            items_within(items, static_cast<std::int64_t>(done), left), page_tokens, rest));
        ASSERT_TRUE(std::equal(rest.begin(), rest.end(), chain.end() - std::ssize(rest)));
    }
}

// --- contexts
// -------------------------------------------------------------------------------------

TEST(ContextIdentity, EveryAxisAndItsAbsenceCount) {
    ContextFields fields;
    std::set<ContextIdentity> seen{context_identity(fields).value()};
    for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
        for (const char* value : {"version:1", "version:2"}) {
            const bool number = static_cast<Axis>(axis) == Axis::page_tokens;
            fields = {};
            fields.axes[axis] = number ? std::string(1, value[8]) : value;
            EXPECT_TRUE(seen.insert(context_identity(fields).value()).second) << axis << value;
        }
    }
    EXPECT_EQ(seen.size(), 1 + 2 * kAxisCount);
}

TEST(ContextIdentity, ValuesDoNotMoveBetweenAxes) {
    const auto of = [](std::optional<std::string> model, std::optional<std::string> tokenizer) {
        ContextFields fields;
        fields[Axis::model] = std::move(model);
        fields[Axis::tokenizer] = std::move(tokenizer);
        return context_identity(fields).value();
    };
    const std::set<ContextIdentity> all{of("ab", "c"), of("a", "bc"), of("abc", std::nullopt),
                                        of(std::nullopt, "abc"), of("c", "ab")};
    EXPECT_EQ(all.size(), 5U);
}

TEST(ContextIdentity, OfWhatIsNoContextThereIsNone) {
    ContextFields fields;
    fields[Axis::model] = "";
    EXPECT_EQ(context_identity(fields).error().code(), Errc::invalid_argument);
    fields[Axis::model] = std::string(kAxisValueMaxBytes + 1, 'x');
    EXPECT_EQ(context_identity(fields).error().code(), Errc::too_large);
}

}  // namespace
}  // namespace cxlpool

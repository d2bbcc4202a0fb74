// Naming spans and contexts through the public library: the vectors of docs/span-digest.md, the
// errors that the header lists, and that nothing is written when there is one.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/units.hpp"
#include "cxlpool/cxlpool.h"
#include "support/span_vectors.hpp"

namespace cxlpool::test {
namespace {

std::string hex(const cxlpool_digest& digest) {
    return to_hex(digest.bytes, sizeof digest.bytes);
}

cxlpool_digest filled(std::uint8_t byte) {
    cxlpool_digest digest;
    std::memset(digest.bytes, byte, sizeof digest.bytes);
    return digest;
}

cxlpool_digest from_domain(const Digest256& from) {
    cxlpool_digest to;
    std::memcpy(to.bytes, from.bytes.data(), sizeof to.bytes);
    return to;
}

std::vector<cxlpool_span_item> items_of(const SpanVector& vector) {
    std::vector<cxlpool_span_item> items;
    for (const SpanItem& item : vector.items) {
        items.push_back({item.first_token, item.token_count, from_domain(item.digest)});
    }
    return items;
}

struct Axes {
    explicit Axes(const ContextFields& fields) {
        // Backwards: their order does not matter.
        for (std::size_t axis = kAxisCount; axis-- > 0;) {
            if (fields.axes[axis]) {
                list.push_back({static_cast<std::uint32_t>(axis), 0, fields.axes[axis]->c_str()});
            }
        }
    }
    std::vector<cxlpool_axis> list;
};

TEST(SpanApi, NamesAreWhatThePageSays) {
    for (const SpanVector& vector : read_span_vectors(CXLPOOL_SPAN_DIGEST_DOC)) {
        SCOPED_TRACE(vector.name);
        const std::vector<cxlpool_span_item> items = items_of(vector);
        const cxlpool_digest parent = from_domain(vector.parent.value_or(SpanDigest{}));
        const cxlpool_digest* const given = vector.parent ? &parent : nullptr;
        const auto& tokens = vector.tokens;
        std::vector<cxlpool_digest> out(std::max<std::size_t>(vector.digests.size(), 1),
                                        filled(0x77));
        int code = CXLPOOL_OK;
        if (vector.kind == "context") {
            const Axes axes(vector.axes);
            code = cxlpool_context_identity(axes.list.data(), axes.list.size(), out.data());
        } else if (vector.kind == "chain") {
            code =
                cxlpool_span_chain(given, tokens.data(), tokens.size(), items.data(), items.size(),
                                   vector.page_tokens, out.data(), vector.digests.size());
        } else {
            code = cxlpool_span_digest(given, tokens.data(), tokens.size(), items.data(),
                                       items.size(), out.data());
        }
        if (vector.kind == "refused") {
            EXPECT_NE(code, CXLPOOL_OK);
            EXPECT_EQ(hex(out[0]), hex(filled(0x77)));
            continue;
        }
        ASSERT_EQ(code, CXLPOOL_OK) << cxlpool_last_message();
        for (std::size_t i = 0; i < vector.digests.size(); ++i) {
            EXPECT_EQ(hex(out[i]), vector.digests[i]);
        }
    }
}

class SpanErrors : public testing::Test {
  protected:
    int digest(const std::uint32_t* token_array, std::size_t n, const cxlpool_span_item* items,
               std::size_t item_count) {
        return cxlpool_span_digest(nullptr, token_array, n, items, item_count, out);
    }
    int chain(const std::uint32_t* token_array, std::size_t n, const cxlpool_span_item* items,
              std::size_t item_count, std::uint32_t page_tokens = 1, std::size_t digests = 2) {
        return cxlpool_span_chain(nullptr, token_array, n, items, item_count, page_tokens, out,
                                  digests);
    }
    void expect_untouched() {
        for (const cxlpool_digest& one : out) {
            EXPECT_EQ(hex(one), hex(filled(0x77)));
        }
    }
    const std::uint32_t tokens[2] = {1, 2};
    const cxlpool_span_item item{0, 1, filled(1)};
    cxlpool_digest out[2] = {filled(0x77), filled(0x77)};
};

TEST_F(SpanErrors, NullWhereSomethingIsCounted) {
    EXPECT_EQ(digest(nullptr, 2, nullptr, 0), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(digest(tokens, 2, nullptr, 1), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(digest(nullptr, 0, nullptr, 0), CXLPOOL_E_INVALID_ARGUMENT) << "no token";
    EXPECT_EQ(chain(nullptr, 2, nullptr, 0), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(chain(tokens, 2, nullptr, 1), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_span_digest(nullptr, tokens, 2, nullptr, 0, nullptr),
              CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_span_chain(nullptr, tokens, 2, nullptr, 0, 1, nullptr, 2),
              CXLPOOL_E_INVALID_ARGUMENT);
    expect_untouched();
    EXPECT_EQ(cxlpool_span_chain(nullptr, tokens, 2, nullptr, 0, 3, nullptr, 0), CXLPOOL_OK);
    EXPECT_EQ(cxlpool_span_chain(nullptr, nullptr, 0, nullptr, 0, 3, nullptr, 0), CXLPOOL_OK);
}

TEST_F(SpanErrors, AParentOfZeros) {
    const cxlpool_digest zeros{};
    EXPECT_EQ(cxlpool_span_digest(&zeros, tokens, 2, nullptr, 0, out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_span_chain(&zeros, tokens, 2, nullptr, 0, 1, out, 2),
              CXLPOOL_E_INVALID_ARGUMENT);
    expect_untouched();
    EXPECT_STREQ(cxlpool_last_message(),
                 "the parent is a digest of zeros, which is none: a first span has no parent");
}

TEST_F(SpanErrors, SizesThatNoArrayHas) {
    for (const std::size_t size :
         {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 62, std::size_t{1} << 61}) {
        EXPECT_EQ(digest(tokens, size, nullptr, 0), CXLPOOL_E_TOO_LARGE) << size;
        EXPECT_EQ(digest(tokens, 2, &item, size), CXLPOOL_E_TOO_LARGE) << size;
        EXPECT_EQ(chain(tokens, size, nullptr, 0), CXLPOOL_E_TOO_LARGE) << size;
        EXPECT_EQ(chain(tokens, 2, &item, size), CXLPOOL_E_TOO_LARGE) << size;
        EXPECT_EQ(chain(tokens, 2, nullptr, 0, 1, size), CXLPOOL_E_INVALID_ARGUMENT) << size;
    }
    expect_untouched();
}

TEST_F(SpanErrors, RoomForAnotherNumberOfBlocks) {
    EXPECT_EQ(chain(tokens, 2, nullptr, 0, 0, 0), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(chain(tokens, 2, nullptr, 0, 1, 1), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(chain(tokens, 2, nullptr, 0, 2, 2), CXLPOOL_E_INVALID_ARGUMENT);
    expect_untouched();
    EXPECT_STREQ(cxlpool_last_message(),
                 "2 tokens have 1 whole blocks of 2, and there is room for 2: make it the same");
}

TEST_F(SpanErrors, ItemsThatSayNothingHere) {
    const cxlpool_span_item far{1, std::numeric_limits<std::int64_t>::max(), filled(1)};
    EXPECT_EQ(digest(tokens, 2, &far, 1), CXLPOOL_E_OVERFLOW);
    EXPECT_EQ(chain(tokens, 2, &far, 1), CXLPOOL_E_OVERFLOW);
    const cxlpool_span_item after{2, 1, filled(1)};
    EXPECT_EQ(digest(tokens, 2, &after, 1), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(chain(tokens, 2, &after, 1), CXLPOOL_E_INVALID_ARGUMENT);
    expect_untouched();
}

TEST_F(SpanErrors, TheParentMayLieWhereTheDigestsGo) {
    cxlpool_digest first{};
    ASSERT_EQ(cxlpool_span_digest(nullptr, tokens, 1, nullptr, 0, &first), CXLPOOL_OK);
    cxlpool_digest apart{};
    ASSERT_EQ(cxlpool_span_digest(&first, tokens, 2, nullptr, 0, &apart), CXLPOOL_OK);
    ASSERT_EQ(cxlpool_span_digest(&first, tokens, 2, nullptr, 0, &first), CXLPOOL_OK);
    EXPECT_EQ(hex(first), hex(apart));
}

TEST(ContextIdentityApi, RefusesWhatIsNoContext) {
    cxlpool_digest out = filled(0x77);
    const std::string long_value(257, 'x');
    const cxlpool_axis model{CXLPOOL_AXIS_MODEL, 0, "m"};
    const cxlpool_axis twice[] = {model, model};
    const cxlpool_axis none{CXLPOOL_AXIS_COUNT, 0, "m"};
    const cxlpool_axis empty{CXLPOOL_AXIS_MODEL, 0, ""};
    const cxlpool_axis name{CXLPOOL_AXIS_WEIGHTS, 0, "a-name"};
    const cxlpool_axis too_long{CXLPOOL_AXIS_MODEL, 0, long_value.c_str()};
    EXPECT_EQ(cxlpool_context_identity(nullptr, 1, &out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(twice, 2, &out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(&none, 1, &out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(&empty, 1, &out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(&name, 1, &out), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(&too_long, 1, &out), CXLPOOL_E_TOO_LARGE);
    EXPECT_EQ(hex(out), hex(filled(0x77)));
    EXPECT_EQ(cxlpool_context_identity(&model, 1, nullptr), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_context_identity(nullptr, 0, &out), CXLPOOL_OK);
}

}  // namespace
}  // namespace cxlpool::test

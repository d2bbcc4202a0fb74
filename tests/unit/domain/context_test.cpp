#include "domain/context.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace cxlpool {
namespace {

const std::string kHex64(64, 'a');
const std::string kHex32(32, 'b');

ContextFields complete_fields() {
    ContextFields f;
    f[Axis::model] = "m-a";
    f[Axis::tokenizer] = "t1";
    f[Axis::serializer] = "chat-1";
    f[Axis::position] = "absolute";
    f[Axis::policy] = "default";
    f[Axis::admitter] = "gate-1";
    f[Axis::weights] = "sha256:" + kHex64;
    f[Axis::adapter] = "none";
    f[Axis::dtype] = "bf16";
    f[Axis::kv_quant] = "none";
    f[Axis::rope] = "base=10000,scale=1";
    f[Axis::page_tokens] = "16";
    f[Axis::layers] = "0-31";
    f[Axis::shard] = "0/1";
    f[Axis::layout] = "l1";
    return f;
}

Errc code_of(Axis axis, std::string value) {
    ContextFields f = complete_fields();
    f[axis] = std::move(value);
    const Result<void> valid = validate(f);
    return valid ? Errc::ok : valid.error().code();
}

ContextKey must(Result<ContextKey> key) {
    EXPECT_TRUE(key) << key.error().message();
    return std::move(key).value();
}

TEST(Axis, WordsGoBothWaysInTheOrderOfDivergence) {
    constexpr std::array<std::string_view, kAxisCount> kWords{
        "model",    "tokenizer",   "serializer", "position", "policy",
        "admitter", "weights",     "adapter",    "dtype",    "kv_quant",
        "rope",     "page_tokens", "layers",     "shard",    "layout"};
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        EXPECT_EQ(to_word(static_cast<Axis>(i)), kWords[i]);
        EXPECT_EQ(parse_axis(kWords[i]), static_cast<Axis>(i));
    }
    EXPECT_FALSE(parse_axis("Model"));
    EXPECT_FALSE(parse_axis(""));
    EXPECT_EQ(to_word(static_cast<Axis>(kAxisCount)), "unknown");
}

TEST(Validate, AcceptsAbsentAxes) {
    EXPECT_TRUE(validate(complete_fields()));
    EXPECT_TRUE(validate(ContextFields{}));
}

TEST(Validate, EmptyIsNotAbsentOnAnyAxis) {
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        EXPECT_EQ(code_of(static_cast<Axis>(i), ""), Errc::invalid_argument) << i;
    }
}

TEST(Validate, BoundsLengthAndBytes) {
    EXPECT_EQ(code_of(Axis::model, std::string(256, 'm')), Errc::ok);
    EXPECT_EQ(code_of(Axis::model, std::string(257, 'm')), Errc::too_large);
    EXPECT_EQ(code_of(Axis::weights, std::string(1U << 20U, 'm')), Errc::too_large);
    EXPECT_EQ(code_of(Axis::model, "two words ~"), Errc::ok);
    for (const char* bad : {"tab\t", "\x1b[2J", "\x7f", "caf\xc3\xa9"}) {
        EXPECT_EQ(code_of(Axis::model, bad), Errc::invalid_argument) << bad;
    }
    EXPECT_EQ(code_of(Axis::model, std::string("m\0a", 3)), Errc::invalid_argument);
}

TEST(Validate, WeightsAndAdapterAreIdentitiesNotNames) {
    for (const Axis axis : {Axis::weights, Axis::adapter}) {
        for (const std::string& good :
             {"sha256:" + kHex64, "blake2b:" + kHex64, "xxh3:" + kHex32, std::string("version:7"),
              std::string("version:0"), std::string("version:18446744073709551615")}) {
            EXPECT_EQ(code_of(axis, good), Errc::ok) << good;
        }
        for (const std::string& bad :
             {std::string("my-finetune"), std::string("latest"), std::string(":"),
              "sha256:" + kHex32, "sha256:" + kHex64 + "a", "sha256:" + std::string(64, 'A'),
              "sha256:" + std::string(64, 'g'), "SHA256:" + kHex64, "md5:" + kHex32,
              "xxh3:" + kHex64, std::string("version:"), std::string("version:-1"),
              std::string("version:07"), std::string("version:1.2"), std::string("version: 1"),
              std::string("version:18446744073709551616"), " sha256:" + kHex64, kHex64}) {
            EXPECT_EQ(code_of(axis, bad), Errc::invalid_argument) << bad;
        }
    }
    EXPECT_EQ(code_of(Axis::adapter, "none"), Errc::ok);
    EXPECT_EQ(code_of(Axis::weights, "none"), Errc::invalid_argument);
}

TEST(Validate, PageTokensIsOneSpellingOfANumber) {
    EXPECT_EQ(code_of(Axis::page_tokens, "1"), Errc::ok);
    EXPECT_EQ(code_of(Axis::page_tokens, "256"), Errc::ok);
    for (const char* bad :
         {"0", "016", "-1", "+1", "16 ", "16.0", "0x10", "sixteen", "18446744073709551616"}) {
        EXPECT_EQ(code_of(Axis::page_tokens, bad), Errc::invalid_argument) << bad;
    }
}

TEST(Validate, MessageNamesAxisValueAndRemedy) {
    ContextFields f = complete_fields();
    f[Axis::adapter] = "my-lora";
    EXPECT_EQ(validate(f).error().message(),
              "adapter is 'my-lora': a name is no identity; write sha256:<64 hex>, blake2b:<64 "
              "hex>, xxh3:<32 hex> (lower case) or version:<number>, or none without an adapter");
}

TEST(ContextKey, CompleteNeedsEveryAxis) {
    ContextInterner interner(100);
    EXPECT_TRUE(must(interner.acquire(complete_fields())).complete());
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        ContextFields f = complete_fields();
        f.axes[i].reset();
        const ContextKey key = must(interner.acquire(f));
        EXPECT_FALSE(key.complete()) << i;
        EXPECT_FALSE(key.axes[i]);
    }
    EXPECT_FALSE(ContextKey{}.complete());
}

TEST(FirstDivergence, IsTheFirstInOrder) {
    ContextKey a;
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        a.axes[i] = AxisId{static_cast<std::uint32_t>(i + 1)};
    }
    EXPECT_FALSE(first_divergence(a, a));
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        ContextKey b = a;
        for (std::size_t j = i; j < kAxisCount; ++j) {
            b.axes[j].value += 100;
            EXPECT_EQ(first_divergence(a, b), static_cast<Axis>(i));
            EXPECT_EQ(first_divergence(b, a), static_cast<Axis>(i));
        }
    }
}

TEST(ContextInterner, SameFieldsGiveTheSameKey) {
    ContextInterner interner(100);
    const ContextKey a = must(interner.acquire(complete_fields()));
    const ContextKey b = must(interner.acquire(complete_fields()));
    EXPECT_EQ(a, b);
    EXPECT_EQ(interner.value_count(), kAxisCount);
    EXPECT_EQ(interner.fields(a), complete_fields());
}

TEST(ContextInterner, OneTextOnTwoAxesIsTwoValues) {
    ContextInterner interner(100);
    ContextFields f;
    f[Axis::model] = "x";
    f[Axis::tokenizer] = "x";
    const ContextKey key = must(interner.acquire(f));
    EXPECT_NE(key.axes[0], key.axes[1]);
    EXPECT_EQ(interner.text(Axis::model, key.axes[0]), "x");
    EXPECT_EQ(interner.text(Axis::tokenizer, key.axes[1]), "x");
    EXPECT_EQ(interner.text(Axis::model, AxisId{}), "");
    EXPECT_EQ(interner.fields(key), f);

    ContextFields swapped;
    swapped[Axis::tokenizer] = "x";
    EXPECT_EQ(first_divergence(key, must(interner.acquire(swapped))), Axis::model);
}

TEST(ContextInterner, EachAxisAloneSeparates) {
    ContextInterner interner(100);
    const ContextKey base = must(interner.acquire(complete_fields()));
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        ContextFields f = complete_fields();
        const auto axis = static_cast<Axis>(i);
        f[axis] = axis == Axis::weights || axis == Axis::adapter ? "version:2"
                  : axis == Axis::page_tokens                    ? "32"
                                                                 : "other";
        EXPECT_EQ(first_divergence(base, must(interner.acquire(f))), axis);
    }
}

TEST(ContextInterner, IdIsFreeOnlyAfterTheLastRelease) {
    ContextInterner interner(2);
    ContextFields first;
    first[Axis::model] = "first";
    const ContextKey a = must(interner.acquire(first));
    const ContextKey again = must(interner.acquire(first));
    interner.retain(a);
    ContextFields second;
    second[Axis::model] = "second";

    interner.release(a);
    interner.release(again);
    const ContextKey b = must(interner.acquire(second));
    EXPECT_NE(b.axes[0], a.axes[0]);  // one reference to "first" is left
    EXPECT_EQ(interner.text(Axis::model, a.axes[0]), "first");
    interner.release(a);
    EXPECT_EQ(interner.value_count(), 1U);
    ContextFields third;
    third[Axis::dtype] = "bf16";
    const ContextKey c = must(interner.acquire(third));
    EXPECT_EQ(interner.text(Axis::dtype, c.axes[static_cast<std::size_t>(Axis::dtype)]), "bf16");
    EXPECT_EQ(interner.text(Axis::model, b.axes[0]), "second");
    EXPECT_EQ(interner.value_count(), 2U);
}

TEST(ContextInterner, RefusalTakesNothing) {
    ContextInterner interner(kAxisCount + 1);
    const ContextKey base = must(interner.acquire(complete_fields()));
    ContextFields two_new = complete_fields();
    two_new[Axis::model] = "new";
    two_new[Axis::layout] = "new";
    const auto refused = interner.acquire(two_new);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(interner.value_count(), kAxisCount);

    ContextFields invalid = complete_fields();
    invalid[Axis::layout] = "";
    EXPECT_EQ(interner.acquire(invalid).error().code(), Errc::invalid_argument);
    invalid[Axis::layout] = std::string(257, 'x');
    EXPECT_EQ(interner.acquire(invalid).error().code(), Errc::too_large);
    EXPECT_EQ(interner.value_count(), kAxisCount);

    // Nothing was taken by the refusals: one release of the only holder frees every value.
    interner.release(base);
    EXPECT_EQ(interner.value_count(), 0U);
    EXPECT_TRUE(interner.acquire(two_new));
}

TEST(ContextInterner, FullStillServesKnownValues) {
    ContextInterner interner(kAxisCount);
    static_cast<void>(must(interner.acquire(complete_fields())));
    EXPECT_TRUE(interner.acquire(complete_fields()));
    ContextInterner none(0);
    EXPECT_EQ(none.acquire(complete_fields()).error().code(), Errc::limit_exceeded);
    EXPECT_TRUE(none.acquire(ContextFields{}));
}

TEST(ContextInternerDeathTest, GivingBackTooOftenAborts) {
    ContextInterner interner(10);
    ContextFields f;
    f[Axis::model] = "x";
    const ContextKey key = must(interner.acquire(f));
    ContextKey wrong_axis;
    wrong_axis.axes[1] = key.axes[0];
    EXPECT_DEATH(interner.release(wrong_axis), "broken invariant");
    ContextKey never;
    never.axes[0] = AxisId{9};
    EXPECT_DEATH(interner.retain(never), "broken invariant");
    interner.release(key);
    EXPECT_DEATH(interner.release(key), "broken invariant");
}

// A model: the reference count of every text by plain counting.
TEST(ContextInterner, AgreesWithAModelUnderRandomUse) {
    const unsigned seed = 20240611;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    constexpr std::size_t kLimit = 12;
    ContextInterner interner(kLimit);
    std::map<std::pair<std::size_t, std::string>, int> model;
    std::vector<std::pair<ContextFields, ContextKey>> held;
    for (int step = 0; step < 20000; ++step) {
        if (held.empty() || random() % 2 == 0) {
            ContextFields f;
            for (const Axis axis : {Axis::model, Axis::dtype, Axis::layout}) {
                if (random() % 3 != 0) {
                    f[axis] = "v" + std::to_string(random() % 6);
                }
            }
            std::size_t fresh = 0;
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                fresh += f.axes[i] && model.count({i, *f.axes[i]}) == 0 ? 1 : 0;
            }
            const auto key = interner.acquire(f);
            ASSERT_EQ(static_cast<bool>(key), model.size() + fresh <= kLimit);
            if (key) {
                held.emplace_back(f, *key);
                for (std::size_t i = 0; i < kAxisCount; ++i) {
                    if (f.axes[i]) {
                        ++model[{i, *f.axes[i]}];
                    }
                }
            }
        } else {
            const std::size_t victim = random() % held.size();
            interner.release(held[victim].second);
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                const auto& value = held[victim].first.axes[i];
                if (value && --model[{i, *value}] == 0) {
                    model.erase({i, *value});
                }
            }
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        ASSERT_EQ(interner.value_count(), model.size());
        if (!held.empty()) {
            const auto& [fields, key] = held[random() % held.size()];
            ASSERT_EQ(interner.fields(key), fields);
        }
    }
}

}  // namespace
}  // namespace cxlpool

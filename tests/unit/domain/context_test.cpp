#include "domain/context.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
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

constexpr TenantId kOwner{1};
constexpr TenantId kOther{2};

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
    ContextInterner interner(100, 1000);
    EXPECT_TRUE(must(interner.acquire(complete_fields(), kOwner)).complete());
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        ContextFields f = complete_fields();
        f.axes[i].reset();
        const ContextKey key = must(interner.acquire(f, kOwner));
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
    ContextInterner interner(100, 1000);
    const ContextKey a = must(interner.acquire(complete_fields(), kOwner));
    const ContextKey b = must(interner.acquire(complete_fields(), kOwner));
    EXPECT_EQ(a, b);
    EXPECT_EQ(interner.value_count(), kAxisCount);
    EXPECT_EQ(interner.fields(a), complete_fields());
}

TEST(ContextInterner, OneTextOnTwoAxesIsTwoValues) {
    ContextInterner interner(100, 1000);
    ContextFields f;
    f[Axis::model] = "x";
    f[Axis::tokenizer] = "x";
    const ContextKey key = must(interner.acquire(f, kOwner));
    EXPECT_NE(key.axes[0], key.axes[1]);
    EXPECT_EQ(interner.text(Axis::model, key.axes[0]), "x");
    EXPECT_EQ(interner.text(Axis::tokenizer, key.axes[1]), "x");
    EXPECT_EQ(interner.text(Axis::model, AxisId{}), "");
    EXPECT_EQ(interner.fields(key), f);

    ContextFields swapped;
    swapped[Axis::tokenizer] = "x";
    EXPECT_EQ(first_divergence(key, must(interner.acquire(swapped, kOwner))), Axis::model);
}

TEST(ContextInterner, EachAxisAloneSeparates) {
    ContextInterner interner(100, 1000);
    const ContextKey base = must(interner.acquire(complete_fields(), kOwner));
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        ContextFields f = complete_fields();
        const auto axis = static_cast<Axis>(i);
        f[axis] = axis == Axis::weights || axis == Axis::adapter ? "version:2"
                  : axis == Axis::page_tokens                    ? "32"
                                                                 : "other";
        EXPECT_EQ(first_divergence(base, must(interner.acquire(f, kOwner))), axis);
    }
}

TEST(ContextInterner, IdIsFreeOnlyAfterTheLastRelease) {
    ContextInterner interner(2, 1000);
    ContextFields first;
    first[Axis::model] = "first";
    const ContextKey a = must(interner.acquire(first, kOwner));
    const ContextKey again = must(interner.acquire(first, kOwner));
    interner.retain(a, kOwner);
    ContextFields second;
    second[Axis::model] = "second";

    interner.release(a, kOwner);
    interner.release(again, kOwner);
    const ContextKey b = must(interner.acquire(second, kOwner));
    EXPECT_NE(b.axes[0], a.axes[0]);  // one reference to "first" is left
    EXPECT_EQ(interner.text(Axis::model, a.axes[0]), "first");
    interner.release(a, kOwner);
    EXPECT_EQ(interner.value_count(), 1U);
    ContextFields third;
    third[Axis::dtype] = "bf16";
    const ContextKey c = must(interner.acquire(third, kOwner));
    EXPECT_EQ(interner.text(Axis::dtype, c.axes[static_cast<std::size_t>(Axis::dtype)]), "bf16");
    EXPECT_EQ(interner.text(Axis::model, b.axes[0]), "second");
    EXPECT_EQ(interner.value_count(), 2U);
}

TEST(ContextInterner, RefusalTakesNothing) {
    ContextInterner interner(kAxisCount + 1, 1000);
    const ContextKey base = must(interner.acquire(complete_fields(), kOwner));
    ContextFields two_new = complete_fields();
    two_new[Axis::model] = "new";
    two_new[Axis::layout] = "new";
    const auto refused = interner.acquire(two_new, kOwner);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(interner.value_count(), kAxisCount);

    ContextFields invalid = complete_fields();
    invalid[Axis::layout] = "";
    EXPECT_EQ(interner.acquire(invalid, kOwner).error().code(), Errc::invalid_argument);
    invalid[Axis::layout] = std::string(257, 'x');
    EXPECT_EQ(interner.acquire(invalid, kOwner).error().code(), Errc::too_large);
    EXPECT_EQ(interner.value_count(), kAxisCount);

    // Nothing was taken by the refusals: one release of the only holder frees every value.
    interner.release(base, kOwner);
    EXPECT_EQ(interner.value_count(), 0U);
    EXPECT_TRUE(interner.acquire(two_new, kOwner));
}

TEST(ContextInterner, FullStillServesKnownValues) {
    ContextInterner interner(kAxisCount, 1000);
    static_cast<void>(must(interner.acquire(complete_fields(), kOwner)));
    EXPECT_TRUE(interner.acquire(complete_fields(), kOwner));
    ContextInterner none(0, 1000);
    EXPECT_EQ(none.acquire(complete_fields(), kOwner).error().code(), Errc::limit_exceeded);
    EXPECT_TRUE(none.acquire(ContextFields{}, kOwner));
}

TEST(ContextInternerDeathTest, GivingBackTooOftenAborts) {
    ContextInterner interner(10, 1000);
    ContextFields f;
    f[Axis::model] = "x";
    const ContextKey key = must(interner.acquire(f, kOwner));
    ContextKey wrong_axis;
    wrong_axis.axes[1] = key.axes[0];
    EXPECT_DEATH(interner.release(wrong_axis, kOwner), "broken invariant");
    ContextKey never;
    never.axes[0] = AxisId{9};
    EXPECT_DEATH(interner.retain(never, kOwner), "broken invariant");
    interner.release(key, kOwner);
    EXPECT_DEATH(interner.release(key, kOwner), "broken invariant");
}

ContextFields model_of(const std::string& model) {
    ContextFields f;
    f[Axis::model] = model;
    return f;
}

TEST(ContextInternerOwners, EachPaysForItsOwnUse) {
    ContextInterner interner(2, 1000);
    static_cast<void>(must(interner.acquire(model_of("a"), kOwner)));
    static_cast<void>(must(interner.acquire(model_of("b"), kOwner)));
    const auto full = interner.acquire(model_of("c"), kOwner);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(full.error().message(),
              "the context needs 1 new values, and this tenant's contexts and cells use 2 of at "
              "most 2: release contexts that are not needed any more");
    // What is full for one is not full for another, and sharing is no discount.
    static_cast<void>(must(interner.acquire(model_of("a"), kOther)));
    static_cast<void>(must(interner.acquire(model_of("c"), kOther)));
    EXPECT_EQ(interner.value_count(), 3U);
    EXPECT_EQ(interner.value_count(kOther), 2U);
    EXPECT_EQ(interner.acquire(model_of("b"), kOther).error().message(), full.error().message());
    EXPECT_EQ(interner.acquire(model_of("c"), kOwner).error().message(), full.error().message());
    EXPECT_TRUE(interner.acquire(model_of("a"), kOwner));
}

// The same request of the same owner, with and without another owner that has the guessed value.
TEST(ContextInternerOwners, AnswerDoesNotTellWhatAnotherHas) {
    const auto ask = [](std::size_t per_owner, std::size_t all, const std::string& others) {
        ContextInterner interner(per_owner, all);
        static_cast<void>(must(interner.acquire(model_of("mine"), kOwner)));
        static_cast<void>(must(interner.acquire(model_of(others), kOther)));
        const auto key = interner.acquire(model_of("guess"), kOwner);
        return key ? std::string("taken") : key.error().message();
    };
    EXPECT_EQ(ask(2, 1000, "guess"), "taken");
    EXPECT_EQ(ask(2, 1000, "no such"), "taken");
    EXPECT_NE(ask(1, 1000, "guess"), "taken");
    EXPECT_EQ(ask(1, 1000, "guess"), ask(1, 1000, "no such"));
    EXPECT_EQ(ask(2, 2, "guess"), "the daemon can keep no more context values");
    EXPECT_EQ(ask(2, 2, "no such"), "the daemon can keep no more context values");
    EXPECT_EQ(ask(2, 3, "guess"), "taken");
    EXPECT_EQ(ask(2, 3, "no such"), "taken");
}

TEST(ContextInternerOwners, ReleaseBalancesForEach) {
    ContextInterner interner(2, 1000);
    const ContextKey a = must(interner.acquire(model_of("a"), kOwner));
    interner.retain(a, kOwner);
    EXPECT_EQ(must(interner.acquire(model_of("a"), kOther)), a);
    interner.release(a, kOwner);
    EXPECT_EQ(interner.value_count(kOwner), 1U);  // the retained one
    interner.release(a, kOwner);
    EXPECT_EQ(interner.value_count(kOwner), 0U);
    EXPECT_EQ(interner.value_count(kOther), 1U);
    EXPECT_EQ(interner.text(Axis::model, a.axes[0]), "a");
    // The charge of the first ended with its last reference, so it has room for two again.
    ContextFields two = model_of("b");
    two[Axis::dtype] = "bf16";
    const ContextKey b = must(interner.acquire(two, kOwner));
    interner.release(a, kOther);
    EXPECT_EQ(interner.value_count(), 2U);
    interner.release(b, kOwner);
    EXPECT_EQ(interner.value_count(), 0U);
}

TEST(ContextInternerOwners, ReleaseGivesTheGlobalRoomBack) {
    ContextInterner interner(2, 2);
    const ContextKey a = must(interner.acquire(model_of("a"), kOwner));
    EXPECT_EQ(must(interner.acquire(model_of("a"), kOther)), a);
    EXPECT_EQ(interner.acquire(model_of("b"), kOther).error().code(), Errc::limit_exceeded);
    interner.release(a, kOwner);
    EXPECT_TRUE(interner.acquire(model_of("b"), kOther));
}

TEST(ContextInternerOwners, RefusalTakesNothing) {
    for (const std::size_t all : {std::size_t{1000}, std::size_t{2}}) {
        SCOPED_TRACE(all);
        ContextInterner interner(all == 2 ? 1000 : 2, all);
        const ContextKey a = must(interner.acquire(model_of("a"), kOwner));
        ContextFields three = model_of("a");
        three[Axis::dtype] = "bf16";
        three[Axis::layout] = "l1";
        EXPECT_EQ(interner.acquire(three, kOwner).error().code(), Errc::limit_exceeded);
        EXPECT_EQ(interner.acquire(three, kOther).error().code(), Errc::limit_exceeded);
        EXPECT_EQ(interner.value_count(), 1U);
        EXPECT_EQ(interner.value_count(kOwner), 1U);
        EXPECT_EQ(interner.value_count(kOther), 0U);
        interner.release(a, kOwner);
        EXPECT_EQ(interner.value_count(), 0U);
    }
}

TEST(ContextInternerOwners, NothingIsPaidForAnEmptyContext) {
    ContextInterner interner(0, 0);
    const ContextKey key = must(interner.acquire(ContextFields{}, kOwner));
    interner.retain(key, kOwner);
    interner.release(key, kOwner);
    interner.release(key, kOwner);
    EXPECT_EQ(key, ContextKey{});
}

TEST(ContextInternerOwnersDeathTest, AnothersReferenceIsNotOnesOwn) {
    ContextInterner interner(10, 1000);
    const ContextKey a = must(interner.acquire(model_of("a"), kOwner));
    EXPECT_DEATH(interner.release(a, kOther), "broken invariant");
    EXPECT_DEATH(interner.retain(a, kOther), "broken invariant");
    static_cast<void>(must(interner.acquire(model_of("b"), kOther)));
    EXPECT_DEATH(interner.release(a, kOther), "broken invariant");
    EXPECT_DEATH(interner.retain(a, kOther), "broken invariant");
}

TEST(ContextInternerProbe, TakesNothingAndComparesAsAcquired) {
    ContextInterner interner(kAxisCount, kAxisCount);
    const ContextKey key = must(interner.acquire(complete_fields(), kOwner));
    EXPECT_EQ(must(interner.probe(complete_fields())), key);

    ContextFields other = complete_fields();
    other[Axis::dtype] = "fp8";
    other[Axis::layout] = "l2";
    const ContextKey probed = must(interner.probe(other));
    EXPECT_TRUE(probed.complete());
    EXPECT_EQ(first_divergence(key, probed), Axis::dtype);
    EXPECT_EQ(probed.axes[static_cast<std::size_t>(Axis::dtype)], kUnusedAxisValue);
    EXPECT_EQ(interner.text(Axis::dtype, kUnusedAxisValue), "");
    ContextFields known = complete_fields();
    known[Axis::dtype].reset();
    known[Axis::layout].reset();
    EXPECT_EQ(interner.fields(probed), known);
    const ContextKey partial = must(interner.probe(known));
    EXPECT_FALSE(partial.complete());
    EXPECT_EQ(first_divergence(key, partial), Axis::dtype);

    // A value of another axis is no value of this one.
    ContextFields elsewhere;
    elsewhere[Axis::tokenizer] = "m-a";
    EXPECT_EQ(must(interner.probe(elsewhere)).axes[1], kUnusedAxisValue);

    EXPECT_EQ(interner.value_count(), kAxisCount);
    interner.release(key, kOwner);
    EXPECT_EQ(interner.value_count(), 0U);
    EXPECT_EQ(must(interner.probe(complete_fields())).axes[0], kUnusedAxisValue);

    other[Axis::layout] = "";
    EXPECT_EQ(interner.probe(other).error().code(), Errc::invalid_argument);
    other[Axis::layout] = std::string(257, 'x');
    EXPECT_EQ(interner.probe(other).error().code(), Errc::too_large);
}

TEST(ContextInternerProbeDeathTest, AnUnusedValueIsNeverKept) {
    ContextInterner interner(10, 1000);
    static_cast<void>(must(interner.acquire(model_of("a"), kOwner)));
    const ContextKey probed = must(interner.probe(model_of("b")));
    EXPECT_DEATH(interner.retain(probed, kOwner), "broken invariant");
    EXPECT_DEATH(interner.release(probed, kOwner), "broken invariant");
}

// A model: the reference count of every text of every owner by plain counting.
TEST(ContextInterner, AgreesWithAModelUnderRandomUse) {
    const unsigned seed = 20240611;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    constexpr std::size_t kOwnerLimit = 9;
    constexpr std::size_t kLimit = 24;  // below three times the other, so that both are met
    ContextInterner interner(kOwnerLimit, kLimit);
    using Value = std::pair<std::size_t, std::string>;
    struct Held {
        TenantId owner;
        ContextFields fields;
        ContextKey key;
    };
    std::map<TenantId, std::map<Value, int>> model;
    std::vector<Held> held;
    for (int step = 0; step < 20000; ++step) {
        if (held.empty() || random() % 2 == 0) {
            const TenantId owner{1 + random() % 3};
            ContextFields f;
            for (const Axis axis : {Axis::model, Axis::dtype, Axis::layout}) {
                if (random() % 3 != 0) {
                    f[axis] = "v" + std::to_string(random() % 6);
                }
            }
            std::size_t fresh = 0;
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                fresh += f.axes[i] && model[owner].count({i, *f.axes[i]}) == 0 ? 1 : 0;
            }
            std::size_t charged = 0;
            for (const auto& [who, values] : model) {
                charged += values.size();
            }
            const auto key = interner.acquire(f, owner);
            ASSERT_EQ(static_cast<bool>(key), model[owner].size() + fresh <= kOwnerLimit &&
                                                  (fresh == 0 || charged + fresh <= kLimit));
            if (key) {
                held.push_back({owner, f, *key});
                for (std::size_t i = 0; i < kAxisCount; ++i) {
                    if (f.axes[i]) {
                        ++model[owner][{i, *f.axes[i]}];
                    }
                }
            }
        } else {
            const std::size_t victim = random() % held.size();
            const Held gone = held[victim];
            interner.release(gone.key, gone.owner);
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                const auto& value = gone.fields.axes[i];
                if (value && --model[gone.owner][{i, *value}] == 0) {
                    model[gone.owner].erase({i, *value});
                }
            }
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
        }
        std::set<Value> live;
        for (const auto& [who, values] : model) {
            ASSERT_EQ(interner.value_count(who), values.size());
            for (const auto& [value, references] : values) {
                live.insert(value);
            }
        }
        ASSERT_EQ(interner.value_count(), live.size());
        if (!held.empty()) {
            const Held& one = held[random() % held.size()];
            ASSERT_EQ(interner.fields(one.key), one.fields);
            ASSERT_EQ(interner.probe(one.fields).value(), one.key);
        }
    }
}

}  // namespace
}  // namespace cxlpool

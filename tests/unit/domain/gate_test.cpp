#include "domain/gate.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cxlpool {
namespace {

TEST(Verdict, NumbersAndWordsAreStable) {
    const std::pair<int, std::string_view> table[] = {
        {1, "hit/in_place"},
        {2, "hit/stage"},
        {16, "miss/absent"},
        {32, "not_permitted"},
        {33, "quarantined"},
        {34, "not_sealed"},
        {35, "expired"},
        {36, "lost"},
        {37, "scope_denied"},
        {38, "not_admitted"},
        {39, "untrusted"},
        {40, "stale_epoch"},
        {41, "key_incomplete"},
        {42, "handle_invalid"},
        {43, "unreachable"},
        {64, "model_mismatch"},
        {65, "tokenizer_mismatch"},
        {66, "serializer_mismatch"},
        {67, "position_mismatch"},
        {68, "policy_mismatch"},
        {69, "admitter_mismatch"},
        {70, "weights_mismatch"},
        {71, "adapter_mismatch"},
        {72, "dtype_mismatch"},
        {73, "kv_quant_mismatch"},
        {74, "rope_mismatch"},
        {75, "page_tokens_mismatch"},
        {76, "layers_mismatch"},
        {77, "shard_mismatch"},
        {78, "layout_mismatch"},
    };
    std::set<int> known;
    for (const auto& [number, word] : table) {
        known.insert(number);
        EXPECT_EQ(to_word(static_cast<Verdict>(number)), word);
        EXPECT_EQ(parse_verdict(word), static_cast<Verdict>(number));
    }
    for (int number = 0; number < 300; ++number) {
        if (known.count(number) == 0) {
            EXPECT_EQ(to_word(static_cast<Verdict>(number)), "unknown") << number;
        }
        EXPECT_EQ(is_hit(static_cast<Verdict>(number)), number == 1 || number == 2) << number;
    }
    EXPECT_FALSE(parse_verdict("unknown"));
}

TEST(Verdict, MismatchesAreTheAxes) {
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        const auto axis = static_cast<Axis>(i);
        EXPECT_EQ(to_word(mismatch_of(axis)), std::string(to_word(axis)) + "_mismatch");
        EXPECT_EQ(axis_of(mismatch_of(axis)), axis);
    }
    for (const int other : {0, 1, 16, 43, 63, 79, 300}) {
        EXPECT_FALSE(axis_of(static_cast<Verdict>(other))) << other;
    }
}

template <typename Enum, std::size_t N, typename Parse>
void expect_words(const std::string_view (&words)[N], Parse parse) {
    for (std::size_t i = 0; i < N; ++i) {
        EXPECT_EQ(to_word(static_cast<Enum>(i)), words[i]);
        EXPECT_EQ(parse(words[i]), static_cast<Enum>(i));
    }
    EXPECT_EQ(to_word(static_cast<Enum>(N)), "unknown");
    EXPECT_EQ(to_word(static_cast<Enum>(200)), "unknown");
    EXPECT_FALSE(parse(""));
    EXPECT_FALSE(parse("Fleet"));
}

TEST(GateWords, GoBothWays) {
    expect_words<TenancyMode>({"single", "multi"}, parse_tenancy_mode);
    expect_words<Scope>({"agent", "tenant", "fleet"}, parse_scope);
    expect_words<Admission>({"unknown", "allow", "deny", "defer", "require_witness", "transform"},
                            parse_admission);
    expect_words<Taint>({"tainted", "trusted", "poisoned"}, parse_taint);
    expect_words<Lifecycle>(
        {"filling", "sealed", "expiring", "expired", "spilled", "evicted", "quarantined", "lost"},
        parse_lifecycle);
    expect_words<Reach>({"none", "in_place", "stage"}, parse_reach);
}

constexpr Timestamp kNow{1000};
constexpr TenantId kOwner{1};
constexpr TenantId kOther{2};

ContextKey full_key() {
    ContextKey key;
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        key.axes[i] = AxisId{static_cast<std::uint32_t>(i + 1)};
    }
    return key;
}

GateCell shared_cell() {
    GateCell cell;
    cell.owner = kOwner;
    cell.key = full_key();
    cell.lifecycle = Lifecycle::sealed;
    cell.taint = Taint::trusted;
    cell.admission = Admission::allow;
    cell.scope = Scope::fleet;
    cell.adjudicated_epoch = 1;
    cell.owner_epoch = 1;
    cell.length_bytes = 4096;
    cell.digest_present = true;
    cell.extent_alive = true;
    return cell;
}

GateRequester engine_of(TenantId tenant) {
    GateRequester requester;
    requester.authenticated = true;
    requester.may_act = true;
    requester.tenant = tenant;
    requester.reach = Reach::in_place;
    return requester;
}

TEST(Judge, NothingIsServedByDefault) {
    EXPECT_EQ(judge(GateRequester{}, GateCell{}, ContextKey{}, Timestamp{}),
              Verdict::not_permitted);
    EXPECT_EQ(judge(engine_of(kOther), GateCell{}, full_key(), kNow), Verdict::not_sealed);
    GateCell sealed;
    sealed.owner = kOwner;
    sealed.lifecycle = Lifecycle::sealed;
    EXPECT_EQ(judge(engine_of(kOther), sealed, full_key(), kNow), Verdict::scope_denied);
}

// Every numeric value of every enumeration: only the documented ones are ever served.
TEST(Judge, ServesOnlyTheDocumentedValues) {
    for (int n = 0; n < 256; ++n) {
        SCOPED_TRACE(n);
        GateCell cell = shared_cell();
        cell.scope = static_cast<Scope>(n);
        EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow),
                  n == 2 ? Verdict::hit_in_place : Verdict::scope_denied);
        EXPECT_EQ(judge(engine_of(kOwner), cell, full_key(), kNow),
                  n <= 2 ? Verdict::hit_in_place : Verdict::scope_denied);

        cell = shared_cell();
        cell.admission = static_cast<Admission>(n);
        EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow),
                  n == 1 ? Verdict::hit_in_place : Verdict::not_admitted);
        EXPECT_EQ(judge(engine_of(kOwner), cell, full_key(), kNow),
                  n <= 5 ? Verdict::hit_in_place : Verdict::not_admitted);

        cell = shared_cell();
        cell.taint = static_cast<Taint>(n);
        EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), n == 1   ? Verdict::hit_in_place
                                                                    : n == 2 ? Verdict::quarantined
                                                                             : Verdict::untrusted);
        EXPECT_EQ(judge(engine_of(kOwner), cell, full_key(), kNow), n <= 1   ? Verdict::hit_in_place
                                                                    : n == 2 ? Verdict::quarantined
                                                                             : Verdict::untrusted);

        cell = shared_cell();
        cell.lifecycle = static_cast<Lifecycle>(n);
        const bool served = n == 1 || n == 2 || n == 4;
        EXPECT_EQ(is_hit(judge(engine_of(kOther), cell, full_key(), kNow)), served);
        EXPECT_EQ(is_hit(judge(engine_of(kOwner), cell, full_key(), kNow)), served);

        GateRequester requester = engine_of(kOther);
        requester.reach = static_cast<Reach>(n);
        EXPECT_EQ(judge(requester, shared_cell(), full_key(), kNow), n == 1 ? Verdict::hit_in_place
                                                                     : n == 2
                                                                         ? Verdict::hit_stage
                                                                         : Verdict::unreachable);
    }
}

TEST(Judge, AllowListNarrowsOthersAndNeverWidens) {
    const TenantId listed[] = {TenantId{7}, kOther};
    const TenantId unlisted[] = {TenantId{7}, TenantId{0}};
    GateCell cell = shared_cell();
    cell.allow_list = listed;
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), Verdict::hit_in_place);
    cell.scope = Scope::tenant;
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), Verdict::scope_denied);
    cell.scope = Scope::fleet;
    cell.allow_list = unlisted;
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), Verdict::scope_denied);
    EXPECT_EQ(judge(engine_of(kOwner), cell, full_key(), kNow), Verdict::hit_in_place);
}

TEST(Judge, ExpiresAtItsTimeNotAfterIt) {
    GateCell cell = shared_cell();
    cell.expires_at = Timestamp{kNow.ns + 1};
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), Verdict::hit_in_place);
    cell.expires_at = kNow;
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), kNow), Verdict::expired);
    cell.expires_at = Timestamp{0};
    EXPECT_EQ(judge(engine_of(kOther), cell, full_key(), Timestamp{0}), Verdict::expired);
}

TEST(Outward, MultiHidesWhatIsNotOwned) {
    for (int number = 0; number < 300; ++number) {
        const auto verdict = static_cast<Verdict>(number);
        SCOPED_TRACE(number);
        const bool hit = number == 1 || number == 2;
        EXPECT_EQ(outward(verdict, TenancyMode::multi, kOther, kOwner).verdict(),
                  hit ? verdict : Verdict::miss_absent);
        EXPECT_EQ(outward(verdict, static_cast<TenancyMode>(200), kOther, kOwner).verdict(),
                  hit ? verdict : Verdict::miss_absent);
        EXPECT_EQ(outward(verdict, TenancyMode::multi, TenantId{}, TenantId{}).verdict(),
                  hit ? verdict : Verdict::miss_absent);
        EXPECT_EQ(outward(verdict, TenancyMode::single, kOther, kOwner).verdict(), verdict);
        EXPECT_EQ(outward(verdict, TenancyMode::single, kOwner, kOwner).verdict(), verdict);
        EXPECT_EQ(outward(verdict, TenancyMode::multi, kOwner, kOwner).verdict(),
                  verdict == Verdict::not_permitted ? Verdict::miss_absent : verdict);
    }
}

}  // namespace
}  // namespace cxlpool

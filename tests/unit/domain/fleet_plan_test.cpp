#include "domain/fleet_plan.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cxlpool {
namespace {

constexpr std::uint64_t kMib = 1ULL << 20U;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

FleetPlanInput reference_input() {
    FleetPlanInput input;
    input.tenants = 8;
    input.tokens = 4000;
    input.bytes = 64 * kMib;
    input.recompute_ns_per_token = 2'000'000;
    return input;
}

FleetPlan must(const FleetPlanInput& input, const Profile& profile) {
    Result<FleetPlan> plan = plan_fleet(input, profile);
    EXPECT_TRUE(plan) << plan.error().message();
    return std::move(plan).value();
}

Errc code_of(const FleetPlanInput& input, const Profile& profile) {
    const Result<FleetPlan> plan = plan_fleet(input, profile);
    return plan ? Errc::ok : plan.error().code();
}

void expect_private_reference(const RegimePlan& plan) {
    EXPECT_EQ(plan.prefill_tokens, 32000U);
    EXPECT_EQ(plan.resident_copies, 8U);
    EXPECT_EQ(plan.resident_bytes, 536870912U);
    EXPECT_EQ(plan.prefill_tokens_saved, 0U);
    EXPECT_EQ(plan.bytes_saved, 0U);
    EXPECT_EQ(plan.reader_cost_ns, 8'000'000'000U);
    EXPECT_FALSE(plan.recompute_cheaper);
}

TEST(FleetPlan, ReferenceOverCxlIsCoherent) {
    const FleetPlan plan = must(reference_input(), representative_profile(Tier::cxl));
    EXPECT_EQ(plan.tenants, 8U);
    EXPECT_EQ(plan.hosts, 8U);
    EXPECT_EQ(plan.attending_hosts, 8U);
    EXPECT_EQ(plan.holds, Regime::coherent);
    EXPECT_EQ(plan.advice, FleetAdvice::reuse);
    expect_private_reference(plan.private_copies);

    EXPECT_EQ(plan.coherent.prefill_tokens, 4000U);
    EXPECT_EQ(plan.coherent.resident_copies, 1U);
    EXPECT_EQ(plan.coherent.resident_bytes, 67108864U);
    EXPECT_EQ(plan.coherent.prefill_tokens_saved, 28000U);
    EXPECT_EQ(plan.coherent.bytes_saved, 469762048U);
    EXPECT_EQ(plan.coherent.reader_cost_ns, 300U);
    EXPECT_EQ(plan.coherent.full_pass_ns, 1'048'876U);
    EXPECT_EQ(plan.coherent.full_pass_shared_ns, 8'388'908U);

    EXPECT_EQ(plan.copy_only.prefill_tokens, 4000U);
    EXPECT_EQ(plan.copy_only.resident_bytes, 536870912U);
    EXPECT_EQ(plan.copy_only.reader_cost_ns, 1'048'876U);
    EXPECT_EQ(&plan.regime(Regime::coherent), &plan.coherent);
    EXPECT_EQ(&plan.regime(Regime::copy_only), &plan.copy_only);
    EXPECT_EQ(&plan.regime(Regime::private_copies), &plan.private_copies);
}

TEST(FleetPlan, ReferenceOverRemoteIsCopyOnly) {
    const FleetPlan plan = must(reference_input(), representative_profile(Tier::remote));
    EXPECT_EQ(plan.holds, Regime::copy_only);
    EXPECT_EQ(plan.advice, FleetAdvice::reuse);
    expect_private_reference(plan.private_copies);
    EXPECT_EQ(plan.copy_only.prefill_tokens, 4000U);
    EXPECT_EQ(plan.copy_only.resident_copies, 8U);
    EXPECT_EQ(plan.copy_only.resident_bytes, 536870912U);
    EXPECT_EQ(plan.copy_only.prefill_tokens_saved, 28000U);
    EXPECT_EQ(plan.copy_only.bytes_saved, 0U);
    EXPECT_EQ(plan.copy_only.reader_cost_ns, 5'692'405U);
    EXPECT_EQ(plan.coherent.reader_cost_ns, 100'000U);
    EXPECT_EQ(plan.coherent.full_pass_ns, 5'692'405U);
}

TEST(FleetPlan, ReferenceOverDramIsPrivate) {
    const FleetPlan plan = must(reference_input(), representative_profile(Tier::dram));
    EXPECT_EQ(plan.holds, Regime::private_copies);
    EXPECT_EQ(plan.advice, FleetAdvice::build_private);
    EXPECT_EQ(plan.attending_hosts, 1U);
    expect_private_reference(plan.private_copies);
}

TEST(FleetPlan, OnlyTheProfileDecides) {
    Profile profile = representative_profile(Tier::cxl);
    const FleetPlan shared = must(reference_input(), profile);

    profile.cross_host_coherence.value = CrossHostCoherence::none;
    const FleetPlan copied = must(reference_input(), profile);
    EXPECT_EQ(copied.holds, Regime::copy_only);
    EXPECT_EQ(copied.advice, FleetAdvice::reuse);

    profile.hosts.value = 1;
    const FleetPlan alone = must(reference_input(), profile);
    EXPECT_EQ(alone.holds, Regime::private_copies);
    EXPECT_EQ(alone.advice, FleetAdvice::build_private);

    // The figures of the regimes are those of a pool that reaches the fleet, in all three.
    for (const FleetPlan* plan : {&copied, &alone}) {
        EXPECT_EQ(plan->coherent.resident_bytes, shared.coherent.resident_bytes);
        EXPECT_EQ(plan->coherent.bytes_saved, shared.coherent.bytes_saved);
        EXPECT_EQ(plan->copy_only.prefill_tokens, shared.copy_only.prefill_tokens);
        EXPECT_EQ(plan->copy_only.reader_cost_ns, shared.copy_only.reader_cost_ns);
        expect_private_reference(plan->private_copies);
    }

    profile = representative_profile(Tier::cxl);
    profile.cross_host_coherence.value = CrossHostCoherence::managed;
    EXPECT_EQ(must(reference_input(), profile).holds, Regime::coherent);
    profile.share_kind.value = ShareKind::rdma;
    EXPECT_EQ(must(reference_input(), profile).holds, Regime::copy_only);
}

TEST(FleetPlan, HostsBeyondThePoolBuildForThemselves) {
    FleetPlanInput input = reference_input();
    input.tenants = 12;
    input.hosts = 10;
    Profile profile = representative_profile(Tier::cxl);
    profile.hosts.value = 4;
    const FleetPlan plan = must(input, profile);
    EXPECT_EQ(plan.tenants, 12U);
    EXPECT_EQ(plan.hosts, 10U);
    EXPECT_EQ(plan.attending_hosts, 4U);
    EXPECT_EQ(plan.private_copies.prefill_tokens, 40000U);
    EXPECT_EQ(plan.coherent.prefill_tokens, 28000U);  // one for the four, six for themselves
    EXPECT_EQ(plan.coherent.resident_copies, 7U);
    EXPECT_EQ(plan.coherent.resident_bytes, 7 * 64 * kMib);
    EXPECT_EQ(plan.coherent.prefill_tokens_saved, 12000U);
    EXPECT_EQ(plan.coherent.bytes_saved, 3 * 64 * kMib);
    EXPECT_EQ(plan.coherent.full_pass_shared_ns, 300U + 10 * 64 * kMib * 1000 / 64000);
    EXPECT_EQ(plan.copy_only.prefill_tokens, 28000U);
    EXPECT_EQ(plan.copy_only.resident_copies, 10U);
    EXPECT_EQ(plan.copy_only.resident_bytes, 10 * 64 * kMib);
    EXPECT_EQ(plan.copy_only.prefill_tokens_saved, 12000U);
    EXPECT_EQ(plan.copy_only.bytes_saved, 0U);
}

TEST(FleetPlan, FewerHostsThanTenants) {
    FleetPlanInput input = reference_input();
    input.hosts = 1;
    const FleetPlan plan = must(input, representative_profile(Tier::cxl));
    EXPECT_EQ(plan.hosts, 1U);
    EXPECT_EQ(plan.holds, Regime::coherent);
    for (const Regime each : {Regime::private_copies, Regime::copy_only, Regime::coherent}) {
        const RegimePlan& regime = plan.regime(each);
        EXPECT_EQ(regime.prefill_tokens, 4000U);
        EXPECT_EQ(regime.resident_copies, 1U);
        EXPECT_EQ(regime.prefill_tokens_saved, 0U);
        EXPECT_EQ(regime.bytes_saved, 0U);
    }
}

TEST(FleetPlan, UnknownFiguresHaveNoCost) {
    Profile profile = representative_profile(Tier::cxl);
    profile.read_mbps = Known<std::uint64_t>::unknown();
    FleetPlan plan = must(reference_input(), profile);
    EXPECT_EQ(plan.holds, Regime::coherent);
    EXPECT_EQ(plan.advice, FleetAdvice::reuse);
    EXPECT_FALSE(plan.copy_only.reader_cost_ns);
    EXPECT_EQ(plan.coherent.reader_cost_ns, 300U);
    EXPECT_FALSE(plan.coherent.full_pass_ns);
    EXPECT_FALSE(plan.coherent.full_pass_shared_ns);
    EXPECT_EQ(plan.copy_only.prefill_tokens_saved, 28000U);

    profile = representative_profile(Tier::cxl);
    profile.read_latency_ns = Known<std::uint64_t>::unknown();
    plan = must(reference_input(), profile);
    EXPECT_FALSE(plan.copy_only.reader_cost_ns);
    EXPECT_FALSE(plan.coherent.reader_cost_ns);
    EXPECT_FALSE(plan.coherent.full_pass_ns);

    profile.read_latency_ns.value = 0;
    profile.read_mbps.value = 0;
    plan = must(reference_input(), profile);
    EXPECT_FALSE(plan.coherent.reader_cost_ns);
    EXPECT_FALSE(plan.coherent.full_pass_ns);

    FleetPlanInput input = reference_input();
    input.recompute_ns_per_token = 0;
    plan = must(input, representative_profile(Tier::remote));
    EXPECT_FALSE(plan.private_copies.reader_cost_ns);
    EXPECT_EQ(plan.advice, FleetAdvice::reuse);
}

TEST(FleetPlan, RecomputeCheaperClaimsNothing) {
    FleetPlanInput input = reference_input();
    input.tokens = 1;
    const Profile remote = representative_profile(Tier::remote);

    input.recompute_ns_per_token = 5'692'406;
    EXPECT_EQ(must(input, remote).advice, FleetAdvice::reuse);

    input.recompute_ns_per_token = 5'692'405;  // equal is already not worth it
    const FleetPlan plan = must(input, remote);
    EXPECT_EQ(plan.holds, Regime::copy_only);
    EXPECT_EQ(plan.advice, FleetAdvice::recompute_cheaper);
    EXPECT_TRUE(plan.copy_only.recompute_cheaper);
    EXPECT_EQ(plan.copy_only.prefill_tokens_saved, 0U);
    EXPECT_EQ(plan.copy_only.bytes_saved, 0U);
    EXPECT_EQ(plan.copy_only.prefill_tokens, 1U);
    EXPECT_EQ(plan.copy_only.resident_copies, 8U);
    EXPECT_EQ(plan.copy_only.reader_cost_ns, 5'692'405U);
    // Attending in place would still pay.
    EXPECT_FALSE(plan.coherent.recompute_cheaper);
    EXPECT_EQ(plan.coherent.prefill_tokens_saved, 7U);
}

TEST(FleetPlan, RecomputeCheaperIsAskedOfTheRegimeThatHolds) {
    FleetPlanInput input = reference_input();
    input.tokens = 1;
    input.recompute_ns_per_token = 1000;
    const Profile cxl = representative_profile(Tier::cxl);
    FleetPlan plan = must(input, cxl);  // attending takes 300 ns, staging a millisecond
    EXPECT_EQ(plan.advice, FleetAdvice::reuse);
    EXPECT_TRUE(plan.copy_only.recompute_cheaper);
    EXPECT_EQ(plan.copy_only.prefill_tokens_saved, 0U);
    EXPECT_EQ(plan.coherent.bytes_saved, 469762048U);

    input.recompute_ns_per_token = 300;
    plan = must(input, cxl);
    EXPECT_EQ(plan.advice, FleetAdvice::recompute_cheaper);
    EXPECT_EQ(plan.coherent.prefill_tokens_saved, 0U);
    EXPECT_EQ(plan.coherent.bytes_saved, 0U);

    plan = must(input, representative_profile(Tier::dram));
    EXPECT_EQ(plan.advice, FleetAdvice::build_private);
}

Profile managed_cxl(std::optional<std::uint64_t> writeback, std::optional<std::uint64_t> drop) {
    Profile profile = representative_profile(Tier::cxl);
    profile.cross_host_coherence.value = CrossHostCoherence::managed;
    profile.cache_writeback_mbps.value = writeback;
    profile.cache_invalidate_mbps.value = drop;
    return profile;
}

TEST(FleetPlan, ManagedCoherenceCostsAreKeptApart) {
    const FleetPlan plan = must(reference_input(), managed_cxl(12'000, 20'000));
    EXPECT_EQ(plan.holds, Regime::coherent);
    EXPECT_EQ(plan.coherent.reader_cost_ns, 300U);
    EXPECT_EQ(plan.coherent.full_pass_ns, 1'048'876U);
    EXPECT_EQ(plan.coherent.seal_writeback_ns, 5'592'406U);     // 67108864000 / 12000, up
    EXPECT_EQ(plan.coherent.reader_invalidate_ns, 3'355'444U);  // 67108864000 / 20000, up

    // Each is unknown alone, and unknown is no 0.
    EXPECT_FALSE(must(reference_input(), managed_cxl({}, 1)).coherent.seal_writeback_ns);
    EXPECT_FALSE(must(reference_input(), managed_cxl(1, {})).coherent.reader_invalidate_ns);
    EXPECT_FALSE(must(reference_input(), managed_cxl(0, 0)).coherent.seal_writeback_ns);

    Profile profile = managed_cxl(12'000, 20'000);
    profile.cross_host_coherence.value = CrossHostCoherence::hardware;  // needs none
    EXPECT_EQ(must(reference_input(), profile).coherent.seal_writeback_ns, 0U);
    EXPECT_EQ(must(reference_input(), profile).coherent.reader_invalidate_ns, 0U);
    profile.cross_host_coherence.value = CrossHostCoherence::none;  // has none
    EXPECT_FALSE(must(reference_input(), profile).coherent.seal_writeback_ns);
}

TEST(FleetPlan, WholeCacheLinesCountAndNoCostRoundsToNothing) {
    FleetPlanInput input = reference_input();
    input.bytes = 65;  // two lines: 128000 / 64000
    FleetPlan plan = must(input, managed_cxl(64'000, 1'000'000'000));
    EXPECT_EQ(plan.coherent.seal_writeback_ns, 2U);
    EXPECT_EQ(plan.coherent.reader_invalidate_ns, 1U);
    input.bytes = 64;
    plan = must(input, managed_cxl(64'000, kMax));
    EXPECT_EQ(plan.coherent.seal_writeback_ns, 1U);
    EXPECT_EQ(plan.coherent.reader_invalidate_ns, 1U);
}

TEST(FleetPlan, ManagedCostsCountAgainstRecomputing) {
    FleetPlanInput input = reference_input();
    input.tokens = 1;
    input.recompute_ns_per_token = 3'355'745;  // 1 ns above 300 + 3,355,444
    EXPECT_EQ(must(input, managed_cxl({}, 20'000)).advice, FleetAdvice::reuse);
    input.recompute_ns_per_token = 3'355'744;
    EXPECT_EQ(must(input, managed_cxl({}, 20'000)).advice, FleetAdvice::recompute_cheaper);
    EXPECT_EQ(must(input, managed_cxl({}, {})).advice, FleetAdvice::reuse);

    // Seven readers must gain more than the write-back of 5,592,406 ns costs, once: 798,916 each.
    input.recompute_ns_per_token = 300 + 798'916;
    EXPECT_EQ(must(input, managed_cxl(12'000, {})).advice, FleetAdvice::reuse);
    input.recompute_ns_per_token = 300 + 798'915;
    const FleetPlan plan = must(input, managed_cxl(12'000, {}));
    EXPECT_EQ(plan.advice, FleetAdvice::recompute_cheaper);
    EXPECT_EQ(plan.coherent.prefill_tokens_saved, 0U);
    EXPECT_EQ(plan.coherent.bytes_saved, 0U);
    EXPECT_EQ(plan.coherent.reader_cost_ns, 300U);
}

TEST(FleetPlan, SpanMustFit) {
    Profile profile = representative_profile(Tier::cxl);
    profile.capacity_bytes.value = 64 * kMib;
    EXPECT_EQ(code_of(reference_input(), profile), Errc::ok);
    profile.capacity_bytes.value = 64 * kMib - 1;
    const auto refused = plan_fleet(reference_input(), profile);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::span_exceeds_capacity);
    EXPECT_EQ(refused.error().message(),
              "a span of 67108864 bytes does not fit in 'cxl', which has 67108863 bytes");
    profile.capacity_bytes.value = 0;
    EXPECT_EQ(code_of(reference_input(), profile), Errc::ok);
    profile.capacity_bytes = Known<std::uint64_t>::unknown();
    EXPECT_EQ(code_of(reference_input(), profile), Errc::ok);
}

TEST(FleetPlan, RefusesImpossibleInput) {
    const Profile cxl = representative_profile(Tier::cxl);
    FleetPlanInput input = reference_input();
    input.tenants = 0;
    EXPECT_EQ(code_of(input, cxl), Errc::invalid_argument);
    input = reference_input();
    input.hosts = 0;
    EXPECT_EQ(code_of(input, cxl), Errc::invalid_argument);
    input.hosts = 9;
    EXPECT_EQ(plan_fleet(input, cxl).error().message(),
              "hosts is 9: it must be from 1 to the number of tenants, 8");
    input.hosts = 8;
    EXPECT_EQ(code_of(input, cxl), Errc::ok);
    input = reference_input();
    input.tokens = 0;
    EXPECT_EQ(code_of(input, cxl), Errc::invalid_argument);
    input = reference_input();
    input.bytes = 0;
    EXPECT_EQ(code_of(input, cxl), Errc::invalid_argument);
}

TEST(FleetPlan, NothingWraps) {
    const Profile remote = representative_profile(Tier::remote);
    FleetPlanInput input = reference_input();
    input.tokens = kMax / 8 + 1;  // prefill tokens of the private regime
    input.recompute_ns_per_token = 1;
    EXPECT_EQ(code_of(input, remote), Errc::overflow);

    input = reference_input();
    input.bytes = kMax / 8 + 1;  // resident bytes
    EXPECT_EQ(code_of(input, remote), Errc::overflow);

    input = reference_input();
    input.recompute_ns_per_token = kMax / 4000 + 1;  // recompute cost
    EXPECT_EQ(code_of(input, remote), Errc::overflow);
    input.recompute_ns_per_token = kMax / 4000;
    EXPECT_EQ(code_of(input, remote), Errc::ok);

    input = reference_input();
    input.tenants = 1;
    input.bytes = kMax / 1000 + 1;  // bytes in units of the bandwidth
    EXPECT_EQ(code_of(input, remote), Errc::overflow);
    input.bytes = kMax / 1000;
    EXPECT_EQ(code_of(input, remote), Errc::ok);

    Profile slow = remote;
    slow.read_latency_ns.value = kMax;  // latency plus transfer
    EXPECT_EQ(code_of(reference_input(), slow), Errc::overflow);

    input = reference_input();
    input.tenants = kMax;
    EXPECT_EQ(code_of(input, remote), Errc::overflow);
}

TEST(FleetPlan, Words) {
    EXPECT_EQ(to_word(Regime::private_copies), "private");
    EXPECT_EQ(to_word(Regime::copy_only), "copy_only");
    EXPECT_EQ(to_word(Regime::coherent), "coherent");
    EXPECT_EQ(to_word(static_cast<Regime>(200)), "unknown");
    EXPECT_EQ(to_word(FleetAdvice::reuse), "reuse");
    EXPECT_EQ(to_word(FleetAdvice::build_private), "build_private");
    EXPECT_EQ(to_word(FleetAdvice::recompute_cheaper), "recompute_cheaper");
    EXPECT_EQ(to_word(static_cast<FleetAdvice>(200)), "unknown");
}

}  // namespace
}  // namespace cxlpool

// Random profiles and inputs against a naive plan in 128 bits, and the laws that no plan may break:
// worse evidence, fewer hosts or less coherence never grant more.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "domain/fleet_plan.hpp"

namespace cxlpool {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSeed = 20250301;
constexpr int kTurns = 120'000;

class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool once_in(std::uint64_t n) { return below(n) == 0; }
    // Of every size, and often at an edge.
    std::uint64_t number() {
        constexpr std::uint64_t kEdges[] = {0, 1, 2, 63, 64, 65, kMax / 1000, kMax - 1, kMax};
        return once_in(8) ? kEdges[below(std::size(kEdges))] : random_() >> below(64);
    }
    std::uint64_t small() { return 1 + below(20); }

  private:
    std::mt19937_64 random_;
};

template <typename T>
Known<T> perhaps(Dice& dice, T value) {
    return dice.once_in(4) ? Known<T>::unknown() : Known<T>::of(value, Source::declared, "dice");
}

Profile any_profile(Dice& dice) {
    Profile profile;
    profile.name = "dice";
    profile.read_latency_ns = perhaps(dice, dice.number());
    profile.read_mbps = perhaps(dice, dice.number());
    profile.capacity_bytes = perhaps(dice, dice.once_in(2) ? 0 : dice.number());
    profile.hosts = perhaps(dice, static_cast<std::uint32_t>(dice.below(12)));
    profile.share_kind = perhaps(dice, dice.once_in(3) ? ShareKind::rdma : ShareKind::cxl_hdm);
    profile.cross_host_coherence = perhaps(dice, static_cast<CrossHostCoherence>(dice.below(3)));
    profile.cache_writeback_mbps = perhaps(dice, dice.number());
    profile.cache_invalidate_mbps = perhaps(dice, dice.number());
    return profile;
}

FleetPlanInput any_input(Dice& dice) {
    FleetPlanInput input;
    input.tenants = dice.once_in(16) ? dice.number() : dice.small();
    if (dice.once_in(2)) {
        input.hosts = dice.once_in(8) ? dice.number() : dice.below(input.tenants % 32 + 2);
    }
    input.tokens = dice.once_in(4) ? dice.number() : dice.small() * 100;
    input.bytes = dice.once_in(4) ? dice.number() : dice.small() << 20U;
    input.recompute_ns_per_token = dice.once_in(4) ? dice.number() : dice.small() * 1000;
    return input;
}

std::optional<Wide> wide(const Known<std::uint64_t>& field) {
    return field.value && *field.value != 0 ? std::optional<Wide>(*field.value) : std::nullopt;
}

// The semantics as they are written down, without a thought for speed or overflow.
struct Reference {
    Errc code = Errc::ok;
    Regime holds = Regime::private_copies;
    Wide hosts = 0;
    Wide builders = 0;
    std::optional<Wide> recompute, attend, pass, shared, writeback, invalidate;
    bool too_big = false;
    bool copy_cheaper = false, coherent_cheaper = false;
};

Reference reference_plan(const FleetPlanInput& in, const Profile& p) {
    Reference r;
    r.hosts = in.hosts.value_or(in.tenants);
    if (in.tenants == 0 || r.hosts == 0 || r.hosts > in.tenants || in.tokens == 0 ||
        in.bytes == 0) {
        r.code = Errc::invalid_argument;
        return r;
    }
    const Wide capacity = p.capacity_bytes.value.value_or(0);
    if (capacity != 0 && in.bytes > capacity) {
        r.code = Errc::span_exceeds_capacity;
        return r;
    }
    const Wide pool_hosts = std::max<Wide>(1, p.hosts.value.value_or(1));
    const auto coherence = p.cross_host_coherence.value.value_or(CrossHostCoherence::none);
    const bool hdm = p.share_kind.value.value_or(ShareKind::none) == ShareKind::cxl_hdm;
    if (pool_hosts > 1) {
        r.holds =
            hdm && coherence != CrossHostCoherence::none ? Regime::coherent : Regime::copy_only;
    }
    const Wide attending = pool_hosts > 1 ? std::min(r.hosts, pool_hosts) : r.hosts;
    r.builders = 1 + r.hosts - attending;

    const Wide bytes = in.bytes;
    const auto check = [&r](Wide value) {
        r.too_big = r.too_big || value > kMax;
        return value;
    };
    if (in.recompute_ns_per_token != 0) {
        r.recompute = check(Wide(in.tokens) * in.recompute_ns_per_token);
    }
    r.attend = wide(p.read_latency_ns);
    if (r.attend && wide(p.read_mbps)) {
        check(bytes * 1000);
        check(r.hosts * bytes);
        check(r.hosts * bytes > kMax ? Wide(0) : r.hosts * bytes * 1000);
        if (!r.too_big) {
            r.pass = check(*r.attend + bytes * 1000 / *wide(p.read_mbps));
            r.shared = check(*r.attend + r.hosts * bytes * 1000 / *wide(p.read_mbps));
        }
    }
    const auto lines_ns = [&](const Known<std::uint64_t>& speed) -> std::optional<Wide> {
        if (coherence == CrossHostCoherence::hardware) {
            return Wide(0);
        }
        if (coherence == CrossHostCoherence::none || !wide(speed)) {
            return std::nullopt;
        }
        const Wide scaled = check((bytes + 63) / 64 * 64 * 1000);
        return (scaled + *wide(speed) - 1) / *wide(speed);
    };
    r.writeback = lines_ns(p.cache_writeback_mbps);
    r.invalidate = lines_ns(p.cache_invalidate_mbps);
    check(Wide(in.tokens) * r.hosts);
    check(bytes * r.hosts);
    if (r.too_big) {
        r.code = Errc::overflow;
        return r;
    }
    const Wide readers = std::max<Wide>(1, r.hosts - r.builders);
    r.copy_cheaper = r.pass && r.recompute && *r.pass >= *r.recompute;
    if (r.attend && r.recompute) {
        const Wide reader = *r.attend + r.invalidate.value_or(0);
        r.coherent_cheaper = readers * reader + r.writeback.value_or(0) >= readers * *r.recompute;
    }
    return r;
}

bool same(const std::optional<std::uint64_t>& got, const std::optional<Wide>& want) {
    return got.has_value() == want.has_value() && (!got || Wide(*got) == *want);
}

bool same(const RegimePlan& got, const FleetPlanInput& in, const Reference& want, Wide prefills,
          Wide copies, bool cheaper) {
    return got.prefill_tokens == prefills * in.tokens && got.resident_copies == copies &&
           got.resident_bytes == copies * in.bytes && got.recompute_cheaper == cheaper &&
           got.prefill_tokens_saved == (cheaper ? 0 : (want.hosts - prefills) * in.tokens) &&
           got.bytes_saved == (cheaper ? 0 : (want.hosts - copies) * in.bytes);
}

bool agrees(const Result<FleetPlan>& got, const FleetPlanInput& in, const Reference& want) {
    if (!got) {
        return got.error().code() == want.code;
    }
    return want.code == Errc::ok && got->holds == want.holds &&
           same(got->private_copies, in, want, want.hosts, want.hosts, false) &&
           same(got->copy_only, in, want, want.builders, want.hosts, want.copy_cheaper) &&
           same(got->coherent, in, want, want.builders, want.builders, want.coherent_cheaper) &&
           same(got->private_copies.reader_cost_ns, want.recompute) &&
           same(got->copy_only.reader_cost_ns, want.pass) &&
           same(got->coherent.reader_cost_ns, want.attend) &&
           same(got->coherent.full_pass_ns, want.pass) &&
           same(got->coherent.full_pass_shared_ns, want.shared) &&
           same(got->coherent.seal_writeback_ns, want.writeback) &&
           same(got->coherent.reader_invalidate_ns, want.invalidate);
}

TEST(FleetPlanModel, AgreesWithTheNaivePlan) {
    Dice dice(kSeed);
    int planned = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
        const Profile profile = any_profile(dice);
        const FleetPlanInput input = any_input(dice);
        const Result<FleetPlan> got = plan_fleet(input, profile);
        planned += got ? 1 : 0;
        ASSERT_TRUE(agrees(got, input, reference_plan(input, profile)))
            << "seed " << kSeed << ", turn " << turn << ": tenants " << input.tenants << ", hosts "
            << input.hosts.value_or(0) << ", tokens " << input.tokens << ", bytes " << input.bytes
            << ", ns a token " << input.recompute_ns_per_token;
    }
    EXPECT_GT(planned, kTurns / 4);
    EXPECT_LT(planned, kTurns);
}

// What a plan grants: how far it reuses, and what the regime that holds saves.
struct Grant {
    Regime regime = Regime::private_copies;
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
};

std::optional<Grant> grant_of(const FleetPlanInput& input, const Profile& profile) {
    const Result<FleetPlan> plan = plan_fleet(input, profile);
    if (!plan) {
        return std::nullopt;
    }
    const RegimePlan& held = plan->regime(plan->holds);
    return Grant{plan->holds, held.prefill_tokens_saved, held.bytes_saved};
}

// One step down in what gives rights. The costs stay: not knowing them grants nothing, but it can
// hide that computing again is cheaper, which is advice and no right.
Profile worsened(Dice& dice, Profile profile) {
    switch (dice.below(5)) {
        case 0:
            profile.hosts = Known<std::uint32_t>::unknown();
            break;
        case 1:
            profile.cross_host_coherence = Known<CrossHostCoherence>::unknown();
            break;
        case 2:
            profile.share_kind = Known<ShareKind>::unknown();
            break;
        case 3:
            profile.hosts.value = std::max(1U, hosts_or_assumed(profile)) - 1;
            break;
        default:
            profile.cross_host_coherence.value =
                coherence_or_none(profile) == CrossHostCoherence::hardware
                    ? CrossHostCoherence::managed
                    : CrossHostCoherence::none;
            break;
    }
    return profile;
}

TEST(FleetPlanModel, WorseNeverGrantsMore) {
    Dice dice(kSeed + 1);
    int compared = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
        Profile better = any_profile(dice);
        // The costs of managed coherence are advice: with them, a plan may say that even reading
        // in place does not pay where a copy would.
        better.cache_writeback_mbps = Known<std::uint64_t>::unknown();
        better.cache_invalidate_mbps = Known<std::uint64_t>::unknown();
        // So are half known costs: a copy of unknown length hides that it does not pay either.
        if (better.read_latency_ns.value && !figure(better.read_mbps)) {
            better.read_mbps.value = 64'000;
        }
        const Profile worse = worsened(dice, better);
        const FleetPlanInput input = any_input(dice);
        const std::optional<Grant> more = grant_of(input, better);
        const std::optional<Grant> less = grant_of(input, worse);
        if (!more || !less) {
            continue;
        }
        ++compared;
        ASSERT_LE(less->regime, more->regime) << "seed " << kSeed + 1 << ", turn " << turn;
        ASSERT_LE(less->tokens, more->tokens) << "seed " << kSeed + 1 << ", turn " << turn;
        ASSERT_LE(less->bytes, more->bytes) << "seed " << kSeed + 1 << ", turn " << turn;
    }
    EXPECT_GT(compared, kTurns / 4);
}

TEST(FleetPlanModel, ManagedNeverGrantsMoreThanHardware) {
    Dice dice(kSeed + 2);
    for (int turn = 0; turn < kTurns; ++turn) {
        Profile profile = any_profile(dice);
        const FleetPlanInput input = any_input(dice);
        profile.cross_host_coherence.value = CrossHostCoherence::hardware;
        const std::optional<Grant> more = grant_of(input, profile);
        profile.cross_host_coherence.value = CrossHostCoherence::managed;
        const std::optional<Grant> less = grant_of(input, profile);
        if (more && less) {
            ASSERT_EQ(less->regime, more->regime);
            ASSERT_LE(less->tokens, more->tokens) << "seed " << kSeed + 2 << ", turn " << turn;
            ASSERT_LE(less->bytes, more->bytes) << "seed " << kSeed + 2 << ", turn " << turn;
        }
    }
}

}  // namespace
}  // namespace cxlpool

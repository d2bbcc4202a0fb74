#include "domain/fleet_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kRegimeWords{
    Word<Regime>{Regime::private_copies, "private"},
    Word<Regime>{Regime::copy_only, "copy_only"},
    Word<Regime>{Regime::coherent, "coherent"},
};

constexpr std::array kAdviceWords{
    Word<FleetAdvice>{FleetAdvice::reuse, "reuse"},
    Word<FleetAdvice>{FleetAdvice::build_private, "build_private"},
    Word<FleetAdvice>{FleetAdvice::recompute_cheaper, "recompute_cheaper"},
};

// Checked arithmetic that remembers, so that a formula reads as one and is asked once at the end.
class Checked {
  public:
    // The compiler's own operations: a call for each would be most of what a plan costs.
    std::uint64_t mul(std::uint64_t a, std::uint64_t b) {
        std::uint64_t product = 0;
        overflowed_ |= __builtin_mul_overflow(a, b, &product);
        return product;
    }
    std::uint64_t add(std::uint64_t a, std::uint64_t b) {
        std::uint64_t sum = 0;
        overflowed_ |= __builtin_add_overflow(a, b, &sum);
        return sum;
    }
    bool overflowed() const { return overflowed_; }

  private:
    bool overflowed_ = false;
};

// What the fleet needs without reuse. No regime needs more, and none saves more: these two products
// are the only ones that can overflow.
struct Baseline {
    std::uint64_t tokens = 0;
    std::uint64_t bytes = 0;
};

// 0: not known. Plain numbers, because copies of optionals would be most of what a plan costs.
struct Costs {
    std::uint64_t recompute_ns = 0;
    std::uint64_t attend_ns = 0;
    std::uint64_t pass_ns = 0;         // all bytes once: a staged copy, or one reading
    std::uint64_t shared_pass_ns = 0;  // the same while H readers share the link
};

void set_if_known(std::optional<std::uint64_t>& field, std::uint64_t cost) {
    if (cost != 0) {
        field.emplace(cost);
    }
}

Costs costs_of(const FleetPlanInput& input, const Baseline& baseline, const Profile& profile,
               Checked& math) {
    Costs costs;
    costs.recompute_ns = math.mul(input.tokens, input.recompute_ns_per_token);
    costs.attend_ns = profile.read_latency_ns.value.value_or(0);
    const std::uint64_t mbps = profile.read_mbps.value.value_or(0);
    if (costs.attend_ns != 0 && mbps != 0) {
        costs.pass_ns = math.add(costs.attend_ns, math.mul(input.bytes, 1000) / mbps);
        costs.shared_pass_ns = math.add(costs.attend_ns, math.mul(baseline.bytes, 1000) / mbps);
    }
    return costs;
}

// What a host takes for the cache lines of a span under managed coherence. Whole lines count, and
// so does a nanosecond that has begun: a cost that exists is never 0.
void set_cache_lines_ns(std::optional<std::uint64_t>& field, std::uint64_t bytes,
                        const Known<std::uint64_t>& mbps, CrossHostCoherence coherence,
                        Checked& math) {
    constexpr std::uint64_t kLine = 64;
    if (coherence == CrossHostCoherence::hardware) {
        field.emplace(0U);
        return;
    }
    const std::uint64_t speed = mbps.value.value_or(0);
    if (coherence == CrossHostCoherence::managed && speed != 0) {
        const std::uint64_t lines = bytes / kLine + (bytes % kLine != 0 ? 1 : 0);
        const std::uint64_t scaled = math.mul(lines, kLine * 1000);
        field.emplace(scaled / speed + (scaled % speed != 0 ? 1 : 0));
    }
}

// A regime in which `prefills` of the fleet's hosts compute and `copies` keep the bytes.
void fill(RegimePlan& plan, const FleetPlanInput& input, const Baseline& baseline,
          std::uint64_t prefills, std::uint64_t copies) {
    plan.prefill_tokens = input.tokens * prefills;
    plan.resident_copies = copies;
    plan.resident_bytes = input.bytes * copies;
    plan.prefill_tokens_saved = baseline.tokens - plan.prefill_tokens;
    plan.bytes_saved = baseline.bytes - plan.resident_bytes;
}

// What managed coherence adds to a regime; 0 also where it is not known.
struct Maintenance {
    std::uint64_t writeback_ns = 0;   // once
    std::uint64_t invalidate_ns = 0;  // by each reader
};

bool recompute_is_cheaper(const RegimePlan& plan, const Maintenance& maintenance,
                          const Costs& costs, std::uint64_t readers) {
    if (!plan.reader_cost_ns || costs.recompute_ns == 0) {
        return false;
    }
    std::uint64_t reader = 0;
    if (__builtin_add_overflow(*plan.reader_cost_ns, maintenance.invalidate_ns, &reader) ||
        reader >= costs.recompute_ns) {
        return true;
    }
    // The write-back, paid once, against what all readers gain; divided, so that nothing overflows.
    return maintenance.writeback_ns != 0 &&
           maintenance.writeback_ns / (costs.recompute_ns - reader) >= readers;
}

void weigh_against_recompute(RegimePlan& plan, const Maintenance& maintenance, const Costs& costs,
                             std::uint64_t readers) {
    if (recompute_is_cheaper(plan, maintenance, costs, readers)) {
        plan.recompute_cheaper = true;
        plan.prefill_tokens_saved = 0;
        plan.bytes_saved = 0;
    }
}

// Errors are worded apart from the checks, which every plan goes through.
[[gnu::cold]] Error at_least_one(std::string_view what, std::string_view why) {
    return Error{Errc::invalid_argument,
                 std::string(what) + " is 0: " + std::string(why) + " has at least one"};
}

[[gnu::cold]] Error hosts_outside(std::uint64_t hosts, std::uint64_t tenants) {
    return Error{Errc::invalid_argument, "hosts is " + std::to_string(hosts) +
                                             ": it must be from 1 to the number of tenants, " +
                                             std::to_string(tenants)};
}

[[gnu::cold]] Error too_large_for(const Profile& profile, std::uint64_t bytes) {
    return Error{Errc::span_exceeds_capacity,
                 "a span of " + std::to_string(bytes) + " bytes does not fit in '" + profile.name +
                     "', which has " + std::to_string(*profile.capacity_bytes.value) + " bytes"};
}

[[gnu::cold]] Error too_large_to_plan() {
    return Error{Errc::overflow,
                 "the plan does not fit in 64 bits: use fewer hosts, tokens or bytes, or a smaller "
                 "recompute cost"};
}

Result<void> check_input(const FleetPlanInput& input, std::uint64_t hosts, const Profile& profile) {
    if (input.tenants == 0) {
        return at_least_one("tenants", "a fleet");
    }
    if (hosts == 0 || hosts > input.tenants) {
        return hosts_outside(hosts, input.tenants);
    }
    if (input.tokens == 0) {
        return at_least_one("tokens", "a span");
    }
    if (input.bytes == 0) {
        return at_least_one("bytes", "a span");
    }
    const std::uint64_t capacity = profile.capacity_bytes.value.value_or(0);
    if (capacity != 0 && input.bytes > capacity) {
        return too_large_for(profile, input.bytes);
    }
    return {};
}

Regime regime_under(const Profile& profile) {
    if (!reachable(profile)) {
        return Regime::private_copies;
    }
    return fabric_shareable(profile) ? Regime::coherent : Regime::copy_only;
}

FleetAdvice advice_on(const FleetPlan& plan) {
    if (plan.holds == Regime::private_copies) {
        return FleetAdvice::build_private;
    }
    return plan.regime(plan.holds).recompute_cheaper ? FleetAdvice::recompute_cheaper
                                                     : FleetAdvice::reuse;
}

// Of an input that was checked. Filled where it is returned: it is large, and copies take their
// time.
Result<FleetPlan> plan_of(const FleetPlanInput& input, std::uint64_t hosts,
                          const Profile& profile) {
    Result<FleetPlan> made(std::in_place);
    FleetPlan& plan = *made;
    plan.tenants = input.tenants;
    plan.hosts = hosts;
    plan.attending_hosts = std::min<std::uint64_t>(hosts, hosts_or_assumed(profile));
    plan.holds = regime_under(profile);

    // Where the pool does not reach, reuse is only shown for comparison: as if it reached all.
    const bool reaches = plan.holds != Regime::private_copies;
    const std::uint64_t builders = 1 + (reaches ? hosts - plan.attending_hosts : 0);

    Checked math;
    const Baseline baseline{math.mul(input.tokens, hosts), math.mul(input.bytes, hosts)};
    const Costs costs = costs_of(input, baseline, profile, math);
    fill(plan.private_copies, input, baseline, hosts, hosts);
    set_if_known(plan.private_copies.reader_cost_ns, costs.recompute_ns);
    fill(plan.copy_only, input, baseline, builders, hosts);
    set_if_known(plan.copy_only.reader_cost_ns, costs.pass_ns);
    fill(plan.coherent, input, baseline, builders, builders);
    set_if_known(plan.coherent.reader_cost_ns, costs.attend_ns);
    set_if_known(plan.coherent.full_pass_ns, costs.pass_ns);
    set_if_known(plan.coherent.full_pass_shared_ns, costs.shared_pass_ns);
    const CrossHostCoherence coherence = coherence_or_none(profile);
    set_cache_lines_ns(plan.coherent.seal_writeback_ns, input.bytes, profile.cache_writeback_mbps,
                       coherence, math);
    set_cache_lines_ns(plan.coherent.reader_invalidate_ns, input.bytes,
                       profile.cache_invalidate_mbps, coherence, math);
    const std::uint64_t readers = std::max<std::uint64_t>(1, hosts - builders);
    weigh_against_recompute(plan.copy_only, {}, costs, readers);
    weigh_against_recompute(plan.coherent,
                            {plan.coherent.seal_writeback_ns.value_or(0),
                             plan.coherent.reader_invalidate_ns.value_or(0)},
                            costs, readers);
    plan.advice = advice_on(plan);
    if (math.overflowed()) {
        made = too_large_to_plan();
    }
    return made;
}

}  // namespace

std::string_view to_word(Regime regime) noexcept {
    return words::text_of(kRegimeWords, regime);
}

std::string_view to_word(FleetAdvice advice) noexcept {
    return words::text_of(kAdviceWords, advice);
}

const RegimePlan& FleetPlan::regime(Regime which) const noexcept {
    switch (which) {
        case Regime::copy_only:
            return copy_only;
        case Regime::coherent:
            return coherent;
        case Regime::private_copies:
            break;
    }
    return private_copies;
}

Result<FleetPlan> plan_fleet(const FleetPlanInput& input, const Profile& profile) {
    const std::uint64_t hosts = input.hosts.value_or(input.tenants);
    CXLPOOL_TRY(check_input(input, hosts, profile));
    return plan_of(input, hosts, profile);
}

}  // namespace cxlpool

// What a prefix wanted by a whole fleet costs: private, copied, or shared once.
//
// Responsible for: the three regimes, which one holds under a profile, and the advice. A pure
// function; all arithmetic is checked. All three regimes are always computed; the profile alone
// decides which one holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "domain/profile.hpp"

namespace cxlpool {

struct FleetPlanInput {
    std::uint64_t tenants = 1;                 // N >= 1
    std::optional<std::uint64_t> hosts;        // H, 1 <= H <= N; absent: N
    std::uint64_t tokens = 0;                  // T, of the span
    std::uint64_t bytes = 0;                   // B, of the span
    std::uint64_t recompute_ns_per_token = 0;  // R; 0: not known
};

enum class Regime : std::uint8_t { private_copies, copy_only, coherent };
enum class FleetAdvice : std::uint8_t {
    reuse,
    build_private,      // the private regime holds
    recompute_cheaper,  // in the regime that holds, a reader pays at least what computing costs
};
std::string_view to_word(Regime regime) noexcept;  // "private", "copy_only", "coherent"
std::string_view to_word(FleetAdvice advice) noexcept;

struct RegimePlan {
    std::uint64_t prefill_tokens = 0;
    std::uint64_t resident_copies = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t prefill_tokens_saved = 0;  // against the private baseline
    std::uint64_t bytes_saved = 0;
    // One more reader: computing the span (private), staging a copy (copy_only), attending in
    // place (coherent). No value when a latency, bandwidth or recompute cost it needs is unknown.
    std::optional<std::uint64_t> reader_cost_ns;
    // Both costs known, and the readers of this regime pay at least what computing again costs
    // them; what is known of the costs of managed coherence counts, the write-back once for all of
    // them. Such a regime claims no savings; its prefills and copies stay, as what it would take to
    // use it.
    bool recompute_cheaper = false;
};

// What only attending in place costs besides.
struct CoherentPlan : RegimePlan {
    // One pass over all bytes by one reader, and with the link shared by H (the whole fleet, also
    // where the pool has fewer hosts: an upper bound there).
    std::optional<std::uint64_t> full_pass_ns;
    std::optional<std::uint64_t> full_pass_shared_ns;
    // What managed coherence costs, apart from the reader's cost. The sealing side writes the cache
    // lines back once; each attending reader drops its lines before its first read of a generation.
    // 0: none is needed, under hardware coherence. No value: the profile does not say how fast, or
    // there is no coherence whose cost it could be.
    std::optional<std::uint64_t> seal_writeback_ns;
    std::optional<std::uint64_t> reader_invalidate_ns;
};

struct FleetPlan {
    FleetPlan() noexcept {}  // each member once; value-initialization would zero them all before

    std::uint64_t tenants = 0;
    std::uint64_t hosts = 0;            // H
    std::uint64_t attending_hosts = 0;  // min(H, hosts of the pool); 1 where it does not reach
    Regime holds = Regime::private_copies;
    FleetAdvice advice = FleetAdvice::build_private;
    RegimePlan private_copies;
    RegimePlan copy_only;
    CoherentPlan coherent;

    const RegimePlan& regime(Regime which) const noexcept;
};

// Errors: invalid_argument (no tenants, hosts outside 1..tenants, no bytes, no tokens),
// span_exceeds_capacity, overflow.
//
// Pool hosts below fleet hosts: only that many hosts attend in the copy_only and coherent
// regimes, the others build for themselves, and prefills and copies count them. A pool of one host
// is not such a case: the private regime holds, and the two others show what they would be if the
// pool reached the whole fleet.
//
// Capacity unknown or 0 is not checked. A latency or bandwidth of 0 counts as unknown.
Result<FleetPlan> plan_fleet(const FleetPlanInput& input, const Profile& profile);

}  // namespace cxlpool

// What a registry would have made of a trace.
//
// Responsible for: driving one registry with every request of a trace, in order, under one regime
// and one size of pool, and counting what came of it. No byte is stored and nothing waits: a
// request is over at its own time. Refuses to know: files, clocks, how results are shown.
//
// What happens to one request:
//   1. Each span of its prompt is looked up; what is found is leased until the request is over.
//   2. Hits are counted by the HitRule.
//   3. Each span that the tenant would have to keep, and does not have, is begun and sealed, in the
//      order of the prompt, and shared where the regime shares. In a full pool other cells go for
//      it, as the policy says; what finds no room even so is not kept.
//
// The regimes, those of the fleet plan:
//   private    Each tenant has a pool of the given size of its own, and finds its own cells only.
//   copy_only  One pool of the given size. A tenant finds the cells of all; one that it uses of
//              another becomes a copy of its own, which takes room as any cell does.
//   coherent   One pool of the given size. A tenant finds and uses the cells of all where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/fleet_plan.hpp"
#include "registry/registry.hpp"
#include "replay/trace.hpp"

namespace cxlpool::replay {

enum class HitRule : std::uint8_t {
    prefix,  // a span counts when it and all spans before it were found: what an engine can use
    blocks,  // each span that was found counts
};
std::string_view to_word(HitRule rule) noexcept;
Result<HitRule> parse_hit_rule(std::string_view word);

inline constexpr std::uint64_t kMaxBytesPerToken = 1ULL << 32U;

struct ReplayOptions {
    Regime regime = Regime::coherent;
    EvictionPolicy policy = EvictionPolicy::fair;
    std::uint64_t pool_bytes = 0;  // 0: without bound
    HitRule count = HitRule::prefix;
    // Of the spans whose request does not say their bytes: 1..kMaxBytesPerToken. A whole block has
    // kMaxBytesPerSpan bytes at most.
    std::uint64_t bytes_per_token = 128U << 10U;
};

struct TenantOutcome {
    std::string name;
    std::uint64_t requests = 0;
    std::uint64_t spans = 0;  // looked up
    std::uint64_t hits = 0;
    std::uint64_t hits_of_others = 0;  // those of `hits` that another tenant's cell gave
    std::uint64_t prefill_tokens = 0;  // of all prompts
    std::uint64_t prefill_tokens_saved = 0;
    std::uint64_t not_kept = 0;          // spans that found no room
    std::uint64_t evictions_caused = 0;  // as the registry counts them
    std::uint64_t evictions_suffered = 0;
    std::uint64_t bytes_resident = 0;  // at the end
};

struct ReplayReport {
    ReplayOptions options;
    std::uint64_t pools = 1;             // of options.pool_bytes each
    std::vector<TenantOutcome> tenants;  // as in the trace; the tenant of number i has the id i + 1
    TenantOutcome total;                 // without a name
    std::vector<EvictionFlow> evictions;  // who caused whose; without those who caused none
};

// Told now and then how many requests are done.
using ReplayProgress = std::function<void(std::uint64_t)>;

// A block of so many tokens: has it 1..kMaxBytesPerSpan bytes? Error: invalid_argument.
Result<void> check_sizes(std::uint64_t block_tokens, std::uint64_t bytes_per_token);

// Errors: those of check_sizes.
Result<ReplayReport> replay(const Trace& trace, const ReplayOptions& options,
                            const ReplayProgress& progress = {});

}  // namespace cxlpool::replay

// The trust gate: may this requester attend this cell?
//
// Responsible for: the eleven checks in their order, the stable codes of their answers, and the
// one function that every outward answer passes through. Refuses to know: sockets, segments,
// clocks; all facts arrive as values. Invariants: fails closed (an enumeration value that it does
// not know refuses); no allocation; the first failing check names the verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "domain/context.hpp"
#include "domain/lifecycle.hpp"

namespace cxlpool {

enum class TenancyMode : std::uint8_t { single, multi };
std::string_view to_word(TenancyMode mode) noexcept;
std::optional<TenancyMode> parse_tenancy_mode(std::string_view word) noexcept;

// Stable numbers: on the wire, in the C ABI, in the audit log. Below 16 the cell may be attended.
enum class Verdict : std::uint16_t {
    hit_in_place = 1,  // attend the bytes where they are
    hit_stage = 2,     // copy them first

    miss_absent = 16,

    not_permitted = 32,
    quarantined = 33,
    not_sealed = 34,
    expired = 35,
    lost = 36,
    scope_denied = 37,
    not_admitted = 38,
    untrusted = 39,
    stale_epoch = 40,
    key_incomplete = 41,
    handle_invalid = 42,
    unreachable = 43,

    // The axes, in order: 64 + index of the axis.
    model_mismatch = 64,
    tokenizer_mismatch = 65,
    serializer_mismatch = 66,
    position_mismatch = 67,
    policy_mismatch = 68,
    admitter_mismatch = 69,
    weights_mismatch = 70,
    adapter_mismatch = 71,
    dtype_mismatch = 72,
    kv_quant_mismatch = 73,
    rope_mismatch = 74,
    page_tokens_mismatch = 75,
    layers_mismatch = 76,
    shard_mismatch = 77,
    layout_mismatch = 78,
};

// "hit/in_place", "hit/stage", "miss/absent", then the bare code: "untrusted", "model_mismatch".
// "unknown" for a number that this version does not define.
std::string_view to_word(Verdict verdict) noexcept;
std::optional<Verdict> parse_verdict(std::string_view word) noexcept;
// The two hits and nothing else, whatever the number.
bool is_hit(Verdict verdict) noexcept;
Verdict mismatch_of(Axis axis) noexcept;
// The axis of an `<axis>_mismatch` verdict.
std::optional<Axis> axis_of(Verdict verdict) noexcept;

enum class Scope : std::uint8_t { agent = 0, tenant = 1, fleet = 2 };
enum class Admission : std::uint8_t {
    unknown = 0,
    allow = 1,
    deny = 2,
    defer = 3,
    require_witness = 4,
    transform = 5,
};
enum class Taint : std::uint8_t { tainted = 0, trusted = 1, poisoned = 2 };
enum class Reach : std::uint8_t { none = 0, in_place = 1, stage = 2 };

std::string_view to_word(Scope scope) noexcept;
std::string_view to_word(Admission admission) noexcept;
std::string_view to_word(Taint taint) noexcept;
std::string_view to_word(Reach reach) noexcept;
std::optional<Scope> parse_scope(std::string_view word) noexcept;
std::optional<Admission> parse_admission(std::string_view word) noexcept;
std::optional<Taint> parse_taint(std::string_view word) noexcept;
std::optional<Reach> parse_reach(std::string_view word) noexcept;

// Who asks, as the daemon established it; nothing in here comes from a message.
struct GateRequester {
    bool authenticated = false;  // the kernel vouched for a uid that a grant names
    bool may_act = false;        // and the grant lets it act as `tenant` in the role engine
    TenantId tenant;
    Reach reach = Reach::none;  // how the requester's host reaches the cell's pool
};

// The trust-relevant facts of a cell; views into the registry, valid for the call.
struct GateCell {
    TenantId owner;
    ContextKey key;
    Lifecycle lifecycle = Lifecycle::filling;
    Taint taint = Taint::tainted;
    Admission admission = Admission::unknown;
    bool admission_quarantined = false;  // taken out by admission, whatever the taint
    Scope scope = Scope::agent;
    std::span<const TenantId> allow_list;  // empty: does not narrow
    std::optional<Timestamp> expires_at;   // same clock as `now`; serveable before it, not at it
    std::uint64_t adjudicated_epoch = 0;   // 0: never adjudicated
    std::uint64_t owner_epoch = 1;
    std::uint64_t length_bytes = 0;
    bool digest_present = false;
    bool extent_alive = false;  // its extent exists in the generation that the cell recorded
};

// The gate. Check 1 to 11 as documented in ARCHITECTURE ("The trust gate"). What that leaves open:
//  - a cell is the requester's own when both tenants are the same and not zero; checks 4 to 7 then
//    pass on every value that this version defines, and refuse on any other;
//  - a cell owned by nobody (tenant 0) is shared with nobody: scope_denied;
//  - a spilled cell is served as hit_stage at best; an expiring one is served until its time;
//  - evicted is lost; a lifecycle without a word is not_sealed, a reach without one unreachable;
//  - the allow-list narrows others, never the owner;
//  - all checks are evaluated, whichever refuses, so that the work does not tell which.
Verdict judge(const GateRequester& requester, const GateCell& cell, const ContextKey& wanted,
              Timestamp now) noexcept;

// How far a cell came through the gate: larger for a later check, largest for a hit. For choosing
// among the answers about several cells of one span.
int progress_of(Verdict verdict) noexcept;

// What a requester may hear of a verdict. Made by outward() only, so that an answer which is built
// from one cannot say more.
class Told {
  public:
    constexpr Told() noexcept = default;  // miss_absent
    constexpr Verdict verdict() const noexcept { return verdict_; }
    bool operator==(const Told&) const = default;

  private:
    friend Told outward(Verdict verdict, TenancyMode mode, TenantId requester,
                        TenantId owner) noexcept;
    constexpr explicit Told(Verdict verdict) noexcept : verdict_(verdict) {}
    Verdict verdict_ = Verdict::miss_absent;
};

// In multi (and in a mode without a word), every refusal about a cell that the requester does not
// own becomes miss_absent, and so does not_permitted about any cell, because who may not act as a
// tenant owns nothing of it; hits, own cells and mode single pass unchanged.
Told outward(Verdict verdict, TenancyMode mode, TenantId requester, TenantId owner) noexcept;

}  // namespace cxlpool

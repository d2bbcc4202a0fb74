#include "domain/gate.hpp"

#include <array>

#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kModeWords{
    Word<TenancyMode>{TenancyMode::single, "single"},
    Word<TenancyMode>{TenancyMode::multi, "multi"},
};

constexpr std::array kVerdictWords{
    Word<Verdict>{Verdict::hit_in_place, "hit/in_place"},
    Word<Verdict>{Verdict::hit_stage, "hit/stage"},
    Word<Verdict>{Verdict::miss_absent, "miss/absent"},
    Word<Verdict>{Verdict::not_permitted, "not_permitted"},
    Word<Verdict>{Verdict::quarantined, "quarantined"},
    Word<Verdict>{Verdict::not_sealed, "not_sealed"},
    Word<Verdict>{Verdict::expired, "expired"},
    Word<Verdict>{Verdict::lost, "lost"},
    Word<Verdict>{Verdict::scope_denied, "scope_denied"},
    Word<Verdict>{Verdict::not_admitted, "not_admitted"},
    Word<Verdict>{Verdict::untrusted, "untrusted"},
    Word<Verdict>{Verdict::stale_epoch, "stale_epoch"},
    Word<Verdict>{Verdict::key_incomplete, "key_incomplete"},
    Word<Verdict>{Verdict::handle_invalid, "handle_invalid"},
    Word<Verdict>{Verdict::unreachable, "unreachable"},
    Word<Verdict>{Verdict::model_mismatch, "model_mismatch"},
    Word<Verdict>{Verdict::tokenizer_mismatch, "tokenizer_mismatch"},
    Word<Verdict>{Verdict::serializer_mismatch, "serializer_mismatch"},
    Word<Verdict>{Verdict::position_mismatch, "position_mismatch"},
    Word<Verdict>{Verdict::policy_mismatch, "policy_mismatch"},
    Word<Verdict>{Verdict::admitter_mismatch, "admitter_mismatch"},
    Word<Verdict>{Verdict::weights_mismatch, "weights_mismatch"},
    Word<Verdict>{Verdict::adapter_mismatch, "adapter_mismatch"},
    Word<Verdict>{Verdict::dtype_mismatch, "dtype_mismatch"},
    Word<Verdict>{Verdict::kv_quant_mismatch, "kv_quant_mismatch"},
    Word<Verdict>{Verdict::rope_mismatch, "rope_mismatch"},
    Word<Verdict>{Verdict::page_tokens_mismatch, "page_tokens_mismatch"},
    Word<Verdict>{Verdict::layers_mismatch, "layers_mismatch"},
    Word<Verdict>{Verdict::shard_mismatch, "shard_mismatch"},
    Word<Verdict>{Verdict::layout_mismatch, "layout_mismatch"},
};

constexpr std::array kScopeWords{
    Word<Scope>{Scope::agent, "agent"},
    Word<Scope>{Scope::tenant, "tenant"},
    Word<Scope>{Scope::fleet, "fleet"},
};

constexpr std::array kAdmissionWords{
    Word<Admission>{Admission::unknown, "unknown"},
    Word<Admission>{Admission::allow, "allow"},
    Word<Admission>{Admission::deny, "deny"},
    Word<Admission>{Admission::defer, "defer"},
    Word<Admission>{Admission::require_witness, "require_witness"},
    Word<Admission>{Admission::transform, "transform"},
};

constexpr std::array kTaintWords{
    Word<Taint>{Taint::tainted, "tainted"},
    Word<Taint>{Taint::trusted, "trusted"},
    Word<Taint>{Taint::poisoned, "poisoned"},
};

constexpr std::array kReachWords{
    Word<Reach>{Reach::none, "none"},
    Word<Reach>{Reach::in_place, "in_place"},
    Word<Reach>{Reach::stage, "stage"},
};

constexpr std::uint16_t kFirstMismatch = static_cast<std::uint16_t>(Verdict::model_mismatch);

// What a check answers. A number that is no verdict, and no branch on it: every lookup asks all
// checks of every cell.
using Refusal = Verdict;
constexpr Refusal kPass{};

bool owns(TenantId requester, TenantId owner) noexcept {
    return requester && owner && requester == owner;
}

// An owner is let past the checks of sharing whatever a field says, but not past a value that this
// version has no word for: it may stand for a reason to refuse that a later version knows.
template <typename Enum, std::size_t N>
bool defined(const std::array<Word<Enum>, N>& table, Enum value) noexcept {
    return static_cast<std::size_t>(value) < table.size();
}

// What `defined` relies on: the words are those of 0, 1, 2 and so on.
template <typename Enum, std::size_t N>
constexpr bool counts_up(const std::array<Word<Enum>, N>& table) {
    for (std::size_t i = 0; i < N; ++i) {
        if (table[i].value != static_cast<Enum>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(counts_up(kScopeWords) && counts_up(kAdmissionWords) && counts_up(kTaintWords));

Refusal check_requester(const GateRequester& requester) noexcept {
    return requester.authenticated && requester.may_act && requester.tenant
               ? kPass
               : Verdict::not_permitted;
}

Refusal check_quarantine(const GateCell& cell) noexcept {
    return cell.taint == Taint::poisoned || cell.admission_quarantined ||
                   cell.lifecycle == Lifecycle::quarantined
               ? Verdict::quarantined
               : kPass;
}

Refusal check_lifecycle(const GateCell& cell, Timestamp now) noexcept {
    const bool out_of_time = cell.expires_at && now >= *cell.expires_at;
    switch (cell.lifecycle) {
        case Lifecycle::sealed:
        case Lifecycle::expiring:
        case Lifecycle::spilled:
            return out_of_time ? Verdict::expired : kPass;
        case Lifecycle::expired:
            return Verdict::expired;
        case Lifecycle::evicted:
        case Lifecycle::lost:
            return out_of_time ? Verdict::expired : Verdict::lost;
        case Lifecycle::filling:
        case Lifecycle::quarantined:
            break;
    }
    return Verdict::not_sealed;
}

Refusal check_scope(const GateRequester& requester, const GateCell& cell, bool own) noexcept {
    bool listed = cell.allow_list.empty();
    for (const TenantId& tenant : cell.allow_list) {
        listed |= tenant == requester.tenant;
    }
    // A cell of nobody was shared by nobody.
    const bool shared = cell.owner && cell.scope == Scope::fleet && listed;
    return shared || (own && defined(kScopeWords, cell.scope)) ? kPass : Verdict::scope_denied;
}

Refusal check_admission(const GateCell& cell, bool own) noexcept {
    return cell.admission == Admission::allow || (own && defined(kAdmissionWords, cell.admission))
               ? kPass
               : Verdict::not_admitted;
}

Refusal check_taint(const GateCell& cell, bool own) noexcept {
    return cell.taint == Taint::trusted || (own && defined(kTaintWords, cell.taint))
               ? kPass
               : Verdict::untrusted;
}

Refusal check_epoch(const GateCell& cell, bool own) noexcept {
    const bool current = cell.adjudicated_epoch != 0 && cell.adjudicated_epoch == cell.owner_epoch;
    return current || own ? kPass : Verdict::stale_epoch;
}

Refusal check_complete(const GateCell& cell, const ContextKey& wanted) noexcept {
    return cell.key.complete() && wanted.complete() ? kPass : Verdict::key_incomplete;
}

Refusal check_axes(const GateCell& cell, const ContextKey& wanted) noexcept {
    const std::optional<Axis> axis = first_divergence(cell.key, wanted);
    return axis ? mismatch_of(*axis) : kPass;
}

Refusal check_bytes(const GateCell& cell) noexcept {
    return cell.length_bytes > 0 && cell.digest_present && cell.extent_alive
               ? kPass
               : Verdict::handle_invalid;
}

// Check 11 is the last, so it also names the kind of hit. Spilled bytes are not where they can be
// attended, however near their pool is.
Verdict how_reached(const GateRequester& requester, const GateCell& cell) noexcept {
    switch (requester.reach) {
        case Reach::in_place:
            return cell.lifecycle == Lifecycle::spilled ? Verdict::hit_stage
                                                        : Verdict::hit_in_place;
        case Reach::stage:
            return Verdict::hit_stage;
        case Reach::none:
            break;
    }
    return Verdict::unreachable;
}

// The last is the answer when nothing refuses. All have been asked by then, and none of the answers
// is branched on: the work does not tell which one refused.
Verdict first_refusal(Verdict last) noexcept {
    return last;
}
template <typename... Rest>
Verdict first_refusal(Refusal first, Rest... rest) noexcept {
    const Verdict other = first_refusal(rest...);
    return first == kPass ? other : first;
}

}  // namespace

std::string_view to_word(TenancyMode mode) noexcept {
    return words::text_of(kModeWords, mode);
}

std::optional<TenancyMode> parse_tenancy_mode(std::string_view word) noexcept {
    return words::find(kModeWords, word);
}

std::string_view to_word(Verdict verdict) noexcept {
    return words::text_of(kVerdictWords, verdict);
}

std::optional<Verdict> parse_verdict(std::string_view word) noexcept {
    return words::find(kVerdictWords, word);
}

bool is_hit(Verdict verdict) noexcept {
    return verdict == Verdict::hit_in_place || verdict == Verdict::hit_stage;
}

Verdict mismatch_of(Axis axis) noexcept {
    return static_cast<Verdict>(kFirstMismatch + static_cast<std::uint16_t>(axis));
}

std::optional<Axis> axis_of(Verdict verdict) noexcept {
    const auto number = static_cast<std::uint16_t>(verdict);
    if (number < kFirstMismatch || number >= kFirstMismatch + kAxisCount) {
        return std::nullopt;
    }
    return static_cast<Axis>(number - kFirstMismatch);
}

std::string_view to_word(Scope scope) noexcept {
    return words::text_of(kScopeWords, scope);
}

std::string_view to_word(Admission admission) noexcept {
    return words::text_of(kAdmissionWords, admission);
}

std::string_view to_word(Taint taint) noexcept {
    return words::text_of(kTaintWords, taint);
}

std::string_view to_word(Reach reach) noexcept {
    return words::text_of(kReachWords, reach);
}

std::optional<Scope> parse_scope(std::string_view word) noexcept {
    return words::find(kScopeWords, word);
}

std::optional<Admission> parse_admission(std::string_view word) noexcept {
    return words::find(kAdmissionWords, word);
}

std::optional<Taint> parse_taint(std::string_view word) noexcept {
    return words::find(kTaintWords, word);
}

std::optional<Reach> parse_reach(std::string_view word) noexcept {
    return words::find(kReachWords, word);
}

Verdict judge(const GateRequester& requester, const GateCell& cell, const ContextKey& wanted,
              Timestamp now) noexcept {
    const bool own = owns(requester.tenant, cell.owner);
    return first_refusal(check_requester(requester),         // 1
                         check_quarantine(cell),             // 2
                         check_lifecycle(cell, now),         // 3
                         check_scope(requester, cell, own),  // 4
                         check_admission(cell, own),         // 5
                         check_taint(cell, own),             // 6
                         check_epoch(cell, own),             // 7
                         check_complete(cell, wanted),       // 8
                         check_axes(cell, wanted),           // 9
                         check_bytes(cell),                  // 10
                         how_reached(requester, cell));      // 11
}

int progress_of(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::hit_in_place:
            return 101;
        case Verdict::hit_stage:
            return 100;
        case Verdict::miss_absent:
            return 0;
        case Verdict::not_permitted:
            return 1;
        case Verdict::quarantined:
            return 2;
        case Verdict::not_sealed:
        case Verdict::expired:
        case Verdict::lost:
            return 3;
        case Verdict::scope_denied:
            return 4;
        case Verdict::not_admitted:
            return 5;
        case Verdict::untrusted:
            return 6;
        case Verdict::stale_epoch:
            return 7;
        case Verdict::key_incomplete:
            return 8;
        case Verdict::handle_invalid:
            return 40;
        case Verdict::unreachable:
            return 41;
        default:
            // The axes come ninth, in their order; a later divergence came further.
            return axis_of(verdict) ? 9 + static_cast<int>(*axis_of(verdict)) : 0;
    }
}

Told outward(Verdict verdict, TenancyMode mode, TenantId requester, TenantId owner) noexcept {
    // A requester that may not act as its tenant has proved no claim to what that tenant owns.
    const bool own = owns(requester, owner) && verdict != Verdict::not_permitted;
    return mode == TenancyMode::single || is_hit(verdict) || own ? Told(verdict) : Told();
}

}  // namespace cxlpool

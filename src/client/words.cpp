#include "client/words.hpp"

#include <array>
#include <limits>

#include "base/errc.hpp"
#include "cxlpool/cxlpool.h"

namespace cxlpool::client {
namespace {

struct Row {
    std::uint32_t number;
    const char* text;
};

constexpr std::array kVerdicts{
    Row{CXLPOOL_HIT_IN_PLACE, "hit/in_place"},
    Row{CXLPOOL_HIT_STAGE, "hit/stage"},
    Row{CXLPOOL_MISS_ABSENT, "miss/absent"},
    Row{CXLPOOL_REFUSED_NOT_PERMITTED, "not_permitted"},
    Row{CXLPOOL_REFUSED_QUARANTINED, "quarantined"},
    Row{CXLPOOL_REFUSED_NOT_SEALED, "not_sealed"},
    Row{CXLPOOL_REFUSED_EXPIRED, "expired"},
    Row{CXLPOOL_REFUSED_LOST, "lost"},
    Row{CXLPOOL_REFUSED_SCOPE_DENIED, "scope_denied"},
    Row{CXLPOOL_REFUSED_NOT_ADMITTED, "not_admitted"},
    Row{CXLPOOL_REFUSED_UNTRUSTED, "untrusted"},
    Row{CXLPOOL_REFUSED_STALE_EPOCH, "stale_epoch"},
    Row{CXLPOOL_REFUSED_KEY_INCOMPLETE, "key_incomplete"},
    Row{CXLPOOL_REFUSED_HANDLE_INVALID, "handle_invalid"},
    Row{CXLPOOL_REFUSED_UNREACHABLE, "unreachable"},
    Row{CXLPOOL_REFUSED_MODEL_MISMATCH, "model_mismatch"},
    Row{CXLPOOL_REFUSED_TOKENIZER_MISMATCH, "tokenizer_mismatch"},
    Row{CXLPOOL_REFUSED_SERIALIZER_MISMATCH, "serializer_mismatch"},
    Row{CXLPOOL_REFUSED_POSITION_MISMATCH, "position_mismatch"},
    Row{CXLPOOL_REFUSED_POLICY_MISMATCH, "policy_mismatch"},
    Row{CXLPOOL_REFUSED_ADMITTER_MISMATCH, "admitter_mismatch"},
    Row{CXLPOOL_REFUSED_WEIGHTS_MISMATCH, "weights_mismatch"},
    Row{CXLPOOL_REFUSED_ADAPTER_MISMATCH, "adapter_mismatch"},
    Row{CXLPOOL_REFUSED_DTYPE_MISMATCH, "dtype_mismatch"},
    Row{CXLPOOL_REFUSED_KV_QUANT_MISMATCH, "kv_quant_mismatch"},
    Row{CXLPOOL_REFUSED_ROPE_MISMATCH, "rope_mismatch"},
    Row{CXLPOOL_REFUSED_PAGE_TOKENS_MISMATCH, "page_tokens_mismatch"},
    Row{CXLPOOL_REFUSED_LAYERS_MISMATCH, "layers_mismatch"},
    Row{CXLPOOL_REFUSED_SHARD_MISMATCH, "shard_mismatch"},
    Row{CXLPOOL_REFUSED_LAYOUT_MISMATCH, "layout_mismatch"},
};

// The public numbers are the stable ones. A test compares the verdicts with those of the gate.
static_assert(CXLPOOL_E_INVALID_ARGUMENT == static_cast<int>(Errc::invalid_argument));
static_assert(CXLPOOL_E_MALFORMED == static_cast<int>(Errc::malformed));
static_assert(CXLPOOL_E_UNSUPPORTED_VERSION == static_cast<int>(Errc::unsupported_version));
static_assert(CXLPOOL_E_TOO_LARGE == static_cast<int>(Errc::too_large));
static_assert(CXLPOOL_E_UNKNOWN_WORD == static_cast<int>(Errc::unknown_word));
static_assert(CXLPOOL_E_OVERFLOW == static_cast<int>(Errc::overflow));
static_assert(CXLPOOL_E_SPAN_EXCEEDS_CAPACITY == static_cast<int>(Errc::span_exceeds_capacity));
static_assert(CXLPOOL_E_KEY_INCOMPLETE == static_cast<int>(Errc::key_incomplete));
static_assert(CXLPOOL_E_NOT_PERMITTED == static_cast<int>(Errc::not_permitted));
static_assert(CXLPOOL_E_NOT_FOUND == static_cast<int>(Errc::not_found));
static_assert(CXLPOOL_E_ALREADY_EXISTS == static_cast<int>(Errc::already_exists));
static_assert(CXLPOOL_E_WRONG_STATE == static_cast<int>(Errc::wrong_state));
static_assert(CXLPOOL_E_STALE_LEASE == static_cast<int>(Errc::stale_lease));
static_assert(CXLPOOL_E_REVOKED == static_cast<int>(Errc::revoked));
static_assert(CXLPOOL_E_TENANCY_UNSET == static_cast<int>(Errc::tenancy_unset));
static_assert(CXLPOOL_E_TENANCY_MISMATCH == static_cast<int>(Errc::tenancy_mismatch));
static_assert(CXLPOOL_E_COOPERATIVE_REFUSED == static_cast<int>(Errc::cooperative_refused));
static_assert(CXLPOOL_E_CAPACITY == static_cast<int>(Errc::capacity));
static_assert(CXLPOOL_E_LIMIT_EXCEEDED == static_cast<int>(Errc::limit_exceeded));
static_assert(CXLPOOL_E_UNAVAILABLE == static_cast<int>(Errc::unavailable));
static_assert(CXLPOOL_E_DISCONNECTED == static_cast<int>(Errc::disconnected));
static_assert(CXLPOOL_E_IO == static_cast<int>(Errc::io));
static_assert(CXLPOOL_E_TIMEOUT == static_cast<int>(Errc::timeout));
static_assert(CXLPOOL_E_CANCELLED == static_cast<int>(Errc::cancelled));
static_assert(CXLPOOL_E_PROTOCOL == static_cast<int>(Errc::protocol));
static_assert(CXLPOOL_E_OUT_OF_MEMORY == static_cast<int>(Errc::out_of_memory));
static_assert(CXLPOOL_E_INTERNAL == static_cast<int>(Errc::internal));

}  // namespace

const char* error_name(int code) noexcept {
    // Names are literals, so that data() ends in a NUL. A number that is none becomes 65535, which
    // no code is.
    const bool possible = code >= 0 && code <= std::numeric_limits<std::uint16_t>::max();
    return errc_name(possible ? static_cast<Errc>(code) : static_cast<Errc>(0xFFFF)).data();
}

const char* verdict_name(std::uint32_t verdict) noexcept {
    for (const Row& row : kVerdicts) {
        if (row.number == verdict) {
            return row.text;
        }
    }
    return "unknown";
}

}  // namespace cxlpool::client

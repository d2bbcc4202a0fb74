#include "base/errc.hpp"

#include <array>

namespace cxlpool {
namespace {

struct Row {
    Errc code;
    std::string_view name;
};

constexpr std::array kRows{
    Row{Errc::ok, "ok"},
    Row{Errc::invalid_argument, "invalid_argument"},
    Row{Errc::malformed, "malformed"},
    Row{Errc::unsupported_version, "unsupported_version"},
    Row{Errc::too_large, "too_large"},
    Row{Errc::unknown_word, "unknown_word"},
    Row{Errc::overflow, "overflow"},
    Row{Errc::span_exceeds_capacity, "span_exceeds_capacity"},
    Row{Errc::key_incomplete, "key_incomplete"},
    Row{Errc::not_permitted, "not_permitted"},
    Row{Errc::not_found, "not_found"},
    Row{Errc::already_exists, "already_exists"},
    Row{Errc::wrong_state, "wrong_state"},
    Row{Errc::stale_lease, "stale_lease"},
    Row{Errc::revoked, "revoked"},
    Row{Errc::tenancy_unset, "tenancy_unset"},
    Row{Errc::tenancy_mismatch, "tenancy_mismatch"},
    Row{Errc::cooperative_refused, "cooperative_refused"},
    Row{Errc::capacity, "capacity"},
    Row{Errc::limit_exceeded, "limit_exceeded"},
    Row{Errc::unavailable, "unavailable"},
    Row{Errc::disconnected, "disconnected"},
    Row{Errc::io, "io"},
    Row{Errc::timeout, "timeout"},
    Row{Errc::cancelled, "cancelled"},
    Row{Errc::protocol, "protocol"},
    Row{Errc::out_of_memory, "out_of_memory"},
    Row{Errc::internal, "internal"},
};

}  // namespace

std::string_view errc_name(Errc code) noexcept {
    for (const Row& row : kRows) {
        if (row.code == code) {
            return row.name;
        }
    }
    return "unknown_error";
}

bool errc_known(std::uint16_t number) noexcept {
    for (const Row& row : kRows) {
        if (static_cast<std::uint16_t>(row.code) == number) {
            return true;
        }
    }
    return false;
}

}  // namespace cxlpool

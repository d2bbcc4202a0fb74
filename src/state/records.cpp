#include "state/records.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include "base/text.hpp"

namespace cxlpool {
namespace {

constexpr std::size_t kMaxReceiptBytes = 65536;  // what one message of the protocol holds
constexpr std::size_t kMaxStepBytes = 32;

Error invalid(std::string message) {
    return Error{Errc::invalid_argument, std::move(message)};
}

std::string of(TenantId tenant) {
    return "tenant " + std::to_string(tenant.value);
}

Result<void> check_name(std::string_view what, const std::string& name) {
    if (is_name(name)) {
        return {};
    }
    return invalid("'" + printable(name.substr(0, 64)) + "' is no name of a " + std::string(what) +
                   "; use a letter, then letters, digits, '.', '_' or '-', at most 64");
}

Result<void> check_tenant_id(TenantId tenant) {
    return tenant ? Result<void>() : invalid("0 is no tenant; write the number that it has");
}

}  // namespace

Result<void> check_record(const TenantRecord& tenant) {
    CXLPOOL_TRY(check_tenant_id(tenant.id));
    if (!tenant.name.empty()) {
        CXLPOOL_TRY(check_name("tenant", tenant.name));
    }
    if (tenant.weight < 1 || tenant.weight > kMaxWeight) {
        return invalid(std::to_string(tenant.weight) + " is no weight of " + of(tenant.id) +
                       "; write 1 to " + std::to_string(kMaxWeight));
    }
    return {};
}

Result<void> check_record(const Reservation& reservation) {
    CXLPOOL_TRY(check_tenant_id(reservation.tenant));
    return check_name("pool", reservation.pool);
}

Result<void> check_record(const ErasureRecord& erasure) {
    CXLPOOL_TRY(check_tenant_id(erasure.tenant));
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    if (erasure.step.empty() || erasure.step.size() > kMaxStepBytes ||
        !std::all_of(erasure.step.begin(), erasure.step.end(), fits)) {
        return invalid("'" + printable(erasure.step.substr(0, 64)) + "' is no step of an erasure");
    }
    if (erasure.receipt.size() > kMaxReceiptBytes) {
        return invalid("a receipt of " + std::to_string(erasure.receipt.size()) +
                       " bytes, over the maximum of " + std::to_string(kMaxReceiptBytes));
    }
    if (erasure.finished.has_value() == erasure.receipt.empty()) {
        return invalid("an erasure of " + of(erasure.tenant) +
                       " has a receipt if and only if it has finished");
    }
    return {};
}

Result<void> check_record(const CellRecord& cell) {
    CXLPOOL_TRY(check_tenant_id(cell.owner));
    CXLPOOL_TRY(check_name("pool", cell.pool));
    const std::string name = "cell " + std::to_string(cell.id.value);
    if (!cell.id || !cell.span.present() || !cell.digest.present()) {
        return invalid(name + " has no number, span or digest");
    }
    if (cell.segment == 0 || cell.length_bytes == 0 || cell.length_bytes > cell.extent_bytes ||
        cell.offset_bytes > std::numeric_limits<std::uint64_t>::max() - cell.extent_bytes) {
        return invalid(name + " lies nowhere: segment " + std::to_string(cell.segment) +
                       ", offset " + std::to_string(cell.offset_bytes) + ", " +
                       std::to_string(cell.length_bytes) + " of " +
                       std::to_string(cell.extent_bytes) + " bytes");
    }
    if (cell.quarantined != (cell.taint == Taint::poisoned)) {
        return invalid(name + " is quarantined if and only if it is poisoned");
    }
    return validate(cell.context);
}

Result<void> check_state(const State& state) {
    std::map<std::string_view, TenantId> names;
    for (const TenantRecord& tenant : state.tenants) {
        if (tenant.name.empty()) {
            continue;
        }
        const auto [first, fresh] = names.emplace(tenant.name, tenant.id);
        if (!fresh) {
            return Error{Errc::already_exists, of(first->second) + " is named '" + tenant.name +
                                                   "' already; give " + of(tenant.id) +
                                                   " a name of its own"};
        }
    }
    for (const Reservation& reservation : state.reservations) {
        const auto same = [&](const TenantRecord& tenant) {
            return tenant.id == reservation.tenant;
        };
        if (std::none_of(state.tenants.begin(), state.tenants.end(), same)) {
            return Error{Errc::not_found, of(reservation.tenant) + " reserves bytes of pool '" +
                                              reservation.pool + "' and does not exist"};
        }
    }
    return {};
}

}  // namespace cxlpool

#include "server/tenant_book.hpp"

#include <algorithm>
#include <string_view>

#include "base/check.hpp"
#include "base/units.hpp"

namespace cxlpool {

Result<void> TenantBook::load(Registry& registry, const std::vector<ServedTenant>& tenants,
                              const std::vector<Reservation>& reservations) {
    for (const auto& [record, declared] : tenants) {
        CXLPOOL_TRY(
            registry.add_tenant(record.id, TenantSettings{record.name, record.salt, record.weight,
                                                          record.trust_epoch, record.had_cells}));
        kept_.emplace(record.id, Kept{declared, record.incarnation});
        if (!record.had_cells) {
            without_cells_.insert(record.id);
        }
    }
    for (const Reservation& reservation : reservations) {
        const auto pool = std::find(pools_.begin(), pools_.end(), reservation.pool);
        if (pool == pools_.end()) {
            unserved_.push_back(reservation);
            continue;
        }
        Result<void> set = registry.set_reservation(
            reservation.tenant, static_cast<std::size_t>(pool - pools_.begin()), reservation.bytes);
        if (!set) {
            return Error{set.error().code(),
                         "pool '" + reservation.pool + "' cannot keep the " +
                             format_bytes(reservation.bytes) + " that tenant " +
                             std::to_string(reservation.tenant.value) +
                             " has reserved: " + set.error().message() +
                             "; give the pool its old capacity, start, and lower reservations "
                             "with cxlpoolctl tenant reserve first"};
        }
    }
    return {};
}

Result<void> TenantBook::check_declared(const Registry& registry, const Declared& tenants) const {
    std::map<TenantId, std::string_view> names;
    for (const TenantId tenant : registry.tenants()) {
        names.emplace(tenant, registry.tenant_name(tenant));
    }
    for (const auto& [tenant, name] : tenants) {
        if (!name.empty()) {
            names[tenant] = name;
        }
    }
    std::map<std::string_view, TenantId> owners;
    for (const auto& [tenant, name] : names) {
        const auto [owner, first] = owners.emplace(name, tenant);
        if (!first && !name.empty()) {
            return Error{Errc::already_exists, "tenants " + std::to_string(owner->second.value) +
                                                   " and " + std::to_string(tenant.value) +
                                                   " would both be named \"" + std::string(name) +
                                                   "\"; write another name in the file"};
        }
    }
    return {};
}

void TenantBook::declare(Registry& registry, const Declared& tenants) {
    for (auto& [tenant, kept] : kept_) {
        kept.declared = false;
    }
    for (const auto& [tenant, name] : tenants) {
        if (registry.has_tenant(tenant)) {
            CXLPOOL_CHECK(name.empty() || registry.set_name(tenant, name).has_value());
        } else {
            CXLPOOL_CHECK(registry.add_tenant(tenant, name).has_value());
            without_cells_.insert(tenant);
        }
        kept_[tenant].declared = true;
    }
}

bool TenantBook::is_declared(TenantId tenant) const noexcept {
    const auto at = kept_.find(tenant);
    return at != kept_.end() && at->second.declared;
}

TenantRecord TenantBook::record_of(const Registry& registry, TenantId tenant) const {
    const TenantSettings settings = registry.settings(tenant);
    return TenantRecord{tenant,
                        settings.name,
                        settings.salt,
                        settings.weight,
                        settings.epoch,
                        kept_.at(tenant).incarnation,
                        settings.had_cells};
}

std::vector<TenantId> TenantBook::first_cells(const Registry& registry) const {
    std::vector<TenantId> out;
    for (const TenantId tenant : without_cells_) {
        if (registry.settings(tenant).had_cells) {
            out.push_back(tenant);
        }
    }
    return out;
}

void TenantBook::first_cell_saved(TenantId tenant) {
    without_cells_.erase(tenant);
}

}  // namespace cxlpool

#include "server/tenant_book.hpp"

#include <algorithm>
#include <string_view>

#include "base/check.hpp"
#include "base/units.hpp"

namespace cxlpool {
namespace {

// Their document, with a few pools each, fits into what one answer may have.
constexpr std::size_t kMaxTenants = 4096;

Result<void> check_name_is_free(const Registry& registry, const TenantRecord& record) {
    for (const TenantId other : registry.tenants()) {
        if (other != record.id && !record.name.empty() &&
            registry.tenant_name(other) == record.name) {
            return Error{Errc::already_exists, "tenant " + std::to_string(other.value) +
                                                   " is named '" + record.name + "' already"};
        }
    }
    return {};
}

}  // namespace

Result<void> TenantBook::load(Registry& registry, const std::vector<ServedTenant>& tenants,
                              const std::vector<Reservation>& reservations) {
    for (const auto& [record, declared, named] : tenants) {
        CXLPOOL_TRY(
            registry.add_tenant(record.id, TenantSettings{record.name, record.salt, record.weight,
                                                          record.trust_epoch, record.had_cells}));
        kept_.emplace(record.id, Kept{declared, named, record.incarnation});
        if (!record.had_cells) {
            without_cells_.insert(record.id);
        }
    }
    for (const Reservation& reservation : reservations) {
        const std::optional<std::size_t> pool = pool_index(reservation.pool);
        if (!pool) {
            unserved_.push_back(reservation);
            continue;
        }
        Result<void> set = registry.set_reservation(reservation.tenant, *pool, reservation.bytes);
        if (!set) {
            return Error{Errc::invalid_argument,
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
    if (held_name_) {
        names[held_name_->first] = held_name_->second;
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
        kept.named = false;
    }
    for (const auto& [tenant, name] : tenants) {
        if (registry.has_tenant(tenant)) {
            if (!name.empty() && registry.tenant_name(tenant) != name) {
                renamed_.insert(tenant);
            }
            CXLPOOL_CHECK(name.empty() || registry.set_name(tenant, name).has_value());
        } else {
            CXLPOOL_CHECK(registry.add_tenant(tenant, name).has_value());
            without_cells_.insert(tenant);
        }
        kept_[tenant].declared = true;
        kept_[tenant].named = !name.empty();
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

std::optional<std::size_t> TenantBook::pool_index(const std::string& name) const noexcept {
    const auto at = std::find(pools_.begin(), pools_.end(), name);
    return at == pools_.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(at - pools_.begin()));
}

Result<void> TenantBook::check_reservation(const Registry& registry,
                                           const wire::TenantChangeRequest& change) const {
    if (const std::optional<std::size_t> pool = pool_index(change.pool)) {
        return registry.check_reservation(TenantId{change.tenant}, *pool, change.value);
    }
    const auto same = [&](const Reservation& kept) {
        return kept.tenant.value == change.tenant && kept.pool == change.pool;
    };
    if (change.value == 0 && std::any_of(unserved_.begin(), unserved_.end(), same)) {
        return {};
    }
    std::string known;
    for (const std::string& pool : pools_) {
        known.append(known.empty() ? "" : ", ").append(pool);
    }
    return Error{Errc::not_found, "there is no pool '" + change.pool + "'; there is " + known};
}

Result<TenantSaving> TenantBook::prepare(const Registry& registry,
                                         const wire::TenantChangeRequest& change) {
    const TenantId id{change.tenant};
    const bool add = change.op == wire::TenantOp::add;
    const std::string tenant = "tenant " + std::to_string(id.value);
    if (registry.has_tenant(id) == add) {
        return add ? Error{Errc::already_exists, tenant + " exists already"}
                   : Error{Errc::not_found,
                           "there is no " + tenant + "; cxlpoolctl tenant add makes one"};
    }
    TenantSaving out;
    TenantRecord record;
    if (!add) {
        record = record_of(registry, id);
    }
    switch (change.op) {
        case wire::TenantOp::add:
            if (kept_.size() >= kMaxTenants) {
                return Error{Errc::limit_exceeded,
                             "there are " + std::to_string(kMaxTenants) + " tenants already"};
            }
            record.id = id;
            record.name = change.name;
            break;
        case wire::TenantOp::set_name:
            if (kept_.at(id).named) {
                return Error{Errc::wrong_state,
                             "the configuration file names " + tenant + "; change the name there"};
            }
            record.name = change.name;
            break;
        case wire::TenantOp::set_salt:
            CXLPOOL_TRY(registry.check_salt(id, change.value));
            record.salt = change.value;
            break;
        case wire::TenantOp::set_weight:
            if (change.value < 1 || change.value > kMaxWeight) {
                return Error{Errc::invalid_argument, std::to_string(change.value) +
                                                         " is no weight; write 1 to " +
                                                         std::to_string(kMaxWeight)};
            }
            record.weight = static_cast<std::uint32_t>(change.value);
            break;
        case wire::TenantOp::reserve:
            CXLPOOL_TRY(check_reservation(registry, change));
            out.reservations.push_back(Reservation{id, change.pool, change.value});
            break;
    }
    CXLPOOL_TRY(check_record(record));
    CXLPOOL_TRY(check_name_is_free(registry, record));
    if (!record.name.empty()) {
        held_name_.emplace(id, record.name);
    }
    out.tenants.push_back(std::move(record));
    return out;
}

Result<void> TenantBook::apply(Registry& registry, const wire::TenantChangeRequest& change) {
    const TenantId id{change.tenant};
    held_name_.reset();
    switch (change.op) {
        case wire::TenantOp::add:
            if (!registry.has_tenant(id)) {
                CXLPOOL_TRY(registry.add_tenant(id, change.name));
                kept_.emplace(id, Kept{});
                without_cells_.insert(id);
                return {};
            }
            // A file declares it meanwhile, and may name it.
            if (kept_.at(id).named) {
                renamed_.insert(id);
                return {};
            }
            return registry.set_name(id, change.name);
        case wire::TenantOp::set_name:
            if (kept_.at(id).named) {
                renamed_.insert(id);
                return Error{Errc::wrong_state, "the configuration file names tenant " +
                                                    std::to_string(id.value) + " meanwhile"};
            }
            return registry.set_name(id, change.name);
        case wire::TenantOp::set_salt:
            return registry.set_salt(id, change.value);
        case wire::TenantOp::set_weight:
            return registry.set_weight(id, static_cast<std::uint32_t>(change.value));
        case wire::TenantOp::reserve:
            break;
    }
    if (const std::optional<std::size_t> pool = pool_index(change.pool)) {
        return registry.set_reservation(id, *pool, change.value);
    }
    std::erase_if(unserved_, [&](const Reservation& kept) {
        return kept.tenant == id && kept.pool == change.pool;
    });
    return {};
}

TenantRecord TenantBook::record_after_erasure(const Registry& registry, TenantId tenant) const {
    TenantRecord out = record_of(registry, tenant);
    ++out.incarnation;
    out.had_cells = false;
    return out;
}

void TenantBook::erased(TenantId tenant) {
    ++kept_.at(tenant).incarnation;
    without_cells_.insert(tenant);
}

std::vector<TenantRecord> TenantBook::unsaved(const Registry& registry) const {
    std::set<TenantId> tenants = renamed_;
    for (const TenantId tenant : without_cells_) {
        if (registry.settings(tenant).had_cells) {
            tenants.insert(tenant);
        }
    }
    std::vector<TenantRecord> out;
    for (const TenantId tenant : tenants) {
        out.push_back(record_of(registry, tenant));
    }
    return out;
}

void TenantBook::saved(const Registry& registry, const std::vector<TenantRecord>& records) {
    for (const TenantRecord& record : records) {
        if (record.had_cells) {
            without_cells_.erase(record.id);
        }
        if (registry.tenant_name(record.id) == record.name) {
            renamed_.erase(record.id);
        }
    }
}

}  // namespace cxlpool

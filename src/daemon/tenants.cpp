#include "daemon/tenants.hpp"

#include <map>
#include <string>
#include <string_view>

namespace cxlpool {

Result<std::vector<ServedTenant>> merge_tenants(const Config& config, const State& state) {
    std::map<TenantId, ServedTenant> by_id;
    for (const TenantRecord& record : state.tenants) {
        by_id.emplace(record.id, ServedTenant{record, false, false});
    }
    std::map<std::string_view, TenantId> declared_names;
    for (const TenantConfig& tenant : config.tenants) {
        ServedTenant& served = by_id[tenant.id];
        served.record.id = tenant.id;
        served.declared = true;
        if (!tenant.name.empty()) {
            served.record.name = tenant.name;
            served.named = true;
            declared_names.emplace(tenant.name, tenant.id);
        }
    }
    std::vector<ServedTenant> out;
    for (const auto& [id, served] : by_id) {
        const auto same = declared_names.find(served.record.name);
        if (same != declared_names.end() && same->second != id) {
            return Error{Errc::already_exists,
                         config.file + ": tenant " + std::to_string(same->second.value) +
                             " is named \"" + std::string(same->first) +
                             "\", and an operator gave that name to tenant " +
                             std::to_string(id.value) +
                             "; write another name in the file, or start with one and rename the "
                             "other with cxlpoolctl tenant set"};
        }
        out.push_back(served);
    }
    return out;
}

Result<KeptTenants> take_tenants(const Config& config, StateStore& store) {
    Result<State> state = store.read();
    if (!state) {
        return std::move(state).error();
    }
    Result<std::vector<ServedTenant>> tenants = merge_tenants(config, *state);
    if (!tenants) {
        return std::move(tenants).error();
    }
    std::vector<TenantRecord> renamed;
    for (const TenantRecord& old : state->tenants) {
        for (const ServedTenant& served : *tenants) {
            if (served.record.id == old.id && served.record.name != old.name) {
                renamed.push_back(served.record);
            }
        }
    }
    if (!renamed.empty()) {
        CXLPOOL_TRY(store.save(renamed));
    }
    return KeptTenants{std::move(*tenants), std::move(state->reservations)};
}

}  // namespace cxlpool

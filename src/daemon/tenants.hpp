// Who the tenants of a start are.
//
// Responsible for: one list out of the configuration file, which names ids and names, and the
// state, which keeps everything else and the tenants that operators added.
#pragma once

#include <vector>

#include "daemon/config.hpp"
#include "server/tenant_book.hpp"
#include "state/state_store.hpp"

namespace cxlpool {

// By id. Error: already_exists (two of them have one name; says which, and what to do).
Result<std::vector<ServedTenant>> merge_tenants(const Config& config, const State& state);

struct KeptTenants {
    std::vector<ServedTenant> tenants;
    std::vector<Reservation> reservations;
};
// The same with what the store holds; names that the file has changed are changed there, too, so
// that an old one is free. Errors: those of merge_tenants and of the store.
Result<KeptTenants> take_tenants(const Config& config, StateStore& store);

}  // namespace cxlpool

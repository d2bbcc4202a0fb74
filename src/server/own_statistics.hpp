// What an engine may hear of its tenant's counters.
//
// Responsible for: the answer to own_statistics. Refuses to know: connections. Invariant: nothing
// in it depends on another tenant, save how many cells of its own the tenant has lost to others,
// which it finds out anyway when it looks for them. So there is no word of what it pushed out of
// others, of pools, of their capacity, and of what is free in them.
#pragma once

#include "base/ids.hpp"
#include "registry/registry.hpp"
#include "server/documents.hpp"
#include "server/stats_window.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

// `incarnation`: since when the tenant is who it is; what an erased one did is not its successor's.
wire::OwnStatisticsReply own_statistics(const Registry& registry, TenantId tenant,
                                        const Refusals& refusals, const StatsWindow& incarnation);

}  // namespace cxlpool

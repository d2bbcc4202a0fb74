#include "server/stats_window.hpp"

#include <utility>

namespace cxlpool {

void StatsWindow::begin(const Registry& registry, const Refusals& refusals, Timestamp monotonic,
                        Timestamp wall) {
    begun_ = true;
    monotonic_ = monotonic;
    wall_ = wall;
    counters_.clear();
    for (const TenantId tenant : registry.tenants()) {
        counters_.emplace(tenant, registry.counters(tenant));
    }
    flows_.clear();
    for (const EvictionFlow& flow : registry.eviction_flows()) {
        flows_.emplace(std::pair(flow.causer, flow.victim), flow);
    }
    refusals_ = refusals;
}

void StatsWindow::begin_for(TenantId tenant, const Registry& registry, const Refusals& refusals) {
    counters_[tenant] = registry.counters(tenant);
    flows_[{tenant, tenant}] = registry.eviction_flow(tenant, tenant);
    const auto refused = refusals.find(tenant);
    refusals_[tenant] = refused == refusals.end() ? Refusals::mapped_type() : refused->second;
}

EvictionFlow StatsWindow::since(EvictionFlow flow) const {
    if (const auto then = flows_.find({flow.causer, flow.victim}); then != flows_.end()) {
        flow.cells -= then->second.cells;
        flow.bytes -= then->second.bytes;
    }
    return flow;
}

EvictionFlow StatsWindow::self_evictions(const Registry& registry, TenantId tenant) const {
    return since(registry.eviction_flow(tenant, tenant));
}

TenantCounters StatsWindow::counters(const Registry& registry, TenantId tenant) const {
    TenantCounters out = registry.counters(tenant);
    const auto at = counters_.find(tenant);
    if (at == counters_.end()) {
        return out;
    }
    const TenantCounters& then = at->second;
    out.hits -= then.hits;
    out.misses -= then.misses;
    out.evictions_caused -= then.evictions_caused;
    out.evictions_suffered -= then.evictions_suffered;
    out.cells_materialised -= then.cells_materialised;
    out.bytes_materialised -= then.bytes_materialised;
    return out;
}

std::map<Errc, std::uint64_t> StatsWindow::refused(const Refusals& refusals,
                                                   TenantId tenant) const {
    const auto now = refusals.find(tenant);
    if (now == refusals.end()) {
        return {};
    }
    std::map<Errc, std::uint64_t> out = now->second;
    if (const auto then = refusals_.find(tenant); then != refusals_.end()) {
        for (const auto& [code, count] : then->second) {
            out[code] -= count;
            if (out[code] == 0) {
                out.erase(code);
            }
        }
    }
    return out;
}

std::vector<EvictionFlow> StatsWindow::eviction_flows(const Registry& registry) const {
    std::vector<EvictionFlow> out;
    for (const EvictionFlow& flow : registry.eviction_flows()) {
        if (const EvictionFlow grown = since(flow); grown.cells != 0) {
            out.push_back(grown);
        }
    }
    return out;
}

}  // namespace cxlpool

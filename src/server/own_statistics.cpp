#include "server/own_statistics.hpp"

#include <map>

namespace cxlpool {
namespace {

// The numbers of the wire stand one higher: 0 is no tier.
std::uint8_t number_of(Tier tier) noexcept {
    return static_cast<std::uint8_t>(static_cast<std::uint8_t>(tier) + 1);
}

}  // namespace

wire::OwnStatisticsReply own_statistics(const Registry& registry, TenantId tenant,
                                        const Refusals& refusals, const StatsWindow& incarnation) {
    const TenantCounters counters = incarnation.counters(registry, tenant);
    wire::OwnStatisticsReply out;
    out.hits = counters.hits;
    out.misses = counters.misses;
    out.evictions_suffered = counters.evictions_suffered;
    out.evictions_self = incarnation.self_evictions(registry, tenant).cells;
    out.cells_materialised = counters.cells_materialised;
    out.bytes_materialised = counters.bytes_materialised;
    out.cells = counters.cells;
    out.bytes = counters.bytes;
    out.live_leases = counters.live_leases;

    std::map<std::uint8_t, wire::TierStatistics> tiers;
    for (std::size_t pool = 0; pool < registry.pool_count(); ++pool) {
        const std::uint64_t resident = registry.resident_bytes(tenant, pool);
        const std::uint64_t reserved = registry.reserved_bytes(tenant, pool);
        if (resident != 0 || reserved != 0) {
            const std::uint8_t number = number_of(registry.residency(pool).tier);
            wire::TierStatistics& row = tiers[number];
            row.tier = number;
            row.resident_bytes += resident;
            row.reserved_bytes += reserved;
        }
    }
    for (const auto& [number, row] : tiers) {
        out.tiers.push_back(row);
    }
    for (const auto& [code, count] : incarnation.refused(refusals, tenant)) {
        out.refusals.push_back({static_cast<std::uint16_t>(code), count});
    }
    return out;
}

}  // namespace cxlpool

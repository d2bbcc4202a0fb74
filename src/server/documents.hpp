// The JSON documents that operators ask for, made from plain values. Shapes: cxlpoolctl(1).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/errc.hpp"
#include "domain/context.hpp"
#include "registry/registry.hpp"
#include "server/tenant_book.hpp"

namespace cxlpool {

class StatsWindow;

struct PoolStatus {
    std::string name;
    std::string provider;
    Isolation isolation = Isolation::kernel;
    PoolUsage usage;
};
struct DaemonStatus {
    TenancyMode mode = TenancyMode::multi;
    std::string reactor;
    std::uint64_t uptime_s = 0;
    std::size_t connections = 0;
    std::vector<PoolStatus> pools;
};

std::string status_document(const DaemonStatus& status, const Registry& registry);

// Pool names by the index that Location uses.
std::string cells_document(const Registry& registry, const std::vector<std::string>& pools);

// Requests of engines that were answered with an error, by tenant and code.
using Refusals = std::map<TenantId, std::map<Errc, std::uint64_t>>;

// What each tenant did and holds, who pushed out whom, and how full the pools are. All counters are
// since the start; beside them, when an operator has begun a window, are those since then.
struct StatsTimes {
    std::uint64_t uptime_s = 0;
    Timestamp now;  // monotonic
};
std::string stats_document(const Registry& registry, const std::vector<std::string>& pools,
                           const Refusals& refusals, const StatsWindow& window,
                           const StatsTimes& times);

// What operators gave each tenant. It holds salts: for operators only.
std::string tenants_document(const Registry& registry, const TenantBook& tenants,
                             const std::vector<std::string>& pools);

struct ExplainQuestion {
    TenantId requester;
    SpanDigest span;
    ContextKey wanted;           // of probe
    ContextFields wanted_texts;  // what `wanted` was made of: the interner need not know it
    Timestamp now;               // monotonic
};
std::string explain_document(const ExplainQuestion& question, const Registry& registry,
                             const ContextInterner& interner,
                             const std::vector<std::string>& pools);

}  // namespace cxlpool

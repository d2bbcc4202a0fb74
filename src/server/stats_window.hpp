// The time over which an operator counts.
//
// Responsible for: what the counters were when the window began, and what they have grown by since.
// The counters themselves are the registry's and go on: readers that subtract for themselves, and
// scrapers, are not disturbed when somebody begins a new window. Refuses to know: how it is shown.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/clock.hpp"
#include "registry/registry.hpp"
#include "server/documents.hpp"

namespace cxlpool {

class StatsWindow {
  public:
    // From now on.
    void begin(const Registry& registry, const Refusals& refusals, Timestamp monotonic,
               Timestamp wall);

    // Of this tenant alone: what it did before is nobody's any more.
    void begin_for(TenantId tenant, const Registry& registry, const Refusals& refusals);

    bool begun() const noexcept { return begun_; }  // else it is since the daemon's start
    Timestamp started_monotonic() const noexcept { return monotonic_; }
    Timestamp started_wall() const noexcept { return wall_; }

    // What has come since. What is counted of now (cells, bytes, leases) is of now.
    TenantCounters counters(const Registry& registry, TenantId tenant) const;
    std::map<Errc, std::uint64_t> refused(const Refusals& refusals, TenantId tenant) const;
    std::vector<EvictionFlow> eviction_flows(const Registry& registry) const;  // not those of none
    EvictionFlow self_evictions(const Registry& registry, TenantId tenant) const;

  private:
    EvictionFlow since(EvictionFlow flow) const;

    bool begun_ = false;
    Timestamp monotonic_;
    Timestamp wall_;
    std::map<TenantId, TenantCounters> counters_;
    std::map<std::pair<TenantId, TenantId>, EvictionFlow> flows_;
    Refusals refusals_;
};

}  // namespace cxlpool

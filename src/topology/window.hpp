// What the window of a region says about coherence. Internal to topology.
//
// The restriction bits name the memory that a window takes, not a fact about several hosts:
// "device coherent" only makes coherence across hosts possible. Unknown is none.
#pragma once

#include <cstdint>
#include <string>

#include "domain/profile.hpp"
#include "topology/lookup.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

enum class WindowClass : std::uint8_t {
    unknown,          // no restriction bits, or the window is not known
    host_only,        // coherent in this host, none across hosts
    device_coherent,  // across hosts: possible, with back-invalidate
    accelerator,      // memory of an accelerator: no pool
};

WindowClass window_class(const Region& region, const Lookup& lookup);

// Across hosts, with the evidence. `region` null: no CXL region is known.
Known<CrossHostCoherence> cross_host_coherence(const Region* region, const Lookup& lookup);

// Inside this host.
Known<bool> coherent_in_host(const Region* region, const Lookup& lookup);

// What a region offers: its size, or the extents accepted so far when capacity is dynamic.
std::uint64_t usable_capacity_bytes(const Region& region, const Topology& topology);

}  // namespace cxlpool

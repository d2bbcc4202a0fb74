// What memory is worth along a path, and to whom.
//
// Responsible for: adding up the segments between a CPU and a device (HMAT, links, switches, CDAT),
// and the figures that one CPU node has of another node's memory. Pure. Refuses to know: where a
// segment's figures come from. Invariants: latency adds and is in picoseconds (_ps) or nanoseconds
// (_ns); bandwidth is that of the narrowest segment, in 10^6 bytes a second (_mbps), and is shared
// above the point where paths meet; a figure that is missing or does not fit is absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "topology/topology.hpp"

namespace cxlpool {

struct PathSegment {
    std::uint64_t read_latency_ps = 0;
    std::uint64_t read_mbps = 0;  // 0: this segment gives no figure, so the path has none
};

struct PathFigures {
    std::uint64_t read_latency_ns = 0;
    std::uint64_t read_mbps = 0;
    bool operator==(const PathFigures&) const = default;
};

// Latency in whole nanoseconds, rounded up. Absent for no segment, a segment without a bandwidth,
// and a sum that does not fit.
std::optional<PathFigures> along(std::span<const PathSegment> segments);

// The path that every device of a pool has. Absent for none, and when they differ: an asymmetric
// tree has no figure.
std::optional<PathFigures> common(std::span<const PathFigures> paths);

// What `devices` devices of `device_mbps` deliver together below one upstream link. Absent when
// one of them is 0.
std::optional<std::uint64_t> shared_mbps(std::uint64_t device_mbps, std::uint32_t devices,
                                         std::uint64_t upstream_mbps);

// A link of `lanes` lanes at `gt_per_s` (10^9 transfers a second, one bit each, as in PCIe):
// 32 GT/s x 8 lanes is 32,000 MB/s. Encoding and headers are not taken off.
std::optional<std::uint64_t> link_mbps(std::uint32_t gt_per_s, std::uint32_t lanes);

// A latency of a device's CDAT (SSLBIS, DSLBIS) or the HMAT: an entry times its base unit, which is
// in picoseconds. Absent for the entries that mean "no figure" (0) and "unreachable" (0xFFFF).
std::optional<std::uint64_t> table_latency_ps(std::uint16_t entry, std::uint64_t base_unit_ps);

// What a CPU node has of a node's memory; null where that is not known: the figures of another CPU
// node are no answer.
const InitiatorFigures* figures_from(const NumaNode& memory, std::uint32_t cpu_node);

// The memory-only node with the most bandwidth from `cpu_node`, of equal ones the quicker, of those
// the first; null when none has figures from there.
const NumaNode* preferred_memory(std::span<const NumaNode> nodes, std::uint32_t cpu_node);

}  // namespace cxlpool

#include "topology/coordinates.hpp"

#include <algorithm>
#include <limits>

#include "base/units.hpp"

namespace cxlpool {
namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr std::uint64_t kMegatransfersPerGigatransfer = 1000;
constexpr std::uint64_t kBitsPerByte = 8;
constexpr std::uint16_t kNoEntry = 0;
constexpr std::uint16_t kUnreachableEntry = 0xFFFF;

// Bandwidth decides, then latency; what is not known loses.
bool is_better(const InitiatorFigures& a, const InitiatorFigures& b) {
    if (a.read_mbps != b.read_mbps) {
        return a.read_mbps.value_or(0) > b.read_mbps.value_or(0);
    }
    constexpr auto kSlowest = std::numeric_limits<std::uint64_t>::max();
    return a.read_latency_ns.value_or(kSlowest) < b.read_latency_ns.value_or(kSlowest);
}

}  // namespace

std::optional<PathFigures> along(std::span<const PathSegment> segments) {
    std::optional<std::uint64_t> latency_ps = segments.empty() ? std::nullopt : std::optional(0ULL);
    std::uint64_t mbps = std::numeric_limits<std::uint64_t>::max();
    for (const PathSegment& segment : segments) {
        latency_ps = latency_ps ? checked_add(*latency_ps, segment.read_latency_ps) : std::nullopt;
        mbps = std::min(mbps, segment.read_mbps);
    }
    if (!latency_ps || mbps == 0) {
        return std::nullopt;
    }
    return PathFigures{*latency_ps / kPsPerNs + (*latency_ps % kPsPerNs != 0 ? 1 : 0), mbps};
}

std::optional<PathFigures> common(std::span<const PathFigures> paths) {
    const bool same = std::all_of(paths.begin(), paths.end(),
                                  [&](const PathFigures& path) { return path == paths.front(); });
    return paths.empty() || !same ? std::nullopt : std::optional(paths.front());
}

std::optional<std::uint64_t> shared_mbps(std::uint64_t device_mbps, std::uint32_t devices,
                                         std::uint64_t upstream_mbps) {
    if (device_mbps == 0 || devices == 0 || upstream_mbps == 0) {
        return std::nullopt;
    }
    // More than fits in 64 bits is more than any upstream link carries.
    return std::min(checked_mul(device_mbps, devices).value_or(upstream_mbps), upstream_mbps);
}

std::optional<std::uint64_t> link_mbps(std::uint32_t gt_per_s, std::uint32_t lanes) {
    if (gt_per_s == 0 || lanes == 0) {
        return std::nullopt;
    }
    const auto transfers =
        checked_mul(std::uint64_t{gt_per_s} * kMegatransfersPerGigatransfer, lanes);
    return transfers ? std::optional(*transfers / kBitsPerByte) : std::nullopt;
}

std::optional<std::uint64_t> table_latency_ps(std::uint16_t entry, std::uint64_t base_unit_ps) {
    if (entry == kNoEntry || entry == kUnreachableEntry || base_unit_ps == 0) {
        return std::nullopt;
    }
    return checked_mul(entry, base_unit_ps);
}

const InitiatorFigures* figures_from(const NumaNode& memory, std::uint32_t cpu_node) {
    const auto found =
        std::find_if(memory.initiators.begin(), memory.initiators.end(),
                     [&](const InitiatorFigures& figures) { return figures.cpu_node == cpu_node; });
    return found == memory.initiators.end() ? nullptr : &*found;
}

const NumaNode* preferred_memory(std::span<const NumaNode> nodes, std::uint32_t cpu_node) {
    const NumaNode* best = nullptr;
    for (const NumaNode& node : nodes) {
        const InitiatorFigures* const figures =
            node.has_cpus ? nullptr : figures_from(node, cpu_node);
        if (figures != nullptr && (figures->read_mbps || figures->read_latency_ns) &&
            (best == nullptr || is_better(*figures, *figures_from(*best, cpu_node)))) {
            best = &node;
        }
    }
    return best;
}

}  // namespace cxlpool

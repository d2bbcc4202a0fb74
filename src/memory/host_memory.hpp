// What the host says about its memory, so that a reservation that cannot succeed is refused with a
// reason, before the kernel looks for something to kill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace cxlpool {

constexpr std::uint64_t kHugePageBytes = 2ULL << 20U;

// Where to read; tests point it at scratch trees.
struct HostPaths {
    std::string sysfs_root = "/sys";
    std::string proc_root = "/proc";
};

struct HugePageCounts {
    std::uint64_t configured = 0;  // including those that the kernel may add on demand
    std::uint64_t free = 0;        // not used and not reserved
};

// 2 MiB pages of the host, or of one node. All zero where the kernel has none.
HugePageCounts huge_page_counts(const HostPaths& paths, std::optional<std::uint32_t> node);

// Errors: unavailable: no such node, a node without memory, a node that this process may not use.
Result<void> check_numa_node(const HostPaths& paths, std::uint32_t node);

// Bytes that can be had without pushing anybody out, of the host or of one node; nothing where that
// cannot be read.
std::optional<std::uint64_t> available_bytes(const HostPaths& paths,
                                             std::optional<std::uint32_t> node);

// All memory of the host or of one node; nothing where that cannot be read.
std::optional<std::uint64_t> total_bytes(const HostPaths& paths, std::optional<std::uint32_t> node);

}  // namespace cxlpool

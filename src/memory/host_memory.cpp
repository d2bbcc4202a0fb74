#include "memory/host_memory.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/units.hpp"
#include "memory/kernel_files.hpp"

namespace cxlpool {
namespace {

std::string node_directory(const HostPaths& paths, std::uint32_t node) {
    return paths.sysfs_root + "/devices/system/node/node" + std::to_string(node);
}

std::uint64_t count_or_zero(const std::string& path) {
    const Result<std::uint64_t> number = read_kernel_u64(path);
    return number ? *number : 0;
}

// The value of a "Name:   123 kB" line, in bytes.
std::optional<std::uint64_t> kib_line(std::string_view text, const std::string& key) {
    const std::optional<std::string_view> value = line_value(text, key);
    if (!value) {
        return std::nullopt;
    }
    const Result<std::uint64_t> kib = parse_u64(value->substr(0, value->find(' ')));
    return kib ? checked_mul(*kib, 1024) : std::nullopt;
}

}  // namespace

HugePageCounts huge_page_counts(const HostPaths& paths, std::optional<std::uint32_t> node) {
    const std::string host = paths.sysfs_root + "/kernel/mm/hugepages/hugepages-2048kB/";
    const std::uint64_t reserved = count_or_zero(host + "resv_hugepages");
    HugePageCounts counts;
    counts.configured =
        count_or_zero(host + "nr_hugepages") + count_or_zero(host + "nr_overcommit_hugepages");
    counts.free = count_or_zero(host + "free_hugepages");
    if (node) {
        // Reservations are counted for the host only, so they may fall on this node.
        const std::string own = node_directory(paths, *node) + "/hugepages/hugepages-2048kB/";
        counts.configured = count_or_zero(own + "nr_hugepages");
        counts.free = std::min(counts.free, count_or_zero(own + "free_hugepages"));
    }
    counts.free -= std::min(counts.free, reserved);
    return counts;
}

Result<void> check_numa_node(const HostPaths& paths, std::uint32_t node) {
    const std::string name = "NUMA node " + std::to_string(node);
    if (::access(node_directory(paths, node).c_str(), F_OK) != 0) {
        const Result<std::string> online =
            read_kernel_file(paths.sysfs_root + "/devices/system/node/online");
        const std::string listed = online ? online->substr(0, online->find('\n')) : "unknown";
        return Error{Errc::unavailable, name + " does not exist; nodes online: " + listed};
    }
    const Result<std::string> with_memory =
        read_kernel_file(paths.sysfs_root + "/devices/system/node/has_memory");
    if (with_memory && !list_contains(*with_memory, node)) {
        return Error{Errc::unavailable, name + " has no memory; nodes with memory: " +
                                            with_memory->substr(0, with_memory->find('\n'))};
    }
    const Result<std::string> status = read_kernel_file(paths.proc_root + "/self/status");
    if (!status) {
        return Error(status.error());
    }
    const std::optional<std::string_view> allowed = line_value(*status, "Mems_allowed_list");
    if (!allowed || !list_contains(*allowed, node)) {
        return Error{Errc::unavailable,
                     name + " is not allowed for this process (Mems_allowed_list: " +
                         std::string(allowed.value_or("missing")) +
                         "); widen AllowedMemoryNodes= of the service or the cpuset of its cgroup"};
    }
    return {};
}

std::optional<std::uint64_t> available_bytes(const HostPaths& paths,
                                             std::optional<std::uint32_t> node) {
    if (!node) {
        const Result<std::string> text = read_kernel_file(paths.proc_root + "/meminfo");
        return text ? kib_line(*text, "MemAvailable") : std::nullopt;
    }
    const Result<std::string> text = read_kernel_file(node_directory(paths, *node) + "/meminfo");
    if (!text) {
        return std::nullopt;
    }
    // A node's file has no MemAvailable; file pages can be written back and dropped.
    const std::string prefix = "Node " + std::to_string(*node) + " ";
    const std::optional<std::uint64_t> free = kib_line(*text, prefix + "MemFree");
    if (!free) {
        return std::nullopt;
    }
    return *free + kib_line(*text, prefix + "Active(file)").value_or(0) +
           kib_line(*text, prefix + "Inactive(file)").value_or(0);
}

std::optional<std::uint64_t> total_bytes(const HostPaths& paths,
                                         std::optional<std::uint32_t> node) {
    const Result<std::string> text = read_kernel_file(
        node ? node_directory(paths, *node) + "/meminfo" : paths.proc_root + "/meminfo");
    if (!text) {
        return std::nullopt;
    }
    return kib_line(*text,
                    node ? "Node " + std::to_string(*node) + " MemTotal" : std::string("MemTotal"));
}

}  // namespace cxlpool

#include "topology/live/libnuma_reader.hpp"

#include <numa.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <utility>

namespace cxlpool::live {
namespace {

// Memory of the whole machine, right for a node only when it is the only one.
void set_machine_memory(NumaNode& node) {
    struct sysinfo info {};
    if (::sysinfo(&info) == 0) {
        node.capacity_bytes = std::uint64_t{info.totalram} * info.mem_unit;
        node.free_bytes = std::uint64_t{info.freeram} * info.mem_unit;
    }
}

}  // namespace

std::vector<NumaNode> read_libnuma() {
    std::vector<NumaNode> nodes;
    unsigned here = 0;
    if (::getcpu(nullptr, &here) != 0) {
        here = 0;
    }
    if (::numa_available() >= 0) {
        for (int id = 0; id <= ::numa_max_node(); ++id) {
            if (::numa_bitmask_isbitset(::numa_all_nodes_ptr, static_cast<unsigned>(id)) == 0) {
                continue;
            }
            NumaNode node;
            node.id = static_cast<std::uint32_t>(id);
            node.has_cpus = node.id == here;
            long long free_bytes = 0;
            const long long size = ::numa_node_size64(id, &free_bytes);
            if (size >= 0) {
                node.capacity_bytes = static_cast<std::uint64_t>(size);
                node.free_bytes = static_cast<std::uint64_t>(free_bytes);
            }
            nodes.push_back(std::move(node));
        }
    }
    if (nodes.empty()) {
        nodes.emplace_back();
        nodes.back().has_cpus = true;
    }
    if (nodes.size() == 1 && !nodes.front().capacity_bytes) {
        set_machine_memory(nodes.front());
    }
    for (NumaNode& node : nodes) {
        for (const NumaNode& other : nodes) {
            // 0 means that libnuma does not know.
            if (const int distance =
                    ::numa_available() < 0
                        ? 0
                        : ::numa_distance(static_cast<int>(node.id), static_cast<int>(other.id));
                distance > 0) {
                node.distances.emplace_back(other.id, static_cast<std::uint32_t>(distance));
            }
        }
    }
    return nodes;
}

}  // namespace cxlpool::live

#include "topology/live/live.hpp"

#include <utility>

#include "topology/live/finding_log.hpp"
#include "topology/live/libcxl_reader.hpp"
#include "topology/live/libdaxctl_reader.hpp"
#include "topology/live/libnuma_reader.hpp"
#include "topology/live/merge.hpp"
#include "topology/live/reader.hpp"
#include "topology/live/sysfs.hpp"
#include "topology/live/sysfs_reader.hpp"

namespace cxlpool {
namespace live {
namespace {

void add_memory_blocks(const SysfsReader& reader, std::vector<DaxDevice>& devices) {
    for (DaxDevice& device : devices) {
        if (device.mode != DaxMode::system_ram || device.total_memblocks) {
            continue;
        }
        if (const std::optional<MemoryBlocks> blocks = reader.memory_blocks(device)) {
            device.total_memblocks = blocks->total;
            device.online_memblocks = blocks->online;
        }
    }
}

}  // namespace

Result<Topology> read_topology(const std::string& root) {
    FindingLog log;
    const Sysfs sysfs(root, log);
    if (sysfs.list("/sys").empty()) {
        return Error{Errc::unavailable,
                     root + "/sys cannot be read, or is empty: is sysfs mounted there?"};
    }
    const SysfsReader reader(sysfs);
    const bool this_machine = root.empty();

    Topology topology;
    topology.origin = Topology::Origin::live;
    Topology from_sysfs;
    reader.read_cxl(from_sysfs);
    if (this_machine) {
        read_libcxl(topology, log);
        merge_cxl(topology, std::move(from_sysfs), log);
    } else {
        topology = std::move(from_sysfs);
    }

    topology.dax_devices = reader.dax_devices();
    if (this_machine) {
        merge_dax(topology.dax_devices, read_libdaxctl(log));
    }
    add_memory_blocks(reader, topology.dax_devices);
    reader.tie_dax_devices(topology);

    topology.nodes = reader.nodes();
    topology.possible_nodes = reader.possible_nodes();
    if (topology.nodes.empty() && this_machine) {
        topology.nodes = read_libnuma();
    }
    topology.source_findings = log.take();
    resolve(topology);
    return topology;
}

}  // namespace live

Result<Topology> read_live() {
    return live::read_topology("");
}

}  // namespace cxlpool

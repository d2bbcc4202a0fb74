#include "topology/live/merge.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "topology/live/sysfs.hpp"

namespace cxlpool::live {
namespace {

template <typename T>
void fill(std::optional<T>& into, const std::optional<T>& from) {
    if (!into) {
        into = from;
    }
}

void fill(std::string& into, const std::string& from) {
    if (into.empty()) {
        into = from;
    }
}

template <typename T>
void fill(std::vector<T>& into, const std::vector<T>& from) {
    if (into.empty()) {
        into = from;
    }
}

void fill_all(Memdev& into, const Memdev& from) {
    fill(into.sysfs_path, from.sysfs_path);
    fill(into.serial, from.serial);
    fill(into.host, from.host);
    fill(into.numa_node, from.numa_node);
    fill(into.firmware_version, from.firmware_version);
    // The library says "no" where drivers cannot be seen.
    into.enabled = from.enabled;
    into.dynamic_bytes = from.dynamic_bytes;
}

void fill_all(Port& into, const Port& from) {
    fill(into.host, from.host);
    fill(into.parent_dport, from.parent_dport);
    fill(into.dports, from.dports);
}

void fill_all(Decoder& into, const Decoder& from) {
    fill(into.resource, from.resource);
    fill(into.size_bytes, from.size_bytes);
    fill(into.interleave_ways, from.interleave_ways);
    fill(into.locked, from.locked);
    fill(into.target_type, from.target_type);
    fill(into.region, from.region);
    if (into.kind == Decoder::Kind::root) {
        // The library says "no" for a capability that it could not read.
        into.mem_capable = from.mem_capable;
        into.volatile_capable = from.volatile_capable;
        into.pmem_capable = from.pmem_capable;
        into.accelmem_capable = from.accelmem_capable;
    }
}

void fill_all(Region& into, const Region& from) {
    fill(into.sysfs_path, from.sysfs_path);
    fill(into.type, from.type);
    fill(into.resource, from.resource);
    // The library calls a region "reset" whose state it could not read.
    into.state = from.state;
    into.extents = from.extents;
    into.has_dynamic_capacity = from.has_dynamic_capacity;
    into.read_latency_ns = from.read_latency_ns;
    into.read_mbps = from.read_mbps;
    for (const RegionMapping& mapping : from.mappings) {
        const auto same =
            std::find_if(into.mappings.begin(), into.mappings.end(),
                         [&](const RegionMapping& m) { return m.position == mapping.position; });
        if (same == into.mappings.end()) {
            into.mappings.push_back(mapping);
        } else {
            fill(same->memdev, mapping.memdev);
        }
    }
}

template <typename T>
void merge_by_name(std::vector<T>& into, std::vector<T> from, std::vector<std::string>& added) {
    for (T& object : from) {
        const auto same = std::find_if(into.begin(), into.end(),
                                       [&](const T& o) { return o.name == object.name; });
        if (same != into.end()) {
            fill_all(*same, object);
        } else {
            added.push_back(object.name);
            into.push_back(std::move(object));
        }
    }
    std::sort(into.begin(), into.end(),
              [](const T& a, const T& b) { return natural_less(a.name, b.name); });
}

}  // namespace

void merge_cxl(Topology& topology, Topology sysfs, FindingLog& log) {
    std::vector<std::string> added;
    merge_by_name(topology.memdevs, std::move(sysfs.memdevs), added);
    merge_by_name(topology.ports, std::move(sysfs.ports), added);
    merge_by_name(topology.decoders, std::move(sysfs.decoders), added);
    merge_by_name(topology.regions, std::move(sysfs.regions), added);
    if (added.empty()) {
        return;
    }
    constexpr std::size_t kNamed = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(added.size(), kNamed); ++i) {
        names.append(i == 0 ? "" : " ").append(added[i]);
    }
    if (added.size() > kNamed) {
        names.append(" and ").append(std::to_string(added.size() - kNamed)).append(" more");
    }
    log.add({Finding::Severity::info, "read_from_sysfs", added.front(),
             "libcxl does not show " + names + "; they were read from sysfs",
             "`cxl list` will not show them either: are the cxl modules loaded and the nodes in "
             "/dev/cxl there?"});
}

void merge_dax(std::vector<DaxDevice>& devices, const std::vector<DaxDevice>& library) {
    for (DaxDevice& device : devices) {
        const auto same = std::find_if(library.begin(), library.end(),
                                       [&](const DaxDevice& d) { return d.name == device.name; });
        if (same == library.end()) {
            continue;
        }
        fill(device.capacity_bytes, same->capacity_bytes);
        fill(device.align_bytes, same->align_bytes);
        fill(device.resource, same->resource);
        fill(device.target_node, same->target_node);
        fill(device.total_memblocks, same->total_memblocks);
        fill(device.online_memblocks, same->online_memblocks);
    }
}

}  // namespace cxlpool::live

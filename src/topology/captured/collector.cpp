#include "topology/captured/collector.hpp"

#include <utility>

namespace cxlpool::captured {
namespace {

// Takes over what `from` knows and `into` does not; false when both know and disagree.
template <typename T>
bool merge(T& into, T& from) {
    if (from == T{}) {
        return true;
    }
    if (into == T{}) {
        into = std::move(from);
        return true;
    }
    return into == from;
}

// Sizes have no "unknown": a tool leaves a size of 0 out.
template <typename T>
bool same(const T& a, const T& b) {
    return a == b;
}

bool merge_devices(Memdev& a, Memdev& b) {
    return same(a.ram_bytes, b.ram_bytes) && same(a.pmem_bytes, b.pmem_bytes) &&
           same(a.dynamic_bytes, b.dynamic_bytes) && merge(a.sysfs_path, b.sysfs_path) &&
           merge(a.serial, b.serial) && merge(a.host, b.host) && merge(a.numa_node, b.numa_node) &&
           merge(a.enabled, b.enabled) && merge(a.firmware_version, b.firmware_version);
}

bool merge_devices(Port& a, Port& b) {
    return same(a.kind, b.kind) && merge(a.parent, b.parent) && merge(a.host, b.host) &&
           merge(a.parent_dport, b.parent_dport) && merge(a.depth, b.depth) &&
           merge(a.declared_dports, b.declared_dports) && merge(a.dports, b.dports);
}

bool merge_devices(Decoder& a, Decoder& b) {
    return same(a.kind, b.kind) && merge(a.parent, b.parent) && merge(a.resource, b.resource) &&
           merge(a.size_bytes, b.size_bytes) && merge(a.interleave_ways, b.interleave_ways) &&
           merge(a.interleave_granularity_bytes, b.interleave_granularity_bytes) &&
           merge(a.max_available_extent_bytes, b.max_available_extent_bytes) &&
           merge(a.volatile_capable, b.volatile_capable) && merge(a.pmem_capable, b.pmem_capable) &&
           merge(a.mem_capable, b.mem_capable) && merge(a.accelmem_capable, b.accelmem_capable) &&
           merge(a.locked, b.locked) && merge(a.target_type, b.target_type) &&
           merge(a.region, b.region) && merge(a.mode, b.mode) &&
           merge(a.dpa_resource, b.dpa_resource) && merge(a.dpa_size_bytes, b.dpa_size_bytes) &&
           merge(a.declared_targets, b.declared_targets) && merge(a.targets, b.targets);
}

bool merge_devices(Region& a, Region& b) {
    a.has_dynamic_capacity = a.has_dynamic_capacity || b.has_dynamic_capacity;
    return same(a.capacity_bytes, b.capacity_bytes) && merge(a.sysfs_path, b.sysfs_path) &&
           merge(a.root_decoder, b.root_decoder) && merge(a.resource, b.resource) &&
           merge(a.type, b.type) && merge(a.interleave_ways, b.interleave_ways) &&
           merge(a.interleave_granularity_bytes, b.interleave_granularity_bytes) &&
           merge(a.state, b.state) && merge(a.mappings, b.mappings) && merge(a.extents, b.extents);
}

bool merge_devices(DaxDevice& a, DaxDevice& b) {
    return merge(a.sysfs_path, b.sysfs_path) && merge(a.region_path, b.region_path) &&
           merge(a.capacity_bytes, b.capacity_bytes) && merge(a.align_bytes, b.align_bytes) &&
           merge(a.resource, b.resource) && merge(a.ranges, b.ranges) && merge(a.mode, b.mode) &&
           merge(a.target_node, b.target_node) && merge(a.numa_node, b.numa_node) &&
           merge(a.online_memblocks, b.online_memblocks) &&
           merge(a.total_memblocks, b.total_memblocks) && merge(a.region, b.region) &&
           merge(a.devnode, b.devnode) && merge(a.dev_major, b.dev_major) &&
           merge(a.dev_minor, b.dev_minor) && merge(a.held_by, b.held_by);
}

}  // namespace

template <typename Device>
void Collector::add_to(std::vector<Device>& devices, Source& source, const json::Value& at,
                       Device device, std::string_view kind) {
    if (!source.ok()) {
        return;
    }
    const auto [place, is_new] =
        places_.emplace(std::string(kind) + " " + device.name, devices.size());
    if (is_new) {
        if (devices.size() == kMostDevices) {
            source.fail(Errc::too_large, at,
                        "more than " + std::to_string(kMostDevices) + " of " + std::string(kind));
            return;
        }
        devices.push_back(std::move(device));
    } else if (!merge_devices(devices[place->second], device)) {
        source.fail(Errc::invalid_argument, at,
                    std::string(kind) + " " + device.name +
                        " was listed before with other values: all files must be of one machine, "
                        "taken at one time");
    }
}

void Collector::add(Source& source, const json::Value& at, Memdev device) {
    add_to(topology_.memdevs, source, at, std::move(device), "memdev");
}

void Collector::add(Source& source, const json::Value& at, Port device) {
    add_to(topology_.ports, source, at, std::move(device), "port");
}

void Collector::add(Source& source, const json::Value& at, Decoder device) {
    add_to(topology_.decoders, source, at, std::move(device), "decoder");
}

void Collector::add(Source& source, const json::Value& at, Region device) {
    add_to(topology_.regions, source, at, std::move(device), "region");
}

void Collector::add(Source& source, const json::Value& at, DaxDevice device) {
    add_to(topology_.dax_devices, source, at, std::move(device), "dax device");
}

void Collector::add(Finding finding) {
    if (findings_.emplace(finding.code, finding.subject, finding.message).second) {
        topology_.source_findings.push_back(std::move(finding));
    }
}

}  // namespace cxlpool::captured

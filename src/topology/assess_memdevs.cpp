#include <algorithm>
#include <set>

#include "topology/assess.hpp"

namespace cxlpool {
namespace {

// A region that the kernel found no devices for, on a machine that translates addresses or decodes
// in a way it does not follow: then the devices get no driver either.
std::vector<std::string> regions_without_devices(const Topology& topology) {
    std::vector<std::string> names;
    for (const Region& region : topology.regions) {
        if (region.state != Region::State::committed && region.mappings.empty()) {
            names.push_back(region.name);
        }
    }
    return names;
}

void disabled(const Topology& topology, Findings& findings) {
    const std::vector<std::string> waiting = regions_without_devices(topology);
    std::set<std::string_view> mapped;
    for (const Region& region : topology.regions) {
        for (const RegionMapping& mapping : region.mappings) {
            mapped.insert(mapping.memdev);
        }
    }
    for (const Memdev& memdev : topology.memdevs) {
        if (memdev.enabled != false) {
            continue;
        }
        const bool region_first = !waiting.empty() && mapped.count(memdev.name) == 0;
        findings.warning("memdev_disabled", memdev.name,
                         memdev.name + " has no driver bound; no region over it is offered",
                         region_first ? "see " + join(waiting) +
                                            " first: the kernel found no devices for it, and "
                                            "'dmesg | grep cxl' says why; enabling " +
                                            memdev.name + " does not mend that"
                                      : "cxl enable-memdev " + memdev.name +
                                            ", and 'dmesg | grep cxl' if that fails");
    }
}

// A serial of 0 or of two devices names nothing, and neither does a shared host address.
void identities(const Topology& topology, Findings& findings) {
    std::map<std::uint64_t, std::vector<std::string>> by_serial;
    std::map<std::string, std::vector<std::string>> by_host;
    for (const Memdev& memdev : topology.memdevs) {
        if (memdev.serial) {
            by_serial[*memdev.serial].push_back(memdev.name);
        }
        if (!memdev.host.empty()) {
            by_host[memdev.host].push_back(memdev.name);
        }
    }
    const std::string next = "name the pool by region, dax device or path in the configuration";
    for (const auto& [serial, names] : by_serial) {
        if (serial == 0) {
            findings.info("serial_zero", join(names),
                          join(names) + ": serial 0 is no serial number", next);
        } else if (names.size() > 1) {
            findings.warning("duplicate_serial", join(names),
                             join(names) + " have the same serial " + std::to_string(serial) +
                                 ": it identifies none of them",
                             next);
        }
    }
    for (const auto& [host, names] : by_host) {
        if (names.size() > 1) {
            findings.info("duplicate_host", join(names),
                          join(names) + " show the same host address " + host +
                              "; they are kept apart by name",
                          next);
        }
    }
}

// Devices can hold more than all windows together let the host address.
void unreachable(const Topology& topology, Findings& findings) {
    std::uint64_t devices = 0;
    for (const Memdev& memdev : topology.memdevs) {
        devices = capped_sum(devices, capped_sum(capped_sum(memdev.ram_bytes, memdev.pmem_bytes),
                                                 memdev.dynamic_bytes));
    }
    std::uint64_t windows = 0;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    std::vector<std::string> names;
    for (const Decoder& decoder : topology.decoders) {
        const std::uint64_t size = decoder.size_bytes.value_or(0);
        if (decoder.kind != Decoder::Kind::root || size == 0) {
            continue;
        }
        const bool fresh = !decoder.resource || seen.emplace(*decoder.resource, size).second;
        windows = capped_sum(windows, fresh ? size : 0);
        names.push_back(decoder.name);
    }
    if (windows == 0 || devices <= windows) {
        return;
    }
    findings.warning("unreachable_capacity", join(names),
                     bytes_text(devices - windows) + " not reachable: the devices hold " +
                         bytes_text(devices) + ", the windows (" + join(names) +
                         ") let the host address " + bytes_text(windows),
                     "the platform decides the windows: look for a BIOS option, or count on the "
                     "smaller figure");
}

}  // namespace

void assess_memdevs(const Topology& topology, const Lookup& lookup, Findings& findings) {
    disabled(topology, findings);
    identities(topology, findings);
    assess_unused_memory(topology, lookup, findings);
    unreachable(topology, findings);
}

}  // namespace cxlpool

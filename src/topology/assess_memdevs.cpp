#include <algorithm>
#include <set>

#include "base/units.hpp"
#include "topology/assess.hpp"

namespace cxlpool {
namespace {

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    return checked_add(a, b).value_or(~std::uint64_t{0});
}

void disabled(const Topology& topology, Findings& findings) {
    for (const Memdev& memdev : topology.memdevs) {
        if (memdev.enabled == false) {
            findings.warning(
                "memdev_disabled", memdev.name,
                memdev.name + " has no driver bound; no region over it is offered",
                "cxl enable-memdev " + memdev.name + ", and 'dmesg | grep cxl' if that fails");
        }
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
                          "");
        }
    }
}

// What the endpoint decoders of each memdev have taken, or else its share of its regions.
std::map<std::string, std::uint64_t> used_bytes(const Topology& topology, const Lookup& lookup) {
    std::map<std::string, std::uint64_t> used;
    for (const Decoder& decoder : topology.decoders) {
        const Port* const endpoint = lookup.port(decoder.parent);
        if (decoder.kind == Decoder::Kind::endpoint && endpoint != nullptr) {
            std::uint64_t& bytes = used[endpoint->host];
            bytes = sum(bytes, decoder.dpa_size_bytes.value_or(0));
        }
    }
    std::map<std::string, std::uint64_t> shares;
    for (const Region& region : topology.regions) {
        for (const RegionMapping& mapping : region.mappings) {
            std::uint64_t& bytes = shares[mapping.memdev];
            bytes = sum(bytes, region.capacity_bytes / region.mappings.size());
        }
    }
    for (const auto& [memdev, bytes] : shares) {
        used[memdev] = std::max(used[memdev], bytes);
    }
    return used;
}

struct Unused {
    std::vector<std::string> memdevs;
    std::uint64_t bytes = 0;
    std::uint64_t pmem_bytes = 0;
};

Unused unused(const Topology& topology, const Lookup& lookup) {
    const std::map<std::string, std::uint64_t> used = used_bytes(topology, lookup);
    Unused out;
    for (const Memdev& memdev : topology.memdevs) {
        if (memdev.enabled == false) {
            continue;
        }
        const std::uint64_t whole = sum(memdev.ram_bytes, memdev.pmem_bytes);
        const auto found = used.find(memdev.name);
        const std::uint64_t taken = found == used.end() ? 0 : found->second;
        if (taken < whole) {
            out.memdevs.push_back(memdev.name);
            out.bytes = sum(out.bytes, whole - taken);
            out.pmem_bytes = sum(out.pmem_bytes, memdev.pmem_bytes);
        }
    }
    return out;
}

// The root decoder with the most room; null when none has any.
const Decoder* roomiest_window(const Topology& topology, bool& any_window) {
    const Decoder* best = nullptr;
    any_window = false;
    for (const Decoder& decoder : topology.decoders) {
        if (decoder.kind != Decoder::Kind::root) {
            continue;
        }
        any_window = true;
        const std::uint64_t room = decoder.max_available_extent_bytes.value_or(0);
        if (room > 0 && (best == nullptr || room > *best->max_available_extent_bytes)) {
            best = &decoder;
        }
    }
    return best;
}

std::string create_region(const Unused& free, const Decoder* window) {
    const bool pmem = free.pmem_bytes > 0;
    return std::string("cxl create-region -t ") + (pmem ? "pmem" : "ram") + " -m -d " +
           (window == nullptr ? std::string("ROOT_DECODER") : window->name) + " -w 1 " +
           free.memdevs.front() +
           (window == nullptr ? " (ROOT_DECODER: see 'cxl list -D -d root')" : "") +
           (pmem ? ", then: ndctl create-namespace -m devdax" : ", then: daxctl list -RD");
}

void capacity(const Topology& topology, const Lookup& lookup, Findings& findings) {
    const Unused free = unused(topology, lookup);
    if (free.bytes == 0) {
        return;
    }
    bool any_window = false;
    const Decoder* const window = roomiest_window(topology, any_window);
    // Firmware that puts CXL memory into the boot map leaves windows without room, and neither a
    // region nor a dax device.
    if (any_window && window == nullptr && topology.regions.empty() &&
        topology.dax_devices.empty() && free.pmem_bytes == 0) {
        findings.info("firmware_system_ram", join(free.memdevs),
                      join(free.memdevs) + ": " + bytes_text(free.bytes) +
                          " of memory is in use as System RAM by firmware, nothing to pool",
                      "to pool it, have the firmware set it aside (BIOS option for CXL memory: "
                      "\"specific purpose\"); no kernel switch takes it back after boot");
        return;
    }
    findings.warning(
        "unprovisioned_capacity", join(free.memdevs),
        join(free.memdevs) + ": " + bytes_text(free.bytes) + " unprovisioned, no region maps it",
        any_window && window == nullptr
            ? "no window has room for a region: look for memory that firmware already mapped "
              "(daxctl list -RD, /proc/iomem)"
            : create_region(free, window));
}

// Devices can hold more than all windows together let the host address.
void unreachable(const Topology& topology, Findings& findings) {
    std::uint64_t devices = 0;
    for (const Memdev& memdev : topology.memdevs) {
        devices = sum(devices, sum(sum(memdev.ram_bytes, memdev.pmem_bytes), memdev.dynamic_bytes));
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
        windows = sum(windows, fresh ? size : 0);
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
    capacity(topology, lookup, findings);
    unreachable(topology, findings);
}

}  // namespace cxlpool

#include <algorithm>
#include <set>

#include "base/units.hpp"
#include "topology/assess.hpp"
#include "topology/window.hpp"

namespace cxlpool {
namespace {

std::vector<std::string> memdevs_of(const Region& region) {
    std::vector<std::string> names;
    for (const RegionMapping& mapping : region.mappings) {
        if (!mapping.memdev.empty()) {
            names.push_back(mapping.memdev);
        }
    }
    return names;
}

std::string hex(std::uint64_t address) {
    char text[19];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

std::string range_text(const std::vector<PhysicalRange>& ranges) {
    return ranges.empty() ? std::string("no address")
                          : hex(ranges.front().start) + "-" + hex(ranges.back().end);
}

class Assessor {
  public:
    Assessor(const Topology& topology, const Lookup& lookup, Findings& findings)
        : topology_(topology), lookup_(lookup), findings_(findings) {}

    std::vector<PoolCandidate> pools() {
        for (const Memdev& memdev : topology_.memdevs) {
            if (memdev.serial && *memdev.serial != 0) {
                ++serials_[*memdev.serial];
            }
        }
        assess_regions();
        for (const DaxDevice& device : topology_.dax_devices) {
            std::uint64_t& total = exposed_[device.region];
            total = checked_add(total, device.capacity_bytes.value_or(0)).value_or(total);
            dax_of_unknown_region_ = dax_of_unknown_region_ || is_lost_pmem(device);
        }
        for (const Region& region : topology_.regions) {
            explain_region(region);
        }
        std::vector<const DaxDevice*> candidates;
        for (const DaxDevice& device : topology_.dax_devices) {
            if (explain_device(device) && region_allows(device)) {
                candidates.push_back(&device);
            }
        }
        refuse_overlapping(candidates);
        std::vector<PoolCandidate> pools;
        for (const DaxDevice* const device : candidates) {
            pools.push_back(pool_of(*device));
        }
        if (!topology_.dax_listed && topology_.dax_devices.empty()) {
            for (const Region& region : topology_.regions) {
                if (usable_.count(region.name) != 0) {
                    pools.push_back(pool_of(region));
                }
            }
        }
        return pools;
    }

  private:
    // Committed regions claim their range first, so that of two over one range the one that
    // decodes is kept.
    void assess_regions() {
        for (const bool committed : {true, false}) {
            for (const Region& region : topology_.regions) {
                if ((region.state == Region::State::committed) == committed) {
                    claim_region(region, committed);
                }
            }
        }
    }

    void claim_region(const Region& region, bool committed) {
        const auto range = physical_range(region.resource, region.capacity_bytes);
        if (range) {
            if (const auto kept = region_claims_.claim(region.name, {*range})) {
                findings_.error("physical_overlap", region.name,
                                region.name + " (" + range_text({*range}) + ") overlaps " + *kept +
                                    ": " + *kept + " is kept, " + region.name + " is refused",
                                "cxl destroy-region " + region.name +
                                    ", or correct the base address of its devices");
                refused_.insert(region.name);
                return;
            }
        }
        const bool disabled = std::any_of(
            region.mappings.begin(), region.mappings.end(), [&](const RegionMapping& mapping) {
                const Memdev* const memdev = lookup_.memdev(mapping.memdev);
                return memdev != nullptr && memdev->enabled == false;
            });
        if (committed && !disabled && window_class(region, lookup_) != WindowClass::accelerator) {
            usable_.insert(region.name);
        }
    }

    void explain_region(const Region& region) {
        if (refused_.count(region.name) != 0 && region.state != Region::State::committed) {
            return;  // it lost its addresses to another, and cannot be committed before it has some
        }
        if (region.state != Region::State::committed) {
            not_committed(region);
            return;
        }
        if (window_class(region, lookup_) == WindowClass::accelerator) {
            findings_.warning("accelerator_memory", region.name,
                              region.name +
                                  " is memory of an accelerator, not of an expander: "
                                  "never a pool",
                              "leave it to the accelerator's driver");
            return;
        }
        if (window_class(region, lookup_) == WindowClass::unknown) {
            findings_.info("window_coherence_unknown", region.name,
                           cross_host_coherence(&region, lookup_).evidence.detail +
                               ": across hosts it is taken as not coherent",
                           lookup_.decoder(region.root_decoder) == nullptr
                               ? "capture with 'cxl list -vvv', which shows the window"
                               : "declare 'managed' coherence for the pool if hosts share it");
        }
        explain_capacity(region);
    }

    void explain_capacity(const Region& region) {
        const std::uint64_t usable = usable_capacity_bytes(region, topology_);
        const std::uint64_t exposed = exposed_[region.name];
        if (region.has_dynamic_capacity) {
            findings_.info("dynamic_capacity_may_shrink", region.name,
                           region.name + ": " + bytes_text(usable) + " accepted in " +
                               std::to_string(region.extents.size()) + " extents of a window of " +
                               bytes_text(region.capacity_bytes) + "; it may shrink",
                           "release extents only after the pool is drained; sharing between hosts "
                           "needs a tag and a partition that is marked shareable");
            if (exposed < usable && topology_.dax_listed) {
                findings_.info("unexposed_capacity", region.name,
                               bytes_text(usable - exposed) + " of the accepted capacity of " +
                                   region.name + " is exposed by no dax device",
                               "daxctl create-device -r " + region.name);
            }
            return;
        }
        if (!topology_.dax_listed) {
            findings_.info("dax_not_listed", region.name,
                           "the capture has no dax devices: " + region.name +
                               " stands for the one that exposes it",
                           "add the output of 'daxctl list -RD' to the capture");
        } else if (exposed == 0 && usable > 0 && !dax_of_unknown_region_) {
            findings_.warning(
                "region_without_dax", region.name,
                region.name + ": " + bytes_text(usable) + " that no dax device exposes",
                region.type == "pmem"
                    ? "ndctl create-namespace -m devdax (see 'ndctl list -RN')"
                    : "load the drivers (modprobe dax_cxl; modprobe device_dax), then: daxctl list "
                      "-RDi");
        }
    }

    void not_committed(const Region& region) {
        std::string next = "cxl enable-region " + region.name;
        if (region.state == Region::State::unknown) {
            next = "capture with 'cxl list -R', which prints the decode state";
        } else if (region.mappings.empty()) {
            next =
                "the kernel found no devices for it ('dmesg | grep cxl'): where the platform "
                "translates addresses this needs a newer kernel; otherwise destroy and create "
                "the region again";
        }
        findings_.warning("region_not_committed", region.name,
                          region.name + " is not committed (state " +
                              std::string(to_word(region.state)) + "): no pool",
                          std::move(next));
    }

    // True when the device itself can be mapped.
    bool explain_device(const DaxDevice& device) {
        explain_origin(device);
        const std::string& name = device.name;
        if (!device.capacity_bytes) {
            findings_.warning("dax_size_unknown", name, name + " shows no size", "daxctl list -Di");
            return false;
        }
        if (*device.capacity_bytes == 0) {
            findings_.info("dax_seed", name, name + " is a seed without memory",
                           "daxctl create-device -s SIZE, with -r and the id of its region");
            return false;
        }
        switch (device.mode) {
            case DaxMode::system_ram:
                system_ram(device);
                return false;
            case DaxMode::famfs:
                findings_.warning("dax_famfs", name,
                                  name + " is owned by a file system (famfs): not offered",
                                  "use an fsdax pool on its mount, or give it back: umount, then "
                                  "daxctl reconfigure-device --mode=devdax " +
                                      name);
                return false;
            case DaxMode::unbound:
                findings_.warning(
                    "dax_no_driver", name, name + " has no driver bound",
                    "if nobody used it since boot: daxctl enable-device " + name +
                        "; otherwise destroy and create it (daxctl destroy-device, daxctl "
                        "create-device), as enabling revives old writable mappings");
                return false;
            case DaxMode::unknown:
                findings_.warning("dax_mode_unknown", name, name + " does not show its mode",
                                  "daxctl list -D with ndctl 65 or later");
                return false;
            case DaxMode::devdax:
                break;
        }
        if (!device.held_by.empty()) {
            findings_.warning("dax_held", name, name + " is in use by " + device.held_by,
                              "umount it first, or use an fsdax pool on the mount");
            return false;
        }
        return true;
    }

    // On some CXL region, but it could not be told on which.
    static bool is_lost_pmem(const DaxDevice& device) {
        return device.region.empty() &&
               device.region_path.find("/nvdimm-bridge") != std::string::npos;
    }

    void explain_origin(const DaxDevice& device) {
        if (!device.region.empty()) {
            return;
        }
        if (is_lost_pmem(device)) {
            findings_.warning("region_unknown", device.name,
                              device.name +
                                  " is CXL persistent memory, but which region it is on "
                                  "cannot be told",
                              "read the topology as root, which sees physical addresses");
            return;
        }
        const std::string name =
            device.name + (device.region_path.empty() ? "" : " (" + device.region_path + ")");
        if (is_plain_nvdimm(device)) {
            findings_.info("no_cxl_memdev", device.name,
                           name +
                               ": an NVDIMM of this host, no CXL memdev behind it; no other host "
                               "reaches it",
                           "nothing: it serves this host alone, whatever is declared");
            return;
        }
        findings_.info("no_cxl_memdev", device.name,
                       name +
                           ": no CXL memdev known behind it; coherence: host only, unproven; "
                           "hosts: 1 assumed",
                       device.mode == DaxMode::system_ram
                           ? "nothing while it is system RAM; as a pool: declare hosts and "
                             "coherence if several hosts reach it"
                           : "declare hosts and coherence for the pool if several hosts reach it");
    }

    void system_ram(const DaxDevice& device) {
        std::string message = device.name + ", " + bytes_text(*device.capacity_bytes);
        if (!device.region.empty()) {
            const Region* const region = lookup_.region(device.region);
            const std::string memdevs = region == nullptr ? "" : join(memdevs_of(*region));
            message += " of " + device.region + (memdevs.empty() ? "" : " (" + memdevs + ")");
        }
        if (device.target_node) {
            message += ", on node " + std::to_string(*device.target_node);
        }
        message += ": system RAM";
        if (device.online_memblocks && device.total_memblocks) {
            message += ", " + std::to_string(*device.online_memblocks) + "/" +
                       std::to_string(*device.total_memblocks) + " blocks online";
        }
        message += ", not mappable as a pool";
        const std::string back = "daxctl reconfigure-device --mode=devdax " + device.name;
        std::string next;
        if (device.online_memblocks == std::uint64_t{0}) {
            next =
                "stop the auto-online policy first (echo offline > "
                "/sys/devices/system/memory/auto_online_blocks, and any udev rule that does it), "
                "then: " +
                back;
        } else {
            next =
                "memory in use cannot be taken back, and cxlpoold never forces it. Before the "
                "next boot: kernel parameter memhp_default_state=offline, and no udev rule that "
                "brings memory online (auto-online policy); after it: " +
                back;
        }
        findings_.warning("dax_system_ram", device.name, std::move(message), std::move(next));
        explain_target(device);
    }

    // A device on a CXL region is a pool only with that region. Its own finding says why not.
    bool region_allows(const DaxDevice& device) const {
        return lookup_.region(device.region) == nullptr || usable_.count(device.region) != 0;
    }

    // Removes the candidates that claim bytes which something else has. What is (or may be) in use
    // as system RAM or by a file system claims first, then devices of committed regions, then the
    // others.
    void refuse_overlapping(std::vector<const DaxDevice*>& candidates) {
        for (const DaxDevice& device : topology_.dax_devices) {
            const bool mapped_elsewhere =
                !device.held_by.empty() ||
                (device.mode != DaxMode::devdax && device.mode != DaxMode::unbound);
            if (mapped_elsewhere && device.capacity_bytes.value_or(0) != 0) {
                claim_device(device);
            }
        }
        std::set<const DaxDevice*> refused;
        for (const bool with_region : {true, false}) {
            for (const DaxDevice* const device : candidates) {
                if ((lookup_.region(device->region) != nullptr) == with_region &&
                    !claim_device(*device)) {
                    refused.insert(device);
                }
            }
        }
        candidates.erase(
            std::remove_if(candidates.begin(), candidates.end(),
                           [&](const DaxDevice* device) { return refused.count(device) != 0; }),
            candidates.end());
    }

    bool claim_device(const DaxDevice& device) {
        const std::vector<PhysicalRange> ranges = physical_ranges(device);
        std::optional<std::string> kept = dax_claims_.claim(device.name, ranges);
        if (!kept) {
            kept = region_claims_.holder(ranges, device.region);
        }
        if (!kept) {
            return true;
        }
        findings_.error("physical_overlap", device.name,
                        device.name + " (" + range_text(ranges) + ") overlaps " + *kept + ": " +
                            *kept + " is kept, " + device.name + " is refused",
                        "give each byte to one of them: destroy or resize " + device.name);
        return false;
    }

    PoolCandidate pool_of(const DaxDevice& device) {
        PoolCandidate pool;
        pool.name = device.name;
        pool.dax_device = device.name;
        pool.region = device.region;
        pool.capacity_bytes = *device.capacity_bytes;
        pool.align_bytes = device.align_bytes.value_or(0);
        pool.resource = device.resource;
        const Region* const region = lookup_.region(device.region);
        add_memdevs(pool, region);
        pool.profile = pool_profile(topology_, lookup_, &device, region, pool.capacity_bytes);
        explain_node(device);
        return pool;
    }

    PoolCandidate pool_of(const Region& region) {
        PoolCandidate pool;
        pool.name = region.name;
        pool.region = region.name;
        pool.capacity_bytes = usable_capacity_bytes(region, topology_);
        pool.resource = region.resource;
        add_memdevs(pool, &region);
        pool.profile = pool_profile(topology_, lookup_, nullptr, &region, pool.capacity_bytes);
        return pool;
    }

    void add_memdevs(PoolCandidate& pool, const Region* region) const {
        if (region == nullptr) {
            return;
        }
        pool.memdevs = memdevs_of(*region);
        for (const std::string& name : pool.memdevs) {
            const Memdev* const memdev = lookup_.memdev(name);
            if (memdev != nullptr && memdev->serial) {
                const auto count = serials_.find(*memdev->serial);
                if (count != serials_.end() && count->second == 1) {
                    pool.serials.push_back(*memdev->serial);
                }
            }
        }
    }

    void explain_node(const DaxDevice& device) {
        if (!device.target_node) {
            findings_.warning("node_unknown", device.name,
                              device.name +
                                  " does not say on which NUMA node its memory is: it "
                                  "can be mapped, but not placed by distance",
                              "a kernel with target_node (5.1 or later), and firmware that "
                              "describes the memory in the SRAT");
            return;
        }
        explain_target(device);
        for (const NumaNode& node : topology_.nodes) {
            if (node.id == *device.target_node && node.has_cpus) {
                findings_.warning("target_node_has_cpus", device.name,
                                  "target_node " + std::to_string(node.id) + " of " + device.name +
                                      " is a node with CPUs: its figures are those of DRAM and are "
                                      "not used",
                                  "firmware must give the memory a proximity domain of its own; "
                                  "in a virtual machine this is usual");
            }
        }
    }

    // A target node that is not there. Of a device that is mapped it need not be: nodes come online
    // with their first block of system RAM.
    void explain_target(const DaxDevice& device) {
        if (!device.target_node) {
            return;
        }
        const std::uint32_t node = *device.target_node;
        const std::string subject = "node " + std::to_string(node) + " of " + device.name;
        const std::vector<std::uint32_t>& possible = topology_.possible_nodes;
        if (!possible.empty() &&
            std::find(possible.begin(), possible.end(), node) == possible.end()) {
            findings_.warning("target_node_impossible", device.name,
                              subject +
                                  " is none that this kernel can have: it cannot be system "
                                  "RAM, and it is not placed by distance",
                              "a newer kernel, or firmware that describes the memory in the SRAT; "
                              "mapped as a pool it works as it is");
            return;
        }
        if (is_online(topology_, node).value_or(true)) {
            return;
        }
        if (device.mode == DaxMode::system_ram) {
            findings_.warning("memory_node_offline", device.name,
                              subject + " is not online: nobody uses the memory",
                              "daxctl online-memory " + device.name +
                                  " to use it as system RAM, "
                                  "or daxctl reconfigure-device --mode=devdax " +
                                  device.name + " to make it a pool");
        } else {
            findings_.info("memory_node_offline", device.name,
                           subject +
                               " is not online, as is usual for memory that is mapped: its "
                               "distance and firmware figures are not known",
                           "nothing: give its figures in a profile file, or measure them");
        }
    }

    const Topology& topology_;
    const Lookup& lookup_;
    Findings& findings_;
    std::set<std::string> usable_;   // regions that may carry a pool
    std::set<std::string> refused_;  // regions whose addresses another one has
    std::map<std::string, std::uint64_t> exposed_;
    bool dax_of_unknown_region_ = false;
    std::map<std::uint64_t, std::size_t> serials_;
    Claims region_claims_;
    Claims dax_claims_;
};

}  // namespace

std::vector<PoolCandidate> assess_pools(const Topology& topology, const Lookup& lookup,
                                        Findings& findings) {
    return Assessor(topology, lookup, findings).pools();
}

}  // namespace cxlpool

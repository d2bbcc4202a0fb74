#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "domain/words.hpp"
#include "topology/lookup.hpp"
#include "topology/topology.hpp"

namespace cxlpool {
namespace {

void drop_granularity_without_interleave(Topology& topology) {
    const auto tidy = [](auto& device) {
        if (device.interleave_ways == 1U) {
            device.interleave_granularity_bytes.reset();
        }
    };
    std::for_each(topology.regions.begin(), topology.regions.end(), tidy);
    std::for_each(topology.decoders.begin(), topology.decoders.end(), tidy);
}

void sort_by_name(Topology& topology) {
    const auto by_name = [](const auto& a, const auto& b) { return natural_less(a.name, b.name); };
    std::stable_sort(topology.regions.begin(), topology.regions.end(), by_name);
    std::stable_sort(topology.dax_devices.begin(), topology.dax_devices.end(), by_name);
    std::stable_sort(topology.nodes.begin(), topology.nodes.end(),
                     [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
    for (Region& region : topology.regions) {
        std::stable_sort(
            region.mappings.begin(), region.mappings.end(),
            [](const RegionMapping& a, const RegionMapping& b) { return a.position < b.position; });
        std::stable_sort(region.extents.begin(), region.extents.end(),
                         [](const RegionExtent& a, const RegionExtent& b) {
                             return a.offset_bytes < b.offset_bytes;
                         });
    }
}

// Memdevs of regions in the order of their positions, then the others by number.
void sort_memdevs(Topology& topology) {
    constexpr auto kNowhere = std::numeric_limits<std::size_t>::max();
    std::unordered_map<std::string_view, std::size_t> rank;
    for (const Region& region : topology.regions) {
        for (const RegionMapping& mapping : region.mappings) {
            rank.emplace(mapping.memdev, rank.size());
        }
    }
    // The keys point into `regions`, which does not change here.
    const auto rank_of = [&](const Memdev& memdev) {
        const auto found = rank.find(memdev.name);
        return found == rank.end() ? kNowhere : found->second;
    };
    std::stable_sort(topology.memdevs.begin(), topology.memdevs.end(),
                     [&](const Memdev& a, const Memdev& b) {
                         const std::size_t x = rank_of(a);
                         const std::size_t y = rank_of(b);
                         return x != y ? x < y : natural_less(a.name, b.name);
                     });
}

// The host bridges that the devices of a region hang below; nothing when one is not known.
std::optional<std::set<const Port*>> bridges_of(const Region& region, const Lookup& lookup,
                                                std::uint32_t& switch_depth) {
    std::set<const Port*> bridges;
    switch_depth = 0;
    for (const RegionMapping& mapping : region.mappings) {
        const Port* const endpoint = lookup.endpoint(mapping);
        const std::optional<RootPath> path =
            endpoint == nullptr ? std::nullopt : path_to_root(*endpoint, lookup);
        if (!path) {
            return std::nullopt;
        }
        bridges.insert(path->host_bridge);
        switch_depth = std::max(switch_depth, path->switches);
    }
    if (bridges.empty()) {
        return std::nullopt;
    }
    return bridges;
}

struct Window {
    const std::string* decoder;
    PhysicalRange range;
};

std::vector<Window> windows_of(const Topology& topology) {
    std::vector<Window> windows;
    for (const Decoder& decoder : topology.decoders) {
        const auto range = physical_range(decoder.resource, decoder.size_bytes);
        if (decoder.kind == Decoder::Kind::root && range) {
            windows.push_back(Window{&decoder.name, *range});
        }
    }
    return windows;
}

// Fills what a region does not say itself but its decoders do.
void complete_region(Region& region, const std::vector<Window>& windows, const Lookup& lookup) {
    std::set<std::string_view> modes;
    for (RegionMapping& mapping : region.mappings) {
        const Port* const endpoint = lookup.endpoint(mapping);
        if (mapping.memdev.empty() && endpoint != nullptr) {
            mapping.memdev = endpoint->host;
        }
        const Decoder* const decoder = lookup.decoder(mapping.decoder);
        modes.insert(decoder == nullptr ? std::string_view{} : decoder->mode);
    }
    if (region.type.empty() && modes.size() == 1) {
        region.type = *modes.begin();
    }
    const auto range = physical_range(region.resource, region.capacity_bytes);
    if (region.root_decoder.empty() && range) {
        const std::string* only = nullptr;
        for (const Window& window : windows) {
            if (contains(window.range, *range)) {
                if (only != nullptr) {
                    only = nullptr;  // two windows over it: neither is known to be the one
                    break;
                }
                only = window.decoder;
            }
        }
        if (only != nullptr) {
            region.root_decoder = *only;
        }
    }
    std::uint32_t switch_depth = 0;
    if (const auto bridges = bridges_of(region, lookup, switch_depth)) {
        region.host_bridges = static_cast<std::uint32_t>(bridges->size());
        region.switch_depth = switch_depth;
    }
}

// "/.../decoder0.0/region0/dax_region0/...": the CXL region whose dax region this is.
std::string region_in_path(std::string_view path) {
    const std::size_t dax_region = path.find("/dax_region");
    if (dax_region == std::string_view::npos) {
        return {};
    }
    const std::string_view above = path.substr(0, dax_region);
    const std::string_view name = above.substr(above.rfind('/') + 1);
    return name.substr(0, 6) == "region" ? std::string(name) : std::string{};
}

// Below the nvdimm bridge of a CXL bus. The region number in that path is the nvdimm bus's own and
// says nothing about the number of the CXL region.
bool is_cxl_pmem(const DaxDevice& device) {
    return device.region_path.find("/nvdimm-bridge") != std::string::npos ||
           device.sysfs_path.find("/nvdimm-bridge") != std::string::npos;
}

void tie_to_region(DaxDevice& device, const std::vector<Region>& regions) {
    if (!device.region.empty()) {
        return;
    }
    for (const std::string& path : {device.region_path, device.sysfs_path}) {
        device.region = region_in_path(path);
        if (!device.region.empty()) {
            return;
        }
    }
    const std::vector<PhysicalRange> ranges = physical_ranges(device);
    std::vector<const Region*> by_address;
    std::vector<const Region*> persistent;
    for (const Region& region : regions) {
        const auto range = physical_range(region.resource, region.capacity_bytes);
        if (range && !ranges.empty() &&
            std::all_of(ranges.begin(), ranges.end(),
                        [&](const PhysicalRange& part) { return contains(*range, part); })) {
            by_address.push_back(&region);
        }
        if (region.type == "pmem" && region.state == Region::State::committed) {
            persistent.push_back(&region);
        }
    }
    // Two regions over one range are a conflict; the committed one is the one that decodes.
    const auto decodes = [](const Region* region) {
        return region->state == Region::State::committed;
    };
    const auto found = std::find_if(by_address.begin(), by_address.end(), decodes);
    if (found != by_address.end()) {
        device.region = (*found)->name;
    } else if (by_address.size() == 1) {
        device.region = by_address.front()->name;
    } else if (by_address.empty() && is_cxl_pmem(device) && persistent.size() == 1) {
        device.region = persistent.front()->name;
    }
}

class Checker {
  public:
    explicit Checker(Topology& topology) : topology_(topology) {
        for (const Finding& finding : topology.source_findings) {
            known_.emplace(finding.code, finding.subject, finding.message);
        }
    }

    void check() {
        const Lookup lookup(topology_);
        for (const Port& port : topology_.ports) {
            count(port.name, "nr_dports", port.declared_dports, "dports", port.dports.size());
        }
        for (const Decoder& decoder : topology_.decoders) {
            count(decoder.name, "nr_targets", decoder.declared_targets, "targets",
                  decoder.targets.size());
        }
        for (const Region& region : topology_.regions) {
            count(region.name, "interleave_ways", region.interleave_ways, "mappings",
                  region.mappings.size());
            check_targets(region, lookup);
        }
    }

  private:
    // The list decides; a list that was not captured (empty) proves nothing.
    void count(const std::string& subject, std::string_view key,
               const std::optional<std::uint32_t>& declared, std::string_view list,
               std::size_t listed) {
        if (!declared || listed == 0 || *declared == listed) {
            return;
        }
        add("count_mismatch", subject,
            std::string(key) + " says " + std::to_string(*declared) + " but the list of " +
                std::string(list) + " has " + std::to_string(listed) + "; the list is used");
    }

    // The devices hang where their endpoints say; a root decoder that targets other bridges
    // contradicts them.
    void check_targets(const Region& region, const Lookup& lookup) {
        const Decoder* const root = lookup.decoder(region.root_decoder);
        std::uint32_t switch_depth = 0;
        const auto bridges = bridges_of(region, lookup, switch_depth);
        if (root == nullptr || root->targets.empty() || !bridges) {
            return;
        }
        std::set<std::string> outside;
        for (const Port* const bridge : *bridges) {
            const bool listed = std::any_of(
                root->targets.begin(), root->targets.end(),
                [&](const DecoderTarget& target) { return is_target(target, *bridge); });
            if (!listed) {
                outside.insert(bridge->name + " " + words::quoted(bridge->host));
            }
        }
        for (const std::string& bridge : outside) {
            add("target_mismatch", root->name,
                "devices of " + region.name + " hang below " + bridge +
                    ", which is not among the targets of this root decoder; the place of the "
                    "devices is used");
        }
    }

    void add(std::string code, const std::string& subject, std::string message) {
        if (known_.emplace(code, subject, message).second) {
            topology_.source_findings.push_back(
                Finding{Finding::Severity::warning, std::move(code), subject, std::move(message),
                        "take the capture again with 'cxl list -vvv'; if it stays, report it to "
                        "the platform's vendor"});
        }
    }

    Topology& topology_;
    std::set<std::tuple<std::string, std::string, std::string>> known_;
};

}  // namespace

void resolve(Topology& topology) {
    drop_granularity_without_interleave(topology);
    sort_by_name(topology);
    // The lookup points at regions by name only; completing one does not move any.
    const Lookup lookup(topology);
    const std::vector<Window> windows = windows_of(topology);
    for (Region& region : topology.regions) {
        complete_region(region, windows, lookup);
    }
    for (DaxDevice& device : topology.dax_devices) {
        tie_to_region(device, topology.regions);
    }
    Checker(topology).check();
    sort_memdevs(topology);
}

}  // namespace cxlpool

// Looking devices up by name, and names in the order that people count. Internal to topology.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/topology.hpp"

namespace cxlpool {

// The devices of a Topology by name. The Topology must outlive it and not change.
class Lookup {
  public:
    explicit Lookup(const Topology& topology);

    const Memdev* memdev(std::string_view name) const { return find(memdevs_, name); }
    const Port* port(std::string_view name) const { return find(ports_, name); }
    const Decoder* decoder(std::string_view name) const { return find(decoders_, name); }
    const Region* region(std::string_view name) const { return find(regions_, name); }
    // The endpoint of a memdev.
    const Port* endpoint(std::string_view memdev) const { return find(endpoints_, memdev); }
    // The endpoint behind one position of a region.
    const Port* endpoint(const RegionMapping& mapping) const;

  private:
    template <typename Device>
    using Map = std::unordered_map<std::string_view, const Device*>;

    template <typename Device>
    static const Device* find(const Map<Device>& map, std::string_view name) {
        const auto found = map.find(name);
        return found == map.end() ? nullptr : found->second;
    }

    Map<Memdev> memdevs_;
    Map<Port> ports_;
    Map<Decoder> decoders_;
    Map<Region> regions_;
    Map<Port> endpoints_;
};

// The port right below the root (the host bridge) above an endpoint, and how many ports lie between
// it and the endpoint.
struct RootPath {
    const Port* host_bridge = nullptr;
    std::uint32_t switches = 0;
};
std::optional<RootPath> path_to_root(const Port& endpoint, const Lookup& lookup);

// True when a root decoder's target is that host bridge.
bool is_target(const DecoderTarget& target, const Port& host_bridge) noexcept;

// True when `a` stands before `b`, with numbers inside compared as numbers: mem2 before mem10.
bool natural_less(std::string_view a, std::string_view b) noexcept;

// The addresses of a region or decoder, of a dax device; nothing when they cannot be seen.
std::optional<PhysicalRange> physical_range(const std::optional<std::uint64_t>& resource,
                                            const std::optional<std::uint64_t>& size_bytes);
std::vector<PhysicalRange> physical_ranges(const DaxDevice& device);

// An NVDIMM of this host: on an nvdimm bus that is not below a CXL root.
bool is_plain_nvdimm(const DaxDevice& device) noexcept;

// Whether a node is online; nothing when the source does not tell about nodes.
std::optional<bool> is_online(const Topology& topology, std::uint32_t node) noexcept;

inline bool contains(const PhysicalRange& outer, const PhysicalRange& inner) noexcept {
    return outer.start <= inner.start && inner.end <= outer.end;
}

}  // namespace cxlpool

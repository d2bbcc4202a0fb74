// The topology as sysfs alone tells it.
//
// Responsible for: NUMA nodes, dax devices, CXL objects, and which CXL region a dax device stands
// on. Refuses to know: libcxl and libdaxctl, which see less (they want device nodes in /dev, and
// whole hierarchies). Invariants: an absent attribute is an absent field, never 0; each device is
// named as its bus names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/live/sysfs.hpp"
#include "topology/topology.hpp"

namespace cxlpool::live {

struct MemoryBlocks {
    std::uint64_t online = 0;
    std::uint64_t total = 0;
};

class SysfsReader {
  public:
    explicit SysfsReader(const Sysfs& sysfs) : sysfs_(sysfs) {}

    std::vector<NumaNode> nodes() const;
    std::vector<std::uint32_t> possible_nodes() const;

    std::vector<DaxDevice> dax_devices() const;
    // The memory blocks that a device in system-ram mode was given to; absent when it cannot be
    // told (no target node, hidden address).
    std::optional<MemoryBlocks> memory_blocks(const DaxDevice& device) const;

    // Fills memdevs, ports, decoders and regions.
    void read_cxl(Topology& topology) const;

    // Names in `device.region` the CXL region that the device lies in.
    void tie_dax_devices(Topology& topology) const;

  private:
    std::vector<std::uint32_t> node_list(const std::string& name) const;
    NumaNode node(std::uint32_t id, const std::vector<std::uint32_t>& online) const;
    DaxDevice dax_device(const std::string& name, const std::string& path) const;
    DaxMode dax_mode(const std::string& name, const std::string& path) const;
    std::vector<PhysicalRange> dax_ranges(const std::string& path) const;
    std::optional<std::uint64_t> dax_resource(const DaxDevice& device) const;

    Memdev memdev(const std::string& name, const std::string& path) const;
    Port port(const std::string& name, const std::string& path, Port::Kind kind) const;
    Decoder decoder(const std::string& name, const std::string& path) const;
    std::vector<DecoderTarget> targets(const std::string& path, const std::string& port_path) const;
    Region region(const std::string& name, const std::string& path) const;
    void read_extents(Region& region, const std::string& dax_region_path) const;
    std::vector<RegionMapping> mappings(const std::string& region_path) const;

    const Region* region_behind_nvdimm(const DaxDevice& device, const Topology& topology) const;
    bool same_memdevs(const std::string& nd_region, const Region& region) const;

    const Sysfs& sysfs_;
};

}  // namespace cxlpool::live

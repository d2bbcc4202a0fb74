// Which CXL region a dax device stands on.
//
// A volatile region is an ancestor of its devices. The devices of a persistent one hang below the
// nvdimm bus instead, in a region that has a number of its own (ndbus0/region3 need not be CXL's
// region3), so that numbers must never be compared across the two buses.
#include <algorithm>
#include <string>
#include <vector>

#include "topology/live/sysfs_reader.hpp"

namespace cxlpool::live {
namespace {

// The nvdimm region above a device: ".../ndbus0/region0" of ".../ndbus0/region0/dax0.0/dax0.0".
std::string nd_region_above(const std::string& device_path) {
    for (std::string path = device_path; !path.empty(); path = parent_of(path)) {
        if (numbered(base_name(path), "region") && numbered(base_name(parent_of(path)), "ndbus")) {
            return path;
        }
    }
    return {};
}

}  // namespace

void SysfsReader::tie_dax_devices(Topology& topology) const {
    for (DaxDevice& device : topology.dax_devices) {
        const auto above = std::find_if(topology.regions.begin(), topology.regions.end(),
                                        [&](const Region& region) {
                                            return !region.sysfs_path.empty() &&
                                                   is_within(device.sysfs_path, region.sysfs_path);
                                        });
        if (above != topology.regions.end()) {
            device.region = above->name;
        } else if (const Region* const behind = region_behind_nvdimm(device, topology)) {
            device.region = behind->name;
        }
    }
}

const Region* SysfsReader::region_behind_nvdimm(const DaxDevice& device,
                                                const Topology& topology) const {
    const std::string nd_region = nd_region_above(device.sysfs_path);
    if (nd_region.empty() || sysfs_.text(parent_of(nd_region) + "/provider") != "CXL") {
        return nullptr;
    }
    const std::optional<std::uint64_t> start = sysfs_.nonzero(nd_region + "/resource");
    const std::optional<std::uint64_t> size = sysfs_.nonzero(nd_region + "/size");
    const Region* found = nullptr;
    for (const Region& region : topology.regions) {
        if (region.type != "pmem" || region.capacity_bytes != size) {
            continue;
        }
        const bool same_start = start && region.resource && *start == *region.resource;
        const bool addresses_hidden = !start || !region.resource;
        if (!same_start && !(addresses_hidden && same_memdevs(nd_region, region))) {
            continue;
        }
        if (found != nullptr) {
            return nullptr;  // two regions fit: which one it is cannot be told
        }
        found = &region;
    }
    return found;
}

// True unless the dimms of the nvdimm region are known to be other devices. Kernels before 6.2 do
// not say whose dimm it is.
bool SysfsReader::same_memdevs(const std::string& nd_region, const Region& region) const {
    const std::uint32_t count = sysfs_.u32(nd_region + "/mappings").value_or(0);
    if (count != region.mappings.size()) {
        return false;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string mapping =
            sysfs_.text(nd_region + "/mapping" + std::to_string(i)).value_or("");
        const std::string dimm = mapping.substr(0, mapping.find(','));
        const std::optional<std::string> provider =
            sysfs_.text(parent_of(nd_region) + "/" + dimm + "/cxl/provider");
        const std::optional<std::string> path =
            provider ? sysfs_.resolve("/sys/bus/cxl/devices/" + *provider) : std::nullopt;
        if (!path) {
            continue;
        }
        const std::string memdev = base_name(parent_of(*path));
        if (std::none_of(region.mappings.begin(), region.mappings.end(),
                         [&](const RegionMapping& m) { return m.memdev == memdev; })) {
            return false;
        }
    }
    return true;
}

}  // namespace cxlpool::live

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "topology/live/sysfs_reader.hpp"

namespace cxlpool::live {
namespace {

const std::string kDaxDevices = "/sys/bus/dax/devices";
const std::string kMemory = "/sys/devices/system/memory";
const std::string kSysDevices = "/sys/devices";

// daxctl names a region by its path below /sys/devices.
std::string region_path_of(const std::string& device_path) {
    std::string path = parent_of(device_path);
    if (is_within(path, kSysDevices)) {
        path.erase(0, kSysDevices.size());
    }
    return path;
}

// The kernel writes block sizes and indices in hexadecimal without a prefix.
std::optional<std::uint64_t> bare_hexadecimal(const std::optional<std::string>& text) {
    if (!text) {
        return std::nullopt;
    }
    const Result<std::uint64_t> number = parse_u64("0x" + *text);
    return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

bool is_device_name(const std::string& name) {
    const std::size_t dot = name.find('.');
    return dot != std::string::npos && numbered(name.substr(0, dot), "dax") &&
           numbered(name.substr(dot + 1), "");
}

// Where a file system is mounted from a device node, by the first two columns of /proc/mounts.
std::string mount_point(const std::string& mounts, const std::string& devnode) {
    std::istringstream lines(mounts);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string source;
        std::string target;
        if (words >> source >> target && source == devnode) {
            return target;
        }
    }
    return {};
}

}  // namespace

std::vector<DaxDevice> SysfsReader::dax_devices() const {
    std::vector<DaxDevice> devices;
    const std::string mounts = sysfs_.text("/proc/self/mounts").value_or("");
    for (const std::string& name : sysfs_.list(kDaxDevices)) {
        if (!is_device_name(name)) {
            continue;
        }
        const std::optional<std::string> path = sysfs_.resolve(kDaxDevices + "/" + name);
        if (!path) {
            sysfs_.log().add({Finding::Severity::info, "vanished", name,
                              name + " went away while it was being read",
                              "nothing: devices come and go; read again"});
            continue;
        }
        devices.push_back(dax_device(name, *path));
        if (!devices.back().devnode.empty()) {
            devices.back().held_by = mount_point(mounts, devices.back().devnode);
        }
    }
    return devices;
}

DaxDevice SysfsReader::dax_device(const std::string& name, const std::string& path) const {
    const std::string parent = parent_of(path);
    DaxDevice device;
    device.name = name;
    device.sysfs_path = path;
    device.region_path = region_path_of(path);
    device.capacity_bytes = sysfs_.u64(path + "/size");
    device.mode = dax_mode(name, path);
    // Older kernels keep these on the object above, and leave some out altogether.
    for (const std::string& holder : {path, parent, parent + "/dax_region"}) {
        if (!device.align_bytes) {
            device.align_bytes = sysfs_.nonzero(holder + "/align");
        }
    }
    for (const std::string& holder : {path, parent}) {
        if (!device.target_node) {
            device.target_node = sysfs_.node(holder + "/target_node");
        }
        if (!device.numa_node) {
            device.numa_node = sysfs_.node(holder + "/numa_node");
        }
    }
    device.ranges = dax_ranges(path);
    device.resource = dax_resource(device);
    if (const std::optional<std::string> numbers = sysfs_.text(path + "/dev")) {
        const std::size_t colon = std::min(numbers->find(':'), numbers->size());
        device.dev_major = numbered(numbers->substr(0, colon), "");
        device.dev_minor = numbered(numbers->substr(std::min(colon + 1, numbers->size())), "");
        device.devnode = "/dev/" + name;
    }
    return device;
}

DaxMode SysfsReader::dax_mode(const std::string& name, const std::string& path) const {
    const std::optional<std::string> driver = sysfs_.link_name(path + "/driver");
    if (!driver) {
        return DaxMode::unbound;
    }
    if (*driver == "device_dax") {
        return DaxMode::devdax;
    }
    if (*driver == "kmem") {
        return DaxMode::system_ram;
    }
    if (*driver == "fsdev_dax" || *driver == "famfs") {
        return DaxMode::famfs;
    }
    sysfs_.log().add({Finding::Severity::warning, "unknown_dax_driver", name,
                      name + " is bound to the driver '" + *driver + "', which is not known here",
                      "daxctl reconfigure-device --mode=devdax " + name});
    return DaxMode::unknown;
}

// All mappings, or none when one of them cannot be seen.
std::vector<PhysicalRange> SysfsReader::dax_ranges(const std::string& path) const {
    std::vector<PhysicalRange> ranges;
    for (const std::string& name : sysfs_.list(path)) {
        if (!numbered(name, "mapping")) {
            continue;
        }
        const auto start = sysfs_.nonzero(path + "/" + name + "/start");
        const auto end = sysfs_.nonzero(path + "/" + name + "/end");
        if (!start || !end || *end < *start) {
            return {};
        }
        ranges.push_back({*start, *end});
    }
    return ranges;
}

// Absent when the kernel shows 0, which is what it shows to readers without rights.
std::optional<std::uint64_t> SysfsReader::dax_resource(const DaxDevice& device) const {
    if (const auto own = sysfs_.nonzero(device.sysfs_path + "/resource")) {
        return own;
    }
    if (!device.ranges.empty()) {
        return device.ranges.front().start;
    }
    // The object above starts at another address when it holds several devices; equal sizes say
    // that it holds this one alone.
    const std::string parent = parent_of(device.sysfs_path);
    if (device.capacity_bytes && sysfs_.u64(parent + "/size") == device.capacity_bytes) {
        return sysfs_.nonzero(parent + "/resource");
    }
    return std::nullopt;
}

std::optional<MemoryBlocks> SysfsReader::memory_blocks(const DaxDevice& device) const {
    const std::optional<std::uint64_t> block_bytes =
        bare_hexadecimal(sysfs_.text(kMemory + "/block_size_bytes"));
    if (!device.resource || !device.capacity_bytes || !device.target_node || !block_bytes) {
        return std::nullopt;
    }
    const std::string node = "/sys/devices/system/node/node" + std::to_string(*device.target_node);
    if (!sysfs_.exists(node)) {
        return std::nullopt;
    }
    MemoryBlocks blocks;
    for (const std::string& name : sysfs_.list(node)) {
        if (!numbered(name, "memory")) {
            continue;
        }
        const std::string path = node + "/" + name;
        const std::optional<std::uint64_t> index =
            bare_hexadecimal(sysfs_.text(path + "/phys_index"));
        const std::optional<std::uint64_t> start =
            index ? checked_mul(*index, *block_bytes) : std::nullopt;
        if (!start || *start < *device.resource ||
            *start - *device.resource >= *device.capacity_bytes) {
            continue;
        }
        ++blocks.total;
        blocks.online += sysfs_.text(path + "/state") == "online" ? 1U : 0U;
    }
    return blocks;
}

}  // namespace cxlpool::live

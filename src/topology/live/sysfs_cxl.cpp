#include <algorithm>
#include <string>
#include <utility>

#include "topology/live/sysfs_reader.hpp"

namespace cxlpool::live {
namespace {

const std::string kCxlDevices = "/sys/bus/cxl/devices";
const std::string kCxlDrivers = "/sys/bus/cxl/drivers";

// A region of more ways than the specification allows is a broken tree.
constexpr std::uint32_t kMaxWays = 16;
constexpr std::size_t kMaxTargets = 1024;

std::optional<Port::Kind> port_kind(const std::string& name) {
    if (numbered(name, "root")) {
        return Port::Kind::root;
    }
    if (numbered(name, "port")) {
        return Port::Kind::port;
    }
    if (numbered(name, "endpoint")) {
        return Port::Kind::endpoint;
    }
    return std::nullopt;
}

bool is_decoder(const std::string& name) {
    const std::size_t dot = name.find('.');
    return dot != std::string::npos && numbered(name.substr(0, dot), "decoder") &&
           numbered(name.substr(dot + 1), "");
}

// How many ports stand above a port in its path.
std::uint32_t depth_of(const std::string& path) {
    std::uint32_t depth = 0;
    for (std::string above = parent_of(path); !above.empty(); above = parent_of(above)) {
        depth += port_kind(base_name(above)) ? 1U : 0U;
    }
    return depth;
}

// The word of an attribute that says "none" when it has no value.
std::string word_or_empty(std::optional<std::string> word) {
    return word && *word != "none" ? *std::move(word) : std::string();
}

// Untagged extents carry a tag of zeros.
std::string tag_or_empty(std::string tag) {
    return tag.find_first_not_of("0-") == std::string::npos ? std::string() : tag;
}

}  // namespace

void SysfsReader::read_cxl(Topology& topology) const {
    for (const std::string& name : sysfs_.list(kCxlDevices)) {
        const bool is_memdev = numbered(name, "mem").has_value();
        const bool is_region = numbered(name, "region").has_value();
        const std::optional<Port::Kind> kind = port_kind(name);
        if (!is_memdev && !is_region && !kind && !is_decoder(name)) {
            continue;
        }
        const std::optional<std::string> path = sysfs_.resolve(kCxlDevices + "/" + name);
        if (!path) {
            sysfs_.log().add({Finding::Severity::info, "vanished", name,
                              name + " went away while it was being read",
                              "nothing: devices come and go; read again"});
        } else if (is_memdev) {
            topology.memdevs.push_back(memdev(name, *path));
        } else if (is_region) {
            topology.regions.push_back(region(name, *path));
        } else if (kind) {
            topology.ports.push_back(port(name, *path, *kind));
        } else {
            topology.decoders.push_back(decoder(name, *path));
        }
    }
}

Memdev SysfsReader::memdev(const std::string& name, const std::string& path) const {
    Memdev memdev;
    memdev.name = name;
    memdev.sysfs_path = path;
    memdev.serial = sysfs_.u64(path + "/serial");
    memdev.host = base_name(parent_of(path));
    memdev.ram_bytes = sysfs_.u64(path + "/ram/size").value_or(0);
    memdev.pmem_bytes = sysfs_.u64(path + "/pmem/size").value_or(0);
    for (char partition = 'a'; partition <= 'h'; ++partition) {
        memdev.dynamic_bytes +=
            sysfs_.u64(path + "/dynamic_ram_" + partition + "/size").value_or(0);
    }
    memdev.numa_node = sysfs_.node(path + "/numa_node");
    // A record without drivers (or a /sys that hides them) cannot tell.
    if (sysfs_.exists(kCxlDrivers)) {
        memdev.enabled = sysfs_.exists(path + "/driver");
    }
    memdev.firmware_version = sysfs_.text(path + "/firmware_version").value_or("");
    return memdev;
}

Port SysfsReader::port(const std::string& name, const std::string& path, Port::Kind kind) const {
    Port port;
    port.name = name;
    port.kind = kind;
    port.host = sysfs_.link_name(path + "/uport").value_or("");
    port.depth = depth_of(path);
    if (kind == Port::Kind::endpoint && sysfs_.text(path + "/CDAT") == "") {
        sysfs_.log().add({Finding::Severity::warning, "cdat_unreadable", name,
                          "the kernel could not read the CDAT of " + name +
                              ": the figures of its device are not known",
                          "'dmesg | grep cxl' says why; a newer firmware of the device often "
                          "mends it"});
    }
    for (const std::string& entry : sysfs_.list(path)) {
        if (numbered(entry, "dport")) {
            port.dports.push_back(sysfs_.link_name(path + "/" + entry).value_or(entry));
        }
    }
    port.declared_dports = static_cast<std::uint32_t>(port.dports.size());
    if (kind == Port::Kind::root) {
        return port;
    }
    const std::string parent = parent_of(path);
    port.parent = base_name(parent);
    if (const auto named = sysfs_.link_name(path + "/parent_dport")) {
        port.parent_dport = *named;
        return port;
    }
    // Older kernels have no such link: the dport is the device of the parent that is, or stands
    // above, the device this port belongs to. The longest path is the nearest.
    const std::optional<std::string> device = sysfs_.resolve(path + "/uport");
    std::string nearest;
    for (const std::string& entry : sysfs_.list(parent)) {
        const std::optional<std::string> dport =
            numbered(entry, "dport") ? sysfs_.resolve(parent + "/" + entry) : std::nullopt;
        if (device && dport && is_within(*device, *dport) && dport->size() > nearest.size()) {
            nearest = *dport;
        }
    }
    port.parent_dport = base_name(nearest);
    return port;
}

Decoder SysfsReader::decoder(const std::string& name, const std::string& path) const {
    const std::string port_path = parent_of(path);
    Decoder decoder;
    decoder.name = name;
    decoder.parent = base_name(port_path);
    switch (port_kind(decoder.parent).value_or(Port::Kind::port)) {
        case Port::Kind::root:
            decoder.kind = Decoder::Kind::root;
            break;
        case Port::Kind::port:
            decoder.kind = Decoder::Kind::port;
            break;
        case Port::Kind::endpoint:
            decoder.kind = Decoder::Kind::endpoint;
            break;
    }
    decoder.size_bytes = sysfs_.nonzero(path + "/size");
    decoder.resource = sysfs_.nonzero(path + "/start");
    decoder.interleave_ways = sysfs_.u32(path + "/interleave_ways");
    if (decoder.interleave_ways.value_or(0) > 1) {  // without interleave it means nothing
        decoder.interleave_granularity_bytes = sysfs_.u32(path + "/interleave_granularity");
    }
    decoder.locked = sysfs_.flag(path + "/locked");
    decoder.target_type = sysfs_.text(path + "/target_type").value_or("");
    decoder.region = sysfs_.text(path + "/region").value_or("");
    if (decoder.kind == Decoder::Kind::root) {
        decoder.volatile_capable = sysfs_.flag(path + "/cap_ram");
        decoder.pmem_capable = sysfs_.flag(path + "/cap_pmem");
        decoder.mem_capable = sysfs_.flag(path + "/cap_type3");
        decoder.accelmem_capable = sysfs_.flag(path + "/cap_type2");
    }
    if (decoder.kind == Decoder::Kind::endpoint) {
        decoder.mode = word_or_empty(sysfs_.text(path + "/mode"));
        decoder.dpa_size_bytes = sysfs_.nonzero(path + "/dpa_size");
        if (decoder.dpa_size_bytes) {
            decoder.dpa_resource = sysfs_.u64(path + "/dpa_resource");
        }
        return decoder;
    }
    decoder.targets = targets(path, port_path);
    decoder.declared_targets = static_cast<std::uint32_t>(decoder.targets.size());
    return decoder;
}

// A target list holds the numbers of dports of the same port, in order of their positions.
std::vector<DecoderTarget> SysfsReader::targets(const std::string& path,
                                                const std::string& port_path) const {
    std::vector<DecoderTarget> targets;
    std::string ids = sysfs_.text(path + "/target_list").value_or("");
    while (!ids.empty() && targets.size() < kMaxTargets) {
        const std::size_t comma = std::min(ids.find(','), ids.size());
        const std::string dport = "dport" + ids.substr(0, comma);
        const std::string dport_path = port_path + "/" + dport;
        ids.erase(0, std::min(comma + 1, ids.size()));
        DecoderTarget target;
        target.target = sysfs_.link_name(dport_path).value_or(dport);
        target.position = static_cast<std::uint32_t>(targets.size());
        for (const char* const other : {"/firmware_node", "/physical_node"}) {
            if (target.alias.empty()) {
                target.alias = sysfs_.link_name(dport_path + other).value_or("");
            }
        }
        targets.push_back(std::move(target));
    }
    return targets;
}

Region SysfsReader::region(const std::string& name, const std::string& path) const {
    Region region;
    region.name = name;
    region.sysfs_path = path;
    region.root_decoder = is_decoder(base_name(parent_of(path))) ? base_name(parent_of(path)) : "";
    region.resource = sysfs_.nonzero(path + "/resource");
    region.capacity_bytes = sysfs_.u64(path + "/size").value_or(0);
    region.type = word_or_empty(sysfs_.text(path + "/mode"));
    region.interleave_ways = sysfs_.u32(path + "/interleave_ways");
    region.interleave_granularity_bytes = sysfs_.u32(path + "/interleave_granularity");
    region.mappings = mappings(path);
    // access0 is the nearest initiator of any kind, access1 the nearest with CPUs; 0 is "not
    // given".
    for (const char* const access : {"/access0", "/access1"}) {
        if (!region.read_latency_ns) {
            region.read_latency_ns = sysfs_.nonzero(path + access + "/read_latency");
        }
        if (!region.read_mbps) {
            region.read_mbps = sysfs_.nonzero(path + access + "/read_bandwidth");
        }
    }

    // The children of a region are made by the probe of its driver, so they too say "enabled".
    bool enabled = sysfs_.exists(path + "/driver");
    for (const std::string& entry : sysfs_.list(path)) {
        const bool is_dax_region = numbered(entry, "dax_region").has_value();
        const bool is_pmem_region = numbered(entry, "pmem_region").has_value();
        enabled = enabled || is_dax_region || is_pmem_region;
        if (is_dax_region) {
            read_extents(region, path + "/" + entry);
        }
        if (region.type.empty() && (is_dax_region || is_pmem_region)) {
            region.type = is_dax_region ? "ram" : "pmem";  // kernels before 6.3 have no "mode"
        }
    }
    region.has_dynamic_capacity = !region.extents.empty() || region.type.substr(0, 8) == "dynamic_";
    if (const std::optional<bool> committed = sysfs_.flag(path + "/commit")) {
        region.state = !*committed ? Region::State::reset
                       : enabled   ? Region::State::committed
                                   : Region::State::disabled;
    }
    return region;
}

void SysfsReader::read_extents(Region& region, const std::string& dax_region_path) const {
    for (const std::string& entry : sysfs_.list(dax_region_path)) {
        if (entry.substr(0, 6) != "extent") {
            continue;
        }
        const std::string path = dax_region_path + "/" + entry;
        const std::optional<std::uint64_t> offset = sysfs_.u64(path + "/offset");
        const std::optional<std::uint64_t> length = sysfs_.u64(path + "/length");
        if (!offset || !length) {
            continue;  // taken back while we were reading
        }
        std::optional<std::string> tag = sysfs_.text(path + "/uuid");
        if (!tag) {
            tag = sysfs_.text(path + "/tag");
        }
        region.extents.push_back({*offset, *length, tag_or_empty(tag.value_or(""))});
    }
    std::sort(region.extents.begin(), region.extents.end(),
              [](const auto& a, const auto& b) { return a.offset_bytes < b.offset_bytes; });
}

// region -> target decoder -> its endpoint -> the device above the endpoint.
std::vector<RegionMapping> SysfsReader::mappings(const std::string& region_path) const {
    std::vector<RegionMapping> mappings;
    for (std::uint32_t position = 0; position < kMaxWays; ++position) {
        const std::string decoder =
            sysfs_.text(region_path + "/target" + std::to_string(position)).value_or("");
        if (!is_decoder(decoder)) {
            continue;
        }
        RegionMapping mapping;
        mapping.position = position;
        mapping.decoder = decoder;
        if (const auto path = sysfs_.resolve(kCxlDevices + "/" + decoder)) {
            const std::string above = sysfs_.link_name(parent_of(*path) + "/uport").value_or("");
            mapping.memdev = numbered(above, "mem") ? above : "";
        }
        mappings.push_back(std::move(mapping));
    }
    return mappings;
}

}  // namespace cxlpool::live

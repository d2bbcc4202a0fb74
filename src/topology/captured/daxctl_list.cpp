#include <algorithm>

#include "base/units.hpp"
#include "topology/captured/listing.hpp"

namespace cxlpool::captured {
namespace {

DaxMode mode_of(Fields& fields) {
    const std::string mode = fields.text("mode");
    // daxctl prints "devdax" also for a device without a driver, with its state beside it.
    if (fields.text("state") == "disabled") {
        return DaxMode::unbound;
    }
    const auto known = parse_dax_mode(mode);
    return known ? *known : DaxMode::unknown;
}

std::vector<PhysicalRange> ranges_of(Source& source, const json::Value& mappings) {
    struct Mapping {
        std::uint64_t page_offset;
        PhysicalRange range;
    };
    std::vector<Mapping> found;
    for_each_object(source, mappings, [&](const json::Value& object) {
        Fields fields(source, object);
        const auto start = fields.u64("start");
        const auto end = fields.u64("end");
        if (!start || !end || *end < *start) {
            source.fail(Errc::malformed, object, "a mapping needs a start and an end behind it");
            return;
        }
        found.push_back(Mapping{fields.u64("page_offset").value_or(0), {*start, *end}});
    });
    std::stable_sort(found.begin(), found.end(), [](const Mapping& a, const Mapping& b) {
        return a.page_offset < b.page_offset;
    });
    std::vector<PhysicalRange> ranges;
    for (const Mapping& mapping : found) {
        if (mapping.range.start != 0) {  // shown as 0: cannot see
            ranges.push_back(mapping.range);
        }
    }
    return ranges;
}

void note_negative_count(const std::string& device, std::int64_t count, Collector& collector) {
    collector.add(Finding{Finding::Severity::warning, "negative_count", device,
                          "online_memblocks is " + std::to_string(count) +
                              ", an error number of the tool: taken as unknown",
                          "look at /sys/devices/system/memory, or run daxctl as root"});
}

}  // namespace

void read_dax_device(Source& source, const json::Value& object, const DaxDevice& inherited,
                     Collector& collector, Seen& seen) {
    seen.dax_devices = true;
    Fields fields(source, object);
    DaxDevice device = inherited;
    device.name = fields.name("chardev");
    device.capacity_bytes = fields.u64("size");
    if (const auto align = fields.u64("align")) {
        device.align_bytes = align;
    }
    device.mode = mode_of(fields);
    device.target_node = fields.node("target_node");
    device.numa_node = fields.node("numa_node");
    std::optional<std::int64_t> negative;
    device.online_memblocks = fields.u64_or_negative("online_memblocks", negative);
    device.total_memblocks = fields.u64("total_memblocks");
    if (const json::Value* const mappings = fields.find("mappings")) {
        device.ranges = ranges_of(source, *mappings);
        if (!device.ranges.empty()) {
            device.resource = device.ranges.front().start;
        }
    }
    if (negative && source.ok()) {
        note_negative_count(device.name, *negative, collector);
    }
    collector.add(source, object, std::move(device));
}

void read_dax_region(Source& source, const json::Value& object, const std::string& region,
                     Collector& collector, Seen& seen) {
    seen.dax_regions = true;
    Fields fields(source, object);
    DaxDevice inherited;
    inherited.region_path = fields.text("path");
    inherited.align_bytes = fields.u64("align");
    inherited.region = region;
    (void)fields.u64("size");  // checked, so that a rounded capture is refused as a whole
    if (const json::Value* const devices = fields.find("devices")) {
        seen.dax_devices = true;
        for_each_object(source, *devices, [&](const json::Value& device) {
            read_dax_device(source, device, inherited, collector, seen);
        });
    }
}

}  // namespace cxlpool::captured

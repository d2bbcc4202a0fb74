#include "topology/live/libdaxctl_reader.hpp"

#include <daxctl/libdaxctl.h>
#include <syslog.h>

#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "topology/live/library_log.hpp"

namespace cxlpool::live {
namespace {

[[gnu::format(printf, 6, 0)]] void log_line(daxctl_ctx* ctx, int /*priority*/, const char* /*file*/,
                                            int /*line*/, const char* /*function*/,
                                            const char* format, va_list args) {
    log_library_line(*static_cast<FindingLog*>(daxctl_get_userdata(ctx)), "libdaxctl", format,
                     args);
}

std::string region_path(daxctl_region* region) {
    const char* const path = daxctl_region_get_path(region);
    std::string text = path == nullptr ? "" : path;
    constexpr const char* kPrefix = "/sys/devices";
    if (text.rfind(kPrefix, 0) == 0) {
        text.erase(0, std::char_traits<char>::length(kPrefix));
    }
    return text;
}

// Counts of memory blocks; the library finds them by physical address and fails without one.
void add_memory_blocks(daxctl_dev* dev, DaxDevice& out) {
    daxctl_memory* const memory = out.resource ? daxctl_dev_get_memory(dev) : nullptr;
    if (memory == nullptr) {
        return;
    }
    const int total = daxctl_memory_num_sections(memory);
    const int online = daxctl_memory_is_online(memory);
    if (total >= 0 && online >= 0) {
        out.total_memblocks = static_cast<std::uint64_t>(total);
        out.online_memblocks = static_cast<std::uint64_t>(online);
    }
}

DaxDevice device_of(daxctl_region* region, daxctl_dev* dev) {
    DaxDevice out;
    const char* const name = daxctl_dev_get_devname(dev);
    out.name = name == nullptr ? "" : name;
    out.region_path = region_path(region);
    out.capacity_bytes = daxctl_dev_get_size(dev);
    if (const unsigned long align = daxctl_dev_get_align(dev); align != 0) {
        out.align_bytes = align;
    }
    const unsigned long long resource = daxctl_dev_get_resource(dev);
    if (resource != 0 && resource != ULLONG_MAX) {
        out.resource = resource;
    }
    if (const int node = daxctl_dev_get_target_node(dev); node >= 0) {
        out.target_node = static_cast<std::uint32_t>(node);
    }
    add_memory_blocks(dev, out);
    return out;
}

}  // namespace

std::vector<DaxDevice> read_libdaxctl(FindingLog& log) {
    daxctl_ctx* raw = nullptr;
    if (const int rc = daxctl_new(&raw); rc < 0) {
        log.add({Finding::Severity::warning, "library_unavailable", "libdaxctl",
                 os_error("libdaxctl does not start", -rc).message(),
                 "dax devices are read from sysfs alone"});
        return {};
    }
    const std::unique_ptr<daxctl_ctx, decltype(&daxctl_unref)> ctx(raw, &daxctl_unref);
    daxctl_set_log_priority(raw, LOG_ERR);
    daxctl_set_userdata(raw, &log);
    daxctl_set_log_fn(raw, log_line);

    std::vector<DaxDevice> devices;
    daxctl_region* region = nullptr;
    daxctl_region_foreach(raw, region) {
        daxctl_dev* dev = nullptr;
        daxctl_dev_foreach(region, dev) {
            devices.push_back(device_of(region, dev));
        }
    }
    return devices;
}

}  // namespace cxlpool::live

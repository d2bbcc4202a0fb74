#include "topology/live/libcxl_reader.hpp"

#include <cxl/libcxl.h>
#include <syslog.h>

#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "topology/live/libcxl_compat.hpp"
#include "topology/live/library_log.hpp"

namespace cxlpool::live {
namespace {

constexpr std::uint32_t kMaxWays = 16;  // by the CXL specification

// libcxl marks what it could not read with all bits set.
std::optional<std::uint64_t> known(unsigned long long value) {
    return value == ULLONG_MAX ? std::nullopt : std::optional<std::uint64_t>(value);
}

std::optional<std::uint64_t> known_nonzero(unsigned long long value) {
    return value == 0 ? std::nullopt : known(value);
}

std::optional<std::uint32_t> known32(unsigned value) {
    return value >= INT_MAX ? std::nullopt : std::optional<std::uint32_t>(value);
}

std::string text(const char* value) {
    return value == nullptr ? std::string() : value;
}

class Reader {
  public:
    Reader(cxl_ctx* ctx, Topology& topology) : ctx_(ctx), topology_(topology) {}

    void read() {
        cxl_memdev* memdev = nullptr;
        cxl_memdev_foreach(ctx_, memdev) {
            add_memdev(memdev);
        }
        cxl_bus* bus = nullptr;
        cxl_bus_foreach(ctx_, bus) {
            add_port(cxl_bus_get_port(bus), Port::Kind::root, "");
        }
    }

  private:
    void add_memdev(cxl_memdev* memdev) {
        Memdev out;
        out.name = text(cxl_memdev_get_devname(memdev));
        out.serial = known(cxl_memdev_get_serial(memdev));
        out.host = text(cxl_memdev_get_host(memdev));
        out.ram_bytes = known(cxl_memdev_get_ram_size(memdev)).value_or(0);
        out.pmem_bytes = known(cxl_memdev_get_pmem_size(memdev)).value_or(0);
        if (const int node = cxl_memdev_get_numa_node(memdev); node >= 0) {
            out.numa_node = static_cast<std::uint32_t>(node);
        }
        out.enabled = cxl_memdev_is_enabled(memdev) != 0;
        out.firmware_version = text(cxl_memdev_get_firmware_version(memdev));
        topology_.memdevs.push_back(std::move(out));
    }

    void add_port(cxl_port* port, Port::Kind kind, const std::string& parent) {
        Port out;
        out.name = text(cxl_port_get_devname(port));
        out.parent = parent;
        out.kind = kind;
        out.host = text(cxl_port_get_host(port));
        out.depth = static_cast<std::uint32_t>(cxl_port_get_depth(port));
        out.declared_dports = static_cast<std::uint32_t>(cxl_port_get_nr_dports(port));
        cxl_dport* dport = nullptr;
        cxl_dport_foreach(port, dport) {
            out.dports.insert(out.dports.begin(), text(cxl_dport_get_devname(dport)));
        }
        const std::string name = out.name;
        topology_.ports.push_back(std::move(out));

        cxl_decoder* decoder = nullptr;
        cxl_decoder_foreach(port, decoder) {
            add_decoder(decoder, name, kind);
        }
        if (kind == Port::Kind::endpoint) {
            return;
        }
        cxl_endpoint* endpoint = nullptr;
        cxl_endpoint_foreach(port, endpoint) {
            add_port(cxl_endpoint_get_port(endpoint), Port::Kind::endpoint, name);
        }
        cxl_port* child = nullptr;
        cxl_port_foreach(port, child) {
            add_port(child, Port::Kind::port, name);
        }
    }

    void add_decoder(cxl_decoder* decoder, const std::string& parent, Port::Kind kind) {
        Decoder out;
        out.name = text(cxl_decoder_get_devname(decoder));
        out.parent = parent;
        out.size_bytes = known_nonzero(cxl_decoder_get_size(decoder));
        out.resource = known_nonzero(cxl_decoder_get_resource(decoder));
        out.interleave_ways = known32(cxl_decoder_get_interleave_ways(decoder));
        if (out.interleave_ways.value_or(0) > 1) {
            out.interleave_granularity_bytes =
                known32(cxl_decoder_get_interleave_granularity(decoder));
        }
        switch (kind) {
            case Port::Kind::root:
                add_window(decoder, out);
                break;
            case Port::Kind::port:
                out.kind = Decoder::Kind::port;
                break;
            case Port::Kind::endpoint:
                add_endpoint_side(decoder, out);
                break;
        }
        switch (cxl_decoder_get_target_type(decoder)) {
            case CXL_DECODER_TTYPE_EXPANDER:
                out.target_type = "expander";
                break;
            case CXL_DECODER_TTYPE_ACCELERATOR:
                out.target_type = "accelerator";
                break;
            default:
                break;
        }
        if (kind != Port::Kind::endpoint) {
            add_targets(decoder, out);
        }
        topology_.decoders.push_back(std::move(out));
    }

    // What the window of a root decoder allows, and the regions in it. For the other kinds the
    // library claims every capability.
    void add_window(cxl_decoder* decoder, Decoder& out) {
        out.kind = Decoder::Kind::root;
        out.pmem_capable = cxl_decoder_is_pmem_capable(decoder);
        out.volatile_capable = cxl_decoder_is_volatile_capable(decoder);
        out.mem_capable = cxl_decoder_is_mem_capable(decoder);
        out.accelmem_capable = cxl_decoder_is_accelmem_capable(decoder);
        if (cxl_decoder_is_mem_capable(decoder)) {
            // An overcommitted window makes this difference wrap; cxl(1) prints it negative.
            const auto extent = known(cxl_decoder_get_max_available_extent(decoder));
            if (extent && *extent <= static_cast<std::uint64_t>(INT64_MAX)) {
                out.max_available_extent_bytes = extent;
            }
        }
        cxl_region* region = nullptr;
        cxl_region_foreach(decoder, region) {
            add_region(region, out.name);
        }
    }

    void add_endpoint_side(cxl_decoder* decoder, Decoder& out) {
        out.kind = Decoder::Kind::endpoint;
        if (const cxl_decoder_mode mode = cxl_decoder_get_mode(decoder);
            mode != CXL_DECODER_MODE_NONE) {
            out.mode = cxl_decoder_mode_name(mode);
        }
        out.dpa_size_bytes = known_nonzero(cxl_decoder_get_dpa_size(decoder));
        if (out.dpa_size_bytes) {
            out.dpa_resource = known(cxl_decoder_get_dpa_resource(decoder));
        }
    }

    void add_targets(cxl_decoder* decoder, Decoder& out) {
        out.declared_targets = static_cast<std::uint32_t>(cxl_decoder_get_nr_targets(decoder));
        for (int position = 0; position < cxl_decoder_get_nr_targets(decoder); ++position) {
            cxl_target* const target = cxl_decoder_get_target_by_position(decoder, position);
            if (target == nullptr) {
                continue;
            }
            const char* const firmware = cxl_target_get_firmware_node(target);
            const char* const physical = cxl_target_get_physical_node(target);
            out.targets.push_back({text(cxl_target_get_devname(target)),
                                   static_cast<std::uint32_t>(position),
                                   text(firmware != nullptr ? firmware : physical)});
        }
    }

    void add_region(cxl_region* region, const std::string& root_decoder) {
        Region out;
        out.name = text(cxl_region_get_devname(region));
        out.root_decoder = root_decoder;
        out.resource = known_nonzero(cxl_region_get_resource(region));
        out.capacity_bytes = known(cxl_region_get_size(region)).value_or(0);
        out.type = region_mode(region).value_or("");
        out.interleave_ways = known32(cxl_region_get_interleave_ways(region));
        out.interleave_granularity_bytes = known32(cxl_region_get_interleave_granularity(region));
        if (cxl_region_decode_is_committed(region) == 0) {
            out.state = Region::State::reset;
        } else {
            out.state = cxl_region_is_enabled(region) != 0 ? Region::State::committed
                                                           : Region::State::disabled;
        }
        // The library looks for as many targets as the attribute says, be it billions.
        if (out.interleave_ways && *out.interleave_ways <= kMaxWays) {
            cxl_memdev_mapping* mapping = nullptr;
            cxl_mapping_foreach(region, mapping) {
                add_mapping(mapping, out);
            }
        }
        topology_.regions.push_back(std::move(out));
    }

    static void add_mapping(cxl_memdev_mapping* mapping, Region& out) {
        cxl_decoder* const decoder = cxl_mapping_get_decoder(mapping);
        if (decoder == nullptr) {
            return;
        }
        RegionMapping entry;
        entry.position = cxl_mapping_get_position(mapping);
        entry.decoder = text(cxl_decoder_get_devname(decoder));
        if (cxl_memdev* const memdev = cxl_decoder_get_memdev(decoder)) {
            entry.memdev = text(cxl_memdev_get_devname(memdev));
        }
        out.mappings.push_back(std::move(entry));
    }

    cxl_ctx* ctx_;
    Topology& topology_;
};

[[gnu::format(printf, 6, 0)]] void log_line(cxl_ctx* ctx, int /*priority*/, const char* /*file*/,
                                            int /*line*/, const char* /*function*/,
                                            const char* format, va_list args) {
    log_library_line(*static_cast<FindingLog*>(cxl_get_userdata(ctx)), "libcxl", format, args);
}

}  // namespace

void read_libcxl(Topology& topology, FindingLog& log) {
    cxl_ctx* raw = nullptr;
    if (const int rc = cxl_new(&raw); rc < 0) {
        log.add({Finding::Severity::warning, "library_unavailable", "libcxl",
                 os_error("libcxl does not start", -rc).message(),
                 "CXL devices are read from sysfs alone"});
        return;
    }
    const std::unique_ptr<cxl_ctx, decltype(&cxl_unref)> ctx(raw, &cxl_unref);
    cxl_set_log_priority(raw, LOG_ERR);
    cxl_set_userdata(raw, &log);
    cxl_set_log_fn(raw, log_line);
    Reader(raw, topology).read();
}

}  // namespace cxlpool::live

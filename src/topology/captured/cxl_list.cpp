#include <algorithm>
#include <array>
#include <limits>

#include "base/units.hpp"
#include "topology/captured/listing.hpp"

namespace cxlpool::captured {
namespace {

using json::Value;

// What stands around an object in the listing.
struct Around {
    std::string name;                       // of the bus, port, endpoint or decoder
    std::optional<Port::Kind> port;         // kind of that port; absent outside of ports
    std::optional<std::uint32_t> depth;     // of that port
    bool anonymous = false;                 // in the list of memdevs without a driver
    std::optional<Decoder::Kind> decoders;  // the list says what its decoders are
};

std::string_view trim_suffix(std::string_view key) {
    return key.substr(0, key.find(':'));
}

bool has_prefix(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

bool has_suffix(std::string_view text, std::string_view suffix) {
    return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// "decoder5.0" belongs to the port with the number 5; empty when the name has no such form.
std::string_view port_number(std::string_view decoder) {
    constexpr std::string_view kPrefix = "decoder";
    if (!has_prefix(decoder, kPrefix)) {
        return {};
    }
    decoder.remove_prefix(kPrefix.size());
    const std::string_view number = decoder.substr(0, decoder.find('.'));
    return number.find_first_not_of("0123456789") == std::string_view::npos ? number
                                                                            : std::string_view{};
}

std::string_view port_prefix(Decoder::Kind kind) {
    switch (kind) {
        case Decoder::Kind::root:
            return "root";
        case Decoder::Kind::port:
            return "port";
        case Decoder::Kind::endpoint:
            return "endpoint";
    }
    return {};
}

Decoder::Kind decoder_kind_of(Port::Kind kind) {
    switch (kind) {
        case Port::Kind::root:
            return Decoder::Kind::root;
        case Port::Kind::port:
            return Decoder::Kind::port;
        case Port::Kind::endpoint:
            return Decoder::Kind::endpoint;
    }
    return Decoder::Kind::root;
}

bool is_zero_tag(std::string_view tag) {
    return tag.find_first_not_of("0-") == std::string_view::npos;
}

class Listing {
  public:
    Listing(Source& source, Collector& collector) : source_(source), collector_(collector) {}

    Seen read(const Value& root) {
        if (root.is(Value::Kind::array) && root.items.empty()) {
            seen_.empty = true;
        } else {
            for_each_object(source_, root, [&](const Value& object) { any(object, Around{}); });
        }
        return seen_;
    }

  private:
    // An object of any kind, told from its keys. The order matters: an endpoint holds a "memdev",
    // a decoder names its "region".
    void any(const Value& object, const Around& around) {
        const auto has = [&](std::string_view key) { return object.find(key) != nullptr; };
        if (has("bus")) {
            port(object, "bus", Port::Kind::root, around);
        } else if (has("port")) {
            port(object, "port", Port::Kind::port, around);
        } else if (has("endpoint")) {
            port(object, "endpoint", Port::Kind::endpoint, around);
        } else if (has("decoder")) {
            decoder(object, around);
        } else if (has("region")) {
            region(object, around);
        } else if (has("memdev")) {
            memdev(object, around);
        } else if (has("chardev")) {
            read_dax_device(source_, object, DaxDevice{}, collector_, seen_);
        } else if (has("devices") || (has("id") && (has("align") || has("path")))) {
            read_dax_region(source_, object, {}, collector_, seen_);
        } else {
            children(object, around);
        }
    }

    // The lists inside an object: "memdevs", "ports:root0", "regions:decoder0.0", ...
    void children(const Value& object, const Around& around) {
        static constexpr std::array<std::string_view, 9> kLists{
            "memdevs",       "anon memdevs",  "buses",
            "ports",         "endpoints",     "regions",
            "root decoders", "port decoders", "endpoint decoders"};
        for (const json::Member& member : object.members) {
            const std::string_view list = trim_suffix(member.key);
            const bool plain_decoders = list == "decoders";
            if (!plain_decoders && std::find(kLists.begin(), kLists.end(), list) == kLists.end()) {
                continue;
            }
            seen_.cxl = true;
            Around inside = around;
            inside.anonymous = list == "anon memdevs";
            if (list == "root decoders") {
                inside.decoders = Decoder::Kind::root;
            } else if (list == "port decoders") {
                inside.decoders = Decoder::Kind::port;
            } else if (list == "endpoint decoders") {
                inside.decoders = Decoder::Kind::endpoint;
            }
            for_each_object(source_, member.value, [&](const Value& item) { any(item, inside); });
        }
    }

    void port(const Value& object, std::string_view key, Port::Kind kind, const Around& around) {
        seen_.cxl = true;
        Fields fields(source_, object);
        Port port;
        port.name = fields.name(key);
        port.kind = kind;
        port.host = fields.text("host");
        port.parent_dport = fields.text("parent_dport");
        port.depth = kind == Port::Kind::root ? std::nullopt : fields.u32("depth");
        port.declared_dports = fields.u32("nr_dports");
        if (const Value* const dports = fields.find("dports")) {
            for_each_object(source_, *dports, [&](const Value& dport) {
                port.dports.push_back(Fields(source_, dport).name("dport"));
            });
        }
        if (kind != Port::Kind::root && is_parent(around, port)) {
            port.parent = around.name;
        }
        // The device of an endpoint stands in it as an object.
        if (const Value* const device = fields.find("memdev");
            device != nullptr && kind == Port::Kind::endpoint) {
            for_each_object(source_, *device, [&](const Value& inner) { memdev(inner, Around{}); });
        }
        Around inside;
        inside.name = port.name;
        inside.port = kind;
        inside.depth = kind == Port::Kind::root ? 0 : port.depth;
        collector_.add(source_, object, std::move(port));
        children(object, inside);
    }

    // A filtered listing hangs a port below the next ancestor that it prints. Only the depth tells
    // whether that is the parent; below a bus, an endpoint without a depth may be far away.
    static bool is_parent(const Around& around, const Port& port) {
        if (!around.port) {
            return false;
        }
        if (around.depth && port.depth) {
            return *around.depth + 1 == *port.depth;
        }
        return !(around.port == Port::Kind::root && port.kind == Port::Kind::endpoint);
    }

    void memdev(const Value& object, const Around& around) {
        seen_.cxl = true;
        Fields fields(source_, object);
        Memdev memdev;
        memdev.name = fields.name("memdev");
        memdev.serial = fields.u64("serial");
        memdev.host = fields.text("host");
        memdev.ram_bytes = fields.u64("ram_size").value_or(0);
        memdev.pmem_bytes = fields.u64("pmem_size").value_or(0);
        for (const json::Member& member : object.members) {
            if (has_prefix(member.key, "dynamic_") && has_suffix(member.key, "_size")) {
                const std::uint64_t bytes = fields.u64_of(member.value, member.key).value_or(0);
                const auto sum = checked_add(memdev.dynamic_bytes, bytes);
                if (!sum) {
                    fields.fail(member.value, member.key, "does not fit in 64 bits with the rest");
                    return;
                }
                memdev.dynamic_bytes = *sum;
            }
        }
        memdev.numa_node = fields.node("numa_node");
        memdev.enabled = !around.anonymous && fields.text("state") != "disabled";
        memdev.firmware_version = fields.text("firmware_version");
        collector_.add(source_, object, std::move(memdev));
    }

    Decoder::Kind kind_of(const Value& object, const std::string& name, const Around& around) {
        const std::string_view number = port_number(name);
        if (around.decoders) {
            return *around.decoders;
        }
        if (around.port &&
            std::string(port_prefix(decoder_kind_of(*around.port))).append(number) == around.name) {
            return decoder_kind_of(*around.port);
        }
        const auto has = [&](std::string_view key) { return object.find(key) != nullptr; };
        if (has("max_available_extent") || has("pmem_capable") || has("volatile_capable") ||
            has("accelmem_capable") || has("qos_class")) {
            return Decoder::Kind::root;
        }
        if (!has("nr_targets")) {
            return Decoder::Kind::endpoint;
        }
        return number == "0" ? Decoder::Kind::root : Decoder::Kind::port;
    }

    void decoder(const Value& object, const Around& around) {
        seen_.cxl = true;
        Fields fields(source_, object);
        Decoder decoder;
        decoder.name = fields.name("decoder");
        decoder.kind = kind_of(object, decoder.name, around);
        // The kernel numbers a decoder after its port.
        const std::string_view number = port_number(decoder.name);
        if (!number.empty()) {
            decoder.parent = std::string(port_prefix(decoder.kind)).append(number);
        }
        decoder.resource = fields.u64("resource");
        decoder.size_bytes = fields.u64("size");
        decoder.interleave_ways = fields.u32_if_set("interleave_ways");
        decoder.interleave_granularity_bytes = fields.u32_if_set("interleave_granularity");
        decoder.locked = fields.flag("locked");
        decoder.target_type = fields.text("target_type");
        decoder.region = fields.text("region");
        decoder.mode = fields.text("mode");
        decoder.dpa_resource = fields.u64("dpa_resource");
        decoder.dpa_size_bytes = fields.u64("dpa_size");
        if (decoder.kind == Decoder::Kind::root) {
            window(fields, decoder);
        }
        decoder.declared_targets = fields.u32("nr_targets");
        if (const Value* const targets = fields.find("targets")) {
            for_each_object(source_, *targets, [&](const Value& target) {
                Fields inner(source_, target);
                decoder.targets.push_back(DecoderTarget{inner.name("target"), inner.u32("position"),
                                                        inner.text("alias")});
            });
        }
        Around inside;
        inside.name = decoder.name;
        collector_.add(source_, object, std::move(decoder));
        children(object, inside);
    }

    void window(Fields& fields, Decoder& decoder) {
        std::optional<std::int64_t> negative;
        decoder.max_available_extent_bytes =
            fields.u64_or_negative("max_available_extent", negative);
        // A window with more in it than it holds makes the tool's difference wrap.
        constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (decoder.max_available_extent_bytes.value_or(0) > kMost) {
            negative = static_cast<std::int64_t>(*decoder.max_available_extent_bytes);
            decoder.max_available_extent_bytes.reset();
        }
        if (negative && source_.ok()) {
            collector_.add(Finding{
                Finding::Severity::warning, "negative_extent", decoder.name,
                "max_available_extent is " + std::to_string(*negative) + ": taken as unknown",
                "expect no free room in this window; a newer kernel prints a number"});
        }
        // The tool prints these flags only when they are set, and the first three only for a
        // window that takes host-only coherent memory.
        decoder.volatile_capable = fields.flag("volatile_capable").value_or(false);
        decoder.pmem_capable = fields.flag("pmem_capable").value_or(false);
        decoder.accelmem_capable = fields.flag("accelmem_capable").value_or(false);
        decoder.mem_capable = fields.find("max_available_extent") != nullptr ||
                              *decoder.volatile_capable || *decoder.pmem_capable;
    }

    void region(const Value& object, const Around& around) {
        seen_.cxl = true;
        Fields fields(source_, object);
        Region region;
        region.name = fields.name("region");
        region.root_decoder = around.port ? std::string{} : around.name;
        region.resource = fields.u64("resource");
        region.capacity_bytes = fields.u64("size").value_or(0);
        region.type = fields.text("type");
        region.interleave_ways = fields.u32_if_set("interleave_ways");
        region.interleave_granularity_bytes = fields.u32_if_set("interleave_granularity");
        region.state = state_of(fields);
        if (const Value* const mappings = fields.find("mappings")) {
            for_each_object(source_, *mappings,
                            [&](const Value& mapping) { add_mapping(mapping, region); });
        }
        const Value* const extents = fields.find("extents");
        region.has_dynamic_capacity = extents != nullptr || has_prefix(region.type, "dynamic_");
        if (extents != nullptr) {
            for_each_object(source_, *extents,
                            [&](const Value& extent) { add_extent(extent, region); });
        }
        const std::string name = region.name;
        collector_.add(source_, object, std::move(region));
        if (const Value* const dax = fields.find("daxregion")) {
            for_each_object(source_, *dax, [&](const Value& inner) {
                read_dax_region(source_, inner, name, collector_, seen_);
            });
        }
    }

    static Region::State state_of(Fields& fields) {
        const bool disabled = fields.text("state") == "disabled";
        const std::string decode = fields.text("decode_state");
        if (decode == "reset") {
            return Region::State::reset;
        }
        if (disabled) {
            return Region::State::disabled;
        }
        return decode == "commit" ? Region::State::committed : Region::State::unknown;
    }

    void add_mapping(const Value& object, Region& region) {
        Fields fields(source_, object);
        const auto position = fields.u32("position");
        if (!position) {
            fields.fail(object, "position", "is missing");
            return;
        }
        // A mapping whose memdev is not bound any more has no "memdev".
        region.mappings.push_back(
            RegionMapping{*position, fields.text("memdev"), fields.text("decoder")});
    }

    void add_extent(const Value& object, Region& region) {
        Fields fields(source_, object);
        const auto offset = fields.u64("offset");
        const auto length = fields.u64("length");
        if (!offset || !length) {
            fields.fail(object, offset ? "length" : "offset", "is missing");
            return;
        }
        const auto end = checked_add(*offset, *length);
        if (!end || *end > region.capacity_bytes) {
            fields.fail(object, "length", "reaches beyond the end of " + region.name);
            return;
        }
        std::string tag = fields.text("tag");
        if (tag.empty()) {
            tag = fields.text("uuid");
        }
        region.extents.push_back(
            RegionExtent{*offset, *length, is_zero_tag(tag) ? std::string{} : std::move(tag)});
    }

    Source& source_;
    Collector& collector_;
    Seen seen_;
};

}  // namespace

Seen read_listing(Source& source, const Value& root, Collector& collector) {
    return Listing(source, collector).read(root);
}

}  // namespace cxlpool::captured

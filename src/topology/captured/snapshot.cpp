#include "topology/captured/snapshot.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <vector>

#include "domain/words.hpp"
#include "topology/captured/captured.hpp"
#include "topology/captured/collector.hpp"

namespace cxlpool::captured {
namespace {

using Json = nlohmann::ordered_json;
using json::Value;
using Distances = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

constexpr std::string_view kSchemaKey = "schema";

constexpr std::array kPortKinds{
    words::Word<Port::Kind>{Port::Kind::root, "root"},
    words::Word<Port::Kind>{Port::Kind::port, "port"},
    words::Word<Port::Kind>{Port::Kind::endpoint, "endpoint"},
};
constexpr std::array kDecoderKinds{
    words::Word<Decoder::Kind>{Decoder::Kind::root, "root"},
    words::Word<Decoder::Kind>{Decoder::Kind::port, "port"},
    words::Word<Decoder::Kind>{Decoder::Kind::endpoint, "endpoint"},
};

std::string_view to_word(Port::Kind kind) {
    return words::text_of(kPortKinds, kind);
}
std::string_view to_word(Decoder::Kind kind) {
    return words::text_of(kDecoderKinds, kind);
}
Result<Port::Kind> parse_port_kind(std::string_view word) {
    return words::parse(kPortKinds, "kind of port", word);
}
Result<Decoder::Kind> parse_decoder_kind(std::string_view word) {
    return words::parse(kDecoderKinds, "kind of decoder", word);
}

// Each device is described once, below; the writer and the reader walk the same description, so
// they cannot drift apart.
template <typename Archive, typename Device>
using Ref = std::conditional_t<Archive::kReads, Device&, const Device&>;

template <typename A>
void describe(A& a, Ref<A, Memdev> v) {
    a.name("name", v.name);
    a.value("sysfs_path", v.sysfs_path);
    a.value("serial", v.serial);
    a.value("host", v.host);
    a.value("ram_bytes", v.ram_bytes);
    a.value("pmem_bytes", v.pmem_bytes);
    a.value("dynamic_bytes", v.dynamic_bytes);
    a.value("numa_node", v.numa_node);
    a.value("enabled", v.enabled);
    a.value("firmware_version", v.firmware_version);
}

template <typename A>
void describe(A& a, Ref<A, Port> v) {
    a.name("name", v.name);
    a.word("kind", v.kind, parse_port_kind);
    a.value("parent", v.parent);
    a.value("host", v.host);
    a.value("parent_dport", v.parent_dport);
    a.value("depth", v.depth);
    a.value("declared_dports", v.declared_dports);
    a.value("dports", v.dports);
}

template <typename A>
void describe(A& a, Ref<A, DecoderTarget> v) {
    a.value("target", v.target);
    a.value("position", v.position);
    a.value("alias", v.alias);
}

template <typename A>
void describe(A& a, Ref<A, Decoder> v) {
    a.name("name", v.name);
    a.word("kind", v.kind, parse_decoder_kind);
    a.value("parent", v.parent);
    a.value("resource", v.resource);
    a.value("size_bytes", v.size_bytes);
    a.value("interleave_ways", v.interleave_ways);
    a.value("interleave_granularity_bytes", v.interleave_granularity_bytes);
    a.value("max_available_extent_bytes", v.max_available_extent_bytes);
    a.value("volatile_capable", v.volatile_capable);
    a.value("pmem_capable", v.pmem_capable);
    a.value("mem_capable", v.mem_capable);
    a.value("accelmem_capable", v.accelmem_capable);
    a.value("locked", v.locked);
    a.value("target_type", v.target_type);
    a.value("region", v.region);
    a.value("mode", v.mode);
    a.value("dpa_resource", v.dpa_resource);
    a.value("dpa_size_bytes", v.dpa_size_bytes);
    a.value("declared_targets", v.declared_targets);
    a.list("targets", v.targets);
}

template <typename A>
void describe(A& a, Ref<A, RegionMapping> v) {
    a.value("position", v.position);
    a.value("memdev", v.memdev);
    a.value("decoder", v.decoder);
}

template <typename A>
void describe(A& a, Ref<A, RegionExtent> v) {
    a.value("offset_bytes", v.offset_bytes);
    a.value("length_bytes", v.length_bytes);
    a.value("tag", v.tag);
}

template <typename A>
void describe(A& a, Ref<A, Region> v) {
    a.name("name", v.name);
    a.value("sysfs_path", v.sysfs_path);
    a.value("root_decoder", v.root_decoder);
    a.value("resource", v.resource);
    a.value("capacity_bytes", v.capacity_bytes);
    a.value("type", v.type);
    a.value("interleave_ways", v.interleave_ways);
    a.value("interleave_granularity_bytes", v.interleave_granularity_bytes);
    a.word("state", v.state, parse_region_state);
    a.list("mappings", v.mappings);
    a.list("extents", v.extents);
    a.value("has_dynamic_capacity", v.has_dynamic_capacity);
    a.value("host_bridges", v.host_bridges);
    a.value("switch_depth", v.switch_depth);
    a.value("back_invalidate", v.back_invalidate);
    a.value("read_latency_ns", v.read_latency_ns);
    a.value("read_mbps", v.read_mbps);
}

template <typename A>
void describe(A& a, Ref<A, PhysicalRange> v) {
    a.value("start", v.start);
    a.value("end", v.end);
}

template <typename A>
void describe(A& a, Ref<A, DaxDevice> v) {
    a.name("name", v.name);
    a.value("sysfs_path", v.sysfs_path);
    a.value("region_path", v.region_path);
    a.value("capacity_bytes", v.capacity_bytes);
    a.value("align_bytes", v.align_bytes);
    a.value("resource", v.resource);
    a.list("ranges", v.ranges);
    a.word("mode", v.mode, parse_dax_mode);
    a.value("target_node", v.target_node);
    a.value("numa_node", v.numa_node);
    a.value("online_memblocks", v.online_memblocks);
    a.value("total_memblocks", v.total_memblocks);
    a.value("region", v.region);
    a.value("devnode", v.devnode);
    a.value("dev_major", v.dev_major);
    a.value("dev_minor", v.dev_minor);
    a.value("held_by", v.held_by);
}

template <typename A>
void describe(A& a, Ref<A, InitiatorFigures> v) {
    a.value("cpu_node", v.cpu_node);
    a.value("read_latency_ns", v.read_latency_ns);
    a.value("read_mbps", v.read_mbps);
}

template <typename A>
void describe(A& a, Ref<A, NumaNode> v) {
    a.value("id", v.id);
    a.value("online", v.online);
    a.value("has_cpus", v.has_cpus);
    a.value("capacity_bytes", v.capacity_bytes);
    a.value("free_bytes", v.free_bytes);
    a.value("distances", v.distances);
    a.value("read_latency_ns", v.read_latency_ns);
    a.value("read_mbps", v.read_mbps);
    a.list("initiators", v.initiators);
}

template <typename A>
void describe(A& a, Ref<A, Finding> v) {
    a.word("severity", v.severity, parse_severity);
    a.value("code", v.code);
    a.value("subject", v.subject);
    a.value("message", v.message);
    a.value("next", v.next);
}

template <typename A>
void describe(A& a, Ref<A, Topology> v) {
    a.list("memdevs", v.memdevs);
    a.list("ports", v.ports);
    a.list("decoders", v.decoders);
    a.list("regions", v.regions);
    a.list("dax_devices", v.dax_devices);
    a.value("dax_listed", v.dax_listed);
    a.list("nodes", v.nodes);
    a.value("possible_nodes", v.possible_nodes);
    a.list("source_findings", v.source_findings);
}

// Leaves out what is unknown or empty.
class Writer {
  public:
    static constexpr bool kReads = false;
    explicit Writer(Json& out) : out_(out) {}

    void name(const char* key, const std::string& v) { out_[key] = v; }
    void value(const char* key, const std::string& v) {
        if (!v.empty()) {
            out_[key] = v;
        }
    }
    template <typename T>
    void value(const char* key, const std::optional<T>& v) {
        if (v) {
            out_[key] = *v;
        }
    }
    void value(const char* key, std::uint64_t v) { out_[key] = v; }
    void value(const char* key, std::uint32_t v) { out_[key] = v; }
    void value(const char* key, bool v) { out_[key] = v; }
    void value(const char* key, const std::vector<std::string>& v) {
        if (!v.empty()) {
            out_[key] = v;
        }
    }
    void value(const char* key, const std::vector<std::uint32_t>& v) {
        if (!v.empty()) {
            out_[key] = v;
        }
    }
    void value(const char* key, const Distances& v) {
        for (const auto& [node, distance] : v) {
            out_[key].push_back(Json::array({node, distance}));
        }
    }
    template <typename Enum, typename Parse>
    void word(const char* key, Enum v, Parse) {
        out_[key] = std::string(to_word(v));
    }
    template <typename Item>
    void list(const char* key, const std::vector<Item>& items) {
        for (const Item& item : items) {
            Json object = Json::object();
            Writer writer(object);
            describe(writer, item);
            out_[key].push_back(std::move(object));
        }
    }

  private:
    Json& out_;
};

class Reader {
  public:
    static constexpr bool kReads = true;
    Reader(Source& source, const Value& object) : source_(source), fields_(source, object) {}

    void name(std::string_view key, std::string& v) {
        know(key);
        v = fields_.name(key);
    }
    void value(std::string_view key, std::string& v) {
        know(key);
        v = fields_.text(key);
    }
    void value(std::string_view key, std::optional<std::uint64_t>& v) {
        know(key);
        v = fields_.u64(key);
    }
    void value(std::string_view key, std::optional<std::uint32_t>& v) {
        know(key);
        v = fields_.u32(key);
    }
    void value(std::string_view key, std::optional<bool>& v) {
        know(key);
        v = fields_.flag(key);
    }
    void value(std::string_view key, std::uint64_t& v) {
        know(key);
        v = fields_.u64(key).value_or(v);
    }
    void value(std::string_view key, std::uint32_t& v) {
        know(key);
        v = fields_.u32(key).value_or(v);
    }
    void value(std::string_view key, bool& v) {
        know(key);
        v = fields_.flag(key).value_or(v);
    }
    void value(std::string_view key, std::vector<std::string>& v) {
        for_each(key, [&](const Value& item) { v.push_back(fields_.text_of(item, key)); });
    }
    void value(std::string_view key, std::vector<std::uint32_t>& v) {
        for_each(key, [&](const Value& item) {
            if (v.size() == kMostDevices) {
                source_.fail(Errc::too_large, item,
                             "more than " + std::to_string(kMostDevices) + " of them");
                return;
            }
            v.push_back(u32_of(item, key));
        });
    }
    void value(std::string_view key, Distances& v) {
        for_each(key, [&](const Value& item) {
            if (!item.is(Value::Kind::array) || item.items.size() != 2) {
                fields_.fail(item, key, "must be pairs of a node and a distance");
                return;
            }
            v.emplace_back(u32_of(item.items[0], key), u32_of(item.items[1], key));
        });
    }
    template <typename Enum, typename Parse>
    void word(std::string_view key, Enum& v, Parse parse) {
        know(key);
        const Value* const found = fields_.find(key);
        if (found == nullptr) {
            return;
        }
        const auto parsed = parse(fields_.text_of(*found, key));
        if (parsed) {
            v = *parsed;
        } else {
            source_.fail(Errc::unknown_word, *found, parsed.error().message());
        }
    }
    template <typename Item>
    void list(std::string_view key, std::vector<Item>& items) {
        for_each(key, [&](const Value& value) {
            if (items.size() == kMostDevices) {
                source_.fail(Errc::too_large, value,
                             "more than " + std::to_string(kMostDevices) + " of them");
                return;
            }
            Item& item = items.emplace_back();
            if (!value.is(Value::Kind::object)) {
                fields_.fail(value, key, "must be a list of objects");
                return;
            }
            Reader reader(source_, value);
            describe(reader, item);
            reader.refuse_unknown();
        });
    }

    void know(std::string_view key) { known_.push_back(key); }
    void refuse_unknown() {
        for (const json::Member& member : fields_.object().members) {
            if (std::find(known_.begin(), known_.end(), member.key) == known_.end()) {
                source_.fail(
                    Errc::malformed, member.value,
                    "unknown key " + words::quoted(member.key) + " in " + kSnapshotSchema.data());
            }
        }
    }

  private:
    template <typename F>
    void for_each(std::string_view key, F&& each) {
        know(key);
        const Value* const list = fields_.find(key);
        if (list == nullptr) {
            return;
        }
        if (!list->is(Value::Kind::array)) {
            fields_.fail(*list, key, "must be a list");
            return;
        }
        for (const Value& item : list->items) {
            if (!source_.ok()) {
                return;
            }
            each(item);
        }
    }
    std::uint32_t u32_of(const Value& value, std::string_view key) {
        const std::uint64_t number = fields_.u64_of(value, key).value_or(0);
        if (number > 0xFFFFFFFFU) {
            fields_.fail(value, key, std::to_string(number) + " does not fit in 32 bits");
        }
        return static_cast<std::uint32_t>(number);
    }

    Source& source_;
    Fields fields_;
    std::vector<std::string_view> known_;
};

// Names are keys; a second device of a name would hide the first.
template <typename Device>
void refuse_duplicates(Source& source, const Value& root, const std::vector<Device>& devices) {
    std::vector<std::string_view> names;
    for (const Device& device : devices) {
        names.push_back(device.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
        source.fail(Errc::invalid_argument, root, std::string(*twice) + " stands twice");
    }
}

}  // namespace

bool is_snapshot(const Value& root) {
    return root.is(Value::Kind::object) && root.find(kSchemaKey) != nullptr;
}

Topology read_snapshot(Source& source, const Value& root) {
    Topology topology;
    const Value& schema = *root.find(kSchemaKey);
    if (!schema.is(Value::Kind::string) || schema.string != kSnapshotSchema) {
        source.fail(Errc::unsupported_version, schema,
                    "this version reads the schema \"" + std::string(kSnapshotSchema) + "\"");
        return topology;
    }
    Reader reader(source, root);
    reader.know(kSchemaKey);
    describe(reader, topology);
    reader.refuse_unknown();
    refuse_duplicates(source, root, topology.memdevs);
    refuse_duplicates(source, root, topology.ports);
    refuse_duplicates(source, root, topology.decoders);
    refuse_duplicates(source, root, topology.regions);
    refuse_duplicates(source, root, topology.dax_devices);
    topology.origin = Topology::Origin::captured;
    return topology;
}

}  // namespace cxlpool::captured

namespace cxlpool {

std::string write_snapshot(const Topology& topology) {
    using captured::Json;
    Json root = Json::object();
    root[std::string(captured::kSchemaKey)] = std::string(captured::kSnapshotSchema);
    captured::Writer writer(root);
    captured::describe(writer, topology);
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cxlpool

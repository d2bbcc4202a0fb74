#include "topology/report.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "domain/profile_fields.hpp"
#include "topology/lookup.hpp"
#include "topology/window.hpp"

namespace cxlpool {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

Json word(std::string_view text) {
    return Json(std::string(text));
}

std::string print(const Json& document) {
    // Foreign bytes that are no UTF-8 are replaced: a document always comes out.
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json memdev_json(const Memdev& memdev) {
    return Json{{"name", memdev.name},
                {"serial", or_null(memdev.serial)},
                {"host", or_null(memdev.host)},
                {"ram_bytes", memdev.ram_bytes},
                {"pmem_bytes", memdev.pmem_bytes},
                {"numa_node", or_null(memdev.numa_node)},
                {"enabled", or_null(memdev.enabled)},
                {"dynamic_bytes", memdev.dynamic_bytes},
                {"firmware_version", or_null(memdev.firmware_version)}};
}

Json region_json(const Region& region, const Topology& topology, const Lookup& lookup) {
    Json memdevs = Json::array();
    for (const RegionMapping& mapping : region.mappings) {
        memdevs.push_back(mapping.memdev);
    }
    const Known<CrossHostCoherence> coherence = cross_host_coherence(&region, lookup);
    return Json{
        {"name", region.name},
        {"capacity_bytes", usable_capacity_bytes(region, topology)},
        {"interleave_ways", or_null(region.interleave_ways)},
        {"interleave_granularity_bytes", or_null(region.interleave_granularity_bytes)},
        {"type", or_null(region.type)},
        {"state", word(to_word(region.state))},
        {"host_bridges", or_null(region.host_bridges)},
        {"memdevs", std::move(memdevs)},
        {"cross_host_coherence", word(to_word(coherence.value.value_or(CrossHostCoherence::none)))},
        {"cross_host_coherence_detail", coherence.evidence.detail},
        {"switch_depth", or_null(region.switch_depth)},
        {"resource", or_null(region.resource)},
        {"window", or_null(region.root_decoder)},
        {"window_bytes", region.capacity_bytes},
        {"may_shrink", region.has_dynamic_capacity}};
}

Json dax_json(const DaxDevice& device, const Topology& topology,
              const std::set<std::string_view>& pools) {
    const std::optional<bool> online =
        device.target_node ? is_online(topology, *device.target_node) : std::nullopt;
    return Json{{"name", device.name},
                {"capacity_bytes", or_null(device.capacity_bytes)},
                {"align_bytes", or_null(device.align_bytes)},
                {"mode", word(to_word(device.mode))},
                {"target_node", or_null(device.target_node)},
                {"region", or_null(device.region)},
                {"numa_node", or_null(device.numa_node)},
                {"path", or_null(device.region_path)},
                {"resource", or_null(device.resource)},
                {"online_memblocks", or_null(device.online_memblocks)},
                {"total_memblocks", or_null(device.total_memblocks)},
                {"held_by", or_null(device.held_by)},
                {"target_node_online", or_null(online)},
                {"is_pool", pools.count(device.name) != 0}};
}

template <typename Items, typename ToJson>
Json list(const Items& items, ToJson&& to_json) {
    Json out = Json::array();
    for (const auto& item : items) {
        out.push_back(to_json(item));
    }
    return out;
}

Json initiator_json(const InitiatorFigures& figures) {
    return Json{{"cpu_node", figures.cpu_node},
                {"read_latency_ns", or_null(figures.read_latency_ns)},
                {"read_mbps", or_null(figures.read_mbps)}};
}

Json node_json(const NumaNode& node) {
    Json distances = Json::array();
    for (const auto& [id, distance] : node.distances) {
        distances.push_back(Json{{"node", id}, {"distance", distance}});
    }
    return Json{{"id", node.id},
                {"online", node.online},
                {"has_cpus", node.has_cpus},
                {"capacity_bytes", or_null(node.capacity_bytes)},
                {"free_bytes", or_null(node.free_bytes)},
                {"read_latency_ns", or_null(node.read_latency_ns)},
                {"read_mbps", or_null(node.read_mbps)},
                {"distances", std::move(distances)},
                {"initiators", list(node.initiators, initiator_json)}};
}

Json pool_json(const PoolCandidate& pool) {
    const Profile& profile = pool.profile;
    return Json{{"name", pool.name},
                {"capacity_bytes", pool.capacity_bytes},
                {"tier", word(to_word(profile.tier))},
                {"dax_device", or_null(pool.dax_device)},
                {"region", or_null(pool.region)},
                {"memdevs", pool.memdevs},
                {"serials", pool.serials},
                {"align_bytes", pool.align_bytes == 0 ? Json(nullptr) : Json(pool.align_bytes)},
                {"hosts", hosts_or_assumed(profile)},
                {"hosts_source", word(to_word(profile.hosts.evidence.source))},
                {"cross_host_coherence", word(to_word(coherence_or_none(profile)))},
                {"cross_host_coherence_source",
                 word(to_word(profile.cross_host_coherence.evidence.source))},
                {"share_kind", word(to_word(share_kind_or_none(profile)))},
                {"persistent", or_null(profile.persistent.value)},
                {"memory_node", or_null(profile.memory_node.value)},
                {"cpu_affinity_node", or_null(profile.cpu_affinity_node.value)},
                {"may_shrink", profile.may_shrink}};
}

Json finding_json(const Finding& finding) {
    return Json{{"code", finding.code},
                {"subject", finding.subject},
                {"message", finding.message},
                {"next", finding.next},
                {"severity", word(to_word(finding.severity))}};
}

template <typename T>
Json plain(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return word(to_word(value));
    } else {
        return Json(value);
    }
}

template <typename T>
Json known_json(const Known<T>& known) {
    Json out{{"value", known.value ? plain(*known.value) : Json(nullptr)},
             {"source", word(to_word(known.evidence.source))},
             {"detail", known.evidence.detail}};
    out["time_ns"] = known.evidence.time.ns == 0 ? Json(nullptr) : Json(known.evidence.time.ns);
    return out;
}

Json profile_json(const Profile& profile) {
    Json out{{"name", profile.name}, {"tier", word(to_word(profile.tier))}};
    for_each_profile_field(
        [&](const auto& field) { out[std::string(field.key)] = known_json(profile.*field.known); });
    out["memory_node"] = known_json(profile.memory_node);
    out["cpu_affinity_node"] = known_json(profile.cpu_affinity_node);
    out["may_shrink"] = profile.may_shrink;
    out["reachable"] = reachable(profile);
    out["fabric_shareable"] = fabric_shareable(profile);
    return out;
}

}  // namespace

std::string topology_json(const Topology& topology, const Assessment& assessment) {
    const Lookup lookup(topology);
    const auto region = [&](const Region& r) { return region_json(r, topology, lookup); };
    std::set<std::string_view> pools;
    for (const PoolCandidate& pool : assessment.pools) {
        pools.insert(pool.dax_device);
    }
    const auto dax = [&](const DaxDevice& d) { return dax_json(d, topology, pools); };
    return print(Json{{"source", word(to_word(topology.origin))},
                      {"memdevs", list(topology.memdevs, memdev_json)},
                      {"regions", list(topology.regions, region)},
                      {"dax_devices", list(topology.dax_devices, dax)},
                      {"nodes", list(topology.nodes, node_json)},
                      {"pools", list(assessment.pools, pool_json)},
                      {"findings", list(assessment.findings, finding_json)}});
}

std::string profiles_json(const std::vector<Profile>& profiles) {
    return print(Json{{"profiles", list(profiles, profile_json)}});
}

}  // namespace cxlpool

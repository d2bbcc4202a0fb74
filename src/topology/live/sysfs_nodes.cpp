#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "topology/live/sysfs_reader.hpp"

namespace cxlpool::live {
namespace {

const std::string kNodes = "/sys/devices/system/node";

// "Node 0 MemTotal:  3005392 kB" in bytes (the kernel's kB is 1024 bytes).
std::optional<std::uint64_t> meminfo_bytes(const std::string& meminfo, const std::string& field) {
    std::istringstream lines(meminfo);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(' ' + field + ':');
        if (at == std::string::npos) {
            continue;
        }
        std::istringstream words(line.substr(at + field.size() + 2));
        std::string number;
        words >> number;
        const Result<std::uint64_t> kibibytes = parse_u64(number);
        return kibibytes ? checked_mul(*kibibytes, 1024) : std::nullopt;
    }
    return std::nullopt;
}

// Column k of a distance row belongs to the k-th online node, not to node k.
void assign_distances(NumaNode& node, const std::string& row,
                      const std::vector<std::uint32_t>& online, FindingLog& log) {
    std::istringstream words(row);
    std::vector<std::uint32_t> distances;
    for (std::uint32_t distance = 0; words >> distance;) {
        distances.push_back(distance);
    }
    if (distances.size() != online.size()) {
        log.add({Finding::Severity::warning, "distance_columns_mismatch",
                 "node" + std::to_string(node.id),
                 "the distance row has " + std::to_string(distances.size()) + " columns for " +
                     std::to_string(online.size()) + " online nodes; distances count as unknown",
                 "read again: nodes may just have come or gone"});
        return;
    }
    for (std::size_t k = 0; k < online.size(); ++k) {
        node.distances.emplace_back(online[k], distances[k]);
    }
}

// An initiator of both classes has the same figures in both.
void add_initiator(NumaNode& node, const InitiatorFigures& figures) {
    const bool known = std::any_of(
        node.initiators.begin(), node.initiators.end(),
        [&](const InitiatorFigures& other) { return other.cpu_node == figures.cpu_node; });
    if (!known) {
        node.initiators.push_back(figures);
    }
}

}  // namespace

std::vector<NumaNode> SysfsReader::nodes() const {
    const std::vector<std::uint32_t> online = node_list("online");
    std::set<std::uint32_t> ids(online.begin(), online.end());
    for (const std::string& name : sysfs_.list(kNodes)) {
        if (const std::optional<std::uint32_t> id = numbered(name, "node")) {
            ids.insert(*id);
        }
    }
    std::vector<NumaNode> nodes;
    nodes.reserve(ids.size());
    for (const std::uint32_t id : ids) {
        nodes.push_back(node(id, online));
    }
    return nodes;
}

std::vector<std::uint32_t> SysfsReader::possible_nodes() const {
    return node_list("possible");
}

std::vector<std::uint32_t> SysfsReader::node_list(const std::string& name) const {
    const std::string path = kNodes + "/" + name;
    std::optional<std::vector<std::uint32_t>> listed =
        parse_node_list(sysfs_.text(path).value_or(""));
    if (!listed) {
        sysfs_.log().add({Finding::Severity::warning, "malformed_attribute", path,
                          "the list of " + name + " nodes is malformed; it counts as unknown",
                          "a newer kernel, if this one is old; if it stays, report it with the "
                          "file's content"});
    }
    return std::move(listed).value_or(std::vector<std::uint32_t>{});
}

NumaNode SysfsReader::node(std::uint32_t id, const std::vector<std::uint32_t>& online) const {
    const std::string path = kNodes + "/node" + std::to_string(id);
    NumaNode node;
    node.id = id;
    node.online = std::find(online.begin(), online.end(), id) != online.end();
    node.has_cpus = !sysfs_.text(path + "/cpulist").value_or("").empty();
    if (const std::optional<std::string> meminfo = sysfs_.text(path + "/meminfo")) {
        node.capacity_bytes = meminfo_bytes(*meminfo, "MemTotal");
        node.free_bytes = meminfo_bytes(*meminfo, "MemFree");
    }
    if (const std::optional<std::string> row = sysfs_.text(path + "/distance")) {
        assign_distances(node, *row, online, sysfs_.log());
    }
    // access0 is the nearest initiator of any kind, access1 the nearest with CPUs; old kernels
    // and partial tables have only one of them.
    for (const char* const access : {"/access0/initiators", "/access1/initiators"}) {
        const std::optional<std::uint64_t> latency =
            sysfs_.nonzero(path + access + "/read_latency");
        const std::optional<std::uint64_t> mbps = sysfs_.nonzero(path + access + "/read_bandwidth");
        if (!node.read_latency_ns) {
            node.read_latency_ns = latency;
        }
        if (!node.read_mbps) {
            node.read_mbps = mbps;
        }
        for (const std::string& name : sysfs_.list(path + access)) {
            const std::optional<std::uint32_t> initiator = numbered(name, "node");
            if (initiator && (latency || mbps)) {
                add_initiator(node, {*initiator, latency, mbps});
            }
        }
    }
    return node;
}

}  // namespace cxlpool::live

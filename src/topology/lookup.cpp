#include "topology/lookup.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace cxlpool {
namespace {

// A CXL tree is a handful of levels; a parent chain longer than this is a loop in bad input.
constexpr int kMostLevels = 64;

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

// Takes the number at the start of `text` off it, without its leading zeros.
std::string_view take_number(std::string_view& text) noexcept {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end])) {
        ++end;
    }
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return digits;
}

}  // namespace

Lookup::Lookup(const Topology& topology) {
    for (const Memdev& memdev : topology.memdevs) {
        memdevs_.emplace(memdev.name, &memdev);
    }
    for (const Port& port : topology.ports) {
        ports_.emplace(port.name, &port);
        if (port.kind == Port::Kind::endpoint && !port.host.empty()) {
            endpoints_.emplace(port.host, &port);
        }
    }
    for (const Decoder& decoder : topology.decoders) {
        decoders_.emplace(decoder.name, &decoder);
    }
    for (const Region& region : topology.regions) {
        regions_.emplace(region.name, &region);
    }
}

const Port* Lookup::endpoint(const RegionMapping& mapping) const {
    if (const Decoder* const through = decoder(mapping.decoder)) {
        if (const Port* const found = port(through->parent)) {
            return found;
        }
    }
    return endpoint(std::string_view(mapping.memdev));
}

std::optional<RootPath> path_to_root(const Port& endpoint, const Lookup& lookup) {
    const Port* below = &endpoint;
    std::uint32_t ports_passed = 0;
    for (int level = 0; level < kMostLevels; ++level) {
        const Port* const above = lookup.port(below->parent);
        if (above != nullptr && above->kind == Port::Kind::root) {
            // A restricted device hangs on the root directly and is its own bridge.
            return RootPath{below, ports_passed == 0 ? 0 : ports_passed - 1};
        }
        if (above == nullptr) {
            // A capture without the bus still tells the depth.
            if (below->kind == Port::Kind::port && below->depth == 1U) {
                return RootPath{below, ports_passed == 0 ? 0 : ports_passed - 1};
            }
            return std::nullopt;
        }
        below = above;
        ++ports_passed;
    }
    return std::nullopt;
}

bool is_target(const DecoderTarget& target, const Port& host_bridge) noexcept {
    return target.target == host_bridge.host || target.alias == host_bridge.host ||
           (!host_bridge.parent_dport.empty() && target.target == host_bridge.parent_dport);
}

bool natural_less(std::string_view a, std::string_view b) noexcept {
    const std::string_view whole_a = a;
    const std::string_view whole_b = b;
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            const std::string_view x = take_number(a);
            const std::string_view y = take_number(b);
            if (x.size() != y.size()) {
                return x.size() < y.size();
            }
            if (x != y) {
                return x < y;
            }
        } else if (a.front() != b.front()) {
            return a.front() < b.front();
        } else {
            a.remove_prefix(1);
            b.remove_prefix(1);
        }
    }
    if (a.empty() != b.empty()) {
        return a.empty();
    }
    return whole_a < whole_b;
}

std::optional<PhysicalRange> physical_range(const std::optional<std::uint64_t>& resource,
                                            const std::optional<std::uint64_t>& size_bytes) {
    // To an unprivileged reader the kernel shows every address as 0: that is "cannot see".
    if (!resource || *resource == 0 || !size_bytes || *size_bytes == 0) {
        return std::nullopt;
    }
    const std::optional<std::uint64_t> end = checked_add(*resource, *size_bytes - 1);
    if (!end) {
        return std::nullopt;
    }
    return PhysicalRange{*resource, *end};
}

std::vector<PhysicalRange> physical_ranges(const DaxDevice& device) {
    if (!device.ranges.empty()) {
        return device.ranges;
    }
    if (const auto range = physical_range(device.resource, device.capacity_bytes)) {
        return {*range};
    }
    return {};
}

bool is_plain_nvdimm(const DaxDevice& device) noexcept {
    return device.region.empty() && device.region_path.find("/ndbus") != std::string::npos &&
           device.region_path.find("/nvdimm-bridge") == std::string::npos;
}

std::optional<bool> is_online(const Topology& topology, std::uint32_t node) noexcept {
    // A running machine has an online node: where none is shown, the list could not be read.
    bool any = false;
    bool found = false;
    for (const NumaNode& one : topology.nodes) {
        any = any || one.online;
        found = found || (one.id == node && one.online);
    }
    return any ? std::optional<bool>(found) : std::nullopt;
}

}  // namespace cxlpool

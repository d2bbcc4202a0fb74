#include "topology/lookup.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace cxlpool {
namespace {

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

}  // namespace cxlpool

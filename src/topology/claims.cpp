#include <algorithm>

#include "topology/assess.hpp"

namespace cxlpool {

std::optional<std::string> Claims::holder(const std::vector<PhysicalRange>& ranges,
                                          std::string_view except) const {
    for (const PhysicalRange& range : ranges) {
        // The last claim that starts at or before the end of the range, and those before it, as
        // long as they reach into it.
        auto claim = taken_.upper_bound(range.end);
        while (claim != taken_.begin()) {
            --claim;
            if (claim->second.end < range.start) {
                break;
            }
            if (claim->second.name != except) {
                return claim->second.name;
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> Claims::claim(const std::string& name,
                                         const std::vector<PhysicalRange>& ranges) {
    if (const auto other = holder(ranges, {})) {
        return other;
    }
    std::vector<PhysicalRange> sorted = ranges;
    std::sort(sorted.begin(), sorted.end(),
              [](const PhysicalRange& a, const PhysicalRange& b) { return a.start < b.start; });
    std::optional<PhysicalRange> open;
    for (const PhysicalRange& range : sorted) {
        if (open && range.start <= open->end) {
            open->end = std::max(open->end, range.end);
            continue;
        }
        if (open) {
            taken_.emplace(open->start, Claim{open->end, name});
        }
        open = range;
    }
    if (open) {
        taken_.emplace(open->start, Claim{open->end, name});
    }
    return std::nullopt;
}

}  // namespace cxlpool

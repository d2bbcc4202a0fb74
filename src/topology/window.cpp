#include "topology/window.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace cxlpool {
namespace {

constexpr std::string_view kAccelerator = "accelerator";
constexpr std::string_view kExpander = "expander";

bool endpoint_targets(const Region& region, const Lookup& lookup, std::string_view type) {
    return std::any_of(region.mappings.begin(), region.mappings.end(),
                       [&](const RegionMapping& mapping) {
                           const Decoder* const decoder = lookup.decoder(mapping.decoder);
                           return decoder != nullptr && decoder->target_type == type;
                       });
}

Known<CrossHostCoherence> none(std::string why) {
    return Known<CrossHostCoherence>::of(CrossHostCoherence::none, Source::unknown, std::move(why));
}

std::string window_name(const Region& region) {
    return "window " +
           (region.root_decoder.empty() ? std::string("of ") + region.name : region.root_decoder);
}

}  // namespace

WindowClass window_class(const Region& region, const Lookup& lookup) {
    const Decoder* const root = lookup.decoder(region.root_decoder);
    if ((root != nullptr && root->target_type == kAccelerator) ||
        endpoint_targets(region, lookup, kAccelerator)) {
        return WindowClass::accelerator;
    }
    if (root == nullptr) {
        return WindowClass::unknown;
    }
    if (root->accelmem_capable.value_or(false)) {
        return WindowClass::device_coherent;
    }
    return root->mem_capable.value_or(false) ? WindowClass::host_only : WindowClass::unknown;
}

Known<CrossHostCoherence> cross_host_coherence(const Region* region, const Lookup& lookup) {
    if (region == nullptr) {
        return none("host only, unproven: no CXL window is known");
    }
    switch (window_class(*region, lookup)) {
        case WindowClass::host_only:
            return Known<CrossHostCoherence>::of(CrossHostCoherence::none, Source::observed,
                                                 window_name(*region) + " is host-only coherent");
        case WindowClass::device_coherent: {
            const Decoder* const root = lookup.decoder(region->root_decoder);
            const bool expander =
                root->target_type == kExpander || endpoint_targets(*region, lookup, kExpander);
            if (expander && region->back_invalidate.value_or(false)) {
                return Known<CrossHostCoherence>::of(
                    CrossHostCoherence::hardware, Source::observed,
                    window_name(*region) +
                        " is device coherent and back-invalidate is enabled on every device");
            }
            return none(window_name(*region) +
                        " allows device-coherent memory, but nothing shows that back-invalidate "
                        "is enabled");
        }
        case WindowClass::accelerator:
            return none("accelerator memory");
        case WindowClass::unknown:
            break;
    }
    return none(lookup.decoder(region->root_decoder) == nullptr
                    ? "the window of " + region->name + " is not known"
                    : window_name(*region) + " has no coherence restriction");
}

Known<bool> coherent_in_host(const Region* region, const Lookup& lookup) {
    if (region == nullptr) {
        return Known<bool>::of(true, Source::observed,
                               "ordinary cacheable memory; host only, unproven");
    }
    switch (window_class(*region, lookup)) {
        case WindowClass::host_only:
            return Known<bool>::of(true, Source::observed,
                                   window_name(*region) + " is host-only coherent");
        case WindowClass::device_coherent:
            return Known<bool>::of(true, Source::observed,
                                   window_name(*region) + " is device coherent");
        case WindowClass::accelerator:
        case WindowClass::unknown:
            break;
    }
    return Known<bool>::unknown(window_name(*region) + " says nothing about coherence");
}

std::uint64_t usable_capacity_bytes(const Region& region, const Topology& topology) {
    if (!region.has_dynamic_capacity) {
        return region.capacity_bytes;
    }
    // Accepted extents, each byte once: resolve() has sorted them by offset.
    std::uint64_t total = 0;
    std::uint64_t covered_to = 0;
    for (const RegionExtent& extent : region.extents) {
        const std::uint64_t end =
            checked_add(extent.offset_bytes, extent.length_bytes).value_or(extent.offset_bytes);
        const std::uint64_t start = std::max(covered_to, extent.offset_bytes);
        if (end > start) {
            total += end - start;
            covered_to = end;
        }
    }
    if (!region.extents.empty()) {
        return total;
    }
    // Where the extents are not shown, what the dax devices expose has been accepted.
    for (const DaxDevice& device : topology.dax_devices) {
        if (device.region == region.name) {
            total = checked_add(total, device.capacity_bytes.value_or(0)).value_or(total);
        }
    }
    return std::min(total, region.capacity_bytes);
}

}  // namespace cxlpool

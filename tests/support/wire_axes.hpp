// The axes of a complete context, as an engine sends them.
#pragma once

#include <string>
#include <vector>

#include "domain/context.hpp"
#include "wire/messages.hpp"

namespace cxlpool::testing {

inline std::vector<wire::AxisField> complete_axes(const std::string& model) {
    std::vector<wire::AxisField> axes;
    for (std::uint8_t axis = 0; axis < kAxisCount; ++axis) {
        axes.push_back({axis, "v"});
    }
    axes[static_cast<std::size_t>(Axis::model)].value = model;
    axes[static_cast<std::size_t>(Axis::weights)].value = "version:1";
    axes[static_cast<std::size_t>(Axis::adapter)].value = "none";
    axes[static_cast<std::size_t>(Axis::page_tokens)].value = "16";
    return axes;
}

}  // namespace cxlpool::testing

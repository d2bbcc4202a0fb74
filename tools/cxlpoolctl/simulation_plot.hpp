// Hit share over the size of the pool, as a picture.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "replay/replay.hpp"

namespace cxlpool::ctl {

struct SimulationPlot {
    std::string title;
    std::vector<replay::ReplayReport> runs;  // at least one has a pool with a bound
};

// One line a regime and policy; what a pool without bound gives is a level line.
std::string gnuplot_script(const SimulationPlot& plot);

// As gnuplot::draw_svg.
Result<void> draw_simulation(const std::string& path, const SimulationPlot& plot);

}  // namespace cxlpool::ctl

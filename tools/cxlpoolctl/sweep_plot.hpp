// A series of fleet plans as a picture.
//
// Responsible for: the gnuplot script.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/fleet_plan.hpp"

namespace cxlpool::ctl {

struct SweepPlot {
    struct Point {
        std::uint64_t x = 0;
        std::array<std::uint64_t, 3> prefill_tokens{};  // by Regime
        std::array<std::uint64_t, 3> resident_bytes{};
    };
    std::string variable;  // of the sweep
    std::string title;
    bool geometric = false;  // both axes are then logarithmic
    Regime holds = Regime::private_copies;
    std::vector<Point> points;  // not empty
};

// Prefill tokens above, resident bytes below; one line a regime.
std::string gnuplot_script(const SweepPlot& plot);

// As gnuplot::draw_svg.
Result<void> draw_sweep(const std::string& path, const SweepPlot& plot);

}  // namespace cxlpool::ctl

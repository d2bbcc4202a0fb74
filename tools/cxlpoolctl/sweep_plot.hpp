// A series of fleet plans as a picture.
//
// Responsible for: the gnuplot script, and running gnuplot without a shell. Invariants: nothing in
// a name becomes a command; the picture is written whole or not at all, and never over anything but
// a regular file.
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

// Blocks while gnuplot draws. Errors: not_found (no gnuplot), io (gnuplot failed, or the file
// cannot be written).
Result<void> draw_sweep(const std::string& path, const SweepPlot& plot);

}  // namespace cxlpool::ctl

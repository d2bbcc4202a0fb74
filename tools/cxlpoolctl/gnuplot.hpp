// Pictures drawn by gnuplot.
//
// Responsible for: running gnuplot without a shell, and the words of its scripts that every picture
// needs. Invariants: nothing in a name becomes a command; a picture is written whole or not at all,
// and never over anything but a regular file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool::ctl::gnuplot {

// In single quotes gnuplot takes everything as it is but the quote itself.
std::string quoted(std::string_view text);

// The unit of an axis.
struct Scale {
    double factor;
    std::string unit;
};
// One that suits `typical`: of bytes, or of a count.
Scale scale_for(std::uint64_t typical, bool bytes);
// " 1.5": a value on such an axis.
std::string scaled(std::uint64_t value, const Scale& scale);
// "resident, GiB".
std::string label(std::string_view what, const Scale& scale);

// Blocks while gnuplot draws what the script, which sets an svg terminal, asks for. Errors:
// not_found (no gnuplot), io (gnuplot failed, or the file cannot be written).
Result<void> draw_svg(const std::string& path, std::string_view script);

}  // namespace cxlpool::ctl::gnuplot

#include "cxlpoolctl/sweep_plot.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cxlpoolctl/gnuplot.hpp"

namespace cxlpool::ctl {
namespace {

using gnuplot::label;
using gnuplot::quoted;
using gnuplot::Scale;
using gnuplot::scale_for;
using gnuplot::scaled;

// One panel. Where two regimes coincide, the dashes of one lie on the wide band of the other.
std::string panel(const SweepPlot& plot, int first_column, const std::string& y_label) {
    struct Line {
        Regime regime;
        const char* style;
    };
    constexpr std::array kLines{
        Line{Regime::copy_only, "lw 7 lc rgb '#9ecae1'"},
        Line{Regime::private_copies, "lw 2.5 dt (14,7) lc rgb '#b2182b'"},
        Line{Regime::coherent, "lw 2.5 dt (4,4) lc rgb '#1b7837'"},
    };
    std::string out = "set ylabel " + quoted(y_label) + "\nplot";
    for (const Line& line : kLines) {
        const int column = first_column + static_cast<int>(line.regime);
        const std::string name =
            std::string(to_word(line.regime)) + (line.regime == plot.holds ? " (holds)" : "");
        out += std::string(&line == &kLines.front() ? " " : ", ") +
               "$plan using 1:" + std::to_string(column) + " with " +
               (plot.points.size() == 1 ? "points" : "lines") + " " + line.style + " title " +
               quoted(name);
    }
    return out + "\n";
}

}  // namespace

std::string gnuplot_script(const SweepPlot& plot) {
    std::vector<std::uint64_t> tokens_seen;
    std::vector<std::uint64_t> bytes_seen;
    for (const SweepPlot::Point& point : plot.points) {
        tokens_seen.insert(tokens_seen.end(), point.prefill_tokens.begin(),
                           point.prefill_tokens.end());
        bytes_seen.insert(bytes_seen.end(), point.resident_bytes.begin(),
                          point.resident_bytes.end());
    }
    // The unit of a linear axis fits its largest value, that of a logarithmic one its smallest.
    const auto typical = [&plot](const std::vector<std::uint64_t>& values) {
        return plot.geometric ? *std::min_element(values.begin(), values.end())
                              : *std::max_element(values.begin(), values.end());
    };
    const Scale tokens = scale_for(typical(tokens_seen), false);
    const Scale bytes = scale_for(typical(bytes_seen), true);
    const bool of_bytes = plot.variable == "bytes";
    const Scale x =
        scale_for(plot.geometric ? plot.points.front().x : plot.points.back().x, of_bytes);

    std::string out =
        "set terminal svg size 900,760 noenhanced font 'sans-serif,14' background "
        "'#ffffff'\n$plan << end_of_plan\n";
    for (const SweepPlot::Point& point : plot.points) {
        out += scaled(point.x, x);
        for (const std::uint64_t value : point.prefill_tokens) {
            out += scaled(value, tokens);
        }
        for (const std::uint64_t value : point.resident_bytes) {
            out += scaled(value, bytes);
        }
        out += '\n';
    }
    out +=
        "end_of_plan\n"
        "set border 3 lc rgb '#666666'\nset tics nomirror out tc rgb '#222222'\n"
        "set grid lc rgb '#dddddd' lw 1 dt 1\nset format '%g'\n"
        "set key top left reverse Left samplen 5 spacing 1.3\nset lmargin 12\n";
    out += plot.geometric ? "set logscale x 2\nset logscale y 10\n" : "set yrange [0:*]\n";
    if (plot.points.size() > 1) {
        out += "set xrange [" + scaled(plot.points.front().x, x) + ":" +
               scaled(plot.points.back().x, x) + " ]\n";
    }
    out += "set xlabel " + quoted(label(of_bytes ? "size of the prefix" : plot.variable, x)) + "\n";
    out += "set multiplot layout 2,1 title " + quoted(plot.title) + " font ',17'\n";
    out += panel(plot, 2, label("prefill tokens", tokens));
    out += "set key off\n";
    out += panel(plot, 5, label("resident", bytes));
    return out + "unset multiplot\n";
}

Result<void> draw_sweep(const std::string& path, const SweepPlot& plot) {
    return gnuplot::draw_svg(path, gnuplot_script(plot));
}

}  // namespace cxlpool::ctl

#include "cxlpoolctl/simulation_plot.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/check.hpp"
#include "cxlpoolctl/gnuplot.hpp"

namespace cxlpool::ctl {
namespace {

using gnuplot::label;
using gnuplot::quoted;
using gnuplot::Scale;
using gnuplot::scale_for;
using gnuplot::scaled;
using replay::ReplayReport;

struct Series {
    Regime regime;
    EvictionPolicy policy;
    std::vector<const ReplayReport*> bounded;  // by size
    const ReplayReport* unbounded = nullptr;
};

std::vector<Series> series_of(const std::vector<ReplayReport>& runs) {
    std::vector<Series> out;
    for (const ReplayReport& run : runs) {
        auto at = std::find_if(out.begin(), out.end(), [&](const Series& series) {
            return series.regime == run.options.regime && series.policy == run.options.policy;
        });
        if (at == out.end()) {
            at = out.insert(out.end(), Series{run.options.regime, run.options.policy, {}, nullptr});
        }
        if (run.options.pool_bytes == 0) {
            at->unbounded = &run;
        } else {
            at->bounded.push_back(&run);
        }
    }
    for (Series& series : out) {
        std::sort(series.bounded.begin(), series.bounded.end(),
                  [](const ReplayReport* a, const ReplayReport* b) {
                      return a->options.pool_bytes < b->options.pool_bytes;
                  });
    }
    return out;
}

std::string share(const ReplayReport& run) {
    const double spans = static_cast<double>(std::max<std::uint64_t>(1, run.total.spans));
    char text[40];
    std::snprintf(text, sizeof text, " %.6f", static_cast<double>(run.total.hits) / spans);
    return text;
}

const char* colour(Regime regime) {
    switch (regime) {
        case Regime::private_copies:
            return "#b2182b";
        case Regime::copy_only:
            return "#2171b5";
        case Regime::coherent:
            break;
    }
    return "#1b7837";
}

std::string name(const Series& series) {
    const std::uint64_t pools =
        (series.bounded.empty() ? series.unbounded : series.bounded.front())->pools;
    return std::string(to_word(series.regime)) + ", " + std::string(to_word(series.policy)) +
           (pools > 1 ? ", " + std::to_string(pools) + " pools" : "");
}

}  // namespace

std::string gnuplot_script(const SimulationPlot& plot) {
    const std::vector<Series> all = series_of(plot.runs);
    const std::vector<const ReplayReport*>& sizes = all.front().bounded;
    CXLPOOL_CHECK(!sizes.empty());
    const std::uint64_t smallest = sizes.front()->options.pool_bytes;
    const std::uint64_t largest = sizes.back()->options.pool_bytes;
    const Scale x = scale_for(smallest, true);
    std::string out =
        "set terminal svg size 1100,560 noenhanced font 'sans-serif,14' background '#ffffff'\n";
    std::string lines;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Series& series = all[i];
        const std::string block = "$series" + std::to_string(i);
        out += block + " << end_of_series\n";
        for (const ReplayReport* run : series.bounded) {
            out += scaled(run->options.pool_bytes, x) + share(*run) + '\n';
        }
        out += "end_of_series\n";
        const std::string style = std::string(" lc rgb '") + colour(series.regime) + "'" +
                                  (series.policy == EvictionPolicy::lru ? " dt (8,6)" : "");
        lines += (lines.empty() ? " " : ", ") + block + " using 1:2 with linespoints pt 7 ps 0.6" +
                 " lw 2.5" + style + " title " + quoted(name(series));
        if (series.unbounded != nullptr) {
            lines += "," + share(*series.unbounded) + " with lines lw 1" + style + " title " +
                     quoted(name(series) + ", without bound");
        }
    }
    out +=
        "set border 3 lc rgb '#666666'\nset tics nomirror out tc rgb '#222222'\n"
        "set grid lc rgb '#dddddd' lw 1 dt 1\nset format x '%g'\nset format y '%.2f'\n"
        "set key outside right top reverse Left samplen 4 spacing 1.3\nset yrange [0:*]\n";
    if (smallest < largest) {
        out += "set logscale x 2\nset xrange [" + scaled(smallest, x) + ":" + scaled(largest, x) +
               " ]\n";
    }
    out += "set xlabel " + quoted(label("pool", x)) + "\nset ylabel 'hit share of spans'\n";
    out += "set title " + quoted(plot.title) + " font ',17'\n";
    return out + "plot" + lines + "\n";
}

Result<void> draw_simulation(const std::string& path, const SimulationPlot& plot) {
    return gnuplot::draw_svg(path, gnuplot_script(plot));
}

}  // namespace cxlpool::ctl

#include "cxlpoolctl/sweep_plot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/unique_fd.hpp"
#include "cxlpoolctl/files.hpp"
#include "cxlpoolctl/table.hpp"

extern char** environ;

namespace cxlpool::ctl {
namespace {

// Of a picture of kMaxSweepPoints points; gnuplot writes some 20 bytes a point and line.
constexpr std::size_t kMaxPictureBytes = 16U << 20U;

// In single quotes gnuplot takes everything as it is but the quote itself.
std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : printable(text)) {
        out.append(c == '\'' ? 2 : 1, c);
    }
    return out + "'";
}

struct Scale {
    double factor;
    std::string unit;
};

Scale scale_for(std::uint64_t largest, bool bytes) {
    struct Step {
        std::uint64_t at;
        const char* unit;
    };
    static constexpr std::array kBytes{Step{1ULL << 40U, "TiB"}, Step{1ULL << 30U, "GiB"},
                                       Step{1ULL << 20U, "MiB"}, Step{1ULL << 10U, "KiB"}};
    static constexpr std::array kCounts{Step{1'000'000'000, "billions"},
                                        Step{1'000'000, "millions"}, Step{1'000, "thousands"}};
    for (const Step& step : kBytes) {
        if (bytes && largest >= step.at) {
            return {static_cast<double>(step.at), step.unit};
        }
    }
    for (const Step& step : kCounts) {
        if (!bytes && largest >= step.at) {
            return {static_cast<double>(step.at), step.unit};
        }
    }
    return {1.0, bytes ? "bytes" : ""};
}

std::string scaled(std::uint64_t value, const Scale& scale) {
    char text[40];
    std::snprintf(text, sizeof text, " %.12g", static_cast<double>(value) / scale.factor);
    return text;
}

std::string label(std::string_view what, const Scale& scale) {
    return std::string(what) + (scale.unit.empty() ? "" : ", " + scale.unit);
}

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

class SpawnActions {
  public:
    SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
    ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }

    bool put(const UniqueFd& fd, int as) {
        return ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), as) == 0;
    }
    const posix_spawn_file_actions_t* get() const noexcept { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_{};
};

// A file without a name: gnuplot can read and write at its own pace, and nothing is left behind.
UniqueFd nameless_file() {
    return UniqueFd(::memfd_create("cxlpoolctl-plot", MFD_CLOEXEC));
}

bool write_whole(const UniqueFd& fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd.get(), content.data(), content.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return ::lseek(fd.get(), 0, SEEK_SET) == 0;
}

std::string read_whole(const UniqueFd& fd, std::size_t max_bytes) {
    std::string content(max_bytes, '\0');
    std::size_t filled = 0;
    while (filled < content.size()) {
        const ssize_t got = ::pread(fd.get(), content.data() + filled, content.size() - filled,
                                    static_cast<off_t>(filled));
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            break;
        }
        filled += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    content.resize(filled);
    return content;
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return status;
}

Result<std::string> run_gnuplot(std::string_view script) {
    const UniqueFd in = nameless_file();
    const UniqueFd out = nameless_file();
    const UniqueFd err = nameless_file();
    SpawnActions actions;
    if (!in || !out || !err || !write_whole(in, script) || !actions.put(in, STDIN_FILENO) ||
        !actions.put(out, STDOUT_FILENO) || !actions.put(err, STDERR_FILENO)) {
        return os_error("gnuplot cannot be given its script", errno);
    }
    // -d: the user's own start-up file must not change the picture.
    std::string name = "gnuplot";
    std::string defaults = "-d";
    std::string standard_input = "-";
    char* arguments[] = {name.data(), defaults.data(), standard_input.data(), nullptr};
    pid_t child = 0;
    const int failure =
        ::posix_spawnp(&child, name.c_str(), actions.get(), nullptr, arguments, environ);
    if (failure == ENOENT) {
        return Error{Errc::not_found,
                     "--plot: gnuplot is not installed, and it is what draws; on Debian: apt-get "
                     "install gnuplot-nox"};
    }
    if (failure != 0) {
        return os_error("--plot: gnuplot cannot be started", failure);
    }
    const int status = wait_for(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        constexpr std::size_t kShown = 300;
        return Error{Errc::io, "--plot: gnuplot failed: " + printable(read_whole(err, kShown))};
    }
    std::string picture = read_whole(out, kMaxPictureBytes);
    if (picture.find("</svg>") == std::string::npos) {
        return Error{Errc::io, "--plot: gnuplot ended well, but wrote no whole picture"};
    }
    return picture;
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
    const Result<std::string> picture = run_gnuplot(gnuplot_script(plot));
    if (!picture) {
        return picture.error();
    }
    return write_file_atomically(path, *picture);
}

}  // namespace cxlpool::ctl

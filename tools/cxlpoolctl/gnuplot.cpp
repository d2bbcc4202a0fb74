#include "cxlpoolctl/gnuplot.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "cxlpoolctl/files.hpp"

extern char** environ;

namespace cxlpool::ctl {
namespace {

// Of a picture of 10,000 points (kMaxSweepPoints); gnuplot writes some 20 bytes a point and line.
constexpr std::size_t kMaxPictureBytes = 16U << 20U;

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

namespace gnuplot {

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : printable(text)) {
        out.append(c == '\'' ? 2 : 1, c);
    }
    return out + "'";
}

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

Result<void> draw_svg(const std::string& path, std::string_view script) {
    const Result<std::string> picture = run_gnuplot(script);
    if (!picture) {
        return picture.error();
    }
    return write_file_atomically(path, *picture);
}

}  // namespace gnuplot
}  // namespace cxlpool::ctl

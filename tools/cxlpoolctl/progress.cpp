#include "cxlpoolctl/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "base/text.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::uint64_t kEveryNs = 200'000'000;
constexpr double kNsPerSecond = 1e9;

}  // namespace

bool is_terminal(const std::ostream& err) {
    return &err == &std::cerr && ::isatty(STDERR_FILENO) == 1;
}

void Progress::start(std::string what, std::uint64_t of) {
    what_ = printable(what);
    of_ = of;
    started_at_ = clock_.monotonic();
    shown_at_.reset();
}

void Progress::done(std::uint64_t requests) {
    if (!wanted_) {
        return;
    }
    const Timestamp now = clock_.monotonic();
    if (shown_at_ && now.ns - shown_at_->ns < kEveryNs) {
        return;
    }
    shown_at_ = now;
    const std::uint64_t taken_ns = std::max<std::uint64_t>(1, now.ns - started_at_.ns);
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(requests) * kNsPerSecond /
                                                 static_cast<double>(taken_ns));
    std::string line = what_ + ": " + std::to_string(requests);
    line += of_ == 0 ? "" : " of " + std::to_string(of_);
    line += " requests, " + std::to_string(rate) + "/s";
    const std::size_t length = line.size();
    line.append(width_ > length ? width_ - length : 0, ' ');
    width_ = length;
    err_ << '\r' << line << std::flush;
}

void Progress::clear() {
    if (width_ > 0) {
        err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
        width_ = 0;
    }
}

}  // namespace cxlpool::ctl

// How far a long piece of work is, for whoever waits at the terminal.
//
// Invariants: one line, written over itself and gone in the end; at most five times a second;
// nothing at all when it is not wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace cxlpool::ctl {

// Is this the program's standard error, and does somebody look at it?
bool is_terminal(const std::ostream& err);

class Progress {
  public:
    Progress(std::ostream& err, const Clock& clock, bool wanted)
        : err_(err), clock_(clock), wanted_(wanted) {}
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // What is being done from now on, on how many requests (0: not known), as in
    // "coherent, fair, 4 GiB: 123456 of 1000000 requests, 430000/s".
    void start(std::string what, std::uint64_t of);
    void done(std::uint64_t requests);
    void clear();

  private:
    std::ostream& err_;
    const Clock& clock_;
    bool wanted_;
    std::string what_;
    std::uint64_t of_ = 0;
    Timestamp started_at_;
    std::optional<Timestamp> shown_at_;
    std::size_t width_ = 0;  // of what stands in the line
};

}  // namespace cxlpool::ctl

// One verb of cxlpoolctl: what it is called, and what runs it.
//
// Responsible for: the table of verbs and the three exit statuses. Invariants: a verb writes its
// answer to `out` and everything else to `err`; nothing is done before the whole command line has
// been understood.
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cxlpoolctl/options.hpp"

namespace cxlpool::ctl {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNo = 1;     // the answer is no, or the operation failed
inline constexpr int kExitUsage = 2;  // bad usage, bad configuration, a file that cannot be read

struct Streams {
    std::istream& in;
    std::ostream& out;
    std::ostream& err;
};

struct Verb {
    std::string_view name;  // "topology", "plan fleet"
    std::string_view summary;
    int (*run)(std::span<const std::string> arguments, Streams& streams);
};

// In the order in which the help lists them.
std::span<const Verb> verbs() noexcept;

int run_topology(std::span<const std::string> arguments, Streams& streams);
int run_profile(std::span<const std::string> arguments, Streams& streams);
int run_profile_check(std::span<const std::string> arguments, Streams& streams);
int run_plan_fleet(std::span<const std::string> arguments, Streams& streams);
int run_plan_placement(std::span<const std::string> arguments, Streams& streams);
int run_status(std::span<const std::string> arguments, Streams& streams);
int run_verdict(std::span<const std::string> arguments, Streams& streams);
int run_cell_list(std::span<const std::string> arguments, Streams& streams);
int run_cell_trust(std::span<const std::string> arguments, Streams& streams);
int run_cell_taint(std::span<const std::string> arguments, Streams& streams);
int run_cell_poison(std::span<const std::string> arguments, Streams& streams);

// Says what failed, as "cxlpoolctl: ...", and gives the exit status that goes with it.
int fail(Streams& streams, const Error& error, int exit_status = kExitNo);

// The same for a command line that was not understood; points to the help of `verb`.
int fail_usage(Streams& streams, std::string_view verb, std::string_view message);

// What a verb does first. Nothing when all is said already: its help was asked for, or the command
// line was not understood; `exit_status` is then the verb's. Else `exit_status` is kExitNo.
std::optional<OptionValues> read_options(const OptionSet& set, std::string_view verb,
                                         std::span<const std::string> arguments, Streams& streams,
                                         int& exit_status);

}  // namespace cxlpool::ctl

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
    OptionSet (*options)();
    int (*run)(const OptionValues& values, Streams& streams);
};

// In the order in which the help lists them.
std::span<const Verb> verbs() noexcept;

OptionSet topology_options();
int run_topology(const OptionValues& values, Streams& streams);
OptionSet profile_options();
int run_profile(const OptionValues& values, Streams& streams);
OptionSet profile_check_options();
int run_profile_check(const OptionValues& values, Streams& streams);
OptionSet plan_fleet_options();
int run_plan_fleet(const OptionValues& values, Streams& streams);
OptionSet plan_placement_options();
int run_plan_placement(const OptionValues& values, Streams& streams);
OptionSet simulate_options();
int run_simulate(const OptionValues& values, Streams& streams);
OptionSet status_options();
int run_status(const OptionValues& values, Streams& streams);
OptionSet stats_options();
int run_stats(const OptionValues& values, Streams& streams);
OptionSet reload_options();
int run_reload(const OptionValues& values, Streams& streams);
OptionSet verdict_options();
int run_verdict(const OptionValues& values, Streams& streams);
OptionSet cell_list_options();
int run_cell_list(const OptionValues& values, Streams& streams);
OptionSet cell_trust_options();
int run_cell_trust(const OptionValues& values, Streams& streams);
OptionSet cell_taint_options();
int run_cell_taint(const OptionValues& values, Streams& streams);
OptionSet cell_poison_options();
int run_cell_poison(const OptionValues& values, Streams& streams);
OptionSet tenant_list_options();
int run_tenant_list(const OptionValues& values, Streams& streams);
OptionSet tenant_show_options();
int run_tenant_show(const OptionValues& values, Streams& streams);
OptionSet tenant_add_options();
int run_tenant_add(const OptionValues& values, Streams& streams);
OptionSet tenant_set_options();
int run_tenant_set(const OptionValues& values, Streams& streams);
OptionSet tenant_salt_options();
int run_tenant_salt(const OptionValues& values, Streams& streams);
OptionSet tenant_weight_options();
int run_tenant_weight(const OptionValues& values, Streams& streams);
OptionSet tenant_reserve_options();
int run_tenant_reserve(const OptionValues& values, Streams& streams);
OptionSet tenant_forget_options();
int run_tenant_forget(const OptionValues& values, Streams& streams);
OptionSet tenant_receipts_options();
int run_tenant_receipts(const OptionValues& values, Streams& streams);
OptionSet receipt_check_options();
int run_receipt_check(const OptionValues& values, Streams& streams);

// Says what failed, as "cxlpoolctl: ...", and gives the exit status that goes with it.
int fail(Streams& streams, const Error& error, int exit_status = kExitNo);

// The same for a command line that was not understood; points to the help of `verb`.
int fail_usage(Streams& streams, std::string_view verb, std::string_view message);

}  // namespace cxlpool::ctl

// Everything that cxlpoolctl shows, as tables and as JSON.
//
// Responsible for: the one place where documents become text. A document is the JSON that `--json`
// prints (from this program's own report, or from the daemon); the tables are made from it, so that
// both always say the same. Invariants: a missing or null field is shown as "-", never as 0;
// 64-bit numbers are exact.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "domain/fleet_plan.hpp"
#include "domain/placement.hpp"
#include "domain/profile_file.hpp"
#include "replay/replay.hpp"

namespace cxlpool::ctl {

// A document on standard output, with exactly one newline at its end.
void print_json(std::ostream& out, std::string_view document);

// `{"source","memdevs","regions","dax_devices","nodes","pools","findings"}`; hosts and coherence
// of pools and the NUMA tiers come from the profiles.
void print_topology(std::ostream& out, const json::Value& topology, const json::Value& profiles);
void print_profiles(std::ostream& out, const json::Value& profiles);
// The rows of one profile that have a value.
void print_named_fields(std::ostream& out, const json::Value& profile);
// True when the document holds a finding of severity warning or error.
bool has_serious_finding(const json::Value& topology);

// What `profile check` found out about one file.
struct CheckedProfileFile {
    std::string name;  // as in messages
    Result<ProfileFile> file;
};
// {"files":[{"file","good","label","host","time_ns","tiers","pools"} or {"file","good","error"}]}
std::string checked_files_json(const std::vector<CheckedProfileFile>& files);
// One good file: what it names, each field with its evidence.
void print_checked_file(std::ostream& out, const CheckedProfileFile& checked);

struct FleetPlanView {
    FleetPlanInput input;
    FleetPlan plan;
    Profile profile;
};
std::string fleet_plan_json(const FleetPlanView& view);
// The same on one line, for a series; and the line of a point that has no plan:
// {"inputs":{...},"refused":"span_exceeds_capacity","message":"..."}.
std::string fleet_plan_line(const FleetPlanView& view);
std::string refused_plan_line(const FleetPlanInput& input, const Profile& profile,
                              const Error& why);
void print_fleet_plan(std::ostream& out, const FleetPlanView& view);

struct PlacementPlanView {
    struct Row {
        std::string name;
        Result<PlacementDirective> directive;  // or why the cell is left alone
    };
    Timestamp now;
    std::vector<Row> rows;
};
void print_placement_plan_json(std::ostream& out, const PlacementPlanView& view);
void print_placement_plan(std::ostream& out, const PlacementPlanView& view);

struct SimulationView {
    std::string file;  // as in messages
    const replay::Trace& trace;
    std::uint64_t bytes_per_token = 0;
    replay::HitRule count = replay::HitRule::prefix;
    std::vector<replay::ReplayReport> runs;
};
std::string simulation_json(const SimulationView& view);
// All runs side by side; then, where there are several tenants, each run by tenant.
void print_simulation(std::ostream& out, const SimulationView& view);
// "no bound" for 0; and "coherent, fair, 4 GiB".
std::string pool_size_text(std::uint64_t pool_bytes);
std::string run_name(const replay::ReplayOptions& options);

void print_status(std::ostream& out, const json::Value& status);

// `before`: an earlier answer, whose counters are subtracted; null: since the daemon's start.
void print_stats(std::ostream& out, const json::Value& stats, const json::Value* before);
// In the text format of Prometheus, version 0.0.4.
void print_prometheus(std::ostream& out, const json::Value& stats);
void print_cells(std::ostream& out, const json::Value& cells);
void print_tenant_list(std::ostream& out, const json::Value& tenants);
void print_receipt(std::ostream& out, const json::Value& receipt);
void print_receipts(std::ostream& out, const json::Value& receipts);
void print_tenant(std::ostream& out, const json::Value& tenant);
// The row of one tenant, as it stands in the document; "null" when it has none.
std::string tenant_json(std::string_view tenants_document, std::uint64_t tenant);

// The verdict of the cell that came nearest to a hit: "hit/in_place", "untrusted"; "miss/absent"
// when no cell has the span.
std::string best_verdict(const json::Value& explain);
void print_explain(std::ostream& out, const json::Value& explain);

}  // namespace cxlpool::ctl

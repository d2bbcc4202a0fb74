// cxlpoolctl plan fleet
#include <array>
#include <optional>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/sweep.hpp"
#include "cxlpoolctl/sweep_plot.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "plan fleet";
constexpr std::array<std::string_view, 4> kRequired{"tenants", "tokens", "bytes",
                                                    "recompute-ns-per-token"};

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
        out += (out.empty() ? "" : ", ") + name;
    }
    return out;
}

bool is_usage(const Error& error) {
    return error.code() == Errc::invalid_argument || error.code() == Errc::overflow;
}

Result<FleetPlanInput> read_input(const OptionValues& values) {
    FleetPlanInput input;
    const auto take = [&](const std::string& name, std::uint64_t& out) -> Result<void> {
        const Result<std::optional<std::uint64_t>> number =
            name == "bytes" ? values.bytes(name) : values.number(name);
        if (!number) {
            return number.error();
        }
        out = number->value_or(0);
        return {};
    };
    CXLPOOL_TRY(take("tenants", input.tenants));
    CXLPOOL_TRY(take("tokens", input.tokens));
    CXLPOOL_TRY(take("bytes", input.bytes));
    CXLPOOL_TRY(take("recompute-ns-per-token", input.recompute_ns_per_token));
    const Result<std::optional<std::uint64_t>> hosts = values.number("hosts");
    if (!hosts) {
        return hosts.error();
    }
    input.hosts = *hosts;
    return input;
}

// The profiles that a plan may be made with: every tier on paper, the pools of this machine or of
// captured files when one of them is asked for, and what the file says laid over both.
Result<std::vector<Profile>> known_profiles(const OptionValues& values,
                                            const std::optional<ProfileFile>& file,
                                            Streams& streams, int& exit_status) {
    std::vector<Profile> profiles;
    for (const Tier tier : kTiers) {
        profiles.push_back(representative_profile(tier));
    }
    if (values.has("from") || (values.has("pool") && !file)) {
        const Result<TopologySource> source = read_source(values, streams, exit_status);
        if (!source) {
            return source.error();
        }
        for (const PoolCandidate& pool : source->assessment.pools) {
            profiles.push_back(pool.profile);
        }
    }
    return file ? merge(std::move(profiles), *file) : profiles;
}

// The only entry of the file; without a file, the tier that this product is about.
Result<std::string> default_name(const std::optional<ProfileFile>& file,
                                 const std::string& file_name) {
    if (!file) {
        return std::string(to_word(Tier::cxl));
    }
    std::vector<std::string> names;
    for (const std::vector<Profile>* list : {&file->tiers, &file->pools}) {
        for (const Profile& profile : *list) {
            names.push_back(profile.name);
        }
    }
    if (names.size() == 1) {
        return names.front();
    }
    return Error{Errc::invalid_argument, file_name +
                                             (names.empty() ? ": names no tier and no pool"
                                                            : ": names several tiers or pools; "
                                                              "choose with --tier or --pool: ") +
                                             joined(names)};
}

Result<std::optional<ProfileFile>> read_profile_option(const OptionValues& values,
                                                       Streams& streams) {
    const std::optional<std::string> name = values.value("profile");
    if (!name) {
        return std::optional<ProfileFile>();
    }
    Result<ProfileFile> file = read_profile_file(*name, streams);
    if (!file) {
        return file.error();
    }
    return std::optional<ProfileFile>(std::move(file).value());
}

// The profile that the options name. `exit_status` is what a failure is worth.
Result<Profile> choose_profile(const OptionValues& values, Streams& streams, int& exit_status) {
    exit_status = kExitUsage;
    std::string name = values.value("pool").value_or("");
    if (const std::optional<std::string> word = values.value("tier")) {
        const Result<Tier> tier = parse_tier(*word);
        if (!tier) {
            return Error{Errc::invalid_argument, "--tier: " + tier.error().message()};
        }
        name = *word;
    }
    const Result<std::optional<ProfileFile>> file = read_profile_option(values, streams);
    if (!file) {
        return file.error();
    }
    if (name.empty()) {
        Result<std::string> only = default_name(*file, values.value("profile").value_or(""));
        if (!only) {
            return only.error();
        }
        name = *only;
    }
    const Result<std::vector<Profile>> profiles =
        known_profiles(values, *file, streams, exit_status);
    if (!profiles) {
        return profiles.error();
    }
    std::vector<std::string> pools;
    for (const Profile& profile : *profiles) {
        if (profile.name == name) {
            return profile;
        }
        if (!parse_tier(profile.name)) {
            pools.push_back(profile.name);
        }
    }
    return Error{Errc::not_found, "no pool is called '" + name + "'; there " +
                                      (pools.empty() ? "are none" : "are: " + joined(pools))};
}

// What is wrong with the options as a whole; empty when nothing is.
std::string contradiction(const OptionValues& values, const std::optional<Sweep>& sweep) {
    if (values.has("plot") && !values.has("sweep")) {
        return "--plot draws a sweep: give --sweep, too";
    }
    if (values.value("plot") == "-") {
        return "--plot needs the name of a file: standard output carries the series";
    }
    if (sweep && values.has(sweep->variable)) {
        return "--" + sweep->variable + " and --sweep both give " + sweep->variable;
    }
    std::vector<std::string_view> required;
    for (const std::string_view name : kRequired) {
        if (!sweep || sweep->variable != name) {
            required.push_back(name);
        }
    }
    const std::string absent = missing(values, required);
    if (!absent.empty()) {
        return "missing: " + absent;
    }
    if (values.has("tier") && values.has("pool")) {
        return "--tier and --pool both choose the figures: give one";
    }
    if (values.has("from") && !values.has("pool")) {
        return "--from gives pools: choose one with --pool";
    }
    return {};
}

Result<std::optional<Sweep>> read_sweep(const OptionValues& values) {
    const std::optional<std::string> text = values.value("sweep");
    if (!text) {
        return std::optional<Sweep>();
    }
    Result<Sweep> sweep = parse_sweep(*text);
    if (!sweep) {
        return sweep.error();
    }
    return std::optional<Sweep>(std::move(sweep).value());
}

// The code is the stable part: scripts look for "span_exceeds_capacity".
Error coded(const Error& error) {
    return Error(error).with_context(errc_name(error.code()));
}

FleetPlanInput at_point(FleetPlanInput input, const std::string& variable, std::uint64_t value) {
    if (variable == "tenants") {
        input.tenants = value;
    } else if (variable == "hosts") {
        input.hosts = value;
    } else if (variable == "tokens") {
        input.tokens = value;
    } else {
        input.bytes = value;
    }
    return input;
}

SweepPlot::Point plotted(std::uint64_t x, const FleetPlan& plan) {
    SweepPlot::Point point;
    point.x = x;
    for (const Regime regime : {Regime::private_copies, Regime::copy_only, Regime::coherent}) {
        const auto at = static_cast<std::size_t>(regime);
        point.prefill_tokens.at(at) = plan.regime(regime).prefill_tokens;
        point.resident_bytes.at(at) = plan.regime(regime).resident_bytes;
    }
    return point;
}

// What the points have in common.
std::string sweep_title(const Sweep& sweep, const FleetPlanInput& input, const Profile& profile) {
    std::string out = "Fleet plan over " + profile.name;
    const auto add = [&](const char* name, const std::string& text) {
        out += sweep.variable == name ? "" : ", " + text;
    };
    add("tenants", std::to_string(input.tenants) + " tenants");
    if (input.hosts) {
        add("hosts", std::to_string(*input.hosts) + " hosts");
    }
    add("tokens", std::to_string(input.tokens) + " tokens");
    add("bytes", format_bytes(input.bytes));
    return out;
}

// One line a point, as soon as it is there. A point that has no plan says so in its line.
int run_sweep(const Sweep& sweep, const FleetPlanInput& input, const Profile& profile,
              const OptionValues& values, Streams& streams) {
    SweepPlot plot;
    plot.variable = sweep.variable;
    plot.geometric = sweep.geometric;
    plot.title = sweep_title(sweep, input, profile);
    std::size_t refused = 0;
    std::string first_refusal;
    for (const std::uint64_t value : sweep.points) {
        const FleetPlanInput point = at_point(input, sweep.variable, value);
        const Result<FleetPlan> plan = plan_fleet(point, profile);
        if (plan) {
            print_json(streams.out, fleet_plan_line({point, *plan, profile}));
            plot.holds = plan->holds;
            plot.points.push_back(plotted(value, *plan));
            continue;
        }
        print_json(streams.out, refused_plan_line(point, profile, plan.error()));
        if (refused++ == 0) {
            first_refusal =
                sweep.variable + " " + std::to_string(value) + ": " + coded(plan.error()).message();
        }
    }
    if (values.has("plot") && !plot.points.empty()) {
        const Result<void> drawn = draw_sweep(*values.value("plot"), plot);
        if (!drawn) {
            return fail(streams, drawn.error());
        }
    }
    if (refused == 0) {
        return kExitOk;
    }
    return fail(streams,
                Error{Errc::invalid_argument,
                      std::to_string(refused) + " of " + std::to_string(sweep.points.size()) +
                          " points have no plan; the first: " + first_refusal});
}

}  // namespace

OptionSet plan_fleet_options() {
    OptionSet set(
        "plan fleet --tenants N --tokens T --bytes B --recompute-ns-per-token R [OPTION...]",
        "What a prefix of T tokens and B bytes costs when N tenants want it: built by every host,\n"
        "copied to every host, or attended in place. The profile decides which of the three "
        "holds.");
    set.value("tenants", "N", "tenants that want the prefix")
        .value("hosts", "H",
               "hosts that they are on, at most N (default: N); a prefix is built or\n"
               "copied once a host, whatever its tenants")
        .value("tokens", "T", "tokens of the prefix")
        .value("bytes", "B", "bytes of its KV cache: 67108864, 64MiB, 1GB")
        .value("recompute-ns-per-token", "R", "time to compute one token again, in ns")
        .value("tier", "TIER",
               "plan with this tier's figures: hbm, dram, numa_far, cxl, remote_dram, disk or\n"
               "remote (default: cxl); they are representative where no file says better")
        .value("pool", "NAME",
               "plan with a pool's figures: of the --profile file, else of this machine")
        .value("profile", "FILE", "lay this profile file over the figures ('-': standard input)");
    add_source_options(set);
    set.value("sweep", "NAME=FROM..TO[+STEP|*FACTOR]",
              "one plan for each value of tenants, hosts, tokens or bytes, as JSON lines:\n"
              "tenants=1..1024, bytes=1MiB..1GiB*2")
        .value("plot", "FILE.svg", "draw the sweep, too, with gnuplot")
        .flag("json", "JSON instead of tables");
    return set;
}

int run_plan_fleet(const OptionValues& values, Streams& streams) {
    int exit_status = kExitNo;
    const Result<std::optional<Sweep>> sweep = read_sweep(values);
    if (!sweep) {
        return fail_usage(streams, kVerb, sweep.error().message());
    }
    const std::string wrong = contradiction(values, *sweep);
    if (!wrong.empty()) {
        return fail_usage(streams, kVerb, wrong);
    }
    const Result<FleetPlanInput> input = read_input(values);
    if (!input) {
        return fail_usage(streams, kVerb, input.error().message());
    }
    const Result<Profile> profile = choose_profile(values, streams, exit_status);
    if (!profile) {
        return fail(streams, profile.error(), exit_status);
    }
    if (*sweep) {
        return run_sweep(**sweep, *input, *profile, values, streams);
    }
    const Result<FleetPlan> plan = plan_fleet(*input, *profile);
    if (!plan) {
        return fail(streams, coded(plan.error()), is_usage(plan.error()) ? kExitUsage : kExitNo);
    }
    const FleetPlanView view{*input, *plan, *profile};
    if (values.has("json")) {
        print_json(streams.out, fleet_plan_json(view));
    } else {
        print_fleet_plan(streams.out, view);
    }
    return kExitOk;
}

}  // namespace cxlpool::ctl

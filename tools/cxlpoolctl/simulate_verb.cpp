// cxlpoolctl simulate
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <ostream>

#include "base/clock.hpp"
#include "base/units.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/progress.hpp"
#include "cxlpoolctl/simulation_plot.hpp"
#include "cxlpoolctl/verb.hpp"
#include "replay/trace_reader.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "simulate";
constexpr std::size_t kMaxRuns = 200;  // more than a table or a picture can show
constexpr std::array kRegimes{Regime::private_copies, Regime::copy_only, Regime::coherent};
constexpr std::array kPolicies{EvictionPolicy::fair, EvictionPolicy::lru};

Error wrong(const std::string& option, const std::string& what) {
    return Error{Errc::invalid_argument, "--" + option + ": " + what};
}

// "a,b,c"; what `parse` makes of each, in order.
template <typename T>
Result<std::vector<T>> read_list(const std::string& option, const std::string& text,
                                 Result<T> (*parse)(std::string_view)) {
    std::vector<T> out;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const Result<T> item = parse(std::string_view(text).substr(begin, end - begin));
        if (!item) {
            return wrong(option, item.error().message());
        }
        if (std::find(out.begin(), out.end(), *item) != out.end()) {
            return wrong(option, "'" + text.substr(begin, end - begin) + "' is given twice");
        }
        out.push_back(*item);
        begin = end + 1;
    }
    return out;
}

// One of `known`, by its word.
template <typename T, std::size_t N>
Result<T> parse_word(const char* what, const std::array<T, N>& known, std::string_view text) {
    std::string words;
    for (const T value : known) {
        if (to_word(value) == text) {
            return value;
        }
        words += (words.empty() ? "" : ", ") + std::string(to_word(value));
    }
    return Error{Errc::unknown_word,
                 "'" + std::string(text) + "' is no " + what + ": known are " + words};
}

Result<Regime> parse_regime(std::string_view text) {
    return parse_word("regime", kRegimes, text);
}
Result<EvictionPolicy> parse_policy(std::string_view text) {
    return parse_word("policy", kPolicies, text);
}

// A list, or all there is for the word "all".
template <typename T, std::size_t N>
Result<std::vector<T>> read_words(const OptionValues& values, const std::string& option,
                                  const std::array<T, N>& known, T otherwise,
                                  Result<T> (*parse)(std::string_view)) {
    const std::string text = values.value(option).value_or(std::string(to_word(otherwise)));
    return text == "all" ? std::vector<T>(known.begin(), known.end())
                         : read_list<T>(option, text, parse);
}

// A number in 1..max, `otherwise` when it is not given.
Result<std::uint64_t> read_number(const OptionValues& values, const std::string& option,
                                  std::uint64_t max, std::uint64_t otherwise, bool bytes = false) {
    const Result<std::optional<std::uint64_t>> number =
        bytes ? values.bytes(option) : values.number(option);
    if (!number) {
        return number.error();
    }
    if (*number && (**number == 0 || **number > max)) {
        return wrong(option, "a number from 1 to " + std::to_string(max) + " is wanted");
    }
    return number->value_or(otherwise);
}

Result<std::optional<replay::Assignment>> read_assignment(const OptionValues& values,
                                                          std::uint32_t max_tenants) {
    if (!values.has("tenants") && !values.has("assign")) {
        return std::optional<replay::Assignment>();
    }
    const Result<std::uint64_t> tenants = read_number(values, "tenants", max_tenants, 1);
    if (!tenants) {
        return tenants.error();
    }
    const std::string word = values.value("assign").value_or("request-modulo");
    const Result<replay::AssignRule> rule = replay::parse_assign_rule(word);
    if (!rule) {
        return wrong("assign", rule.error().message());
    }
    if (*rule == replay::AssignRule::single && *tenants != 1) {
        return wrong("assign", "single leaves one tenant: leave --tenants out");
    }
    if (*rule != replay::AssignRule::single && !values.has("tenants")) {
        return wrong("assign", word + " needs --tenants");
    }
    return std::optional(replay::Assignment{*rule, static_cast<std::uint32_t>(*tenants)});
}

struct Request {
    std::string file;
    replay::TraceOptions trace;
    std::vector<replay::ReplayOptions> runs;
};

Result<std::vector<replay::ReplayOptions>> read_runs(const OptionValues& values) {
    replay::ReplayOptions run;
    const Result<std::uint64_t> bytes = read_number(
        values, "bytes-per-token", replay::kMaxBytesPerToken, run.bytes_per_token, true);
    const Result<replay::HitRule> count =
        replay::parse_hit_rule(values.value("count").value_or(std::string(to_word(run.count))));
    const auto pools = read_list("pool", values.value("pool").value_or("0"), parse_bytes);
    const auto regimes = read_words(values, "regime", kRegimes, run.regime, parse_regime);
    const auto policies = read_words(values, "policy", kPolicies, run.policy, parse_policy);
    if (!count) {
        return wrong("count", count.error().message());
    }
    if (!bytes || !pools || !regimes || !policies) {
        return !bytes     ? bytes.error()
               : !pools   ? pools.error()
               : !regimes ? regimes.error()
                          : policies.error();
    }
    run.bytes_per_token = *bytes;
    run.count = *count;
    std::vector<replay::ReplayOptions> out;
    for (const Regime regime : *regimes) {
        for (const EvictionPolicy policy : *policies) {
            for (const std::uint64_t pool : *pools) {
                run.regime = regime;
                run.policy = policy;
                run.pool_bytes = pool;
                out.push_back(run);
            }
        }
    }
    if (out.size() > kMaxRuns) {
        return Error{Errc::invalid_argument, std::to_string(out.size()) +
                                                 " simulations are more than " +
                                                 std::to_string(kMaxRuns) + ": give fewer sizes"};
    }
    return out;
}

Result<Request> read_request(const OptionValues& values) {
    Request out;
    const std::optional<std::string> file = values.value("trace");
    if (!file) {
        return Error{Errc::invalid_argument, "missing: --trace"};
    }
    out.file = *file;
    const Result<std::uint64_t> block =
        read_number(values, "block-tokens", replay::kMaxBlockTokens, out.trace.block_tokens);
    if (!block) {
        return block.error();
    }
    out.trace.block_tokens = *block;
    const Result<std::optional<replay::Assignment>> assignment =
        read_assignment(values, out.trace.limits.tenants);
    if (!assignment) {
        return assignment.error();
    }
    out.trace.assignment = *assignment;
    Result<std::vector<replay::ReplayOptions>> runs = read_runs(values);
    if (!runs) {
        return runs.error();
    }
    out.runs = std::move(runs).value();
    CXLPOOL_TRY(replay::check_sizes(out.trace.block_tokens, out.runs.front().bytes_per_token));
    if (values.has("plot") &&
        (values.value("plot") == "-" ||
         std::none_of(out.runs.begin(), out.runs.end(),
                      [](const replay::ReplayOptions& run) { return run.pool_bytes != 0; }))) {
        return wrong("plot", "a file's name is wanted, and a --pool with a bound to draw");
    }
    return out;
}

Result<replay::Trace> read_trace_file(const Request& request, Streams& streams,
                                      Progress& progress) {
    const bool standard_input = request.file == "-";
    const std::string name = standard_input ? "standard input" : request.file;
    std::ifstream file;
    if (!standard_input) {
        errno = 0;
        file.open(request.file, std::ios::binary);
        if (!file) {
            return os_error(request.file + ": cannot be opened", errno);
        }
    }
    progress.start("reading " + name, 0);
    return replay::read_trace(name, standard_input ? streams.in : file, request.trace,
                              [&](std::uint64_t requests) { progress.done(requests); });
}

}  // namespace

OptionSet simulate_options() {
    OptionSet set(
        "simulate --trace FILE [OPTION...]",
        "What a pool would have saved: replays a trace of requests through the registry of the\n"
        "daemon, without a daemon and without bytes, and counts hits, prefill tokens saved and\n"
        "evictions of each tenant. Several sizes, regimes and policies make a comparison. The\n"
        "layouts of traces are explained in docs/simulate.md.");
    set.value("trace", "FILE", "the trace, as JSON lines ('-': standard input)")
        .value("pool", "SIZE[,SIZE...]", "sizes of the pool, as 64GiB; 0 has no bound (default: 0)")
        .value("regime", "REGIME[,...]|all",
               "private: a pool of the size for each tenant, nothing shared; copy_only: one pool,\n"
               "what is used of another is copied; coherent: one pool, one copy (the default)")
        .value("policy", "POLICY[,...]|all",
               "whose cell goes from a full pool: fair (the default) or lru")
        .value("count", "prefix|blocks",
               "hits: up to the first miss of a prompt (the default), or all that was found")
        .value("bytes-per-token", "SIZE",
               "KV cache of a token (default: 128KiB: 32 layers, 8 KV heads of 128, 16 bits)")
        .value("block-tokens", "N", "tokens of a span (default: 512)")
        .value("tenants", "N", "of a trace that names none: make N (default: 1)")
        .value("assign", "RULE",
               "and give them the requests by this rule: request-modulo (the default),\n"
               "first-block or single")
        .value("plot", "FILE.svg", "draw the hit share over the size of the pool, with gnuplot")
        .flag("progress", "show progress, also where standard error is no terminal")
        .flag("json", "JSON instead of tables");
    return set;
}

int run_simulate(const OptionValues& values, Streams& streams) {
    const Result<Request> request = read_request(values);
    if (!request) {
        return fail_usage(streams, kVerb, request.error().message());
    }
    Progress progress(streams.err, system_clock(),
                      values.has("progress") || is_terminal(streams.err));
    const Result<replay::Trace> trace = read_trace_file(*request, streams, progress);
    if (!trace) {
        progress.clear();
        return fail(streams, trace.error(), kExitUsage);
    }
    SimulationView view{request->file == "-" ? "standard input" : request->file,
                        *trace,
                        request->runs.front().bytes_per_token,
                        request->runs.front().count,
                        {}};
    for (const replay::ReplayOptions& run : request->runs) {
        progress.start(run_name(run), trace->requests().size());
        Result<replay::ReplayReport> report =
            replay::replay(*trace, run, [&](std::uint64_t requests) { progress.done(requests); });
        if (!report) {
            progress.clear();
            return fail(streams, report.error());
        }
        view.runs.push_back(std::move(report).value());
    }
    progress.clear();
    // First: whoever reads the table may stop reading it.
    Result<void> drawn;
    if (const std::optional<std::string> path = values.value("plot")) {
        drawn = draw_simulation(*path, SimulationPlot{"Simulation of " + view.file, view.runs});
    }
    if (values.has("json")) {
        print_json(streams.out, simulation_json(view));
    } else {
        print_simulation(streams.out, view);
    }
    if (!drawn) {
        return fail(streams, drawn.error());
    }
    return kExitOk;
}

}  // namespace cxlpool::ctl

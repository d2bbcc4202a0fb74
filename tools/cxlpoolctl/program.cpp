#include "cxlpoolctl/program.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "cxlpoolctl/suggest.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::array kVerbs{
    Verb{"topology", "what memory is there, what is usable, and what to do about the rest",
         topology_options, run_topology},
    Verb{"profile", "what each tier and pool is worth, and how each figure is known",
         profile_options, run_profile},
    Verb{"profile check", "is this a profile file, and what does it say", profile_check_options,
         run_profile_check},
    Verb{"plan fleet", "what a prefix that a whole fleet wants costs", plan_fleet_options,
         run_plan_fleet},
    Verb{"plan placement", "where cells should lie on the ladder of tiers", plan_placement_options,
         run_plan_placement},
    Verb{"simulate", "what pools of some sizes would have saved of a trace of requests",
         simulate_options, run_simulate},
    Verb{"status", "the running daemon: pools, tenants, connections", status_options, run_status},
    Verb{"stats", "what each tenant did and holds, and who pushed out whom", stats_options,
         run_stats},
    Verb{"reload", "have the daemon read its configuration again", reload_options, run_reload},
    Verb{"verdict", "may this tenant attend this span, and if not, why", verdict_options,
         run_verdict},
    Verb{"cell list", "the cells that the daemon holds", cell_list_options, run_cell_list},
    Verb{"cell trust", "mark a cell as trusted", cell_trust_options, run_cell_trust},
    Verb{"cell taint", "take the trust in a cell back", cell_taint_options, run_cell_taint},
    Verb{"cell poison", "quarantine a cell, now, for everybody", cell_poison_options,
         run_cell_poison},
    Verb{"tenant list", "the tenants, with what operators gave them", tenant_list_options,
         run_tenant_list},
    Verb{"tenant show", "one tenant", tenant_show_options, run_tenant_show},
    Verb{"tenant add", "make a tenant that outlives the daemon", tenant_add_options,
         run_tenant_add},
    Verb{"tenant set", "rename a tenant", tenant_set_options, run_tenant_set},
    Verb{"tenant salt", "give a tenant a keyspace of its own", tenant_salt_options,
         run_tenant_salt},
    Verb{"tenant weight", "set a tenant's share of a full pool", tenant_weight_options,
         run_tenant_weight},
    Verb{"tenant reserve", "guarantee a tenant bytes of a pool", tenant_reserve_options,
         run_tenant_reserve},
    Verb{"tenant forget", "erase everything that a tenant has stored", tenant_forget_options,
         run_tenant_forget},
    Verb{"tenant receipts", "the receipts of erasures", tenant_receipts_options,
         run_tenant_receipts},
    Verb{"receipt check", "whether a receipt is what was written", receipt_check_options,
         run_receipt_check},
};

void print_verbs(std::ostream& out, std::string_view group) {
    std::size_t width = 0;
    for (const Verb& verb : kVerbs) {
        width = std::max(width, verb.name.size());
    }
    for (const Verb& verb : kVerbs) {
        if (group.empty() || verb.name.substr(0, group.size() + 1) == std::string(group) + ' ') {
            out << "  " << verb.name << std::string(width - verb.name.size() + 2, ' ')
                << verb.summary << '\n';
        }
    }
}

void print_help(std::ostream& out) {
    out << "usage: cxlpoolctl VERB [OPTION...]\n\n";
    print_verbs(out, {});
    out << "\n'cxlpoolctl VERB --help' explains a verb; 'cxlpoolctl --version' prints the "
           "version.\n"
           "Exit status: 0 done, 1 the answer is no or the operation failed, 2 wrong usage or an\n"
           "unreadable file. The manual is cxlpoolctl(1).\n";
}

// The verbs that start with `word`, as in "cell" for "cell list".
std::vector<std::string_view> verbs_in_group(std::string_view word) {
    std::vector<std::string_view> found;
    for (const Verb& verb : kVerbs) {
        if (verb.name.size() > word.size() && verb.name[word.size()] == ' ' &&
            verb.name.substr(0, word.size()) == word) {
            found.push_back(verb.name);
        }
    }
    return found;
}

const Verb* find_verb(std::string_view name) {
    for (const Verb& verb : kVerbs) {
        if (verb.name == name) {
            return &verb;
        }
    }
    return nullptr;
}

bool is_help(std::string_view word) {
    return word == "--help" || word == "-h" || word == "help";
}

int refuse_verb(Streams& streams, std::string_view given) {
    std::vector<std::string_view> known;
    for (const Verb& verb : kVerbs) {
        known.push_back(verb.name);
        // "plann" should lead to "plan fleet", too.
        known.push_back(verb.name.substr(0, verb.name.find(' ')));
    }
    return fail_usage(streams, {},
                      "unknown verb '" + std::string(given) + "'" + did_you_mean(given, known));
}

// A verb runs only when the whole command line was understood.
int run_verb(const Verb& verb, std::span<const std::string> arguments, Streams& streams) {
    const OptionSet set = verb.options();
    if (set.asks_for_help(arguments)) {
        streams.out << set.help();
        return kExitOk;
    }
    const Result<OptionValues> values = set.parse(arguments);
    return values ? verb.run(*values, streams)
                  : fail_usage(streams, verb.name, values.error().message());
}

int run_group(std::string_view group, std::span<const std::string> rest, Streams& streams) {
    if (!rest.empty() && is_help(rest.front())) {
        streams.out << "usage: cxlpoolctl " << group << " VERB [OPTION...]\n\n";
        print_verbs(streams.out, group);
        return kExitOk;
    }
    std::string known;
    for (const std::string_view name : verbs_in_group(group)) {
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    if (rest.empty() || rest.front().front() == '-') {
        return fail_usage(streams, {},
                          "'" + std::string(group) + "' needs a second word: " + known);
    }
    return refuse_verb(streams, std::string(group) + ' ' + rest.front());
}

}  // namespace

std::span<const Verb> verbs() noexcept {
    return kVerbs;
}

int fail(Streams& streams, const Error& error, int exit_status) {
    streams.err << "cxlpoolctl: " << error.message() << '\n';
    return exit_status;
}

int fail_usage(Streams& streams, std::string_view verb, std::string_view message) {
    streams.err << "cxlpoolctl: " << message << '\n'
                << "Try 'cxlpoolctl " << verb << (verb.empty() ? "" : " ") << "--help'.\n";
    return kExitUsage;
}

int run_program(std::span<const std::string> arguments, Streams& streams) {
    if (arguments.empty()) {
        print_help(streams.err);
        return kExitUsage;
    }
    const std::string& first = arguments.front();
    if (is_help(first)) {
        print_help(streams.out);
        return kExitOk;
    }
    if (first == "--version") {
        streams.out << "cxlpoolctl " << CXLPOOL_VERSION << '\n';
        return kExitOk;
    }
    if (!first.empty() && first.front() == '-') {
        constexpr std::array<std::string_view, 2> kOptions{"--help", "--version"};
        return fail_usage(streams, {},
                          "unknown option '" + first + "'" + did_you_mean(first, kOptions) +
                              "; a verb comes first");
    }
    if (arguments.size() > 1) {
        if (const Verb* verb = find_verb(first + ' ' + arguments[1])) {
            return run_verb(*verb, arguments.subspan(2), streams);
        }
    }
    if (const Verb* verb = find_verb(first)) {
        return run_verb(*verb, arguments.subspan(1), streams);
    }
    if (verbs_in_group(first).empty()) {
        return refuse_verb(streams, first);
    }
    return run_group(first, arguments.subspan(1), streams);
}

}  // namespace cxlpool::ctl

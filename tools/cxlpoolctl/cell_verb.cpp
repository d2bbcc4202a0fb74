// cxlpoolctl cell list, cell trust, cell taint, cell poison
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/tenant_lookup.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {
namespace {

struct DecisionVerb {
    std::string_view name;
    wire::Decision decision;
    std::string_view about;
    std::string_view roles;  // that the daemon asks for
    std::string_view done;
};

constexpr DecisionVerb kTrust{
    "cell trust", wire::Decision::trust,
    "Marks a sealed cell as trusted: other tenants that its scope admits may attend it.",
    "adjudicator", "trusted"};
constexpr DecisionVerb kTaint{
    "cell taint", wire::Decision::taint,
    "Takes the trust in a cell back: no other tenant gets it from now on.", "adjudicator",
    "tainted"};
constexpr DecisionVerb kPoison{
    "cell poison", wire::Decision::poison,
    "Quarantines a cell: nobody gets it from now on, and every lease on it is revoked.",
    "adjudicator or admin", "poisoned"};

OptionSet decision_options(const DecisionVerb& verb) {
    OptionSet set(std::string(verb.name) + " --owner TENANT --span HEX [OPTION...]",
                  std::string(verb.about) + "\nIt takes the role " + std::string(verb.roles) + ".");
    set.value("owner", "TENANT",
              "the tenant that owns the cell: its number, or its name, which takes\n"
              "the role inspector or admin to look up")
        .value("span", "HEX", "the digest of the span: 64 hexadecimal digits")
        .value("cell", "ID", "which cell, when the owner has several of this span")
        .value("digest", "HEX",
               "only when the cell's bytes have this digest, as cell list --json\nshows it");
    add_socket_option(set);
    return set;
}

Result<wire::AdjudicateRequest> read_request(const OptionValues& values, wire::Decision decision) {
    wire::AdjudicateRequest request;
    request.decision = decision;
    const Result<std::optional<std::uint64_t>> cell = values.number("cell");
    if (!cell) {
        return cell.error();
    }
    if (cell->has_value() && **cell == 0) {
        return Error{Errc::invalid_argument, "--cell: 0 is no cell"};
    }
    request.cell = cell->value_or(0);
    CXLPOOL_TRY(read_digest(values, "span", request.span));
    if (values.value("digest")) {
        CXLPOOL_TRY(read_digest(values, "digest", request.expected));
    }
    // Last: a name is the daemon's to know.
    const Result<std::uint64_t> owner = tenant_option(values, "owner");
    if (!owner) {
        return owner.error();
    }
    request.owner = *owner;
    return request;
}

int run_decision(const DecisionVerb& verb, const OptionValues& values, Streams& streams) {
    constexpr std::string_view kRequired[]{"owner", "span"};
    const std::string absent = missing(values, kRequired);
    if (!absent.empty()) {
        return fail_usage(streams, verb.name, "missing: " + absent);
    }
    const Result<wire::AdjudicateRequest> request = read_request(values, verb.decision);
    if (!request) {
        return request.error().code() == Errc::invalid_argument
                   ? fail_usage(streams, verb.name, request.error().message())
                   : daemon_failure(streams, request.error());
    }
    const Result<void> done = adjudicate(values, *request);
    if (!done) {
        return daemon_failure(streams, done.error());
    }
    streams.out << verb.done << '\n';
    return kExitOk;
}

}  // namespace

OptionSet cell_list_options() {
    OptionSet set("cell list [OPTION...]", "The cells that the running daemon holds.");
    set.flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_cell_list(const OptionValues& values, Streams& streams) {
    return show_document(values, wire::Document::cells, print_cells, streams);
}

OptionSet cell_trust_options() {
    return decision_options(kTrust);
}

int run_cell_trust(const OptionValues& values, Streams& streams) {
    return run_decision(kTrust, values, streams);
}

OptionSet cell_taint_options() {
    return decision_options(kTaint);
}

int run_cell_taint(const OptionValues& values, Streams& streams) {
    return run_decision(kTaint, values, streams);
}

OptionSet cell_poison_options() {
    return decision_options(kPoison);
}

int run_cell_poison(const OptionValues& values, Streams& streams) {
    return run_decision(kPoison, values, streams);
}

}  // namespace cxlpool::ctl

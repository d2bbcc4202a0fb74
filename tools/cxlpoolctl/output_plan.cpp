// The fleet plan as a table and as JSON.
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kRegimes{Regime::private_copies, Regime::copy_only, Regime::coherent};

Json or_null(const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
}

std::string ns_or_dash(const std::optional<std::uint64_t>& value) {
    return value ? format_ns(*value) : "-";
}

std::string with_unit(std::uint64_t count, std::string_view one) {
    return std::to_string(count) + ' ' + std::string(one) + (count == 1 ? "" : "s");
}

Json regime_json(const RegimePlan& plan, Regime regime) {
    Json out{{"prefill_tokens", plan.prefill_tokens},
             {"resident_copies", plan.resident_copies},
             {"resident_bytes", plan.resident_bytes},
             {"prefill_tokens_saved", plan.prefill_tokens_saved},
             {"bytes_saved", plan.bytes_saved},
             {"reader_cost_ns", or_null(plan.reader_cost_ns)}};
    if (regime == Regime::coherent) {
        out["full_pass_ns"] = or_null(plan.full_pass_ns);
        out["full_pass_shared_ns"] = or_null(plan.full_pass_shared_ns);
    }
    return out;
}

// Why the profile puts the plan into its regime.
std::string reason(const FleetPlanView& view) {
    switch (view.plan.holds) {
        case Regime::private_copies:
            return "no other host reaches it (hosts " +
                   std::to_string(hosts_or_assumed(view.profile)) + ")";
        case Regime::copy_only:
            return "other hosts reach it, but cannot attend its bytes in place (share kind " +
                   std::string(to_word(share_kind_or_none(view.profile))) +
                   ", coherence across hosts " +
                   std::string(to_word(coherence_or_none(view.profile))) + ")";
        case Regime::coherent:
            return "other hosts attend its bytes in place (share kind " +
                   std::string(to_word(share_kind_or_none(view.profile))) +
                   ", coherence across hosts " +
                   std::string(to_word(coherence_or_none(view.profile))) + ")";
    }
    return {};
}

std::string conclusion(const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    const RegimePlan& held = plan.regime(plan.holds);
    std::string out = "Over " + view.profile.name + " the " + std::string(to_word(plan.holds)) +
                      " regime holds, because " + reason(view) + ": ";
    switch (plan.advice) {
        case FleetAdvice::build_private:
            return out + "every host builds its own copy, and nothing is saved.";
        case FleetAdvice::recompute_cheaper:
            return out + "bringing a copy costs at least as much as computing it again (" +
                   format_ns(view.input.recompute_ns_per_token * view.input.tokens) +
                   "), so compute it.";
        case FleetAdvice::reuse:
            break;
    }
    out += "reuse saves " + std::to_string(held.prefill_tokens_saved) + " of " +
           with_unit(plan.private_copies.prefill_tokens, "prefill token") + " and " +
           format_bytes(held.bytes_saved) + " of " +
           format_bytes(plan.private_copies.resident_bytes) + ", and one more reader costs " +
           (held.reader_cost_ns ? format_ns(*held.reader_cost_ns) : "an unknown time") +
           " instead of " + ns_or_dash(plan.private_copies.reader_cost_ns) + ".";
    return out;
}

}  // namespace

std::string fleet_plan_json(const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    const Json document{{"inputs",
                         {{"tenants", plan.tenants},
                          {"hosts", plan.hosts},
                          {"tokens", view.input.tokens},
                          {"bytes", view.input.bytes},
                          {"recompute_ns_per_token", view.input.recompute_ns_per_token},
                          {"tier", to_word(view.profile.tier)},
                          {"profile", view.profile.name}}},
                        {"attending_hosts", plan.attending_hosts},
                        {"holds", to_word(plan.holds)},
                        {"advice", to_word(plan.advice)},
                        {"regimes",
                         {{"private", regime_json(plan.private_copies, Regime::private_copies)},
                          {"copy_only", regime_json(plan.copy_only, Regime::copy_only)},
                          {"coherent", regime_json(plan.coherent, Regime::coherent)}}}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

void print_fleet_plan(std::ostream& out, const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    out << "Fleet plan: " << with_unit(plan.tenants, "tenant") << " on "
        << with_unit(plan.hosts, "host") << ", a prefix of "
        << with_unit(view.input.tokens, "token") << " in " << format_bytes(view.input.bytes)
        << ", recomputed at " << format_ns(view.input.recompute_ns_per_token) << " a token\n"
        << "Over " << printable(view.profile.name) << " (tier " << to_word(view.profile.tier)
        << "; read latency and bandwidth " << to_word(view.profile.read_latency_ns.evidence.source)
        << ")\n\n";
    Table table({{"REGIME"},
                 {"HOLDS"},
                 {"PREFILL TOKENS", Table::Align::right},
                 {"SAVED", Table::Align::right},
                 {"COPIES", Table::Align::right},
                 {"RESIDENT", Table::Align::right},
                 {"SAVED", Table::Align::right},
                 {"ONE MORE READER", Table::Align::right}});
    for (const Regime regime : kRegimes) {
        const RegimePlan& row = plan.regime(regime);
        table.add({std::string(to_word(regime)), regime == plan.holds ? "yes" : "",
                   std::to_string(row.prefill_tokens), std::to_string(row.prefill_tokens_saved),
                   std::to_string(row.resident_copies), format_bytes(row.resident_bytes),
                   format_bytes(row.bytes_saved), ns_or_dash(row.reader_cost_ns)});
    }
    table.print(out);
    out << "\nAttended in place, one full pass over the bytes takes "
        << ns_or_dash(plan.coherent.full_pass_ns) << ", and "
        << ns_or_dash(plan.coherent.full_pass_shared_ns) << " with the link shared by "
        << with_unit(plan.attending_hosts, "host") << ".\n";
    if (plan.attending_hosts < plan.hosts) {
        out << "The pool reaches " << plan.attending_hosts << " of the " << plan.hosts
            << " hosts; the others build their own copies, which the figures include.\n";
    }
    out << '\n' << printable(conclusion(view)) << '\n';
}

}  // namespace cxlpool::ctl

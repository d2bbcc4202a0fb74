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

std::string exact_or_dash(const std::optional<std::uint64_t>& value) {
    return value ? format_ns_exactly(*value) : "-";
}

std::string exact_or_unknown(const std::optional<std::uint64_t>& value) {
    return value ? format_ns_exactly(*value) : "an unknown time";
}

std::string ns_or_unknown(const std::optional<std::uint64_t>& value) {
    return value ? format_ns(*value) : "an unknown time";
}

std::string with_unit(std::uint64_t count, std::string_view one) {
    return std::to_string(count) + ' ' + std::string(one) + (count == 1 ? "" : "s");
}

Json regime_json(const RegimePlan& plan) {
    return Json{{"prefill_tokens", plan.prefill_tokens},
                {"resident_copies", plan.resident_copies},
                {"resident_bytes", plan.resident_bytes},
                {"prefill_tokens_saved", plan.prefill_tokens_saved},
                {"bytes_saved", plan.bytes_saved},
                {"reader_cost_ns", or_null(plan.reader_cost_ns)}};
}

Json coherent_json(const CoherentPlan& plan) {
    Json out = regime_json(plan);
    out["full_pass_ns"] = or_null(plan.full_pass_ns);
    out["full_pass_shared_ns"] = or_null(plan.full_pass_shared_ns);
    out["seal_writeback_ns"] = or_null(plan.seal_writeback_ns);
    out["reader_invalidate_ns"] = or_null(plan.reader_invalidate_ns);
    return out;
}

template <typename T>
Json evidence_json(const Known<T>& field, Json taken_for) {
    return Json{{"value", std::move(taken_for)},
                {"source", std::string(to_word(field.evidence.source))},
                {"detail", field.evidence.detail}};
}

// "coherence across hosts managed, declared"; a claim that needs a proof says that it has none.
std::string coherence_text(const Profile& profile) {
    const CrossHostCoherence coherence = coherence_or_none(profile);
    const Source source = profile.cross_host_coherence.evidence.source;
    std::string out = "coherence across hosts " + std::string(to_word(coherence)) + ", " +
                      std::string(to_word(source));
    if (coherence == CrossHostCoherence::hardware && source == Source::declared) {
        out += " and not proven";
    }
    return out;
}

// Why the profile puts the plan into its regime.
std::string reason(const FleetPlanView& view) {
    const std::string how = " (share kind " +
                            std::string(to_word(share_kind_or_none(view.profile))) + "; " +
                            coherence_text(view.profile) + ")";
    switch (view.plan.holds) {
        case Regime::private_copies:
            return "no other host reaches it (hosts " +
                   std::to_string(hosts_or_assumed(view.profile)) + ")";
        case Regime::copy_only:
            return "other hosts reach it, but cannot attend its bytes in place" + how;
        case Regime::coherent:
            return "other hosts attend its bytes in place" + how;
    }
    return {};
}

bool is_managed(const FleetPlanView& view) {
    return view.plan.holds == Regime::coherent &&
           coherence_or_none(view.profile) == CrossHostCoherence::managed;
}

// What managed coherence costs; empty where it does not apply.
std::string managed_costs(const FleetPlanView& view) {
    if (!is_managed(view)) {
        return {};
    }
    return ns_or_unknown(view.plan.coherent.seal_writeback_ns) +
           " once to write the cache lines back at sealing and " +
           ns_or_unknown(view.plan.coherent.reader_invalidate_ns) +
           " for each reader to drop its lines";
}

// One sentence.
std::string conclusion(const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    if (plan.hosts == 1) {
        return "One host keeps one copy in any case, which its tenants share: between hosts there "
               "is "
               "nothing to save.";
    }
    const RegimePlan& held = plan.regime(plan.holds);
    const std::string managed = managed_costs(view);
    std::string out = "Over " + view.profile.name + " the " + std::string(to_word(plan.holds)) +
                      " regime holds, because " + reason(view) + ": ";
    switch (plan.advice) {
        case FleetAdvice::build_private:
            return out + "every host builds its own copy, and nothing is saved.";
        case FleetAdvice::recompute_cheaper:
            return out + "one more reader costs " + ns_or_unknown(held.reader_cost_ns) +
                   (managed.empty() ? "" : ", besides " + managed) +
                   ", which is no less than computing it again (" +
                   ns_or_unknown(plan.private_copies.reader_cost_ns) + "), so compute it.";
        case FleetAdvice::reuse:
            break;
    }
    return out + "reuse saves " + std::to_string(held.prefill_tokens_saved) + " of " +
           with_unit(plan.private_copies.prefill_tokens, "prefill token") + " and " +
           format_bytes(held.bytes_saved) + " of " +
           format_bytes(plan.private_copies.resident_bytes) + ", and one more reader costs " +
           ns_or_unknown(held.reader_cost_ns) + " instead of " +
           ns_or_unknown(plan.private_copies.reader_cost_ns) +
           (managed.empty() ? "" : ", besides " + managed) + ".";
}

Json inputs_json(const FleetPlanInput& input, const Profile& profile) {
    return Json{{"tenants", input.tenants},
                {"hosts", input.hosts.value_or(input.tenants)},
                {"tokens", input.tokens},
                {"bytes", input.bytes},
                {"recompute_ns_per_token", input.recompute_ns_per_token},
                {"tier", std::string(to_word(profile.tier))},
                {"profile", profile.name}};
}

Json plan_json(const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    const Profile& profile = view.profile;
    return Json{{"inputs", inputs_json(view.input, profile)},
                {"attending_hosts", plan.attending_hosts},
                {"holds", std::string(to_word(plan.holds))},
                {"advice", std::string(to_word(plan.advice))},
                {"because",
                 {{"hosts", evidence_json(profile.hosts, hosts_or_assumed(profile))},
                  {"share_kind", evidence_json(profile.share_kind,
                                               std::string(to_word(share_kind_or_none(profile))))},
                  {"cross_host_coherence",
                   evidence_json(profile.cross_host_coherence,
                                 std::string(to_word(coherence_or_none(profile))))}}},
                {"regimes",
                 {{"private", regime_json(plan.private_copies)},
                  {"copy_only", regime_json(plan.copy_only)},
                  {"coherent", coherent_json(plan.coherent)}}}};
}

}  // namespace

std::string fleet_plan_json(const FleetPlanView& view) {
    return plan_json(view).dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string fleet_plan_line(const FleetPlanView& view) {
    return plan_json(view).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string refused_plan_line(const FleetPlanInput& input, const Profile& profile,
                              const Error& why) {
    return Json{{"inputs", inputs_json(input, profile)},
                {"refused", std::string(errc_name(why.code()))},
                {"message", why.message()}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_fleet_plan(std::ostream& out, const FleetPlanView& view) {
    const FleetPlan& plan = view.plan;
    out << "Fleet plan: " << with_unit(plan.tenants, "tenant") << " on "
        << with_unit(plan.hosts, "host") << ", a prefix of "
        << with_unit(view.input.tokens, "token") << " in " << format_bytes(view.input.bytes)
        << ", recomputed at "
        << (view.input.recompute_ns_per_token == 0 ? "an unknown time"
                                                   : format_ns(view.input.recompute_ns_per_token))
        << " a token\n"
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
                   format_bytes(row.bytes_saved), exact_or_dash(row.reader_cost_ns)});
    }
    table.print(out);
    out << "\nAttended in place, one full pass over the bytes takes "
        << exact_or_unknown(plan.coherent.full_pass_ns) << ", and "
        << exact_or_unknown(plan.coherent.full_pass_shared_ns) << " with the link shared by "
        << with_unit(plan.hosts, "host") << ".\n";
    if (is_managed(view)) {
        out << "Managed coherence takes, besides, "
            << exact_or_unknown(plan.coherent.seal_writeback_ns) << " once at sealing, and "
            << exact_or_unknown(plan.coherent.reader_invalidate_ns)
            << " for each attending reader before its first read.\n";
    }
    if (!view.profile.capacity_bytes.value) {
        out << "How much it holds is not known, so whether the prefix fits is not checked.\n";
    }
    if (plan.attending_hosts < plan.hosts) {
        if (reachable(view.profile)) {
            out << "The pool reaches " << plan.attending_hosts << " of the " << plan.hosts
                << " hosts; the others build their own copies, which the figures include.\n";
        } else {
            out << "The rows copy_only and coherent are what it would be if all "
                << with_unit(plan.hosts, "host") << " reached it.\n";
        }
    }
    out << '\n' << printable(conclusion(view)) << '\n';
}

}  // namespace cxlpool::ctl

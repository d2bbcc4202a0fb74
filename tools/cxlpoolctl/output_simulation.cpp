// Simulations as tables and as JSON.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {
namespace {

using Json = nlohmann::ordered_json;
using replay::ReplayReport;
using replay::TenantOutcome;
using replay::Trace;

double share_of(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

Json share_json(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? Json(nullptr) : Json(share_of(part, whole));
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
        return "-";
    }
    char text[40];
    std::snprintf(text, sizeof text, "%.4f", share_of(part, whole));
    return text;
}

std::uint64_t duration_ns(const Trace& trace) {
    return trace.requests().back().time_ns - trace.requests().front().time_ns;
}

struct TraceTotals {
    std::uint64_t prefill_tokens = 0;
    std::uint64_t output_tokens = 0;
};

TraceTotals totals_of(const Trace& trace) {
    TraceTotals out;
    for (const Trace::Request& request : trace.requests()) {
        out.prefill_tokens += request.tokens;
        out.output_tokens += request.output_tokens;
    }
    return out;
}

Json outcome_json(const TenantOutcome& o) {
    return Json{{"requests", o.requests},
                {"spans", o.spans},
                {"hits", o.hits},
                {"misses", o.spans - o.hits},
                {"hit_share", share_json(o.hits, o.spans)},
                {"hits_of_others", o.hits_of_others},
                {"prefill_tokens", o.prefill_tokens},
                {"prefill_tokens_saved", o.prefill_tokens_saved},
                {"not_kept", o.not_kept},
                {"evictions_caused", o.evictions_caused},
                {"evictions_suffered", o.evictions_suffered},
                {"bytes_resident", o.bytes_resident}};
}

Json run_json(const ReplayReport& run) {
    Json tenants = Json::array();
    for (const TenantOutcome& one : run.tenants) {
        Json row{{"name", one.name}};
        row.update(outcome_json(one));
        tenants.push_back(std::move(row));
    }
    Json evictions = Json::array();
    for (const EvictionFlow& flow : run.evictions) {
        evictions.push_back(Json{{"causer", run.tenants[flow.causer.value - 1].name},
                                 {"victim", run.tenants[flow.victim.value - 1].name},
                                 {"cells", flow.cells},
                                 {"bytes", flow.bytes}});
    }
    return Json{{"regime", to_word(run.options.regime)}, {"policy", to_word(run.options.policy)},
                {"pool_bytes", run.options.pool_bytes},  {"pools", run.pools},
                {"total", outcome_json(run.total)},      {"tenants", std::move(tenants)},
                {"evictions", std::move(evictions)}};
}

std::string plural(std::uint64_t count, const char* noun) {
    return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

void print_runs(std::ostream& out, const std::vector<ReplayReport>& runs) {
    Table table({{"REGIME"},
                 {"POLICY"},
                 {"POOL", Table::Align::right},
                 {"POOLS", Table::Align::right},
                 {"HITS", Table::Align::right},
                 {"HIT SHARE", Table::Align::right},
                 {"TOKENS SAVED", Table::Align::right},
                 {"SHARE", Table::Align::right},
                 {"EVICTIONS", Table::Align::right},
                 {"NOT KEPT", Table::Align::right},
                 {"RESIDENT", Table::Align::right}});
    for (const ReplayReport& run : runs) {
        const TenantOutcome& o = run.total;
        table.add({std::string(to_word(run.options.regime)),
                   std::string(to_word(run.options.policy)), pool_size_text(run.options.pool_bytes),
                   std::to_string(run.pools), std::to_string(o.hits), share_text(o.hits, o.spans),
                   std::to_string(o.prefill_tokens_saved),
                   share_text(o.prefill_tokens_saved, o.prefill_tokens),
                   std::to_string(o.evictions_caused), std::to_string(o.not_kept),
                   format_bytes(o.bytes_resident)});
    }
    table.print(out);
}

void print_tenants(std::ostream& out, const ReplayReport& run) {
    out << '\n' << run_name(run.options) << '\n';
    Table table({{"TENANT"},
                 {"REQUESTS", Table::Align::right},
                 {"HITS", Table::Align::right},
                 {"MISSES", Table::Align::right},
                 {"HIT SHARE", Table::Align::right},
                 {"OF OTHERS", Table::Align::right},
                 {"TOKENS SAVED", Table::Align::right},
                 {"CAUSED", Table::Align::right},
                 {"SUFFERED", Table::Align::right},
                 {"NOT KEPT", Table::Align::right},
                 {"RESIDENT", Table::Align::right}});
    for (const TenantOutcome& o : run.tenants) {
        table.add({o.name, std::to_string(o.requests), std::to_string(o.hits),
                   std::to_string(o.spans - o.hits), share_text(o.hits, o.spans),
                   std::to_string(o.hits_of_others), std::to_string(o.prefill_tokens_saved),
                   std::to_string(o.evictions_caused), std::to_string(o.evictions_suffered),
                   std::to_string(o.not_kept), format_bytes(o.bytes_resident)});
    }
    table.print(out);
}

}  // namespace

std::string pool_size_text(std::uint64_t pool_bytes) {
    return pool_bytes == 0 ? "no bound" : format_bytes(pool_bytes);
}

std::string run_name(const replay::ReplayOptions& options) {
    return std::string(to_word(options.regime)) + ", " + std::string(to_word(options.policy)) +
           ", " + pool_size_text(options.pool_bytes);
}

std::string simulation_json(const SimulationView& view) {
    const Trace& trace = view.trace;
    const TraceTotals totals = totals_of(trace);
    Json runs = Json::array();
    for (const ReplayReport& run : view.runs) {
        runs.push_back(run_json(run));
    }
    const Json document{{"trace",
                         {{"file", view.file},
                          {"requests", trace.requests().size()},
                          {"tenants", trace.tenants().size()},
                          {"spans", trace.span_count()},
                          {"distinct_spans", trace.distinct_spans()},
                          {"prefill_tokens", totals.prefill_tokens},
                          {"output_tokens", totals.output_tokens},
                          {"duration_ns", duration_ns(trace)}}},
                        {"block_tokens", trace.block_tokens()},
                        {"bytes_per_token", view.bytes_per_token},
                        {"count", to_word(view.count)},
                        {"runs", std::move(runs)}};
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

void print_simulation(std::ostream& out, const SimulationView& view) {
    const Trace& trace = view.trace;
    out << "Trace " << printable(view.file) << ": " << plural(trace.requests().size(), "request")
        << " of " << plural(trace.tenants().size(), "tenant") << " over "
        << format_ns(duration_ns(trace)) << ", " << plural(totals_of(trace).prefill_tokens, "token")
        << " of prompts\n"
        << plural(trace.span_count(), "span") << " of " << plural(trace.block_tokens(), "token")
        << ", " << trace.distinct_spans() << " distinct, " << format_bytes(view.bytes_per_token)
        << " a token; "
        << (view.count == replay::HitRule::prefix ? "hits count up to the first miss of a prompt"
                                                  : "each span that was found is a hit")
        << "\n\n";
    print_runs(out, view.runs);
    for (const ReplayReport& run : view.runs) {
        if (run.tenants.size() > 1) {
            print_tenants(out, run);
        }
    }
}

}  // namespace cxlpool::ctl

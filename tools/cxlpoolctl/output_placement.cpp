// The placement plan as a table and as JSON.
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

struct Summary {
    std::array<std::size_t, kPlacementActions.size()> by_action{};
    std::size_t left_alone = 0;
};

Summary summarize(const PlacementPlanView& view) {
    Summary out;
    for (const PlacementPlanView::Row& row : view.rows) {
        ++(row.directive ? out.by_action[static_cast<std::size_t>(row.directive->action)]
                         : out.left_alone);
    }
    return out;
}

Json tier_or_null(const std::optional<Tier>& tier) {
    return tier ? Json(to_word(*tier)) : Json(nullptr);
}

Json ns_or_null(const Cost& cost) {
    return cost.ns ? Json(*cost.ns) : Json(nullptr);
}

Json row_json(const PlacementPlanView::Row& row) {
    if (!row.directive) {
        const Error& why = row.directive.error();
        return Json{{"name", row.name},
                    {"action", nullptr},
                    {"error", errc_name(why.code())},
                    {"message", why.message()}};
    }
    const PlacementDirective& d = *row.directive;
    return Json{{"name", row.name},
                {"state", to_word(d.state)},
                {"action", to_word(d.action)},
                {"reason", to_word(d.reason)},
                {"from", to_word(d.from)},
                {"to", tier_or_null(d.to)},
                {"bytes", d.bytes},
                {"weighed", tier_or_null(d.weighed)},
                {"return_cost_ns", ns_or_null(d.return_cost)},
                {"return_cost_source", to_word(d.return_cost.source)},
                {"recompute_ns", ns_or_null(d.recompute)},
                {"recompute_source", to_word(d.recompute.source)}};
}

// "1.05 ms (declared)"; "unknown" for a cost that was asked for and is not known.
std::string cost_text(const Cost& cost) {
    return cost.ns ? format_ns(*cost.ns) + " (" + std::string(to_word(cost.source)) + ")"
                   : std::string("unknown");
}

}  // namespace

void print_placement_plan_json(std::ostream& out, const PlacementPlanView& view) {
    const auto text = [](const Json& json) {
        return json.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    // Row by row: a plan may have a million.
    out << "{\n  \"now_ns\": " << view.now.ns << ",\n  \"cells\": [";
    const char* before = "\n    ";
    for (const PlacementPlanView::Row& row : view.rows) {
        out << before << text(row_json(row));
        before = ",\n    ";
    }
    const Summary summary = summarize(view);
    Json counts;
    for (const PlacementAction action : kPlacementActions) {
        counts[std::string(to_word(action))] = summary.by_action[static_cast<std::size_t>(action)];
    }
    counts["left_alone"] = summary.left_alone;
    out << (view.rows.empty() ? "" : "\n  ") << "],\n  \"summary\": " << text(counts) << "\n}\n";
}

void print_placement_plan(std::ostream& out, const PlacementPlanView& view) {
    Table table({{"CELL"},
                 {"STATE"},
                 {"FROM"},
                 {"ACTION"},
                 {"TO"},
                 {"BYTES", Table::Align::right},
                 {"COME BACK"},
                 {"RECOMPUTE"},
                 {"REASON"}});
    for (const PlacementPlanView::Row& row : view.rows) {
        if (!row.directive) {
            table.add(
                {row.name, "-", "-", "none", "-", "-", "-", "-", row.directive.error().message()});
            continue;
        }
        const PlacementDirective& d = *row.directive;
        const std::string back =
            d.weighed ? cost_text(d.return_cost) + " from " + std::string(to_word(*d.weighed))
                      : std::string("-");
        table.add({row.name, std::string(to_word(d.state)), std::string(to_word(d.from)),
                   std::string(to_word(d.action)), d.to ? std::string(to_word(*d.to)) : "-",
                   format_bytes(d.bytes), back, cost_text(d.recompute),
                   std::string(to_word(d.reason))});
    }
    if (!table.empty()) {
        table.print(out);
        out << '\n';
    }
    const Summary summary = summarize(view);
    out << view.rows.size() << (view.rows.size() == 1 ? " cell: " : " cells: ");
    for (const PlacementAction action : kPlacementActions) {
        out << (action == kPlacementActions.front() ? "" : ", ")
            << summary.by_action[static_cast<std::size_t>(action)] << ' ' << to_word(action);
    }
    out << "; " << summary.left_alone << " left alone\n";
}

}  // namespace cxlpool::ctl

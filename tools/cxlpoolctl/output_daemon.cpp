// What a running daemon says about itself, its cells and its verdicts.
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {
namespace {

using Align = Table::Align;

std::string duration_text(std::uint64_t s) {
    if (s < 60) {
        return std::to_string(s) + " s";
    }
    if (s < 3600) {
        return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
    }
    return std::to_string(s / 3600) + " h " + std::to_string(s % 3600 / 60) + " min";
}

// "2026-03-01 12:00:00 UTC", from nanoseconds since 1970.
std::string time_text(const json::Value& value, std::string_view key) {
    const std::optional<std::uint64_t> ns = number_of(value, key);
    if (!ns) {
        return "-";
    }
    const auto seconds = static_cast<std::time_t>(*ns / 1'000'000'000);
    std::tm utc{};
    char text[40];
    if (::gmtime_r(&seconds, &utc) == nullptr ||
        std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0) {
        return "-";
    }
    return text;
}

void print_attribution(std::ostream& out, const json::Value& cell) {
    out << "  cell " << printable(text_of(cell, "cell")) << ": ";
    if (const json::Value* writer = member(cell, "written_by")) {
        out << "written by tenant " << printable(text_of(*writer, "tenant")) << ", uid "
            << printable(text_of(*writer, "uid")) << ", engine "
            << printable(text_of(*writer, "engine")) << ", sealed "
            << time_text(*writer, "sealed_at_ns") << "; ";
    }
    const json::Value* adjudicated = member(cell, "adjudicated");
    if (adjudicated != nullptr && adjudicated->is(json::Value::Kind::object)) {
        out << printable(text_of(*adjudicated, "judgement")) << " by uid "
            << printable(text_of(*adjudicated, "uid")) << " at " << time_text(*adjudicated, "at_ns")
            << '\n';
    } else {
        out << "not adjudicated\n";
    }
}

}  // namespace

void print_status(std::ostream& out, const json::Value& status) {
    out << "Tenancy mode: " << printable(text_of(status, "mode")) << '\n';
    if (const std::optional<std::uint64_t> up = number_of(status, "uptime_s")) {
        out << "Running for:  " << duration_text(*up) << '\n';
    }
    // What else is a plain number or word, in the daemon's own order.
    for (const auto& [key, value] : status.members) {
        if (key != "mode" && key != "uptime_s" && !value.is(json::Value::Kind::array) &&
            !value.is(json::Value::Kind::object)) {
            std::string label = printable(key);
            std::replace(label.begin(), label.end(), '_', ' ');
            label.front() = static_cast<char>(label.front() >= 'a' && label.front() <= 'z'
                                                  ? label.front() - 'a' + 'A'
                                                  : label.front());
            label += ':';
            label.resize(std::max<std::size_t>(label.size() + 1, 14), ' ');
            out << label << printable(text_of(&value)) << '\n';
        }
    }
    Table pools({{"NAME"},
                 {"PROVIDER"},
                 {"ISOLATION"},
                 {"CAPACITY", Align::right},
                 {"SEGMENTS", Align::right},
                 {"IN SEGMENTS", Align::right},
                 {"PLACED", Align::right}});
    for (const json::Value& pool : items_of(status, "pools")) {
        pools.add({text_of(pool, "name"), text_of(pool, "provider"), text_of(pool, "isolation"),
                   bytes_text(pool, "capacity_bytes"), text_of(pool, "segments"),
                   bytes_text(pool, "segment_bytes"), bytes_text(pool, "placed_bytes")});
    }
    out << "\nPools\n";
    pools.print(out);
    Table tenants({{"TENANT", Align::right},
                   {"NAME"},
                   {"CELLS", Align::right},
                   {"BYTES", Align::right},
                   {"HITS", Align::right},
                   {"MISSES", Align::right},
                   {"LEASES", Align::right}});
    for (const json::Value& tenant : items_of(status, "tenants")) {
        tenants.add({text_of(tenant, "tenant"), text_of(tenant, "name"), text_of(tenant, "cells"),
                     bytes_text(tenant, "bytes"), text_of(tenant, "hits"),
                     text_of(tenant, "misses"), text_of(tenant, "live_leases")});
    }
    out << "\nTenants\n";
    tenants.print(out);
}

// The span is whole, because it is what the other verbs ask for, and last, because it is long.
void print_cells(std::ostream& out, const json::Value& cells) {
    Table table({{"CELL", Align::right},
                 {"OWNER", Align::right},
                 {"LIFECYCLE"},
                 {"TAINT"},
                 {"SCOPE"},
                 {"ADMISSION"},
                 {"LENGTH", Align::right},
                 {"POOL"},
                 {"SPAN"}});
    for (const json::Value& cell : items_of(cells, "cells")) {
        table.add({text_of(cell, "cell"), text_of(cell, "owner"), text_of(cell, "lifecycle"),
                   text_of(cell, "taint"), text_of(cell, "scope"), text_of(cell, "admission"),
                   bytes_text(cell, "length_bytes"), text_of(cell, "pool"), text_of(cell, "span")});
    }
    if (table.empty()) {
        out << "No cells.\n";
        return;
    }
    table.print(out);
    const std::uint64_t omitted = number_of(cells, "omitted").value_or(0);
    if (omitted > 0) {
        out << "Not shown: " << omitted << " older cells.\n";
    }
}

std::string best_verdict(const json::Value& explain) {
    return text_of(explain, "verdict");
}

void print_explain(std::ostream& out, const json::Value& explain) {
    out << printable(best_verdict(explain)) << '\n';
    const std::vector<json::Value>& cells = items_of(explain, "cells");
    if (cells.empty()) {
        out << "No cell holds this span.\n";
        return;
    }
    out << "Tenant " << printable(text_of(explain, "requester"))
        << " is told: " << printable(text_of(explain, "outward")) << '\n';
    if (text_of(explain, "requester_known") == "no") {
        out << "No such tenant is configured.\n";
    }
    out << '\n';
    Table table({{"CELL", Align::right},
                 {"OWNER", Align::right},
                 {"VERDICT"},
                 {"CODE", Align::right},
                 {"AXIS"},
                 {"WANTED"},
                 {"FOUND"}});
    for (const json::Value& cell : cells) {
        table.add({text_of(cell, "cell"), text_of(cell, "owner"), text_of(cell, "verdict"),
                   text_of(cell, "code"), text_of(cell, "axis"), text_of(cell, "wanted"),
                   text_of(cell, "found")});
    }
    table.print(out);
    out << '\n';
    for (const json::Value& cell : cells) {
        print_attribution(out, cell);
    }
}

}  // namespace cxlpool::ctl

// Tenants as tables, and one of them as JSON.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {
namespace {

using Align = Table::Align;

std::string reservations_text(const json::Value& tenant) {
    std::string out;
    for (const json::Value& pool : items_of(tenant, "pools")) {
        if (number_of(pool, "reserved_bytes").value_or(0) != 0) {
            out += (out.empty() ? "" : ", ") + text_of(pool, "pool") + " " +
                   bytes_text(pool, "reserved_bytes");
        }
    }
    return out.empty() ? "-" : out;
}

}  // namespace

void print_tenant_list(std::ostream& out, const json::Value& tenants) {
    Table table({{"TENANT", Align::right},
                 {"NAME"},
                 {"DECLARED"},
                 {"SALT"},
                 {"WEIGHT", Align::right},
                 {"RESERVED"}});
    for (const json::Value& row : items_of(tenants, "tenants")) {
        table.add({text_of(row, "tenant"), text_of(row, "name"), text_of(row, "declared"),
                   text_of(row, "salt"), text_of(row, "weight"), reservations_text(row)});
    }
    table.print(out);
}

void print_tenant(std::ostream& out, const json::Value& tenant) {
    Table facts({{"TENANT"}, {text_of(tenant, "tenant")}});
    for (const std::string_view key :
         {"name", "declared", "salt", "weight", "trust_epoch", "incarnation", "had_cells"}) {
        facts.add({std::string(key), text_of(tenant, key)});
    }
    facts.print(out);
    Table pools({{"POOL"}, {"SERVED"}, {"RESERVED", Align::right}, {"RESIDENT", Align::right}});
    for (const json::Value& pool : items_of(tenant, "pools")) {
        pools.add({text_of(pool, "pool"), text_of(pool, "served"),
                   bytes_text(pool, "reserved_bytes"), bytes_text(pool, "resident_bytes")});
    }
    if (!pools.empty()) {
        out << '\n';
        pools.print(out);
    }
}

void print_receipt(std::ostream& out, const json::Value& receipt) {
    Table facts({{"TENANT"}, {text_of(receipt, "tenant")}});
    for (const json::Member& member : receipt.members) {
        const std::string& key = member.key;
        if (key != "schema" && key != "tenant") {
            facts.add({key, key.find("bytes") == std::string::npos ? text_of(receipt, key)
                                                                   : bytes_text(receipt, key)});
        }
    }
    facts.print(out);
}

void print_receipts(std::ostream& out, const json::Value& receipts) {
    Table table({{"TENANT", Align::right},
                 {"NAME"},
                 {"INCARNATION", Align::right},
                 {"CELLS", Align::right},
                 {"BYTES", Align::right},
                 {"REVOKED", Align::right},
                 {"VERIFIED"},
                 {"FINISHED"}});
    for (const json::Value& row : items_of(receipts, "receipts")) {
        table.add({text_of(row, "tenant"), text_of(row, "name"), text_of(row, "incarnation"),
                   text_of(row, "cells"), bytes_text(row, "bytes"), text_of(row, "leases_revoked"),
                   text_of(row, "verified"), text_of(row, "finished")});
    }
    table.print(out);
}

std::string tenant_json(std::string_view tenants_document, std::uint64_t tenant) {
    const auto all =
        nlohmann::ordered_json::parse(tenants_document, nullptr, /*allow_exceptions=*/false);
    if (all.is_object() && all.contains("tenants")) {
        for (const auto& row : all["tenants"]) {
            if (row.is_object() && row.contains("tenant") && row["tenant"] == tenant) {
                return row.dump();
            }
        }
    }
    return "null";
}

}  // namespace cxlpool::ctl

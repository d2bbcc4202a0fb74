#include "cxlpoolctl/output.hpp"

#include <algorithm>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/table.hpp"
#include "domain/profile_fields.hpp"

namespace cxlpool::ctl {
namespace {

using Align = Table::Align;

void print_section(std::ostream& out, std::string_view title, const Table& table) {
    if (!table.empty()) {
        out << '\n' << title << '\n';
        table.print(out);
    }
}

void print_memdevs(std::ostream& out, const json::Value& topology) {
    Table table({{"NAME"},
                 {"SERIAL", Align::right},
                 {"HOST"},
                 {"RAM", Align::right},
                 {"PMEM", Align::right},
                 {"CPU NODE", Align::right},
                 {"ENABLED"}});
    for (const json::Value& memdev : items_of(topology, "memdevs")) {
        table.add({text_of(memdev, "name"), text_of(memdev, "serial"), text_of(memdev, "host"),
                   bytes_text(memdev, "ram_bytes"), bytes_text(memdev, "pmem_bytes"),
                   text_of(memdev, "numa_node"), text_of(memdev, "enabled")});
    }
    print_section(out, "CXL memory devices", table);
}

void print_regions(std::ostream& out, const json::Value& topology) {
    Table table({{"NAME"},
                 {"CAPACITY", Align::right},
                 {"TYPE"},
                 {"STATE"},
                 {"WAYS", Align::right},
                 {"GRANULARITY", Align::right},
                 {"BRIDGES", Align::right},
                 {"MEMDEVS"},
                 {"ACROSS HOSTS"}});
    for (const json::Value& region : items_of(topology, "regions")) {
        table.add(
            {text_of(region, "name"), bytes_text(region, "capacity_bytes"), text_of(region, "type"),
             text_of(region, "state"), text_of(region, "interleave_ways"),
             bytes_text(region, "interleave_granularity_bytes"), text_of(region, "host_bridges"),
             text_of(region, "memdevs"), text_of(region, "cross_host_coherence")});
    }
    print_section(out, "CXL regions", table);
}

void print_dax_devices(std::ostream& out, const json::Value& topology) {
    Table table({{"NAME"},
                 {"CAPACITY", Align::right},
                 {"ALIGN", Align::right},
                 {"MODE"},
                 {"MEMORY NODE", Align::right},
                 {"REGION"}});
    for (const json::Value& device : items_of(topology, "dax_devices")) {
        table.add({text_of(device, "name"), bytes_text(device, "capacity_bytes"),
                   bytes_text(device, "align_bytes"), text_of(device, "mode"),
                   text_of(device, "target_node"), text_of(device, "region")});
    }
    print_section(out, "Dax devices", table);
}

const json::Value* find_named(const std::vector<json::Value>& items, std::string_view name) {
    for (const json::Value& item : items) {
        if (text_of(item, "name") == name) {
            return &item;
        }
    }
    return nullptr;
}

// "hardware (declared)"; what is unknown says what it is taken for: "1 (assumed)".
std::string known_text(const json::Value* profile, std::string_view key, std::string_view assumed) {
    const json::Value* field = profile == nullptr ? nullptr : member(*profile, key);
    const std::string value = field == nullptr ? "-" : text_of(*field, "value");
    const std::string source = field == nullptr ? "unknown" : text_of(*field, "source");
    if (value == "-" || source == "unknown") {
        return std::string(assumed) + " (assumed)";
    }
    return value + " (" + source + ")";
}

void print_pools(std::ostream& out, const json::Value& topology, const json::Value& profiles) {
    Table table(
        {{"NAME"}, {"CAPACITY", Align::right}, {"TIER"}, {"HOSTS"}, {"COHERENT ACROSS HOSTS"}});
    for (const json::Value& pool : items_of(topology, "pools")) {
        const json::Value* profile =
            find_named(items_of(profiles, "profiles"), text_of(pool, "name"));
        table.add({text_of(pool, "name"), bytes_text(pool, "capacity_bytes"), text_of(pool, "tier"),
                   known_text(profile, "hosts", "1"),
                   known_text(profile, "cross_host_coherence", "none")});
    }
    print_section(out, "Pools: what a daemon can map and share", table);
}

std::string plain_text(const json::Value& value, std::string_view key) {
    return text_of(value, key);
}

std::string mbps_text(const json::Value& value, std::string_view key) {
    const std::string text = text_of(value, key);
    return text == "-" ? text : text + " MB/s";
}

std::string capacity_text(const json::Value& value, std::string_view key) {
    return number_of(value, key) == std::optional<std::uint64_t>(0) ? "unbounded"
                                                                    : bytes_text(value, key);
}

using FormatValue = std::string (*)(const json::Value&, std::string_view);

FormatValue format_for(std::string_view unit) {
    if (unit == "nanoseconds") {
        return ns_text;
    }
    if (unit == profile_fields::kMbps) {
        return mbps_text;
    }
    return unit == "bytes" ? capacity_text : plain_text;
}

std::string value_text(const json::Value& profile, std::string_view key, FormatValue format) {
    const json::Value* known = member(profile, key);
    return known == nullptr ? "-" : format(*known, "value");
}

void add_field_row(Table& table, const json::Value& profile, std::string_view key,
                   std::string_view label, FormatValue format) {
    const json::Value* known = member(profile, key);
    table.add({std::string(label), value_text(profile, key, format),
               known == nullptr ? "unknown" : text_of(*known, "source"),
               known == nullptr ? "-" : text_of(*known, "detail")});
}

void print_tiers(std::ostream& out, const json::Value& topology, const json::Value& profiles) {
    Table table({{"NAME"},
                 {"TIER"},
                 {"CAPACITY", Align::right},
                 {"READ LATENCY", Align::right},
                 {"READ BANDWIDTH", Align::right}});
    for (const json::Value& profile : items_of(profiles, "profiles")) {
        if (find_named(items_of(topology, "pools"), text_of(profile, "name")) == nullptr) {
            table.add({text_of(profile, "name"), text_of(profile, "tier"),
                       value_text(profile, "capacity_bytes", capacity_text),
                       value_text(profile, "read_latency_ns", ns_text),
                       value_text(profile, "read_mbps", mbps_text)});
        }
    }
    print_section(out, "Memory tiers of this host's NUMA nodes", table);
}

void print_findings(std::ostream& out, const json::Value& topology) {
    const std::vector<json::Value>& findings = items_of(topology, "findings");
    if (findings.empty()) {
        return;
    }
    out << "\nFindings\n";
    for (const json::Value& finding : findings) {
        const std::string severity = text_of(finding, "severity");
        const std::string subject = text_of(finding, "subject");
        const std::string message = text_of(finding, "message");
        out << "  " << (severity == "-" ? std::string() : printable(severity) + ": ");
        // Many messages begin with what they are about.
        if (message.compare(0, subject.size(), subject) != 0) {
            out << printable(subject) << ": ";
        }
        out << printable(message) << " [" << printable(text_of(finding, "code")) << "]\n";
        const std::string next = text_of(finding, "next");
        if (next != "-") {
            out << "    next: " << printable(next) << '\n';
        }
    }
}

}  // namespace

void print_json(std::ostream& out, std::string_view document) {
    out << document;
    if (document.empty() || document.back() != '\n') {
        out << '\n';
    }
}

void print_topology(std::ostream& out, const json::Value& topology, const json::Value& profiles) {
    const bool captured = text_of(topology, "source") == "captured";
    out << "Source: " << (captured ? "captured from another place or time" : "this machine, now")
        << '\n';
    if (items_of(topology, "memdevs").empty() && items_of(topology, "regions").empty() &&
        items_of(topology, "dax_devices").empty()) {
        out << "No CXL memory device, no CXL region and no dax device"
            << (captured ? ", in what was captured.\n"
                         : " here.\nA pool of ordinary memory (provider \"memfd\") works without "
                           "them.\n");
    }
    print_memdevs(out, topology);
    print_regions(out, topology);
    print_dax_devices(out, topology);
    print_pools(out, topology, profiles);
    print_tiers(out, topology, profiles);
    print_findings(out, topology);
}

void print_profiles(std::ostream& out, const json::Value& profiles) {
    const std::vector<json::Value>& items = items_of(profiles, "profiles");
    if (items.empty()) {
        out << "No profile: there is neither a pool nor a NUMA node here.\n";
    }
    for (const json::Value& profile : items) {
        if (&profile != &items.front()) {
            out << '\n';
        }
        out << printable(text_of(profile, "name")) << " (tier "
            << printable(text_of(profile, "tier")) << ")\n";
        Table table({{"FIELD"}, {"VALUE"}, {"SOURCE"}, {"DETAIL"}});
        for_each_profile_field([&](const auto& field) {
            add_field_row(table, profile, field.key, field.label, format_for(field.unit));
        });
        add_field_row(table, profile, "memory_node", "memory node", plain_text);
        add_field_row(table, profile, "cpu_affinity_node", "cpu node", plain_text);
        table.print(out);
        if (text_of(profile, "may_shrink") == "yes") {
            out << "  The capacity may shrink: it is dynamic.\n";
        }
    }
}

void print_named_fields(std::ostream& out, const json::Value& profile) {
    Table table({{"FIELD"}, {"VALUE"}, {"SOURCE"}, {"DETAIL"}});
    for_each_profile_field([&](const auto& field) {
        if (value_text(profile, field.key, plain_text) != "-") {
            add_field_row(table, profile, field.key, field.label, format_for(field.unit));
        }
    });
    if (table.empty()) {
        out << "  names no field\n";
    } else {
        table.print(out);
    }
}

bool has_serious_finding(const json::Value& topology) {
    const std::vector<json::Value>& findings = items_of(topology, "findings");
    return std::any_of(findings.begin(), findings.end(), [](const json::Value& finding) {
        // A finding that does not say how serious it is is taken as serious.
        return text_of(finding, "severity") != "info";
    });
}

}  // namespace cxlpool::ctl

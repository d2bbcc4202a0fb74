// The daemon's counters as tables and in the text format of Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/table.hpp"

namespace cxlpool::ctl {
namespace {

using Align = Table::Align;

// The row of `rows` in which each of `keys` has the value that it has in `like`; null: none.
const json::Value* same_row(const std::vector<json::Value>& rows, const json::Value& like,
                            std::initializer_list<std::string_view> keys) {
    for (const json::Value& row : rows) {
        bool same = true;
        for (const std::string_view key : keys) {
            same = same && number_of(row, key) == number_of(like, key);
        }
        if (same) {
            return &row;
        }
    }
    return nullptr;
}

// What a counter has grown by. A smaller one than before is of another run of the daemon.
std::optional<std::uint64_t> grown(const json::Value& row, const json::Value* before,
                                   std::string_view key) {
    const std::optional<std::uint64_t> now = number_of(row, key);
    const std::uint64_t then = before == nullptr ? 0 : number_of(*before, key).value_or(0);
    return now && *now >= then ? std::optional(*now - then) : now;
}

std::string count_text(const std::optional<std::uint64_t>& count) {
    return count ? std::to_string(*count) : "-";
}

std::string share_text(const std::optional<std::uint64_t>& hits,
                       const std::optional<std::uint64_t>& misses) {
    if (!hits || !misses || *hits + *misses == 0) {
        return "-";
    }
    const double share = 100.0 * static_cast<double>(*hits) / static_cast<double>(*hits + *misses);
    std::string text = std::to_string(share);
    return text.substr(0, text.find('.') + 2) + " %";
}

std::uint64_t sum_of(const json::Value& row, std::string_view key) {
    std::uint64_t sum = 0;
    if (const json::Value* object = member(row, key)) {
        for (const auto& [name, value] : object->members) {
            sum += number_of(*object, name).value_or(0);
        }
    }
    return sum;
}

// The window that an operator has begun; null: none, and counters are since the daemon's start.
const json::Value* window_of(const json::Value& stats) {
    const json::Value* const window = member(stats, "window");
    return window != nullptr && window->is(json::Value::Kind::object) ? window : nullptr;
}

void print_tenants(std::ostream& out, const json::Value& stats, const json::Value* before) {
    Table table({{"TENANT", Align::right},
                 {"NAME"},
                 {"HITS", Align::right},
                 {"MISSES", Align::right},
                 {"HIT SHARE", Align::right},
                 {"STORED", Align::right},
                 {"EVICTED", Align::right},
                 {"CAUSED", Align::right},
                 {"REFUSED", Align::right},
                 {"CELLS", Align::right},
                 {"RESIDENT", Align::right},
                 {"RESERVED", Align::right},
                 {"LEASES", Align::right}});
    for (const json::Value& row : items_of(stats, "tenants")) {
        const json::Value* const then =
            before == nullptr ? nullptr : same_row(items_of(*before, "tenants"), row, {"tenant"});
        // Who brings a window of its own does not want the one that is begun.
        const json::Value* const window = before == nullptr ? window_of(stats) : nullptr;
        const json::Value* const in_window =
            window == nullptr ? nullptr : same_row(items_of(*window, "tenants"), row, {"tenant"});
        const json::Value& counted = in_window == nullptr ? row : *in_window;
        const auto hits = grown(counted, then, "hits");
        const auto misses = grown(counted, then, "misses");
        const std::uint64_t refused = sum_of(counted, "refused");
        const std::uint64_t refused_then = then == nullptr ? 0 : sum_of(*then, "refused");
        table.add({text_of(row, "tenant"), text_of(row, "name"), count_text(hits),
                   count_text(misses), share_text(hits, misses),
                   count_text(grown(counted, then, "cells_materialised")),
                   count_text(grown(counted, then, "evictions_suffered")),
                   count_text(grown(counted, then, "evictions_caused")),
                   std::to_string(refused >= refused_then ? refused - refused_then : refused),
                   text_of(row, "cells"), format_bytes(sum_of(row, "bytes_resident")),
                   format_bytes(sum_of(row, "bytes_reserved")), text_of(row, "live_leases")});
    }
    table.print(out);
}

void print_evictions(std::ostream& out, const json::Value& stats, const json::Value* before) {
    Table table({{"CAUSED BY", Align::right},
                 {"SUFFERED BY", Align::right},
                 {"CELLS", Align::right},
                 {"BYTES", Align::right}});
    const json::Value* const window = before == nullptr ? window_of(stats) : nullptr;
    for (const json::Value& row : items_of(window == nullptr ? stats : *window, "evictions")) {
        const json::Value* const then =
            before == nullptr ? nullptr
                              : same_row(items_of(*before, "evictions"), row, {"causer", "victim"});
        const auto cells = grown(row, then, "cells");
        const auto bytes = grown(row, then, "bytes");
        if (cells && *cells != 0) {
            table.add({text_of(row, "causer"), text_of(row, "victim"), count_text(cells),
                       bytes ? format_bytes(*bytes) : "-"});
        }
    }
    if (!table.empty()) {
        out << "\nEvictions\n";
        table.print(out);
    }
}

// --- Prometheus ---------------------------------------------------------------------------------

// Names and words come from a configuration and from the daemon; in a label they are escaped.
std::string label_text(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') {
            out += '\\';
        }
        if (c == '\n') {
            out += "\\n";
        } else {
            out += c;
        }
    }
    return out;
}

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string labels_text(const Labels& labels) {
    std::string out;
    for (const auto& [name, value] : labels) {
        out += (out.empty() ? "{" : ",") + name + "=\"" + label_text(value) + '"';
    }
    return out.empty() ? out : out + "}";
}

class Exposition {
  public:
    explicit Exposition(std::ostream& out) : out_(out) {}
    void family(std::string name, std::string_view type, std::string_view help) {
        name_ = std::move(name);
        out_ << "# HELP " << name_ << ' ' << help << "\n# TYPE " << name_ << ' ' << type << '\n';
    }
    void sample(const Labels& labels, const std::optional<std::uint64_t>& value) {
        if (value) {
            out_ << name_ << labels_text(labels) << ' ' << *value << '\n';
        }
    }

  private:
    std::ostream& out_;
    std::string name_;
};

Labels tenant_labels(const json::Value& row) {
    return {{"tenant", text_of(row, "tenant")}, {"name", text_of(row, "name")}};
}

Labels with(Labels labels, std::string name, std::string value) {
    labels.emplace_back(std::move(name), std::move(value));
    return labels;
}

struct Family {
    std::string_view key;
    std::string_view name;
    std::string_view type;
    std::string_view help;
};

constexpr std::array kTenantFamilies{
    Family{"evictions_caused", "cxlpool_tenant_evictions_caused_total", "counter",
           "Cells that went for new ones of the tenant, its own among them."},
    Family{"evictions_suffered", "cxlpool_tenant_evictions_suffered_total", "counter",
           "Cells of the tenant that went for new ones."},
    Family{"cells_materialised", "cxlpool_tenant_materialised_cells_total", "counter",
           "Cells that the tenant has sealed."},
    Family{"bytes_materialised", "cxlpool_tenant_materialised_bytes_total", "counter",
           "Bytes of the cells that the tenant has sealed."},
    Family{"cells", "cxlpool_tenant_cells", "gauge", "Cells that the tenant has now."},
    Family{"bytes", "cxlpool_tenant_cell_bytes", "gauge", "Bytes of the cells it has now."},
    Family{"live_leases", "cxlpool_tenant_live_leases", "gauge",
           "Leases that the tenant's connections hold now."},
    Family{"weight", "cxlpool_tenant_weight", "gauge", "Weight of the tenant's share."},
};

constexpr std::array kPoolFamilies{
    Family{"capacity_bytes", "cxlpool_pool_capacity_bytes", "gauge", "Size of the pool."},
    Family{"used_bytes", "cxlpool_pool_used_bytes", "gauge",
           "Bytes of the pool that tenants are charged for."},
    Family{"reserved_bytes", "cxlpool_pool_reserved_bytes", "gauge",
           "Bytes of the pool that are guaranteed to tenants."},
};

constexpr std::array kEvictionFamilies{
    Family{"cells", "cxlpool_evicted_cells_total", "counter",
           "Cells of the victim that went for new ones of the causer."},
    Family{"bytes", "cxlpool_evicted_bytes_total", "counter",
           "Bytes of the victim that went for new cells of the causer."},
};

// A sample for each member of an object of each tenant: a tier, a pool, a code.
void expose_members(Exposition& to, const json::Value& stats, std::string_view key,
                    const std::string& label) {
    for (const json::Value& row : items_of(stats, "tenants")) {
        if (const json::Value* const object = member(row, key)) {
            for (const auto& [name, value] : object->members) {
                to.sample(with(tenant_labels(row), label, name), number_of(*object, name));
            }
        }
    }
}

}  // namespace

void print_stats(std::ostream& out, const json::Value& stats, const json::Value* before) {
    Table pools({{"POOL"},
                 {"TIER"},
                 {"CAPACITY", Align::right},
                 {"USED", Align::right},
                 {"RESERVED", Align::right}});
    for (const json::Value& row : items_of(stats, "pools")) {
        pools.add({text_of(row, "pool"), text_of(row, "tier"), bytes_text(row, "capacity_bytes"),
                   bytes_text(row, "used_bytes"), bytes_text(row, "reserved_bytes")});
    }
    out << "Pools\n";
    pools.print(out);
    out << "\nTenants";
    if (const json::Value* const window = before == nullptr ? window_of(stats) : nullptr) {
        out << ", in the last " << text_of(*window, "seconds") << " s";
    }
    out << '\n';
    print_tenants(out, stats, before);
    print_evictions(out, stats, before);
}

void print_prometheus(std::ostream& out, const json::Value& stats) {
    Exposition to(out);
    to.family("cxlpool_uptime_seconds", "gauge", "Time since the daemon's start.");
    to.sample({}, number_of(stats, "uptime_s"));
    for (const Family& family : kPoolFamilies) {
        to.family(std::string(family.name), family.type, family.help);
        for (const json::Value& row : items_of(stats, "pools")) {
            to.sample({{"pool", text_of(row, "pool")}, {"tier", text_of(row, "tier")}},
                      number_of(row, family.key));
        }
    }
    to.family("cxlpool_tenant_lookups_total", "counter",
              "Spans that the tenant looked up, by what it was told.");
    for (const json::Value& row : items_of(stats, "tenants")) {
        to.sample(with(tenant_labels(row), "result", "hit"), number_of(row, "hits"));
        to.sample(with(tenant_labels(row), "result", "miss"), number_of(row, "misses"));
    }
    for (const Family& family : kTenantFamilies) {
        to.family(std::string(family.name), family.type, family.help);
        for (const json::Value& row : items_of(stats, "tenants")) {
            to.sample(tenant_labels(row), number_of(row, family.key));
        }
    }
    to.family("cxlpool_tenant_resident_bytes", "gauge", "Bytes that the tenant is charged for.");
    expose_members(to, stats, "bytes_resident", "tier");
    to.family("cxlpool_tenant_reserved_bytes", "gauge", "Bytes that are guaranteed to the tenant.");
    expose_members(to, stats, "bytes_reserved", "pool");
    to.family("cxlpool_tenant_refused_requests_total", "counter",
              "Requests of the tenant's engines that were answered with an error.");
    expose_members(to, stats, "refused", "code");
    for (const Family& family : kEvictionFamilies) {
        to.family(std::string(family.name), family.type, family.help);
        for (const json::Value& row : items_of(stats, "evictions")) {
            to.sample({{"causer", text_of(row, "causer")}, {"victim", text_of(row, "victim")}},
                      number_of(row, family.key));
        }
    }
}

}  // namespace cxlpool::ctl

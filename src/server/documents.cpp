#include "server/documents.hpp"

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "server/stats_window.hpp"

namespace cxlpool {
namespace {

using Json = nlohmann::ordered_json;

template <typename Digest>
std::string hex(const Digest& digest) {
    return to_hex(digest.bytes.data(), digest.bytes.size());
}

Json digest_or_null(const ContentDigest& digest) {
    return digest.present() ? Json(hex(digest)) : Json();
}

Json attribution(const Cell& cell) {
    return Json{
        {"tenant", cell.attribution.tenant.value},
        {"uid", cell.attribution.uid},
        {"engine", cell.attribution.engine},
        {"begun_at_ns", cell.attribution.begun_at.ns},
        {"sealed_at_ns",
         cell.attribution.sealed_at.ns == 0 ? Json() : Json(cell.attribution.sealed_at.ns)}};
}

Json adjudication(const Cell& cell) {
    if (!cell.adjudication) {
        return {};
    }
    return Json{{"judgement", to_word(cell.adjudication->judgement)},
                {"uid", cell.adjudication->uid},
                {"at_ns", cell.adjudication->at.ns},
                {"epoch", cell.adjudication->epoch}};
}

Json cell_json(const Cell& cell, const Registry& registry, const std::vector<std::string>& pools) {
    Json allow = Json::array();
    for (const TenantId tenant : cell.allow_list) {
        allow.push_back(tenant.value);
    }
    const Location* location = registry.location_of(cell.id);
    return Json{{"cell", cell.id.value},
                {"owner", cell.owner.value},
                {"span", hex(cell.span)},
                {"lifecycle", to_word(cell.lifecycle)},
                {"taint", to_word(cell.taint)},
                {"admission", to_word(cell.admission)},
                {"scope", to_word(cell.scope)},
                {"allow_list", std::move(allow)},
                {"length_bytes", cell.length_bytes},
                {"digest", digest_or_null(cell.digest)},
                {"pool", location == nullptr ? Json() : Json(pools[location->pool])},
                {"live_leases", cell.live_leases},
                {"written_by", attribution(cell)},
                {"adjudicated", adjudication(cell)}};
}

// What the cell was written under.
Json context_json(const ContextFields& fields) {
    Json out = Json::object();
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (fields.axes[i]) {
            out[std::string(to_word(static_cast<Axis>(i)))] = *fields.axes[i];
        }
    }
    return out;
}

Json text_or_null(std::string_view text) {
    return text.empty() ? Json() : Json(text);
}

Json refusals_json(const std::map<Errc, std::uint64_t>& refused) {
    Json out = Json::object();
    for (const auto& [code, count] : refused) {
        out[std::string(errc_name(code))] = count;
    }
    return out;
}

Json tenant_stats(const Registry& registry, const std::vector<std::string>& pools, TenantId tenant,
                  const Refusals& refusals) {
    const TenantCounters counters = registry.counters(tenant);
    Json by_tier = Json::object();
    Json reserved = Json::object();
    for (std::size_t i = 0; i < registry.pool_count(); ++i) {
        if (const std::uint64_t bytes = registry.resident_bytes(tenant, i)) {
            Json& tier = by_tier[std::string(to_word(registry.residency(i).tier))];
            tier = (tier.is_null() ? 0 : tier.get<std::uint64_t>()) + bytes;
        }
        if (const std::uint64_t bytes = registry.reserved_bytes(tenant, i)) {
            reserved[pools[i]] = bytes;
        }
    }
    const auto refused = refusals.find(tenant);
    return Json{
        {"tenant", tenant.value},
        {"name", registry.tenant_name(tenant)},
        {"weight", registry.settings(tenant).weight},
        {"hits", counters.hits},
        {"misses", counters.misses},
        {"evictions_caused", counters.evictions_caused},
        {"evictions_suffered", counters.evictions_suffered},
        {"cells_materialised", counters.cells_materialised},
        {"bytes_materialised", counters.bytes_materialised},
        {"cells", counters.cells},
        {"bytes", counters.bytes},
        {"bytes_resident", std::move(by_tier)},
        {"bytes_reserved", std::move(reserved)},
        {"live_leases", counters.live_leases},
        {"refused", refused == refusals.end() ? Json::object() : refusals_json(refused->second)}};
}

Json evictions_json(const std::vector<EvictionFlow>& flows) {
    Json out = Json::array();
    for (const EvictionFlow& flow : flows) {
        out.push_back(Json{{"causer", flow.causer.value},
                           {"victim", flow.victim.value},
                           {"cells", flow.cells},
                           {"bytes", flow.bytes}});
    }
    return out;
}

Json window_json(const Registry& registry, const Refusals& refusals, const StatsWindow& window,
                 Timestamp now) {
    if (!window.begun()) {
        return {};
    }
    Json tenants = Json::array();
    for (const TenantId tenant : registry.tenants()) {
        const TenantCounters counters = window.counters(registry, tenant);
        tenants.push_back(Json{{"tenant", tenant.value},
                               {"hits", counters.hits},
                               {"misses", counters.misses},
                               {"evictions_caused", counters.evictions_caused},
                               {"evictions_suffered", counters.evictions_suffered},
                               {"cells_materialised", counters.cells_materialised},
                               {"bytes_materialised", counters.bytes_materialised},
                               {"refused", refusals_json(window.refused(refusals, tenant))}});
    }
    return Json{{"started_at_ns", window.started_wall().ns},
                {"seconds", (now.ns - window.started_monotonic().ns) / 1'000'000'000ULL},
                {"tenants", std::move(tenants)},
                {"evictions", evictions_json(window.eviction_flows(registry))}};
}

// A text, because many JSON readers round numbers of 64 bits.
std::string salt_text(std::uint64_t salt) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out("0x");
    for (int shift = 60; shift >= 0; shift -= 4) {
        out.push_back(kDigits[(salt >> static_cast<unsigned>(shift)) & 0xfU]);
    }
    return out;
}

// Names are printable ASCII where they come from peers; anything else is replaced, not thrown at.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string status_document(const DaemonStatus& status, const Registry& registry) {
    Json pools = Json::array();
    for (const PoolStatus& pool : status.pools) {
        pools.push_back(Json{{"name", pool.name},
                             {"provider", pool.provider},
                             {"isolation", to_word(pool.isolation)},
                             {"capacity_bytes", pool.usage.capacity_bytes},
                             {"segment_bytes", pool.usage.segment_bytes},
                             {"placed_bytes", pool.usage.placed_bytes},
                             {"segments", pool.usage.segments}});
    }
    Json tenants = Json::array();
    for (const TenantId tenant : registry.tenants()) {
        const TenantCounters counters = registry.counters(tenant);
        tenants.push_back(Json{{"tenant", tenant.value},
                               {"name", registry.tenant_name(tenant)},
                               {"cells", counters.cells},
                               {"bytes", counters.bytes},
                               {"hits", counters.hits},
                               {"misses", counters.misses},
                               {"live_leases", counters.live_leases},
                               {"trust_epoch", registry.trust_epoch(tenant)}});
    }
    return dump(Json{{"mode", to_word(status.mode)},
                     {"reactor", status.reactor},
                     {"uptime_s", status.uptime_s},
                     {"connections", status.connections},
                     {"pools", std::move(pools)},
                     {"tenants", std::move(tenants)}});
}

std::string cells_document(const Registry& registry, const std::vector<std::string>& pools) {
    // A document is bounded; the newest cells are what an operator asks about.
    constexpr std::size_t kMaxCells = 4000;
    const std::vector<const Cell*> all = registry.cells();
    Json cells = Json::array();
    const std::size_t first = all.size() > kMaxCells ? all.size() - kMaxCells : 0;
    for (std::size_t i = first; i < all.size(); ++i) {
        cells.push_back(cell_json(*all[i], registry, pools));
    }
    return dump(Json{{"total", all.size()}, {"omitted", first}, {"cells", std::move(cells)}});
}

std::string stats_document(const Registry& registry, const std::vector<std::string>& pools,
                           const Refusals& refusals, const StatsWindow& window,
                           const StatsTimes& times) {
    Json pool_rows = Json::array();
    for (std::size_t i = 0; i < registry.pool_count(); ++i) {
        const PoolResidency pool = registry.residency(i);
        pool_rows.push_back(Json{{"pool", pools[i]},
                                 {"tier", to_word(pool.tier)},
                                 {"capacity_bytes", pool.capacity_bytes},
                                 {"used_bytes", pool.used_bytes},
                                 {"reserved_bytes", pool.reserved_bytes}});
    }
    Json tenants = Json::array();
    for (const TenantId tenant : registry.tenants()) {
        tenants.push_back(tenant_stats(registry, pools, tenant, refusals));
    }
    return dump(Json{{"uptime_s", times.uptime_s},
                     {"pools", std::move(pool_rows)},
                     {"tenants", std::move(tenants)},
                     {"evictions", evictions_json(registry.eviction_flows())},
                     {"window", window_json(registry, refusals, window, times.now)}});
}

std::string tenants_document(const Registry& registry, const TenantBook& tenants,
                             const std::vector<std::string>& pools) {
    Json rows = Json::array();
    for (const TenantId tenant : registry.tenants()) {
        const TenantRecord record = tenants.record_of(registry, tenant);
        Json of_pools = Json::array();
        for (std::size_t pool = 0; pool < pools.size(); ++pool) {
            const std::uint64_t reserved = registry.reserved_bytes(tenant, pool);
            const std::uint64_t resident = registry.resident_bytes(tenant, pool);
            if (reserved != 0 || resident != 0) {
                of_pools.push_back(Json{{"pool", pools[pool]},
                                        {"served", true},
                                        {"reserved_bytes", reserved},
                                        {"resident_bytes", resident}});
            }
        }
        for (const Reservation& kept : tenants.unserved()) {
            if (kept.tenant == tenant) {
                of_pools.push_back(Json{{"pool", kept.pool},
                                        {"served", false},
                                        {"reserved_bytes", kept.bytes},
                                        {"resident_bytes", 0}});
            }
        }
        rows.push_back(Json{{"tenant", tenant.value},
                            {"name", record.name},
                            {"declared", tenants.is_declared(tenant)},
                            {"salt", record.salt == 0 ? Json() : Json(salt_text(record.salt))},
                            {"weight", record.weight},
                            {"trust_epoch", record.trust_epoch},
                            {"incarnation", record.incarnation},
                            {"had_cells", record.had_cells},
                            {"pools", std::move(of_pools)}});
    }
    return dump(Json{{"tenants", std::move(rows)}});
}

std::string explain_document(const ExplainQuestion& question, const Registry& registry,
                             const ContextInterner& interner,
                             const std::vector<std::string>& pools) {
    const std::vector<Explanation> explained =
        registry.explain(question.requester, registry.has_tenant(question.requester),
                         question.wanted, question.span, question.now);
    Told told;
    if (!explained.empty()) {
        told = outward(explained[0].verdict, registry.mode(), question.requester,
                       explained[0].cell->owner);
    }
    Json cells = Json::array();
    for (const Explanation& e : explained) {
        Json item = cell_json(*e.cell, registry, pools);
        item["context"] = context_json(interner.fields(e.cell->key));
        item["verdict"] = to_word(e.verdict);
        item["code"] = static_cast<std::uint16_t>(e.verdict);
        // The first diverging axis, whichever check named the verdict.
        const std::optional<Axis> axis = first_divergence(e.cell->key, question.wanted);
        item["axis"] = axis ? Json(to_word(*axis)) : Json();
        item["wanted"] = axis ? text_or_null(question.wanted_texts[*axis].value_or("")) : Json();
        item["found"] = axis ? text_or_null(interner.text(
                                   *axis, e.cell->key.axes[static_cast<std::size_t>(*axis)]))
                             : Json();
        cells.push_back(std::move(item));
    }
    return dump(Json{{"requester", question.requester.value},
                     {"requester_known", registry.has_tenant(question.requester)},
                     {"span", hex(question.span)},
                     {"verdict", explained.empty() ? to_word(Verdict::miss_absent)
                                                   : to_word(explained[0].verdict)},
                     {"outward", to_word(told.verdict())},
                     {"cells", std::move(cells)}});
}

}  // namespace cxlpool

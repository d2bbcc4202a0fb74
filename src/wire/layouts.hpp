// The layout of every message body: its fields in their order, and what each may hold.
//
// docs/protocol.md has the same facts as tables of offsets; tests/golden/wire has the bytes. A
// change here is a change of the protocol. Internal to src/wire.
#pragma once

#include <limits>
#include <type_traits>

#include "wire/codec.hpp"
#include "wire/messages.hpp"

namespace cxlpool::wire {

inline constexpr std::size_t kErrorTextMaxBytes = 512;

template <typename C, typename T>
using Field = typename C::template Ref<T>;

template <typename C>
void layout_lease(C& c, Field<C, LeaseRef> m) {
    c.number("lease index", m.index);
    c.number("lease generation", m.generation);
}

template <typename C>
void layout_axes(C& c, Field<C, std::vector<AxisField>> axes) {
    c.list("axes", axes, 0, kMaxAxes, 3, [](C& codec, Field<C, AxisField> m) {
        codec.template word<std::uint8_t>("axis", m.axis, 0, kMaxAxes - 1);
        codec.name("axis value", m.value, kMaxAxisBytes);
    });
    for (std::size_t i = 1; i < axes.size(); ++i) {
        c.require(axes[i - 1].axis < axes[i].axis, Errc::malformed, "axes",
                  "not in ascending order, or one twice");
    }
}

// --- requests -----------------------------------------------------------------------------------

template <typename C>
void layout(C& c, Field<C, HelloRequest> m) {
    c.number("magic", m.magic);
    c.require(m.magic == kMagic, Errc::malformed, "magic", "not a cxlpool client");
    c.number("version_min", m.version_min);
    c.number("version_max", m.version_max);
    c.number("tenant", m.tenant);
    c.name("engine name", m.engine_name, kMaxNameBytes);
}

template <typename C>
void layout(C& c, Field<C, ContextRegisterRequest> m) {
    layout_axes<C>(c, m.axes);
}

template <typename C>
void layout(C& c, Field<C, ContextReleaseRequest> m) {
    c.number("context", m.context);
}

template <typename C>
void layout(C& c, Field<C, LookupRequest> m) {
    c.number("context", m.context);
    c.list("spans", m.spans, 1, kMaxLookupSpans, 32,
           [](C& codec, Field<C, SpanDigest> span) { codec.digest("span", span); });
}

template <typename C>
void layout(C& c, Field<C, BeginRequest> m) {
    c.number("context", m.context);
    c.reserved(4);
    c.digest("span", m.span);
    c.number("length", m.length_bytes);
    c.number("recompute", m.recompute_ns);
    c.name("pool", m.pool, kMaxNameBytes);
}

template <typename C>
void layout(C& c, Field<C, MapRequest> m) {
    c.number("segment", m.segment);
    c.word("access", m.access, MapAccess::read, MapAccess::write);
    c.reserved(3);
}

template <typename C>
void layout(C& c, Field<C, SealRequest> m) {
    layout_lease<C>(c, m.lease);
}

template <typename C>
void layout(C& c, Field<C, ShareRequest> m) {
    c.number("context", m.context);
    c.template word<std::uint8_t>("scope", m.scope, 0, kLastScope);
    c.reserved(3);
    c.digest("span", m.span);
    c.list("allow-list", m.allow_list, 0, kMaxAllowList, 8,
           [](C& codec, Field<C, std::uint64_t> tenant) {
               codec.number("tenant", tenant);
               codec.require(tenant != 0, Errc::invalid_argument, "allow-list",
                             "tenant 0 is nobody");
           });
}

template <typename C>
void layout(C& c, Field<C, ReleaseRequest> m) {
    layout_lease<C>(c, m.lease);
}

template <typename C>
void layout(C& c, Field<C, RenewRequest> m) {
    layout_lease<C>(c, m.lease);
}

template <typename C>
void layout(C& c, Field<C, PlanFleetRequest> m) {
    c.number("tenants", m.tenants);
    c.number("hosts", m.hosts);
    c.number("tokens", m.tokens);
    c.number("bytes", m.bytes);
    c.number("recompute_ns_per_token", m.recompute_ns_per_token);
    c.name("pool", m.pool, kMaxNameBytes);
}

template <typename C>
void layout_flags(C& c, Field<C, std::uint8_t> flags, std::uint8_t known) {
    c.number("flags", flags);
    c.require((flags & ~known) == 0, Errc::invalid_argument, "flags", "no such flag");
}

template <typename C>
void layout(C& c, Field<C, PlanPlacementRequest> m) {
    c.list("tiers", m.tiers, 1, kMaxPlacementTiers, 42,
           [](C& codec, Field<C, PlacementTierField> tier) {
               codec.template word<std::uint8_t>("tier", tier.tier, 1, kLastTier);
               layout_flags<C>(codec, tier.flags, kTierFlags);
               codec.reserved(6);
               codec.number("used", tier.used_bytes);
               codec.number("capacity", tier.capacity_bytes);
               codec.number("ttl", tier.ttl_ns);
               codec.number("promote touches per hour", tier.promote_touches_per_hour);
               codec.require((tier.flags & kTierPromote) != 0 || tier.promote_touches_per_hour == 0,
                             Errc::invalid_argument, "promote touches per hour",
                             "without its flag");
               codec.name("pool", tier.pool, kMaxNameBytes);
           });
    c.list("cells", m.cells, 1, kMaxPlacementCells, 56,
           [](C& codec, Field<C, PlacementCellField> cell) {
               codec.template word<std::uint8_t>("state", cell.state, kFirstMovable, kLastMovable);
               codec.template word<std::uint8_t>("cell's tier", cell.tier, 1, kLastTier);
               layout_flags<C>(codec, cell.flags, kCellFlags);
               codec.reserved(5);
               codec.number("bytes", cell.bytes);
               codec.number("in tier", cell.in_tier_ns);
               codec.number("since touch", cell.since_touch_ns);
               codec.number("since revival", cell.since_revival_ns);
               codec.number("touches", cell.touches);
               codec.number("recompute", cell.recompute_ns);
               codec.require(cell.touches != 0 || cell.since_touch_ns == 0, Errc::invalid_argument,
                             "since touch", "without touches");
               codec.require((cell.flags & kCellRevived) != 0 || cell.since_revival_ns == 0,
                             Errc::invalid_argument, "since revival", "without its flag");
           });
}

template <typename C>
void layout(C& c, Field<C, AdjudicateRequest> m) {
    c.number("owner", m.owner);
    c.digest("span", m.span);
    c.number("cell", m.cell);
    c.digest("expected", m.expected);
    c.word("decision", m.decision, Decision::trust, Decision::poison);
    c.reserved(7);
}

template <typename C>
void layout(C& c, Field<C, DocumentRequest> m) {
    c.word("document", m.kind, Document::status, Document::stats_ended);
    c.reserved(7);
    c.number("requester", m.requester);
    c.digest("span", m.span);
    layout_axes<C>(c, m.axes);
}

template <typename C>
void layout(C& c, Field<C, DocumentMoreRequest> m) {
    c.number("offset", m.offset_bytes);
}

template <typename C>
void layout(C& c, Field<C, TenantChangeRequest> m) {
    c.word("op", m.op, TenantOp::add, TenantOp::reserve);
    c.reserved(7);
    c.number("tenant", m.tenant);
    c.require(m.tenant != 0, Errc::invalid_argument, "tenant", "0 is nobody");
    c.number("value", m.value);
    c.name("name", m.name, kMaxNameBytes);
    c.name("pool", m.pool, kMaxNameBytes);
    // What an operation does not take has to be absent: who sends it meant something else.
    const bool names = m.op == TenantOp::add || m.op == TenantOp::set_name;
    c.require(names ? m.value == 0 : m.name.empty(), Errc::invalid_argument,
              names ? "value" : "name", "not of this operation");
    c.require((m.op == TenantOp::reserve) == !m.pool.empty(), Errc::invalid_argument, "pool",
              "of reserve, and of no other operation");
}

template <typename C>
void layout(C& c, Field<C, ForgetRequest> m) {
    c.number("tenant", m.tenant);
    c.require(m.tenant != 0, Errc::invalid_argument, "tenant", "0 is nobody");
    c.number("wait", m.wait_ms);
    c.reserved(4);
}

// --- replies ------------------------------------------------------------------------------------

template <typename C>
void layout(C& /*c*/, Field<C, ReloadRequest> /*m*/) {}

template <typename C>
void layout(C& /*c*/, Field<C, OwnStatisticsRequest> /*m*/) {}

template <typename C>
void layout(C& /*c*/, Field<C, EmptyReply> /*m*/) {}

template <typename C>
void layout(C& c, Field<C, ErrorText> m) {
    c.text("error text", m.text, kErrorTextMaxBytes);
}

template <typename C>
void layout(C& c, Field<C, HelloReply> m) {
    c.number("version", m.version);
    c.template word<std::uint16_t>("mode", m.mode, 0, 1);
    c.number("roles", m.roles);
    c.number("tenant", m.tenant);
    c.number("max_lookup_spans", m.max_lookup_spans);
    c.number("max_leases", m.max_leases);
    c.number("max_contexts", m.max_contexts);
    c.number("lease_ttl_ms", m.lease_ttl_ms);
    c.number("max_cell_bytes", m.max_cell_bytes);
}

template <typename C>
void layout(C& c, Field<C, ContextRegisterReply> m) {
    c.number("context", m.context);
}

template <typename C>
void layout(C& c, Field<C, LookupReply> m) {
    c.list("items", m.items, 1, kMaxLookupSpans, 64, [](C& codec, Field<C, LookupItem> item) {
        codec.number("verdict", item.verdict);
        codec.number("item status", item.status);
        codec.require(errc_known(item.status), Errc::invalid_argument, "item status",
                      "no such value");
        layout_lease<C>(codec, item.lease);
        codec.number("segment", item.segment);
        codec.number("offset", item.offset_bytes);
        codec.number("length", item.length_bytes);
        codec.digest("digest", item.digest);
    });
}

template <typename C>
void layout(C& c, Field<C, BeginReply> m) {
    layout_lease<C>(c, m.lease);
    c.number("segment", m.segment);
    c.reserved(4);
    c.number("offset", m.offset_bytes);
    c.number("length", m.length_bytes);
}

template <typename C>
void layout(C& c, Field<C, MapReply> m) {
    c.number("size", m.size_bytes);
    c.number("alignment", m.alignment_bytes);
}

template <typename C>
void layout(C& c, Field<C, SealReply> m) {
    c.digest("digest", m.digest);
}

template <typename C>
void layout(C& c, Field<C, RenewReply> m) {
    c.number("ttl", m.ttl_ms);
}

template <typename C>
void layout(C& c, Field<C, PlanFleetReply> m) {
    c.template word<std::uint8_t>("holds", m.holds, 0, kLastRegime);
    c.template word<std::uint8_t>("advice", m.advice, 0, kLastAdvice);
    c.reserved(6);
    c.number("hosts", m.hosts);
    c.number("attending hosts", m.attending_hosts);
    const auto regime = [&c](Field<C, PlanRegime> r) {
        c.number("prefill tokens", r.prefill_tokens);
        c.number("resident bytes", r.resident_bytes);
        c.number("prefill tokens saved", r.prefill_tokens_saved);
        c.number("bytes saved", r.bytes_saved);
        c.number("reader cost", r.reader_cost_ns);
    };
    regime(m.private_copies);
    regime(m.copy_only);
    regime(m.coherent);
    c.number("full pass", m.full_pass_ns);
    c.number("full pass shared", m.full_pass_shared_ns);
    c.number("seal writeback", m.seal_writeback_ns);
    c.number("reader invalidate", m.reader_invalidate_ns);
}

template <typename C>
void layout(C& c, Field<C, PlanPlacementReply> m) {
    c.list("items", m.items, 1, kMaxPlacementCells, 24, [](C& codec, Field<C, PlacementItem> item) {
        codec.number("item status", item.status);
        codec.require(errc_known(item.status), Errc::invalid_argument, "item status",
                      "no such value");
        codec.template word<std::uint8_t>("action", item.action, 0, kLastAction);
        codec.template word<std::uint8_t>("reason", item.reason, 0, kLastReason);
        codec.template word<std::uint8_t>("state", item.state, 0, kLastMovable);
        codec.template word<std::uint8_t>("to", item.to, 0, kLastTier);
        codec.template word<std::uint8_t>("weighed", item.weighed, 0, kLastTier);
        codec.template word<std::uint8_t>("return source", item.return_source, 0, kLastSource);
        codec.number("return cost", item.return_cost_ns);
        codec.number("recompute", item.recompute_ns);
    });
}

template <typename C>
void layout(C& c, Field<C, OwnStatisticsReply> m) {
    c.number("hits", m.hits);
    c.number("misses", m.misses);
    c.number("evictions suffered", m.evictions_suffered);
    c.number("evictions self", m.evictions_self);
    c.number("cells materialised", m.cells_materialised);
    c.number("bytes materialised", m.bytes_materialised);
    c.number("cells", m.cells);
    c.number("bytes", m.bytes);
    c.number("live leases", m.live_leases);
    c.list("tiers", m.tiers, 0, kLastTier, 24, [](C& codec, Field<C, TierStatistics> row) {
        codec.template word<std::uint8_t>("tier", row.tier, 1, kLastTier);
        codec.reserved(7);
        codec.number("resident", row.resident_bytes);
        codec.number("reserved", row.reserved_bytes);
    });
    c.list("refusals", m.refusals, 0, kMaxRefusalRows, 16, [](C& codec, Field<C, RefusalRow> row) {
        codec.number("code", row.code);
        codec.require(row.code != 0, Errc::invalid_argument, "code", "0 is no refusal");
        codec.reserved(6);
        codec.number("count", row.count);
    });
}

template <typename C>
void layout(C& c, Field<C, ReloadReply> m) {
    c.number("connections closed", m.connections_closed);
}

template <typename C>
void layout(C& c, Field<C, ForgetReply> m) {
    c.text("receipt", m.receipt, kMaxChunkBytes);
}

template <typename C>
void layout(C& c, Field<C, DocumentReply> m) {
    c.number("total", m.total_bytes);
    c.number("offset", m.offset_bytes);
    c.text("chunk", m.chunk, kMaxChunkBytes);
}

}  // namespace cxlpool::wire

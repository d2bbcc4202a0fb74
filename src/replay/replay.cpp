#include "replay/replay.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/units.hpp"
#include "domain/words.hpp"
#include "registry/registry.hpp"
#include "replay/trace_reader.hpp"

namespace cxlpool::replay {
namespace {

constexpr std::uint64_t kProgressEvery = 1U << 12U;  // requests

constexpr std::array kHitRules{
    words::Word<HitRule>{HitRule::prefix, "prefix"},
    words::Word<HitRule>{HitRule::blocks, "blocks"},
};

// Whatever bounds a daemon has against its peers, a trace is bounded by its reader.
RegistryLimits limits_for(const Trace& trace) {
    RegistryLimits limits;
    limits.leases_per_connection = 1;
    for (const Trace::Request& request : trace.requests()) {
        limits.leases_per_connection =
            std::max(limits.leases_per_connection, request.span_count + 1);
    }
    limits.filling_bytes_per_uid = std::numeric_limits<std::uint64_t>::max();
    limits.cell_bytes = std::numeric_limits<std::uint64_t>::max();
    limits.cells = std::numeric_limits<std::uint32_t>::max();
    limits.cells_per_tenant = std::numeric_limits<std::uint32_t>::max();
    return limits;
}

// All engines run one model.
ContextKey one_context() {
    ContextKey key;
    key.axes.fill(AxisId{1});
    return key;
}

class Replay {
  public:
    Replay(const Trace& trace, const ReplayOptions& options);
    void handle(const Trace::Request& request);
    ReplayReport finish();

  private:
    struct Found {
        bool hit = false;
        bool own = false;
    };

    void look_up(const Trace::Request& request);
    void count(const Trace::Request& request, TenantOutcome& outcome);
    // Must the tenant keep a cell of its own now?
    bool wants_cell(const Found& found) const;
    bool make_room(const Trace::Request& request, std::uint64_t bytes);
    void keep(const Trace::Request& request, const SpanDigest& span, std::uint64_t bytes);
    void share(const Trace::Request& request, const SpanDigest& span);
    void end_request(const Trace::Request& request);

    const Trace& trace_;
    ReplayOptions options_;
    Registry registry_;
    ContextKey context_ = one_context();
    std::vector<ConnectionId> connections_;  // by tenant
    std::vector<std::size_t> pools_;         // by tenant; all the same where the pool is shared
    ReplayReport report_;
    std::uint64_t last_segment_ = 0;
    // Of the request at hand.
    std::vector<Found> found_;
    std::vector<LeaseRef> leases_;
};

Replay::Replay(const Trace& trace, const ReplayOptions& options)
    : trace_(trace),
      options_(options),
      registry_(TenancyMode::multi, limits_for(trace), options.policy) {
    report_.options = options;
    const bool own_pools = options.regime == Regime::private_copies;
    // A cell that is shared stays where it lies: where the copy of it would go is not the question.
    const auto add_pool = [&] {
        RegistryPool pool;
        pool.isolation = own_pools ? Isolation::kernel : Isolation::cooperative;
        pool.capacity_bytes = options.pool_bytes;
        return registry_.add_pool(pool);
    };
    report_.pools = own_pools ? trace.tenants().size() : 1;
    for (std::size_t i = 0; i < trace.tenants().size(); ++i) {
        const TenantId id{i + 1};
        CXLPOOL_CHECK(registry_.add_tenant(id, trace.tenants()[i]).has_value());
        pools_.push_back(own_pools || i == 0 ? add_pool() : pools_.front());
        connections_.push_back(registry_.open_connection(id, static_cast<uid_t>(i), {}));
        report_.tenants.emplace_back().name = trace.tenants()[i];
    }
}

void Replay::handle(const Trace::Request& request) {
    TenantOutcome& outcome = report_.tenants[request.tenant];
    ++outcome.requests;
    outcome.prefill_tokens += request.tokens;
    look_up(request);
    count(request, outcome);
    const std::span<const std::uint32_t> spans = trace_.spans_of(request);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (wants_cell(found_[i])) {
            const std::uint64_t bytes = request.bytes_per_span != 0 ? request.bytes_per_span
                                                                    : trace_.tokens_of(request, i) *
                                                                          options_.bytes_per_token;
            keep(request, trace_.digest(spans[i]), bytes);
        }
    }
    end_request(request);
}

void Replay::look_up(const Trace::Request& request) {
    const TenantId tenant{request.tenant + 1ULL};
    const ConnectionId connection = connections_[request.tenant];
    const Timestamp now{request.time_ns};
    found_.clear();
    for (const std::uint32_t span : trace_.spans_of(request)) {
        const LookupResult result =
            registry_.lookup(connection, context_, trace_.digest(span), now);
        Found& found = found_.emplace_back();
        found.hit = is_hit(result.told.verdict());
        found.own = found.hit && result.owner == tenant;
        if (found.hit) {
            leases_.push_back(*registry_.grant_read(connection, result.cell, now));
        }
    }
}

void Replay::count(const Trace::Request& request, TenantOutcome& outcome) {
    outcome.spans += found_.size();
    for (std::size_t i = 0; i < found_.size(); ++i) {
        if (found_[i].hit) {
            ++outcome.hits;
            outcome.hits_of_others += found_[i].own ? 0 : 1;
            outcome.prefill_tokens_saved += trace_.tokens_of(request, i);
        } else if (options_.count == HitRule::prefix) {
            break;
        }
    }
}

bool Replay::wants_cell(const Found& found) const {
    return !found.hit || (options_.regime == Regime::copy_only && !found.own);
}

bool Replay::make_room(const Trace::Request& request, std::uint64_t bytes) {
    const std::size_t pool = pools_[request.tenant];
    if (options_.pool_bytes == 0) {
        return true;
    }
    if (bytes > options_.pool_bytes) {
        return false;
    }
    while (registry_.residency(pool).used_bytes > options_.pool_bytes - bytes) {
        if (!registry_.evict_for(TenantId{request.tenant + 1ULL}, pool, bytes)) {
            return false;
        }
    }
    return true;
}

void Replay::keep(const Trace::Request& request, const SpanDigest& span, std::uint64_t bytes) {
    const ConnectionId connection = connections_[request.tenant];
    const Timestamp now{request.time_ns};
    const Result<void> may = registry_.check_begin(connection, context_, span, bytes, 0);
    if (!may) {
        // A trace whose ids are not chained may name a span twice in one request.
        CXLPOOL_CHECK(may.error().code() == Errc::already_exists);
        return;
    }
    if (!make_room(request, bytes)) {
        ++report_.tenants[request.tenant].not_kept;
        return;
    }
    Location location;
    location.pool = pools_[request.tenant];
    location.placement = Placement{SegmentId{++last_segment_}, Extent{0, bytes}, bytes};
    const Result<BeginGrant> begun =
        registry_.begin(connection, context_, span, location, now, now);
    CXLPOOL_CHECK(begun.has_value());
    const Result<Work> work = registry_.start_seal(connection, begun->lease);
    CXLPOOL_CHECK(work.has_value() && !work->move);
    ContentDigest content;
    content.bytes = span.bytes;
    CXLPOOL_CHECK(registry_.finish_seal(*work, content, std::nullopt, now).has_value());
    if (options_.regime != Regime::private_copies) {
        share(request, span);
    }
}

// Every cell is trusted at once: a simulation is about room, not about judgement.
void Replay::share(const Trace::Request& request, const SpanDigest& span) {
    const Result<std::optional<Work>> shared =
        registry_.start_share(connections_[request.tenant], context_, span, Scope::fleet, {});
    CXLPOOL_CHECK(shared.has_value() && !shared->has_value());
    CXLPOOL_CHECK(registry_
                      .adjudicate(TenantId{request.tenant + 1ULL}, span, CellId{}, std::nullopt,
                                  Judgement::trust, 0, Timestamp{request.time_ns})
                      .has_value());
}

void Replay::end_request(const Trace::Request& request) {
    for (const LeaseRef& lease : leases_) {
        CXLPOOL_CHECK(registry_.release(connections_[request.tenant], lease).has_value());
    }
    leases_.clear();
    registry_.take_ended();
    registry_.take_freed();
}

ReplayReport Replay::finish() {
    TenantOutcome& total = report_.total;
    for (std::size_t i = 0; i < report_.tenants.size(); ++i) {
        TenantOutcome& one = report_.tenants[i];
        const TenantCounters counters = registry_.counters(TenantId{i + 1});
        one.bytes_resident = counters.bytes;
        one.evictions_caused = counters.evictions_caused;
        one.evictions_suffered = counters.evictions_suffered;
        total.requests += one.requests;
        total.spans += one.spans;
        total.hits += one.hits;
        total.hits_of_others += one.hits_of_others;
        total.prefill_tokens += one.prefill_tokens;
        total.prefill_tokens_saved += one.prefill_tokens_saved;
        total.not_kept += one.not_kept;
        total.evictions_caused += one.evictions_caused;
        total.evictions_suffered += one.evictions_suffered;
        total.bytes_resident += one.bytes_resident;
    }
    report_.evictions = registry_.eviction_flows();
    return std::move(report_);
}

}  // namespace

std::string_view to_word(HitRule rule) noexcept {
    return words::text_of(kHitRules, rule);
}

Result<HitRule> parse_hit_rule(std::string_view word) {
    return words::parse(kHitRules, "rule of counting", word);
}

Result<void> check_sizes(std::uint64_t block_tokens, std::uint64_t bytes_per_token) {
    const std::optional<std::uint64_t> block_bytes = checked_mul(block_tokens, bytes_per_token);
    if (!block_bytes || *block_bytes == 0 || *block_bytes > kMaxBytesPerSpan) {
        return Error{Errc::invalid_argument, "a block of " + std::to_string(block_tokens) +
                                                 " tokens of " + std::to_string(bytes_per_token) +
                                                 " bytes each: 1 byte to 4 GiB are simulated"};
    }
    return {};
}

Result<ReplayReport> replay(const Trace& trace, const ReplayOptions& options,
                            const ReplayProgress& progress) {
    CXLPOOL_TRY(check_sizes(trace.block_tokens(), options.bytes_per_token));
    Replay run(trace, options);
    std::uint64_t done = 0;
    for (const Trace::Request& request : trace.requests()) {
        run.handle(request);
        if (++done % kProgressEvery == 0 && progress) {
            progress(done);
        }
    }
    return run.finish();
}

}  // namespace cxlpool::replay

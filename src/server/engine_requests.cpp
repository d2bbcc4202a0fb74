// What engines ask for.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "domain/fleet_plan.hpp"
#include "memory/guarded.hpp"
#include "server/own_statistics.hpp"
#include "server/placement_request.hpp"
#include "server/server.hpp"
#include "server/wire_context.hpp"

namespace cxlpool {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// Handles are never used again; a connection that is near the end of their range has to be made
// anew.
constexpr const char* kUsedUp = "this connection is used up; connect again";
bool used_up(std::uint32_t last_handle) {
    return last_handle >= UINT32_MAX - wire::kMaxLookupSpans;
}

template <typename T>
constexpr bool kIsHello = std::is_same_v<T, wire::HelloRequest>;

template <typename T>
constexpr bool kIsOperators =
    std::is_same_v<T, wire::AdjudicateRequest> || std::is_same_v<T, wire::DocumentRequest> ||
    std::is_same_v<T, wire::DocumentMoreRequest> || std::is_same_v<T, wire::ReloadRequest> ||
    std::is_same_v<T, wire::TenantChangeRequest> || std::is_same_v<T, wire::ForgetRequest>;

// A request is heard only after hello, and only at the door that it belongs to. The roles of the
// peer are checked by the handlers of the operators' requests.
template <typename T>
std::optional<Error> out_of_place(const Session& session) {
    if constexpr (kIsHello<T>) {
        if (session.greeted) {
            return Error{Errc::wrong_state, "hello was said already"};
        }
    } else {
        if (!session.greeted) {
            return Error{Errc::wrong_state, "the first message must be hello"};
        }
        if (kIsOperators<T> != (session.door() == Door::admin)) {
            return Error{Errc::not_permitted, kIsOperators<T>
                                                  ? "this request belongs to the admin socket"
                                                  : "this request belongs to the engine socket"};
        }
    }
    return std::nullopt;
}

std::uint64_t or_unknown(const std::optional<std::uint64_t>& value) {
    return value.value_or(UINT64_MAX);
}

wire::PlanRegime to_wire(const RegimePlan& plan) {
    return wire::PlanRegime{plan.prefill_tokens, plan.resident_bytes, plan.prefill_tokens_saved,
                            plan.bytes_saved, or_unknown(plan.reader_cost_ns)};
}

}  // namespace

void Server::dispatch(Session& session, const wire::Request& request) {
    const wire::Type type = wire::type_of(request.body);
    const std::uint64_t cookie = request.cookie;
    std::visit(
        [&](const auto& body) {
            using Body = std::decay_t<decltype(body)>;
            if (std::optional<Error> error = out_of_place<Body>(session)) {
                session.closing = !session.greeted;
                reply(session, type, cookie, std::move(*error));
                return;
            }
            UniqueFd descriptor;
            std::optional<Answer> answer;  // none: it comes later
            Overloaded{
                [&](const wire::HelloRequest& r) {
                    answer = hello(session, r, descriptor);
                    session.closing = !answer->has_value();
                },
                [&](const wire::ContextRegisterRequest& r) {
                    answer = register_context(session, r);
                },
                [&](const wire::ContextReleaseRequest& r) { answer = release_context(session, r); },
                [&](const wire::LookupRequest& r) { answer = look_up(session, r); },
                [&](const wire::BeginRequest& r) { begin(session, cookie, r); },
                [&](const wire::MapRequest& r) { answer = map(session, r, descriptor); },
                [&](const wire::SealRequest& r) { seal(session, cookie, r); },
                [&](const wire::ShareRequest& r) { share(session, cookie, r); },
                [&](const wire::ReleaseRequest& r) { answer = release(session, r); },
                [&](const wire::RenewRequest& r) { answer = renew(session, r); },
                [&](const wire::PlanFleetRequest& r) { answer = plan_fleet(r); },
                [&](const wire::PlanPlacementRequest& r) { answer = plan_placement(r); },
                [&](const wire::OwnStatisticsRequest&) {
                    answer =
                        Reply(own_statistics(registry_, session.tenant, refusals_, incarnations_));
                },
                [&](const wire::AdjudicateRequest& r) { adjudicate(session, cookie, r); },
                [&](const wire::DocumentRequest& r) { document(session, cookie, r); },
                [&](const wire::DocumentMoreRequest& r) { answer = document_more(session, r); },
                [&](const wire::ReloadRequest&) { reload_for(session, cookie); },
                [&](const wire::TenantChangeRequest& r) { tenant_change(session, cookie, r); },
                [&](const wire::ForgetRequest& r) { forget(session, cookie, r); },
            }(body);
            if (answer) {
                reply(session, type, cookie, std::move(*answer), std::move(descriptor));
            }
        },
        request.body);
}

Server::Answer Server::hello(Session& session, const wire::HelloRequest& request, UniqueFd& board) {
    if (request.magic != wire::kMagic) {
        return Error{Errc::malformed, "this is not a cxlpool client"};
    }
    if (request.version_min > wire::kVersion || request.version_max < wire::kVersion) {
        return Error{Errc::unsupported_version,
                     "this daemon speaks protocol version " + std::to_string(wire::kVersion)};
    }
    const Limits& limits = options_.limits;
    wire::HelloReply out;
    out.mode = options_.mode == TenancyMode::multi ? 1 : 0;
    out.roles = roles_at(session.door(), session.identity);
    out.max_lookup_spans = wire::kMaxLookupSpans;
    out.max_leases = limits.leases_per_connection;
    out.max_contexts = limits.contexts_per_connection;
    out.lease_ttl_ms = limits.lease_ttl_ms;
    out.max_cell_bytes = limits.cell_bytes;
    if (session.door() == Door::engine) {
        const Result<TenantId> tenant =
            Authorizer::select_tenant(session.identity, TenantId{request.tenant});
        if (!tenant) {
            // Who may act as several and names none has made a mistake and tried nothing.
            if (tenant.error().code() == Errc::not_permitted) {
                audit_.refused_identity(session.peer, session.listener->name,
                                        "tenant " + std::to_string(request.tenant));
            }
            return tenant.error();
        }
        Result<std::unique_ptr<Segment>> segment = boards_->create_segment(
            limits.leases_per_connection * 4ULL, SegmentUse::shared_read_only);
        if (!segment) {
            return std::move(segment).error();
        }
        Result<UniqueFd> readable = (*segment)->open_readable();
        if (!readable) {
            return std::move(readable).error();
        }
        session.board = std::move(segment).value();
        session.leases.resize(limits.leases_per_connection);
        board = std::move(readable).value();
        session.tenant = *tenant;
        session.connection =
            registry_.open_connection(*tenant, session.peer.uid, request.engine_name);
        session_of_connection_.emplace(session.connection->value, session.id);
        out.tenant = tenant->value;
    }
    session.greeted = true;
    return Reply(out);
}

Server::Answer Server::register_context(Session& session,
                                        const wire::ContextRegisterRequest& request) {
    if (session.contexts.size() >= options_.limits.contexts_per_connection) {
        return Error{Errc::limit_exceeded, "this connection has " +
                                               std::to_string(session.contexts.size()) +
                                               " contexts already; release one"};
    }
    if (used_up(session.last_context)) {
        return Error{Errc::limit_exceeded, kUsedUp};
    }
    Result<ContextFields> fields = wire_context(request.axes);
    if (!fields) {
        return std::move(fields).error();
    }
    const Result<ContextKey> key = interner_.acquire(*fields, session.tenant);
    if (!key) {
        return key.error();
    }
    session.contexts.emplace(++session.last_context, *key);
    return Reply(wire::ContextRegisterReply{session.last_context});
}

Server::Answer Server::release_context(Session& session,
                                       const wire::ContextReleaseRequest& request) {
    const auto at = session.contexts.find(request.context);
    if (at == session.contexts.end()) {
        return Error{Errc::not_found, "no such context on this connection"};
    }
    look_into_misses();
    interner_.release(at->second, session.tenant);
    session.contexts.erase(at);
    return Reply(wire::EmptyReply{});
}

Result<ContextKey> Server::context_of(const Session& session, std::uint32_t handle) const {
    const auto at = session.contexts.find(handle);
    if (at == session.contexts.end()) {
        return Error{Errc::not_found, "no such context on this connection"};
    }
    return at->second;
}

Server::Answer Server::look_up(Session& session, const wire::LookupRequest& request) {
    const Result<ContextKey> key = context_of(session, request.context);
    if (!key) {
        return key.error();
    }
    // A span that is asked for again and again in one message would show in the time of the answer
    // what is not in its bytes.
    if (const std::optional<std::size_t> twice = wire::first_repeated(request.spans)) {
        return Error{Errc::invalid_argument,
                     "span " + std::to_string(*twice) + " of this lookup stands in it twice"};
    }
    if (used_up(session.last_segment)) {
        return Error{Errc::limit_exceeded, kUsedUp};
    }
    const Timestamp now = clock_.monotonic();
    const AuditLog::Asker asker{session.peer.uid, session.listener, session.tenant, ++last_lookup_};
    wire::LookupReply out;
    out.items.reserve(request.spans.size());
    for (const SpanDigest& span : request.spans) {
        wire::LookupItem item;
        const LookupResult found = registry_.lookup(*session.connection, *key, span, now);
        item.verdict = static_cast<std::uint16_t>(found.told.verdict());
        if (!found.cell) {
            audit_.missed(asker, *key, span);
        } else if (found.owner != session.tenant) {
            audit_.cross_tenant(asker, found, span);
        }
        if (is_hit(found.told.verdict())) {
            const Result<LeaseRef> lease =
                registry_.grant_read(*session.connection, found.cell, now);
            if (lease) {
                const Cell& cell = *registry_.find(found.cell);
                const Location& location = *registry_.location_of(found.cell);
                item.lease = *lease;
                item.segment = hold(session, *lease, location, false);
                item.offset_bytes = location.placement.extent.offset_bytes;
                item.length_bytes = cell.length_bytes;
                item.digest = cell.digest;
            } else {
                item.verdict = static_cast<std::uint16_t>(Told().verdict());
                item.status = static_cast<std::uint16_t>(lease.error().code());
            }
        }
        out.items.push_back(item);
    }
    return Reply(std::move(out));
}

void Server::look_into_misses() {
    audit_.resolve([this, now = clock_.monotonic()](TenantId requester, const ContextKey& key,
                                                    const SpanDigest& span) {
        return registry_.why_missed(requester, key, span, now);
    });
}

std::uint32_t Server::hold(Session& session, const LeaseRef& lease, const Location& location,
                           bool writable) {
    const auto [known, fresh] = session.segment_handles.try_emplace(
        {location.pool, location.placement.segment}, session.last_segment + 1);
    const std::uint32_t handle = known->second;
    if (fresh) {
        session.last_segment = handle;
        session.segments.emplace(handle,
                                 HeldSegment{location.pool, location.placement.segment, 0, 0});
    }
    HeldSegment& held = session.segments.at(handle);
    held.filling_leases += writable ? 1 : 0;
    ++held.live_leases;
    session.leases[lease.index] = HeldLease{handle, writable};
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(session.board->bytes().data());
    __atomic_store_n(&words[lease.index], lease.generation, __ATOMIC_RELEASE);
    return handle;
}

void Server::let_go(Session& session, std::uint32_t lease_index) {
    HeldLease& held = session.leases[lease_index];
    if (held.segment == 0) {
        return;
    }
    std::uint32_t* words = reinterpret_cast<std::uint32_t*>(session.board->bytes().data());
    __atomic_store_n(&words[lease_index], 0, __ATOMIC_RELEASE);
    const auto at = session.segments.find(std::exchange(held.segment, 0));
    CXLPOOL_CHECK(at != session.segments.end());
    at->second.filling_leases -= held.filling ? 1 : 0;
    if (--at->second.live_leases == 0) {
        session.segment_handles.erase({at->second.pool, at->second.segment});
        session.segments.erase(at);
    }
}

void Server::begin(Session& session, std::uint64_t cookie, const wire::BeginRequest& request) {
    const Result<ContextKey> key = context_of(session, request.context);
    if (!key) {
        reply(session, wire::Type::begin, cookie, key.error());
        return;
    }
    const NewCell cell{*key, request.span, request.length_bytes, request.pool,
                       request.recompute_ns};
    if (const Result<void> allowed = check_begin(session, cell); !allowed) {
        reply(session, wire::Type::begin, cookie, allowed.error());
        return;
    }
    // Before a place is looked for: its bytes may be the only ones that this cell could have, even
    // when they must be overwritten first and the engine asks again.
    if (const std::optional<CellId> dropped =
            registry_.drop_quarantined(*session.connection, *key, request.span)) {
        audit_.replaced(session.peer.uid, session.tenant, *dropped, request.span);
        settle();
    }
    Need need;
    need.tenant = session.tenant;
    need.pool = pool_for(cell);
    need.bytes = cell.length_bytes;
    need.attempt = [this, cell](Session& there, std::uint64_t number) {
        return begin_placed(there, number, cell);
    };
    // Its values stay what they are, whatever the connection does meanwhile.
    interner_.retain(*key, session.tenant);
    need.ended = [this, key = *key, owner = session.tenant] { interner_.release(key, owner); };
    with_room(session, wire::Type::begin, cookie, std::move(need));
}

Result<void> Server::check_begin(const Session& session, const NewCell& cell) const {
    if (used_up(session.last_segment)) {
        return Error{Errc::limit_exceeded, kUsedUp};
    }
    const auto promised = promised_bytes_.find(session.peer.uid);
    return registry_.check_begin(*session.connection, cell.key, cell.span, cell.length_bytes,
                                 promised == promised_bytes_.end() ? 0 : promised->second);
}

Server::Attempt Server::begin_placed(Session& session, std::uint64_t cookie, const NewCell& cell) {
    // Again for one that waited: another request of the tenant may have been quicker.
    if (const Result<void> allowed = check_begin(session, cell); !allowed) {
        return Answer(allowed.error());
    }
    const Result<Location> location = place(session.tenant, cell.length_bytes, cell.pool);
    if (!location) {
        return location.error().code() == Errc::capacity ? Attempt(NoRoom{})
                                                         : Attempt(Answer(location.error()));
    }
    Pool& pool = *pools_[location->pool].pool;
    if (!pool.needs_scrub(location->placement)) {
        return finish_begin(session, cell, *location);
    }
    // The bytes are somebody's or nobody knows whose: nobody sees them before they are zero.
    const std::span<std::byte> bytes = pool.extent_bytes(location->placement);
    auto scrubbed = std::make_shared<Result<void>>();
    interner_.retain(cell.key, session.tenant);
    promised_bytes_[session.peer.uid] += cell.length_bytes;
    const auto keep_promise = [this, uid = session.peer.uid, length = cell.length_bytes] {
        const auto at = promised_bytes_.find(uid);
        CXLPOOL_CHECK(at != promised_bytes_.end() && at->second >= length);
        at->second -= length;
        if (at->second == 0) {
            promised_bytes_.erase(at);
        }
    };
    const Result<void> accepted = run_job(
        session, wire::Type::begin, cookie, [bytes, scrubbed] { *scrubbed = guarded_zero(bytes); },
        [this, cell, owner = session.tenant, location = *location, scrubbed,
         keep_promise](Session* there) -> Answer {
            keep_promise();
            Answer answer = Error{Errc::disconnected, "the connection is gone"};
            if (!*scrubbed) {
                withdraw(location, scrubbed->error());
                answer = Error{Errc::io, "the memory of this cell could not be written"};
            } else {
                CXLPOOL_CHECK(
                    pools_[location.pool].pool->mark_scrubbed(location.placement).has_value());
                if (there != nullptr) {
                    answer = finish_begin(*there, cell, location);
                } else {
                    release_location(location, owner);
                }
            }
            interner_.release(cell.key, owner);
            return answer;
        });
    if (!accepted) {
        keep_promise();
        interner_.release(cell.key, session.tenant);
        release_location(*location, session.tenant);
        return Answer(accepted.error());
    }
    return Later{};
}

Server::Answer Server::finish_begin(Session& session, const NewCell& cell,
                                    const Location& location) {
    const Result<BeginGrant> grant =
        registry_.begin(*session.connection, cell.key, cell.span, location, clock_.monotonic(),
                        clock_.wall(), cell.recompute_ns);
    if (!grant) {
        release_location(location, session.tenant);
        return grant.error();
    }
    if (grant->replaced) {
        audit_.replaced(session.peer.uid, session.tenant, grant->replaced, cell.span);
    }
    settle();
    wire::BeginReply out;
    out.lease = grant->lease;
    out.segment = hold(session, grant->lease, location, true);
    out.offset_bytes = location.placement.extent.offset_bytes;
    out.length_bytes = location.placement.length_bytes;
    return Reply(out);
}

Server::Answer Server::map(Session& session, const wire::MapRequest& request,
                           UniqueFd& descriptor) {
    const auto at = session.segments.find(request.segment);
    if (at == session.segments.end()) {
        return Error{Errc::stale_lease, "no live lease of this connection is in that segment"};
    }
    const HeldSegment& held = at->second;
    const bool write = request.access == wire::MapAccess::write;
    if (write && held.filling_leases == 0) {
        return Error{Errc::not_permitted, "this segment may only be read"};
    }
    Pool& pool = *pools_[held.pool].pool;
    Result<UniqueFd> opened =
        write ? pool.open_writable(held.segment) : pool.open_readable(held.segment);
    if (!opened) {
        spdlog::warn("opening a segment of pool '{}' failed: {}; the engine is told", pool.name(),
                     opened.error().message());
        return Error{opened.error().code(), "the daemon could not open this segment"};
    }
    descriptor = std::move(opened).value();
    return Reply(
        wire::MapReply{pool.segment_size_bytes(held.segment), pool.traits().alignment_bytes});
}

Result<void> Server::run_job(Session& session, wire::Type type, std::uint64_t cookie,
                             std::function<void()> job, std::function<Answer(Session*)> finish) {
    const std::uint64_t id = session.id;
    const Result<void> accepted =
        workers_->submit(std::move(job), [this, id, type, cookie, finish = std::move(finish)] {
            Session* there = find(id);
            Answer answer = finish(there);
            // Before the answer, so that who reads it finds the lease board up to date.
            settle();
            if (there != nullptr) {
                --there->pending;
                reply(*there, type, cookie, std::move(answer));
                if (find(id) != nullptr) {
                    update_interest(*there);
                }
            }
        });
    if (!accepted) {
        return Error{Errc::limit_exceeded, "the daemon is busy; try again"};
    }
    ++session.pending;
    return {};
}

void Server::run_work(Session& session, wire::Type type, std::uint64_t cookie, const Work& work,
                      FinishWork finish) {
    if (!work.move) {
        finish_attempt(session, type, cookie,
                       run_work_in(session, type, cookie, work, std::nullopt, finish));
        return;
    }
    Need need;
    need.tenant = work.owner;
    need.pool = work.source.pool;
    need.bytes = work.length_bytes;
    need.segment = true;
    need.attempt = [this, type, work, finish](Session& there, std::uint64_t number) -> Attempt {
        Pool& pool = *pools_[work.source.pool].pool;
        const Result<Placement> placed = pool.place_shared(work.owner, work.length_bytes);
        if (placed) {
            return run_work_in(there, type, number, work, located(work.source.pool, *placed, true),
                               finish);
        }
        if (placed.error().code() == Errc::capacity) {
            return NoRoom{};
        }
        registry_.abandon(work);
        return Answer(Error{placed.error().code(), "the daemon could not make a shared copy"});
    };
    need.given_up = [this, work] { registry_.abandon(work); };
    with_room(session, type, cookie, std::move(need));
}

Server::Attempt Server::run_work_in(Session& session, wire::Type type, std::uint64_t cookie,
                                    const Work& work, const std::optional<Location>& copy,
                                    const FinishWork& finish) {
    const std::span<std::byte> target =
        copy ? pools_[copy->pool].pool->bytes(copy->placement) : std::span<std::byte>{};
    const std::span<std::byte> source = pools_[work.source.pool].pool->bytes(work.source.placement);
    auto digest = std::make_shared<Result<ContentDigest>>(ContentDigest{});
    const Result<void> accepted = run_job(
        session, type, cookie,
        [source, target, digest] {
            if (!target.empty()) {
                if (Result<void> copied = guarded_copy(target, source); !copied) {
                    *digest = std::move(copied).error();
                    return;
                }
            }
            // Over the copy where there is one: its bytes can no longer change.
            *digest = guarded_digest(target.empty() ? source : target);
        },
        [this, work, copy, digest, finish](Session*) -> Answer {
            if (*digest) {
                return finish(**digest, copy);
            }
            spdlog::warn("reading the bytes of cell {} failed: {}; it stays as it was",
                         work.cell.value, digest->error().message());
            registry_.abandon(work);
            if (copy) {
                release_location(*copy, work.owner);
            }
            return Error{Errc::io, "the bytes of this cell could not be read"};
        });
    if (!accepted) {
        registry_.abandon(work);
        if (copy) {
            release_location(*copy, work.owner);
        }
        return Answer(accepted.error());
    }
    return Later{};
}

void Server::seal(Session& session, std::uint64_t cookie, const wire::SealRequest& request) {
    const Result<Work> work = registry_.start_seal(*session.connection, request.lease);
    if (!work) {
        reply(session, wire::Type::seal, cookie, work.error());
        return;
    }
    run_work(session, wire::Type::seal, cookie, *work,
             [this, work = *work](const ContentDigest& digest,
                                  const std::optional<Location>& moved) -> Answer {
                 CXLPOOL_TRY(registry_.finish_seal(work, digest, moved, clock_.wall()));
                 return Reply(wire::SealReply{digest});
             });
}

void Server::share(Session& session, std::uint64_t cookie, const wire::ShareRequest& request) {
    const Result<ContextKey> key = context_of(session, request.context);
    if (!key) {
        reply(session, wire::Type::share, cookie, key.error());
        return;
    }
    std::vector<TenantId> allow_list;
    for (const std::uint64_t tenant : request.allow_list) {
        allow_list.push_back(TenantId{tenant});
    }
    const Scope scope = static_cast<Scope>(request.scope);
    const Result<std::optional<Work>> work =
        registry_.start_share(*session.connection, *key, request.span, scope, allow_list);
    if (!work || !work->has_value()) {
        // Before the answer: who was shut out must see it on its lease board by then.
        settle();
        if (!work) {
            reply(session, wire::Type::share, cookie, work.error());
        } else {
            // Who was shut out stays so after a crash, too.
            reply_when_kept(session, wire::Type::share, cookie, Reply(wire::EmptyReply{}));
        }
        return;
    }
    run_work(session, wire::Type::share, cookie, **work,
             [this, work = **work, scope, allow_list](
                 const ContentDigest& digest, const std::optional<Location>& moved) -> Answer {
                 CXLPOOL_TRY(registry_.finish_share(work, digest, moved, scope, allow_list));
                 return Reply(wire::EmptyReply{});
             });
}

Server::Answer Server::release(Session& session, const wire::ReleaseRequest& request) {
    CXLPOOL_TRY(registry_.release(*session.connection, request.lease));
    let_go(session, request.lease.index);
    return Reply(wire::EmptyReply{});
}

Server::Answer Server::renew(Session& session, const wire::RenewRequest& request) {
    CXLPOOL_TRY(registry_.renew(*session.connection, request.lease, clock_.monotonic()));
    return Reply(wire::RenewReply{options_.limits.lease_ttl_ms});
}

Server::Answer Server::plan_fleet(const wire::PlanFleetRequest& request) const {
    const auto served = std::find_if(pools_.begin(), pools_.end(), [&](const ServedPool& p) {
        return request.pool.empty() || p.pool->name() == request.pool;
    });
    if (served == pools_.end()) {
        return Error{Errc::not_found, "no pool of this name"};
    }
    FleetPlanInput input;
    input.tenants = request.tenants;
    if (request.hosts != 0) {
        input.hosts = request.hosts;
    }
    input.tokens = request.tokens;
    input.bytes = request.bytes;
    input.recompute_ns_per_token = request.recompute_ns_per_token;
    const Result<FleetPlan> plan = cxlpool::plan_fleet(input, served->profile);
    if (!plan) {
        return plan.error();
    }
    wire::PlanFleetReply out;
    out.holds = static_cast<std::uint8_t>(plan->holds);
    out.advice = static_cast<std::uint8_t>(plan->advice);
    out.hosts = plan->hosts;
    out.attending_hosts = plan->attending_hosts;
    out.private_copies = to_wire(plan->private_copies);
    out.copy_only = to_wire(plan->copy_only);
    out.coherent = to_wire(plan->coherent);
    out.full_pass_ns = or_unknown(plan->coherent.full_pass_ns);
    out.full_pass_shared_ns = or_unknown(plan->coherent.full_pass_shared_ns);
    out.seal_writeback_ns = or_unknown(plan->coherent.seal_writeback_ns);
    out.reader_invalidate_ns = or_unknown(plan->coherent.reader_invalidate_ns);
    return Reply(out);
}

Server::Answer Server::plan_placement(const wire::PlanPlacementRequest& request) const {
    const auto find_profile = [this](Tier tier, std::string_view name) -> const Profile* {
        for (const ServedPool& served : pools_) {
            if (served.profile.tier == tier && (name.empty() || served.pool->name() == name)) {
                return &served.profile;
            }
        }
        for (const Profile& profile : options_.tiers) {
            if (profile.tier == tier && name.empty()) {
                return &profile;
            }
        }
        return nullptr;
    };
    Result<wire::PlanPlacementReply> reply = cxlpool::plan_placement(request, find_profile);
    if (!reply) {
        return std::move(reply).error();
    }
    return Reply(*std::move(reply));
}

}  // namespace cxlpool

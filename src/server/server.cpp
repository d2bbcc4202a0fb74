#include "server/server.hpp"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/check.hpp"
#include "memory/guarded.hpp"
#include "memory/provider.hpp"
#include "server/listener.hpp"
#include "wire/socket.hpp"

namespace cxlpool {
namespace {

// A peer that pours in requests gets this many answers a turn, then the others have theirs.
constexpr int kRequestsPerTurn = 16;
// Peers without a right are answered once; this many may wait for that answer at a time.
constexpr std::size_t kMaxRefusedSessions = 64;
// A peer that does not take its answer for this long is dropped.
constexpr std::uint64_t kWriteTimeoutNs = 30'000'000'000ULL;
constexpr std::chrono::milliseconds kTick{200};
// Copies and scrubs that wait; beyond it requests are refused with limit_exceeded.
constexpr std::size_t kMaxWaitingJobs = 1024;
// Scrubs that workers may have in hand at a time, so that engines' requests find room beside them.
constexpr std::size_t kMaxRunningScrubs = 8;
// Descriptors of peers that are not closed yet. Beyond it no engine is let in; those that are in
// can add one message of descriptors each (253), which LimitNOFILE= of the service has room for.
constexpr std::size_t kMaxBacklog = 256;

std::vector<std::string> names_of(const std::vector<ServedPool>& pools) {
    std::vector<std::string> out;
    for (const ServedPool& served : pools) {
        out.push_back(served.pool->name());
    }
    return out;
}

}  // namespace

RegistryLimits registry_limits(const Limits& limits) {
    RegistryLimits out;
    out.leases_per_connection = limits.leases_per_connection;
    out.filling_bytes_per_uid = limits.filling_bytes_per_uid;
    out.cell_bytes = limits.cell_bytes;
    out.cells_per_span_and_tenant = limits.cells_per_span_and_tenant;
    out.cells = limits.cells;
    out.cells_per_tenant = limits.cells_per_tenant;
    out.lease_ttl_ns = limits.lease_ttl_ms * 1'000'000ULL;
    return out;
}

Server::Server(Reactor& reactor, const Clock& clock, Authorizer authorizer, ServerOptions options,
               std::vector<ServedPool> pools)
    : reactor_(reactor),
      clock_(clock),
      authorizer_(std::move(authorizer)),
      options_(std::move(options)),
      pools_(std::move(pools)),
      interner_(options_.limits.axis_values_per_tenant, options_.limits.axis_values),
      registry_(options_.mode, registry_limits(options_.limits), options_.eviction),
      tenants_(names_of(pools_)),
      buffer_(wire::kMaxMessageBytes),
      started_at_(clock.monotonic()),
      workers_(std::make_unique<WorkerPool>(reactor, options_.worker_threads, kMaxWaitingJobs)) {}

Result<std::unique_ptr<Server>> Server::create(Reactor& reactor, const Clock& clock,
                                               Authorizer authorizer, ServerOptions options,
                                               std::vector<ServedPool> pools) {
    std::unique_ptr<Server> server(
        new Server(reactor, clock, std::move(authorizer), std::move(options), std::move(pools)));
    MemfdOptions boards;
    boards.pool_name = "lease boards";
    boards.hugepages = HugePages::never;
    // One board a connection, rounded up to pages.
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t board_bytes =
        (server->options_.limits.leases_per_connection * 4ULL + kPage - 1) / kPage * kPage;
    boards.capacity_bytes = board_bytes * server->options_.limits.connections;
    Result<std::unique_ptr<SegmentProvider>> provider = make_memfd_provider(boards);
    if (!provider) {
        return std::move(provider).error();
    }
    server->boards_ = std::move(provider).value();
    server->registry_.set_interner(&server->interner_);
    for (const ServedPool& served : server->pools_) {
        server->registry_.add_pool({served.pool->traits().isolation, served.profile.tier,
                                    served.pool->usage().capacity_bytes,
                                    served.pool->outlives_daemon()});
    }
    CXLPOOL_TRY(server->tenants_.load(server->registry_, server->options_.tenants,
                                      server->options_.reservations));
    for (const Reservation& kept : server->tenants_.unserved()) {
        spdlog::warn("tenant {} has {} bytes reserved in pool '{}', which is not served",
                     kept.tenant.value, kept.bytes, kept.pool);
    }
    CXLPOOL_TRY(server->restore_cells(std::move(server->options_.kept)));
    server->resume_erasures();
    return server;
}

Server::~Server() {
    shut_down();
    workers_.reset();
    save_cells_at_the_end();
    // What the dropped workers had not released goes with the pools.
}

Result<void> Server::serve(std::vector<Listener> listeners) {
    for (Listener& listener : listeners) {
        CXLPOOL_TRY(open_listener(std::make_shared<Listener>(std::move(listener))));
    }
    return reactor_.every(kTick, [this] { tick(); });
}

Result<void> Server::open_listener(std::shared_ptr<Listener> listener) {
    CXLPOOL_TRY(reactor_.add(listener->socket.get(), events_at(listener->door),
                             [this, listener] { accept_from(listener); }));
    listeners_.push_back(std::move(listener));
    return {};
}

void Server::close_listener(Listener& listener) {
    reactor_.remove(listener.socket.get());
    reaper_.bury(std::move(listener.socket));  // connections that nobody accepted wait in it
}

void Server::shut_down() {
    if (std::exchange(shutting_down_, true)) {
        return;
    }
    for (const std::shared_ptr<Listener>& listener : listeners_) {
        close_listener(*listener);
    }
    listeners_.clear();
    look_into_misses();
    audit_.flush(clock_.monotonic());
    std::vector<std::uint64_t> ids;
    for (const auto& [id, session] : sessions_) {
        ids.push_back(id);
    }
    for (const std::uint64_t id : ids) {
        close_session(id);
    }
    buried_.clear();
}

Session* Server::find(std::uint64_t id) noexcept {
    const auto at = sessions_.find(id);
    return at == sessions_.end() ? nullptr : at->second.get();
}

void Server::accept_from(const std::shared_ptr<Listener>& listener) {
    for (int i = 0; i < kRequestsPerTurn; ++i) {
        if (listener->door == Door::engine && reaper_.backlog() > kMaxBacklog) {
            spdlog::warn(
                "{} descriptors that peers sent, or their sockets, do not close; no engine is let "
                "in until they do",
                reaper_.backlog());
            reaper_behind_ = true;
            watch_listeners();
            return;
        }
        Result<std::optional<UniqueFd>> accepted = accept_one(listener->socket.get());
        if (!accepted) {
            if (accepted.error().os_errno() != ECONNABORTED) {
                spdlog::warn("accepting a connection failed: {}; it is tried again later",
                             accepted.error().message());
                out_of_descriptors_ = true;
                watch_listeners();
            }
            return;
        }
        if (!accepted->has_value()) {
            return;
        }
        admit(listener, std::move(**accepted));
    }
}

std::uint32_t Server::events_at(Door door) const noexcept {
    // A connection that is accepted only to be refused would itself have to be closed by the
    // reaper, so engines wait at the listener while it is behind. Without a descriptor left
    // everybody waits: a listener stays readable, and asking again at once would be a loop.
    const bool wait = out_of_descriptors_ || (door == Door::engine && reaper_behind_);
    return wait ? 0U : Reactor::readable;
}

void Server::watch_listeners() {
    for (const std::shared_ptr<Listener>& listener : listeners_) {
        if (const Result<void> changed =
                reactor_.modify(listener->socket.get(), events_at(listener->door));
            !changed) {
            spdlog::error("watching a listening socket failed: {}", changed.error().message());
        }
    }
}

std::optional<Error> Server::over_limit(Door door, uid_t uid) const {
    const Limits& limits = options_.limits;
    if (door == Door::admin) {
        if (admin_sessions_ >= kOperatorConnections) {
            return Error{Errc::limit_exceeded, "too many operator connections"};
        }
        return std::nullopt;
    }
    const auto held = connections_by_uid_.find(uid);
    if (held != connections_by_uid_.end() && held->second > limits.connections_per_uid) {
        return Error{Errc::limit_exceeded, "uid " + std::to_string(uid) + " has " +
                                               std::to_string(limits.connections_per_uid) +
                                               " connections already"};
    }
    if (sessions_.size() - admin_sessions_ - refused_sessions_ + kOperatorConnections >=
        limits.connections) {
        return Error{Errc::limit_exceeded, "the daemon has no connection left"};
    }
    return std::nullopt;
}

void Server::admit(const std::shared_ptr<Listener>& listener, UniqueFd socket) {
    Result<PeerCredentials> peer = peer_credentials(socket.get());
    if (!peer) {
        audit_.peer_fault(65534, listener->name, peer.error().message());
        reaper_.bury(std::move(socket));
        return;
    }
    auto session = std::make_unique<Session>();
    session->id = ++last_session_;
    session->socket = std::move(socket);
    session->listener = listener;
    session->peer = *peer;
    session->connected_at = clock_.monotonic();

    ++connections_by_uid_[peer->uid];
    session->refusal = over_limit(listener->door, peer->uid);
    if (!session->refusal) {
        Result<Identity> identity = identify_at(*listener, *peer, authorizer_);
        if (identity) {
            session->identity = std::move(*identity);
        } else {
            session->refused_identity = identity.error().message();
            session->refusal = identity.error();
        }
    }
    if (session->refusal) {
        ++refused_sessions_;
    } else if (listener->door == Door::admin) {
        ++admin_sessions_;
    }
    const std::uint64_t id = session->id;
    const int fd = session->socket.get();
    const bool too_many = session->refusal && refused_sessions_ > kMaxRefusedSessions;
    sessions_.emplace(id, std::move(session));
    if (too_many) {
        close_session(id);
        return;
    }
    if (const Result<void> added =
            reactor_.add(fd, Reactor::readable, [this, id] { on_event(id); });
        !added) {
        spdlog::warn("watching a connection failed: {}; it is closed", added.error().message());
        close_session(id);
    }
}

void Server::on_event(std::uint64_t id) {
    Session* session = find(id);
    if (session == nullptr) {
        return;
    }
    flush(*session);
    if (find(id) != nullptr && session->out.empty()) {
        read_some(*session);
    }
    if (find(id) != nullptr) {
        update_interest(*session);
    }
    settle();
}

void Server::read_some(Session& session) {
    const std::uint64_t id = session.id;
    for (int i = 0; i < kRequestsPerTurn; ++i) {
        if (session.closing || !session.out.empty() ||
            session.pending >= options_.limits.pending_per_connection) {
            return;
        }
        Result<wire::Received> received = wire::receive(session.socket.get(), buffer_, 0);
        if (received) {
            // Also those of an empty message, which reads as the end of the stream.
            reaper_.bury(std::move(received->descriptors));
        }
        if (!received || received->io == wire::Io::closed) {
            close_session(id);
            return;
        }
        if (received->io == wire::Io::would_block) {
            return;
        }
        if (received->descriptors_came || received->descriptors_lost || received->truncated) {
            // Nobody has a reason to send these; what is left of the stream is not trusted.
            audit_.peer_fault(session.peer.uid, session.listener->name,
                              received->truncated ? "a message over the maximum; closed"
                                                  : "descriptors in a message; closed");
            close_session(id);
            return;
        }
        handle(session, std::span(buffer_).first(received->size));
        if (find(id) == nullptr) {
            return;
        }
    }
}

void Server::handle(Session& session, std::span<const std::byte> datagram) {
    const std::optional<std::uint64_t> cookie = wire::peek_cookie(datagram);
    const std::optional<std::uint16_t> type = wire::peek_type(datagram);
    if (!cookie || !type) {
        close_session(session.id);
        return;
    }
    if (session.refusal) {
        if (!session.refused_identity.empty()) {
            audit_.refused_identity(session.peer, session.listener->name, session.refused_identity);
        }
        session.closing = true;
        reply(session, static_cast<wire::Type>(*type), *cookie, *session.refusal);
        return;
    }
    const Result<wire::Request> request = wire::decode_request(datagram);
    if (!request) {
        // The first message decides whether this is a client of ours at all.
        session.closing = !session.greeted;
        reply(session, static_cast<wire::Type>(*type), *cookie, request.error());
        return;
    }
    dispatch(session, *request);
}

void Server::reply(Session& session, wire::Type type, std::uint64_t cookie, Answer answer,
                   UniqueFd descriptor) {
    wire::Reply message;
    message.type = type;
    message.cookie = cookie;
    if (answer) {
        message.body = std::move(*answer);
    } else {
        message.status = answer.error().code();
        if (session.tenant) {
            ++refusals_[session.tenant][message.status];
        }
        message.body = wire::ErrorText{answer.error().message().substr(0, 512)};
    }
    Result<std::vector<std::byte>> bytes = wire::encode(message);
    CXLPOOL_CHECK(bytes.has_value());  // Every reply is built within the limits.
    if (session.out.empty()) {
        session.out_since = clock_.monotonic();
    }
    session.out.push_back(OutMessage{std::move(*bytes), std::move(descriptor)});
    flush(session);
}

void Server::flush(Session& session) {
    while (!session.out.empty()) {
        const OutMessage& message = session.out.front();
        const Result<wire::Io> sent =
            wire::send(session.socket.get(), message.bytes,
                       message.descriptor ? message.descriptor.get() : -1);
        if (!sent || *sent == wire::Io::closed) {
            close_session(session.id);
            return;
        }
        if (*sent == wire::Io::would_block) {
            return;
        }
        session.out.pop_front();
        session.out_since = clock_.monotonic();
    }
    if (session.closing) {
        close_session(session.id);
    }
}

void Server::update_interest(Session& session) {
    std::uint32_t events = 0;
    if (!session.out.empty()) {
        events = Reactor::writable;
    } else if (!session.closing && session.pending < options_.limits.pending_per_connection) {
        events = Reactor::readable;
    }
    if (const Result<void> changed = reactor_.modify(session.socket.get(), events); !changed) {
        close_session(session.id);
    }
}

void Server::close_session(std::uint64_t id) {
    const auto at = sessions_.find(id);
    if (at == sessions_.end()) {
        return;
    }
    // The caller may be in the middle of a call on it, so it is only put aside here.
    buried_.push_back(std::move(at->second));
    sessions_.erase(at);
    Session& session = *buried_.back();
    reactor_.remove(session.socket.get());
    if (session.connection) {
        session_of_connection_.erase(session.connection->value);
        registry_.close_connection(*session.connection);
    }
    if (!session.contexts.empty()) {
        look_into_misses();
    }
    for (const auto& [handle, key] : session.contexts) {
        interner_.release(key, session.tenant);
    }
    session.contexts.clear();
    session.out.clear();
    // Before the peer can hear of it, and also seen by one that only looks at its board.
    for (std::uint32_t index = 0; index < session.leases.size(); ++index) {
        let_go(session, index);
    }
    session.board.reset();
    // The peer hears at once that it is over. The close comes when the reaper gets to it: with the
    // socket goes what the peer sent and nobody read, descriptors too.
    ::shutdown(session.socket.get(), SHUT_RDWR);
    reaper_.bury(std::move(session.socket));
    if (session.refusal) {
        --refused_sessions_;
    } else if (session.door() == Door::admin) {
        --admin_sessions_;
    }
    const auto held = connections_by_uid_.find(session.peer.uid);
    CXLPOOL_CHECK(held != connections_by_uid_.end() && held->second > 0);
    if (--held->second == 0) {
        connections_by_uid_.erase(held);
    }
    if (buried_.size() == 1 && !shutting_down_) {
        reactor_.post([this] { buried_.clear(); });
    }
}

void Server::tick() {
    const Timestamp now = clock_.monotonic();
    std::vector<std::uint64_t> late;
    for (const auto& [id, session] : sessions_) {
        const bool silent = !session->greeted && now >= after_ms(session->connected_at,
                                                                 options_.limits.hello_timeout_ms);
        const bool stuck =
            !session->out.empty() && now.ns >= session->out_since.ns + kWriteTimeoutNs;
        if (silent || stuck) {
            audit_.peer_fault(
                session->peer.uid, session->listener->name,
                silent ? "no hello in time; closed" : "answers not taken in time; closed");
            late.push_back(id);
        }
    }
    for (const std::uint64_t id : late) {
        close_session(id);
    }
    registry_.expire(now);
    settle();
    start_scrubs();
    start_changes();
    advance_erasures();
    save_the_rest();
    save_cells();
    look_into_misses();
    audit_.flush(now);
    if (!shutting_down_ && (out_of_descriptors_ || reaper_behind_)) {
        out_of_descriptors_ = false;
        reaper_behind_ = reaper_.backlog() > kMaxBacklog;
        watch_listeners();
    }
}

void Server::settle() {
    for (const EndedLease& ended : registry_.take_ended()) {
        const auto at = session_of_connection_.find(ended.connection.value);
        if (at != session_of_connection_.end()) {
            if (Session* session = find(at->second)) {
                let_go(*session, ended.index);
            }
        }
    }
    for (const FreedLocation& freed : registry_.take_freed()) {
        release_location(freed, freed.owner);
    }
}

void Server::release_location(const Location& location, TenantId owner) {
    Pool& pool = *pools_[location.pool].pool;
    const Result<std::span<std::byte>> bytes = pool.begin_release(location.placement);
    CXLPOOL_CHECK(bytes.has_value());
    ++scrubs_of_[owner];
    scrubs_.push_back(Scrub{location, owner, *bytes});
    start_scrubs();
}

namespace {

// Whoever can still write the bytes may do so in between.
constexpr int kAttemptsToVerify = 3;

Result<void> overwrite(std::span<std::byte> bytes, bool verify) {
    Result<void> done;
    for (int attempt = 0; attempt < kAttemptsToVerify; ++attempt) {
        done = guarded_zero(bytes);
        if (!done || !verify) {
            return done;
        }
        done = guarded_check_zero(bytes);
        if (done) {
            return done;
        }
    }
    return done;
}

}  // namespace

void Server::start_scrubs() {
    // As many as the workers can take beside what engines wait for; the bytes of the others stay
    // out of circulation until their turn.
    while (!scrubs_.empty() && running_scrubs_ < kMaxRunningScrubs) {
        const Scrub scrub = scrubs_.front();
        const bool verify = !scrub.owner || erasures_.count(scrub.owner) != 0;
        auto done = std::make_shared<Result<void>>();
        const Result<void> accepted = workers_->submit(
            [bytes = scrub.bytes, verify, done] { *done = overwrite(bytes, verify); },
            [this, scrub, verify, done] {
                finish_scrub(scrub, verify, *done);
                --running_scrubs_;
                start_scrubs();
                serve_waiting();
                advance_erasures();
            });
        if (!accepted) {
            return;  // tick() tries again.
        }
        scrubs_.pop_front();
        ++running_scrubs_;
    }
}

void Server::finish_scrub(const Scrub& scrub, bool verified, const Result<void>& done) {
    Pool& pool = *pools_[scrub.location.pool].pool;
    const std::uint64_t bytes = scrub.location.placement.extent.length_bytes;
    if (done) {
        CXLPOOL_CHECK(pool.finish_release(scrub.location.placement).has_value());
    } else {
        spdlog::error("scrubbing {} bytes of pool '{}' failed: {}; they are never used again",
                      bytes, pool.name(), done.error().message());
        CXLPOOL_CHECK(pool.withdraw(scrub.location.placement).has_value());
    }
    const auto left = scrubs_of_.find(scrub.owner);
    if (--left->second == 0) {
        scrubs_of_.erase(left);
    }
    const auto erasure = erasures_.find(scrub.owner);
    if (erasure != erasures_.end() && !done) {
        erasure->second.report.bytes_withdrawn += bytes;
    } else if (erasure != erasures_.end() && verified) {
        erasure->second.report.bytes_overwritten += bytes;
    }
}

void Server::withdraw(const Location& location, const Error& why) {
    Pool& pool = *pools_[location.pool].pool;
    spdlog::error("{} bytes of pool '{}' cannot be written: {}; they are never used again",
                  location.placement.extent.length_bytes, pool.name(), why.message());
    CXLPOOL_CHECK(pool.begin_release(location.placement).has_value());
    CXLPOOL_CHECK(pool.withdraw(location.placement).has_value());
}

}  // namespace cxlpool

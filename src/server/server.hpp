// Answers engines and operators.
//
// Responsible for: connections, authorisation of each request, limits per uid, moving work to the
// workers, and telling holders that a lease has ended. Refuses to know: how memory was found and
// configured. Invariants: no peer can make it block, abort or grow without bound; a request is
// answered exactly once; every refusal about somebody else's cell passes through outward().
//
// Threads: everything runs on the reactor's thread; workers touch only bytes that were set aside
// for them (placements that the registry has pinned, extents that nobody has), and read the
// topology.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "domain/profile.hpp"
#include "domain/receipt.hpp"
#include "memory/pool.hpp"
#include "registry/registry.hpp"
#include "server/audit.hpp"
#include "server/authorizer.hpp"
#include "server/documents.hpp"
#include "server/limits.hpp"
#include "server/reactor.hpp"
#include "server/reaper.hpp"
#include "server/reconfiguration.hpp"
#include "server/session.hpp"
#include "server/stats_window.hpp"
#include "server/tenant_book.hpp"
#include "server/worker_pool.hpp"
#include "state/state_store.hpp"
#include "topology/topology.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

struct ServedPool {
    std::unique_ptr<Pool> pool;
    Profile profile;
};

// What the last process of the daemon left: cells, and the descriptors of segments by the names of
// their pools and their numbers.
struct KeptCells {
    std::vector<CellRecord> cells;
    std::map<std::pair<std::string, std::uint64_t>, UniqueFd> segments;
    // Called now and then while their bytes are looked at, with how many cells are done. May be
    // empty.
    std::function<void(std::size_t done)> progress;
};

struct ServerOptions {
    TenancyMode mode = TenancyMode::multi;
    Limits limits;
    std::vector<ServedTenant> tenants;
    std::vector<Reservation> reservations;
    std::unique_ptr<StateStore> state;  // where changes of tenants, and cells, are kept
    KeptCells kept;
    std::vector<ErasureRecord> erasures;  // all that the journal has
    std::vector<Profile> tiers;           // of the host's own memory, for plans
    std::size_t worker_threads = 2;
    EvictionPolicy eviction = EvictionPolicy::fair;
    // Called on a worker when an operator asks for the topology.
    std::function<Result<Topology>()> read_topology;
    // Called on a worker, one at a time, when a reload is asked for.
    std::function<Result<Reconfiguration>()> read_configuration;
    // Called when it was taken on or refused. May be empty.
    std::function<void(const Result<ReloadReport>&)> reload_ended;
};

class Server {
  public:
    // Errors: those of the lease boards' memory and of the tenants.
    static Result<std::unique_ptr<Server>> create(Reactor& reactor, const Clock& clock,
                                                  Authorizer authorizer, ServerOptions options,
                                                  std::vector<ServedPool> pools);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Starts to accept. Errors: those of the reactor.
    Result<void> serve(std::vector<Listener> listeners);

    // Reads the configuration again and takes it on whole, or changes nothing, soon; `done`, which
    // may be empty, then hears which. `asked_by` is for the audit log. Connections whose peers may
    // not be there any more are closed as by shut_down(); the others have their new rights from
    // their next request on. Errors that `done` hears: those of read_configuration, io,
    // limit_exceeded (the workers are busy).
    using ReloadDone = std::function<void(const Result<ReloadReport>&)>;
    void reload(std::string asked_by, ReloadDone done);

    // Closes every connection: its lease board is cleared first, and what it was filling is rolled
    // back.
    void shut_down();

  private:
    using Reply = wire::ReplyBody;
    using Answer = Result<Reply>;
    struct PendingChange {
        std::uint64_t session = 0;
        std::uint64_t cookie = 0;
        wire::TenantChangeRequest request;
    };

    // What came of a request that needs room: its answer; nothing yet, as a worker has it; or that
    // there is no room.
    struct Later {};
    struct NoRoom {};
    using Attempt = std::variant<Answer, Later, NoRoom>;
    struct Need {
        TenantId tenant;
        std::size_t pool = 0;
        std::uint64_t bytes = 0;
        bool segment = false;  // one of its own
        std::function<Attempt(Session&, std::uint64_t cookie)> attempt;
        std::function<void()> given_up;  // there will be no attempt that succeeds; may be empty
        std::function<void()> ended;     // there will be no attempt more; may be empty
        void end() const {
            if (ended) {
                ended();
            }
        }
        void give_up() const {
            if (given_up) {
                given_up();
            }
            end();
        }
    };
    struct Waiting {
        std::uint64_t session = 0;
        wire::Type type = wire::Type::begin;
        std::uint64_t cookie = 0;
        Need need;
    };

    Server(Reactor& reactor, const Clock& clock, Authorizer authorizer, ServerOptions options,
           std::vector<ServedPool> pools);

    // server.cpp: connections
    Result<void> open_listener(std::shared_ptr<Listener> listener);
    void close_listener(Listener& listener);
    void accept_from(const std::shared_ptr<Listener>& listener);
    // Stops and starts accepting, at each door as what is short demands.
    void watch_listeners();
    std::uint32_t events_at(Door door) const noexcept;
    void admit(const std::shared_ptr<Listener>& listener, UniqueFd socket);
    std::optional<Error> over_limit(Door door, uid_t uid) const;
    void on_event(std::uint64_t id);
    void read_some(Session& session);
    void handle(Session& session, std::span<const std::byte> datagram);
    void reply(Session& session, wire::Type type, std::uint64_t cookie, Answer answer,
               UniqueFd descriptor = UniqueFd());
    void flush(Session& session);
    void update_interest(Session& session);
    void close_session(std::uint64_t id);
    void tick();
    // Gives back scrubbed bytes and tells holders whose lease has ended.
    void settle();
    void release_location(const Location& location, TenantId owner);
    void start_scrubs();
    void withdraw(const Location& location, const Error& why);

    // engine_requests.cpp
    void dispatch(Session& session, const wire::Request& request);
    Answer hello(Session& session, const wire::HelloRequest& request, UniqueFd& board);
    Answer register_context(Session& session, const wire::ContextRegisterRequest& request);
    Answer release_context(Session& session, const wire::ContextReleaseRequest& request);
    Answer look_up(Session& session, const wire::LookupRequest& request);
    // For the audit log; before the keys of lookups that missed mean something else, at the latest.
    void look_into_misses();
    struct NewCell {
        ContextKey key;
        SpanDigest span;
        std::uint64_t length_bytes = 0;
        std::string pool;  // empty: any
        std::uint64_t recompute_ns = 0;
    };
    void begin(Session& session, std::uint64_t cookie, const wire::BeginRequest& request);
    Result<void> check_begin(const Session& session, const NewCell& cell) const;
    Attempt begin_placed(Session& session, std::uint64_t cookie, const NewCell& cell);
    Answer finish_begin(Session& session, const NewCell& cell, const Location& location);
    Answer map(Session& session, const wire::MapRequest& request, UniqueFd& descriptor);
    void seal(Session& session, std::uint64_t cookie, const wire::SealRequest& request);
    void share(Session& session, std::uint64_t cookie, const wire::ShareRequest& request);
    Answer release(Session& session, const wire::ReleaseRequest& request);
    Answer renew(Session& session, const wire::RenewRequest& request);
    Answer plan_fleet(const wire::PlanFleetRequest& request) const;
    Answer plan_placement(const wire::PlanPlacementRequest& request) const;
    Result<ContextKey> context_of(const Session& session, std::uint32_t handle) const;
    std::uint32_t hold(Session& session, const LeaseRef& lease, const Location& location,
                       bool writable);
    void let_go(Session& session, std::uint32_t lease_index);
    // Does the bytes' part of a seal or share on a worker, then calls `finish` on this thread.
    using FinishWork =
        std::function<Answer(const ContentDigest&, const std::optional<Location>& moved)>;
    void run_work(Session& session, wire::Type type, std::uint64_t cookie, const Work& work,
                  FinishWork finish);
    Attempt run_work_in(Session& session, wire::Type type, std::uint64_t cookie, const Work& work,
                        const std::optional<Location>& copy, const FinishWork& finish);
    // Runs `job` on a worker; `finish` then makes the answer of the request, for a session that
    // may be gone by then (null). Error: limit_exceeded; then neither is called.
    Result<void> run_job(Session& session, wire::Type type, std::uint64_t cookie,
                         std::function<void()> job, std::function<Answer(Session*)> finish);

    // room.cpp
    // Errors: not_found, span_exceeds_capacity, capacity, and those of Pool::place_private.
    Result<Location> place(TenantId owner, std::uint64_t length_bytes, const std::string& pool);
    std::size_t pool_for(const NewCell& cell) const;  // the one in which room is made for it
    Location located(std::size_t pool, const Placement& placement, bool offered) const;
    void finish_attempt(Session& session, wire::Type type, std::uint64_t cookie, Attempt attempt);
    // Attempts the request; when there is no room, it waits until what has to go for it is gone and
    // overwritten, or until nothing may go.
    void with_room(Session& session, wire::Type type, std::uint64_t cookie, Need need);
    void serve_waiting();
    bool serve_first();  // false: it still waits
    bool bytes_under_way() const noexcept;
    bool make_room(const Need& need);  // false: nothing may go

    // operator_requests.cpp
    void adjudicate(Session& session, std::uint64_t cookie, const wire::AdjudicateRequest& request);
    Answer judge_cell(const Session& session, const wire::AdjudicateRequest& request);
    void document(Session& session, std::uint64_t cookie, const wire::DocumentRequest& request);
    Answer document_more(Session& session, const wire::DocumentMoreRequest& request);
    Answer first_chunk(Session& session, std::string document);
    std::string stats() const;
    Answer end_window(Session& session);  // shows it, and begins the next
    Result<std::string> explain(const wire::DocumentRequest& request);
    std::uint64_t uptime_s() const;
    std::string status() const;
    std::string profiles() const;

    // reload.cpp
    struct ReloadWish {
        std::string asked_by;
        ReloadDone done;
    };
    void reload_for(Session& session, std::uint64_t cookie);
    void start_reload();
    void finish_reload(const Result<ReloadReport>& report, const std::vector<ReloadWish>& wishes);
    Result<ReloadReport> take_on(Reconfiguration wanted);
    // Why the peer may not be there any more, else nothing and who it is now.
    std::optional<std::string> lost_right(const Session& session, Result<Identity>& identity) const;
    std::uint32_t identify_again();  // returns how many connections that ended

    // tenant_requests.cpp: one change of the state at a time, the others wait in their order
    void tenant_change(Session& session, std::uint64_t cookie,
                       const wire::TenantChangeRequest& request);
    void start_changes();
    void start_change(Session& session, const PendingChange& change);
    // Puts on the disk what no operator waits for: first cells, and names that a file has changed.
    void save_the_rest();

    // erasure.cpp
    void forget(Session& session, std::uint64_t cookie, const wire::ForgetRequest& request);
    void resume_erasures();
    void overwrite_what_was_left();
    // Does what can be done now for each tenant that is being erased.
    void advance_erasures();
    struct RunningErasure;
    void advance(TenantId tenant, RunningErasure& erasure);
    bool is_overwritten(TenantId tenant, RunningErasure& erasure);
    void start_forgetting(TenantId tenant, RunningErasure& erasure);
    // One write of the journal; `written` is called when it is on the disk, `failed` otherwise.
    void write_journal(TenantId tenant, std::function<Result<void>(StateStore&)> write,
                       std::function<void(RunningErasure&)> written);
    void finish_forgetting(TenantId tenant, RunningErasure& erasure, std::string receipt);
    void answer_waiters(RunningErasure& erasure, const Answer& answer);
    std::string receipts() const;

    // kept_cells.cpp
    // Puts every cell back whose bytes are still what they were; the others are dropped, here and
    // in the state. Error: those of the state.
    Result<void> restore_cells(KeptCells kept);
    Result<void> restore_cell(CellRecord& record, KeptCells& kept);
    CellRecord record_of(const Cell& cell) const;
    struct CellChanges {
        std::vector<CellRecord> put;
        std::vector<CellId> gone;
    };
    CellChanges take_cell_changes();
    // Answers when what the registry has changed until now is on the disk.
    void reply_when_kept(Session& session, wire::Type type, std::uint64_t cookie, Answer answer);
    void save_cells();
    void save_later(const CellChanges& changes);
    void save_cells_at_the_end();
    void finish_saving_cells(const CellChanges& changes, const Result<void>& saved);

    Session* find(std::uint64_t id) noexcept;

    Reactor& reactor_;
    const Clock& clock_;
    Authorizer authorizer_;
    ServerOptions options_;
    std::vector<ServedPool> pools_;
    ContextInterner interner_;
    Registry registry_;
    TenantBook tenants_;
    std::deque<PendingChange> changes_;  // bounded by kMaxPendingChanges
    bool saving_ = false;                // one change of the state at a time
    bool saving_failed_ = false;         // said once, until it succeeds again
    struct AnswerWhenKept {
        std::uint64_t session = 0;
        wire::Type type = wire::Type::share;
        std::uint64_t cookie = 0;
        Answer answer;
    };
    struct RunningErasure {
        enum class Step : std::uint8_t { begin, overwrite, finish };  // what is to be done
        Step step = Step::begin;
        bool writing = false;  // the journal
        bool failed = false;   // the last write of it; said once
        Erasure report;
        Timestamp deadline;  // monotonic; what is leased then is revoked
        uid_t uid = 0;
        struct Waiter {
            std::uint64_t session = 0;
            std::uint64_t cookie = 0;
        };
        std::vector<Waiter> waiters;  // bounded by the pending requests
    };
    std::map<TenantId, RunningErasure> erasures_;
    std::deque<std::string> receipts_;  // the last ones
    std::set<CellId> unsaved_cells_;
    std::shared_ptr<const CellChanges> cells_being_saved_;
    bool saving_cells_failed_ = false;                // said once, until it succeeds again
    std::vector<AnswerWhenKept> answers_when_kept_;   // bounded by the pending requests
    std::vector<AnswerWhenKept> answers_being_kept_;  // to the save that runs
    std::unique_ptr<SegmentProvider> boards_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Session>> sessions_;
    std::vector<std::unique_ptr<Session>> buried_;  // closed in this turn
    std::map<uid_t, std::uint32_t> connections_by_uid_;
    std::unordered_map<std::uint64_t, std::uint64_t> session_of_connection_;
    std::uint64_t last_session_ = 0;
    std::uint64_t last_lookup_ = 0;
    std::size_t admin_sessions_ = 0;
    std::size_t refused_sessions_ = 0;
    std::vector<std::shared_ptr<Listener>> listeners_;
    bool reloading_ = false;
    std::vector<ReloadWish> reload_wishes_;  // bounded by the pending requests of operators
    bool out_of_descriptors_ = false;        // until the next tick
    bool reaper_behind_ = false;
    DescriptorReaper reaper_;
    std::vector<std::byte> buffer_;
    Timestamp started_at_;
    bool shutting_down_ = false;
    AuditLog audit_;
    Refusals refusals_;
    StatsWindow window_;
    StatsWindow incarnations_;  // of tenants that were erased: since then
    // Bytes that a uid has asked for and that a worker still makes ready.
    std::map<uid_t, std::uint64_t> promised_bytes_;
    struct Scrub {
        Location location;
        TenantId owner;
        std::span<std::byte> bytes;
    };
    void finish_scrub(const Scrub& scrub, bool verified, const Result<void>& done);
    std::deque<Scrub> scrubs_;  // bounded by the placements that the pools can hold
    std::map<TenantId, std::size_t> scrubs_of_;  // waiting and running ones; never 0
    std::size_t running_scrubs_ = 0;
    std::deque<Waiting> waiting_;  // bounded by the pending requests of the connections
    bool serving_waiting_ = false;
    std::unique_ptr<WorkerPool> workers_;  // last: its jobs refer to the pools
};

// The registry's share of the server's limits.
RegistryLimits registry_limits(const Limits& limits);

}  // namespace cxlpool

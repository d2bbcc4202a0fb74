#include "daemon/daemon.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <boost/program_options.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iostream>

#include "daemon/config.hpp"
#include "daemon/logging.hpp"
#include "daemon/notify.hpp"
#include "daemon/pools.hpp"
#include "daemon/reload.hpp"
#include "daemon/segment_store.hpp"
#include "daemon/sockets.hpp"
#include "daemon/tenants.hpp"
#include "server/listener.hpp"
#include "server/server.hpp"
#include "state/state_store.hpp"
#include "topology/live/live.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

constexpr std::chrono::milliseconds kRetryStore{1000};
constexpr std::chrono::minutes kLookingAtCells{1};  // until the next cells are done

struct CommandLine {
    std::string config = CXLPOOL_CONFIG_FILE;
    bool check = false;
    bool accept_empty_state = false;
    JournalHook journal_hook;
};

// What was on the disk.
struct KeptState {
    std::unique_ptr<StateStore> store;
    KeptTenants tenants;
    KeptCells cells;
    std::vector<ErasureRecord> erasures;
};

// What the operator wrote is wrong, or only the operator can decide: exit status 2. The machine
// is: 1.
int exit_status_of(const Error& error) {
    switch (error.code()) {
        case Errc::malformed:
        case Errc::unknown_word:
        case Errc::invalid_argument:
        case Errc::overflow:
        case Errc::too_large:
        case Errc::tenancy_unset:
        case Errc::tenancy_mismatch:
        case Errc::cooperative_refused:
        case Errc::already_exists:
        case Errc::unsupported_version:
            return kUsage;
        default:
            return kFailed;
    }
}

int fail(const Error& error, int status) {
    std::cerr << "cxlpoold: " << error.message() << "\n";
    return status;
}

int fail(const Error& error) {
    return fail(error, exit_status_of(error));
}

// The descriptor of SIGTERM, SIGINT and SIGHUP, which are blocked in every thread from here on.
Result<UniqueFd> take_signals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        ::sigaddset(&signals, signal);
    }
    ::signal(SIGPIPE, SIG_IGN);
    if (::pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) {
        return os_error("blocking signals", errno);
    }
    UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) {
        return os_error("making a signalfd", errno);
    }
    return fd;
}

// Segments and connections take a descriptor each.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            spdlog::warn("the limit of open files stays as it is: {}", errno);
        }
    }
}

ServerOptions server_options(const Config& config, std::vector<Profile> tiers, KeptState kept) {
    ServerOptions options;
    options.tenants = std::move(kept.tenants.tenants);
    options.reservations = std::move(kept.tenants.reservations);
    options.state = std::move(kept.store);
    options.kept = std::move(kept.cells);
    options.erasures = std::move(kept.erasures);
    options.tiers = std::move(tiers);
    options.mode = config.mode;
    options.limits = config.limits;
    options.worker_threads = config.worker_threads;
    options.eviction = config.eviction;
    options.read_topology = [] { return read_live(); };
    return options;
}

void log_findings(const Assessment& assessment) {
    for (const Finding& finding : assessment.findings) {
        if (finding.severity != Finding::Severity::info) {
            spdlog::warn("topology: {} ({}): {}", finding.subject, finding.code, finding.message);
        }
    }
}

void on_signal(int fd, Reactor& reactor, Server& server) {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (info.ssi_signo == SIGHUP) {
            server.reload("SIGHUP", {});
            continue;
        }
        spdlog::info("signal {}: stopping", info.ssi_signo);
        reactor.stop();
    }
}

Result<KeptState> open_state(const Config& config, OnLoss on_loss, const JournalHook& hook) {
    Result<std::unique_ptr<StateStore>> store =
        StateStore::open(config.state_directory, config.mode, system_clock().wall(), on_loss);
    if (!store) {
        return std::move(store).error();
    }
    if (!(*store)->kept_aside().empty()) {
        spdlog::warn("{}; going on with an empty state, as asked", (*store)->kept_aside());
    }
    (*store)->set_journal_hook(hook);
    Result<KeptTenants> tenants = take_tenants(config, **store);
    if (!tenants) {
        return std::move(tenants).error();
    }
    Result<std::vector<CellRecord>> cells = (*store)->cells();
    if (!cells) {
        return std::move(cells).error();
    }
    KeptCells found;
    found.progress = [total = cells->size()](std::size_t done) {
        notify::extend_timeout(kLookingAtCells);
        notify::status("looking at the bytes of " + std::to_string(total) + " kept cells, " +
                       std::to_string(done) + " done");
    };
    found.cells = std::move(*cells);
    Result<std::vector<ErasureRecord>> erasures = (*store)->erasures();
    if (!erasures) {
        return std::move(erasures).error();
    }
    return KeptState{std::move(*store), std::move(*tenants), std::move(found),
                     std::move(*erasures)};
}

std::string what_is_served(const Config& config) {
    return "serving " + std::to_string(config.pools.size()) + " pool(s), tenancy " +
           std::string(to_word(config.mode));
}

int serve(const Config& config, std::vector<Profile> tiers, KeptState kept,
          std::vector<ServedPool> pools, const std::shared_ptr<SegmentStore>& keeper) {
    const Result<UniqueFd> signals = take_signals();
    if (!signals) {
        return fail(signals.error());
    }
    std::string why_not;
    const Result<std::unique_ptr<Reactor>> reactor = make_reactor(config.reactor, &why_not);
    if (!reactor) {
        return fail(reactor.error(), kFailed);
    }
    if (!why_not.empty()) {
        spdlog::warn("{}; going on with poll", why_not);
    }
    // Outlives the listeners: a path is given up when nobody listens there any more.
    OwnedPaths owned;
    Result<PassedSockets> passed = take_passed_sockets();
    if (!passed) {
        return fail(passed.error());
    }
    if (keeper) {
        kept.cells.segments = keeper->take(std::exchange(passed->stored, {}));
    }
    Result<std::vector<Listener>> sockets = open_sockets(config, std::move(*passed), owned);
    if (!sockets) {
        return fail(sockets.error());
    }
    for (const ListenerConfig& listener : config.listeners) {
        if (const std::string warning = open_to_everybody(listener); !warning.empty()) {
            spdlog::warn("{}", warning);
        }
    }
    for (const ServedPool& served : pools) {
        spdlog::info("pool '{}': {} bytes, provider {}, isolation {}", served.pool->name(),
                     served.pool->usage().capacity_bytes, served.pool->traits().kind,
                     to_word(served.pool->traits().isolation));
    }
    Reloader reloader(config, owned);
    ServerOptions options = server_options(config, std::move(tiers), std::move(kept));
    options.read_configuration = [&reloader] {
        notify::reloading();
        return reloader.read();
    };
    options.reload_ended = [&config](const Result<ReloadReport>& report) {
        notify::ready(report ? what_is_served(config)
                             : what_is_served(config) +
                                   "; reload refused: " + report.error().message());
    };
    Result<std::unique_ptr<Server>> server = Server::create(
        **reactor, system_clock(), Authorizer(config.grants), std::move(options), std::move(pools));
    if (!server) {
        return fail(server.error());
    }
    if (keeper) {
        keeper->drop_unclaimed();
    }
    const int signal_fd = signals->get();
    Reactor& loop = **reactor;
    CXLPOOL_CHECK(signal_fd >= 0);
    if (Result<void> added =
            loop.add(signal_fd, Reactor::readable,
                     [signal_fd, &loop, &server] { on_signal(signal_fd, loop, **server); });
        !added) {
        return fail(added.error(), kFailed);
    }
    if (Result<void> serving = (*server)->serve(std::move(*sockets)); !serving) {
        return fail(serving.error(), kFailed);
    }
    if (keeper) {
        if (Result<void> armed = loop.every(kRetryStore, [keeper] { keeper->retry(); }); !armed) {
            return fail(armed.error(), kFailed);
        }
    }
    if (const auto interval = notify::watchdog_interval()) {
        if (Result<void> armed = loop.every(*interval / 2, [] { notify::watchdog(); }); !armed) {
            return fail(armed.error(), kFailed);
        }
    }
    spdlog::info("ready: tenancy {}, reactor {}", to_word(config.mode), loop.kind());
    notify::ready(what_is_served(config));
    const Result<void> ended = loop.run();
    notify::stopping();
    (*server)->shut_down();
    spdlog::info("stopped");
    return ended ? 0 : fail(ended.error(), kFailed);
}

// What the start would refuse besides, as far as it can be seen without changing anything.
Result<void> check_places(const Config& config) {
    CXLPOOL_TRY(StateStore::check(config.state_directory, config.mode));
    for (const SocketConfig* socket : {&config.engine, &config.admin}) {
        CXLPOOL_TRY(check_socket_path(socket->path));
    }
    for (const ListenerConfig& listener : config.listeners) {
        CXLPOOL_TRY(check_socket_path(listener.path));
    }
    return {};
}

int check(const std::string& file, const Config& config, const std::vector<PoolPlan>& plans) {
    if (const Result<void> good = check_places(config); !good) {
        return fail(good.error());
    }
    for (const std::string& warning : over_memory(plans, {})) {
        std::cerr << "cxlpoold: warning: " << warning << "\n";
    }
    std::cout << file << ": ok, " << plans.size() << " pool(s), tenancy " << to_word(config.mode)
              << "\n";
    return 0;
}

int run(const CommandLine& command) {
    const Result<Config> config = read_config(command.config);
    if (!config) {
        return fail(config.error());
    }
    start_logging(config->log_level);
    const Result<Topology> topology = read_live();
    if (!topology) {
        return fail(topology.error(), kFailed);
    }
    const Assessment assessment = assess(*topology);
    const Result<std::vector<PoolPlan>> plans = plan_pools(*config, *topology, assessment);
    if (!plans) {
        return fail(plans.error());
    }
    if (command.check) {
        return check(command.config, *config, *plans);
    }
    log_findings(assessment);
    for (const std::string& warning : over_memory(*plans, {})) {
        spdlog::warn("{}", warning);
    }
    Result<KeptState> kept =
        open_state(*config, command.accept_empty_state ? OnLoss::accept_empty : OnLoss::refuse,
                   command.journal_hook);
    if (!kept) {
        return fail(kept.error());
    }
    raise_descriptor_limit();
    const std::shared_ptr<SegmentStore> keeper = SegmentStore::of_service_manager();
    Result<std::vector<ServedPool>> pools = open_pools(*plans, keeper);
    if (!pools) {
        return fail(pools.error());
    }
    return serve(*config, assessment.tiers, std::move(*kept), std::move(*pools), keeper);
}

}  // namespace

int run_daemon(int argc, char** argv, JournalHook journal_hook) {
    namespace po = boost::program_options;
    CommandLine command;
    command.journal_hook = std::move(journal_hook);
    po::options_description options("Options");
    options.add_options()("config", po::value(&command.config)->value_name("FILE"),
                          "configuration file; default:\n" CXLPOOL_CONFIG_FILE)(
        "check", po::bool_switch(&command.check),
        "check the configuration against this machine and exit; nothing is opened or started")(
        "accept-empty-state", po::bool_switch(&command.accept_empty_state),
        "go on without what the state directory kept, when that was damaged")(
        "version", "print the version and exit")("help,h", "print this help and exit");
    try {
        po::variables_map seen;
        po::store(po::command_line_parser(argc, argv).options(options).positional({}).run(), seen);
        po::notify(seen);
        if (seen.count("help") != 0) {
            std::cout << "usage: cxlpoold [--config FILE] [--check] [--accept-empty-state]\n\n"
                         "Owns the CXL memory pools of this host and serves them to engines.\n\n"
                      << options << "\nSee cxlpoold(8) and cxlpoold.toml(5).\n";
            return 0;
        }
        if (seen.count("version") != 0) {
            std::cout << "cxlpoold " CXLPOOL_VERSION "\n";
            return 0;
        }
    } catch (const po::error& error) {
        std::cerr << "cxlpoold: " << error.what() << "; see cxlpoold --help\n";
        return kUsage;
    }
    return run(command);
}

}  // namespace cxlpool

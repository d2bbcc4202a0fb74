#include "daemon/reload.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/logging.hpp"

namespace cxlpool {
namespace {

// What a limit of a running daemon may become: those that a hello tells an engine, and those that
// memory was set aside for at the start, stay.
Limits with_changeable(Limits limits, const Limits& wanted) {
    limits.connections_per_uid = wanted.connections_per_uid;
    limits.filling_bytes_per_uid = wanted.filling_bytes_per_uid;
    limits.cells_per_span_and_tenant = wanted.cells_per_span_and_tenant;
    limits.cells = wanted.cells;
    limits.cells_per_tenant = wanted.cells_per_tenant;
    limits.pending_per_connection = wanted.pending_per_connection;
    limits.hello_timeout_ms = wanted.hello_timeout_ms;
    return limits;
}

Config with_changeable(Config config, const Config& wanted) {
    config.grants = wanted.grants;
    config.tenants = wanted.tenants;
    config.listeners = wanted.listeners;
    config.log_level = wanted.log_level;
    config.limits = with_changeable(config.limits, wanted.limits);
    return config;
}

// Where a pool's table stands in the file is no part of the pool.
std::vector<PoolConfig> without_places(std::vector<PoolConfig> pools) {
    for (PoolConfig& pool : pools) {
        pool.where.clear();
    }
    return pools;
}

void name_limits(const Limits& a, const Limits& b, std::vector<std::string>& keys) {
    const auto name = [&keys](const char* key, bool differs) {
        if (differs) {
            keys.push_back(std::string("limits.") + key);
        }
    };
    name("connections", a.connections != b.connections);
    name("contexts_per_connection", a.contexts_per_connection != b.contexts_per_connection);
    name("leases_per_connection", a.leases_per_connection != b.leases_per_connection);
    name("cell_bytes", a.cell_bytes != b.cell_bytes);
    name("lease_ttl_ms", a.lease_ttl_ms != b.lease_ttl_ms);
    name("axis_values_per_tenant", a.axis_values_per_tenant != b.axis_values_per_tenant);
    name("axis_values", a.axis_values != b.axis_values);
}

void name_pools(const std::vector<PoolConfig>& a, const std::vector<PoolConfig>& b,
                std::vector<std::string>& keys) {
    const auto find = [](const std::vector<PoolConfig>& pools, const std::string& name) {
        return std::find_if(pools.begin(), pools.end(),
                            [&](const PoolConfig& pool) { return pool.name == name; });
    };
    const std::size_t before = keys.size();
    for (const PoolConfig& pool : a) {
        const auto other = find(b, pool.name);
        if (other == b.end() || *other != pool) {
            keys.push_back("pool '" + pool.name + "'");
        }
    }
    for (const PoolConfig& pool : b) {
        if (find(a, pool.name) == a.end()) {
            keys.push_back("pool '" + pool.name + "'");
        }
    }
    if (keys.size() == before && a != b) {
        keys.emplace_back("the order of the pools");
    }
}

std::string listed(const std::vector<std::string>& keys) {
    std::string out;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        out += (i == 0 ? "" : i + 1 == keys.size() ? " and " : ", ") + keys[i];
    }
    return out;
}

const ListenerConfig* find_listener(const Config& config, const std::string& path) {
    for (const ListenerConfig& listener : config.listeners) {
        if (listener.path == path) {
            return &listener;
        }
    }
    return nullptr;
}

// What read() made, until it is taken on.
struct Change {
    Config wanted;
    std::vector<std::string> new_paths;
    std::vector<PreparedListener> sockets;  // their files go when it is dropped

    Result<void> publish();
};

Result<void> Change::publish() {
    for (std::size_t i = 0; i < sockets.size(); ++i) {
        if (Result<void> published = sockets[i].publish(); !published) {
            while (i-- > 0) {
                sockets[i].take_back();
            }
            return published;
        }
    }
    return {};
}

void log_change(const Config& from, const Config& to) {
    for (const TenantConfig& tenant : from.tenants) {
        const auto same = [&](const TenantConfig& other) { return other.id == tenant.id; };
        if (std::none_of(to.tenants.begin(), to.tenants.end(), same)) {
            spdlog::info("tenant {} is in no file any more: its cells stay until the daemon ends",
                         tenant.id.value);
        }
    }
    for (const ListenerConfig& listener : to.listeners) {
        if (const std::string warning = open_to_everybody(listener); !warning.empty()) {
            spdlog::warn("{}", warning);
        }
    }
}

}  // namespace

std::vector<std::pair<TenantId, std::string>> tenants_of(const Config& config) {
    std::vector<std::pair<TenantId, std::string>> out;
    for (const TenantConfig& tenant : config.tenants) {
        out.emplace_back(tenant.id, tenant.name);
    }
    return out;
}

Result<void> check_reload(const Config& running, const Config& wanted) {
    Config from = with_changeable(running, wanted);
    Config to = wanted;
    from.pools = without_places(std::move(from.pools));
    to.pools = without_places(std::move(to.pools));
    if (from == to) {
        return {};
    }
    std::vector<std::string> keys;
    const auto name = [&keys](const char* key, bool differs) {
        if (differs) {
            keys.emplace_back(key);
        }
    };
    name("tenancy", from.mode != to.mode);
    name("state_directory", from.state_directory != to.state_directory);
    name("reactor", from.reactor != to.reactor);
    name("worker_threads", from.worker_threads != to.worker_threads);
    name("eviction", from.eviction != to.eviction);
    name("listen.engine", from.engine.path != to.engine.path);
    name("listen.engine_mode", from.engine.mode != to.engine.mode);
    name("listen.engine_group", from.engine.group != to.engine.group);
    name("listen.admin", from.admin.path != to.admin.path);
    name("listen.admin_mode", from.admin.mode != to.admin.mode);
    name("listen.admin_group", from.admin.group != to.admin.group);
    name_limits(from.limits, to.limits, keys);
    name_pools(from.pools, to.pools, keys);
    // A key that is new here and in no list above is refused all the same.
    name("another key", keys.empty());
    return Error{Errc::wrong_state, wanted.file + ": " + listed(keys) +
                                        " cannot change while the daemon runs; restart it, or "
                                        "take the change back"};
}

Result<Reconfiguration> Reloader::read() {
    Result<Config> wanted = read_config(running_.file);
    if (!wanted) {
        return std::move(wanted).error();
    }
    CXLPOOL_TRY(check_reload(running_, *wanted));
    auto change = std::make_shared<Change>();
    change->wanted = std::move(wanted).value();
    Reconfiguration out{tenants_of(change->wanted),
                        Authorizer(change->wanted.grants),
                        change->wanted.limits,
                        {},
                        [this, change]() -> Result<void> {
                            CXLPOOL_TRY(change->publish());
                            for (const ListenerConfig& old : running_.listeners) {
                                if (find_listener(change->wanted, old.path) == nullptr) {
                                    owned_.give_up(old.path);
                                }
                            }
                            return {};
                        },
                        [this, change] {
                            for (const std::string& path : change->new_paths) {
                                owned_.add(path);
                            }
                            set_log_level(change->wanted.log_level);
                            log_change(running_, change->wanted);
                            running_ = std::move(change->wanted);
                        }};
    for (const ListenerConfig& listener : change->wanted.listeners) {
        const ListenerConfig* old = find_listener(running_, listener.path);
        // The file of a socket that was passed in is the service manager's.
        const bool ours = old != nullptr && owned_.has(listener.path);
        const bool same_file = old != nullptr && old->mode == listener.mode &&
                               old->owner == listener.owner && old->group == listener.group;
        Listener made{Door::engine, listener.path, listener.tenants, UniqueFd()};
        if (old == nullptr || (ours && !same_file)) {
            Result<PreparedListener> prepared = prepare_socket(listener, ours);
            if (!prepared) {
                return std::move(prepared).error();
            }
            made.socket = prepared->take_socket();
            change->sockets.push_back(std::move(prepared).value());
            change->new_paths.push_back(listener.path);
        }
        out.listeners.push_back(std::move(made));
    }
    return out;
}

}  // namespace cxlpool

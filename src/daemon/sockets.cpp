#include "daemon/sockets.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cxlpool {
namespace {

Result<void> make_directory(const std::string& path) {
    const std::string directory = path.substr(0, path.rfind('/'));
    if (directory.empty()) {
        return {};
    }
    const bool made = ::mkdir(directory.c_str(), 0755) == 0;
    // Engines of other users reach the socket through it, whatever our umask is.
    if (made ? ::chmod(directory.c_str(), 0755) != 0 : errno != EEXIST) {
        return os_error("making '" + directory + "' for the socket", errno);
    }
    return {};
}

Result<UniqueFd> listen_on(const SocketConfig& config, OwnedPaths& owned) {
    CXLPOOL_TRY(make_directory(config.path));
    ListenerOptions options;
    options.path = config.path;
    options.mode = config.mode;
    if (!config.group.empty()) {
        const Result<gid_t> group = resolve_group(config.group);
        if (!group) {
            return group.error();
        }
        options.group = *group;
    }
    Result<UniqueFd> socket = listen_at(options);
    if (socket) {
        owned.add(config.path);
    }
    return socket;
}

Result<UniqueFd> listen_on(const ListenerConfig& config, OwnedPaths& owned) {
    Result<PreparedListener> prepared = prepare_socket(config, false);
    if (!prepared) {
        return std::move(prepared).error();
    }
    CXLPOOL_TRY(prepared->publish());
    owned.add(config.path);
    return prepared->take_socket();
}

// The socket that was passed for a listener, if one was.
Result<UniqueFd> take_from(std::vector<PassedListener>& passed, const ListenerConfig& config) {
    const auto at = std::find_if(passed.begin(), passed.end(), [&](const PassedListener& one) {
        return normal_path(one.path) == config.path;
    });
    if (at == passed.end()) {
        return UniqueFd();
    }
    if ((at->mode & 0002U) != 0 && (config.mode & 0002U) == 0) {
        return Error{Errc::invalid_argument,
                     "socket '" + config.path +
                         "' from systemd refused: everybody may write it, so everybody could act "
                         "as its tenants; set SocketMode=0660 (the default is 0666), or write mode "
                         "= \"0666\" in " +
                         config.where};
    }
    UniqueFd socket = std::move(at->socket);
    passed.erase(at);
    return socket;
}

}  // namespace

OwnedPaths::~OwnedPaths() {
    for (const std::string& path : paths_) {
        remove_socket_file(path);
    }
}

void OwnedPaths::add(const std::string& path) {
    paths_.insert(path);
}

void OwnedPaths::give_up(const std::string& path) {
    if (paths_.erase(path) != 0) {
        remove_live_socket_file(path);
    }
}

Result<std::vector<Listener>> open_sockets(const Config& config, PassedSockets passed,
                                           OwnedPaths& owned) {
    std::vector<Listener> out;
    for (const auto& [door, socket, wanted] :
         {std::tuple{Door::engine, &passed.engine, &config.engine},
          std::tuple{Door::admin, &passed.admin, &config.admin}}) {
        Result<UniqueFd> made = *socket ? std::move(*socket) : listen_on(*wanted, owned);
        if (!made) {
            return std::move(made).error();
        }
        out.push_back(
            Listener{door, door == Door::engine ? "engine" : "admin", {}, std::move(made).value()});
    }
    for (const ListenerConfig& wanted : config.listeners) {
        Result<UniqueFd> socket = take_from(passed.listeners, wanted);
        if (socket && !*socket) {
            socket = listen_on(wanted, owned);
        }
        if (!socket) {
            return std::move(socket).error();
        }
        out.push_back(
            Listener{Door::engine, wanted.path, wanted.tenants, std::move(socket).value()});
    }
    if (!passed.listeners.empty()) {
        return Error{Errc::invalid_argument,
                     "socket '" + passed.listeners.front().path +
                         "' from systemd refused: no [[listener]] of " + config.file +
                         " has this path, so it stands for no tenant; add one, or disable its "
                         "socket unit"};
    }
    return out;
}

Result<PreparedListener> prepare_socket(const ListenerConfig& config, bool ours) {
    CXLPOOL_TRY(make_directory(config.path));
    ListenerOptions options;
    options.path = config.path;
    options.mode = config.mode;
    options.owner = config.owner;
    options.group = config.group;
    Result<PreparedListener> prepared = prepare_listener(options, ours);
    if (!prepared) {
        return std::move(prepared).error().with_context(config.where);
    }
    return prepared;
}

std::string open_to_everybody(const ListenerConfig& config) {
    if ((config.mode & 0002U) == 0) {
        return {};
    }
    return config.where + ": every user of this host may act as a tenant of the listener '" +
           config.path + "'";
}

}  // namespace cxlpool

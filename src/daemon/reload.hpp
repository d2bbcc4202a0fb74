// A changed configuration for a daemon that runs.
//
// Responsible for: what of a file a running daemon can take on, refusing the rest by name, and the
// sockets that come and go with it. Refuses to know: connections and who has which right; that is
// the server's. Invariants: on any error nothing has changed, on disk either.
#pragma once

#include <string>

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "daemon/sockets.hpp"
#include "server/reconfiguration.hpp"

namespace cxlpool {

// May a daemon that runs with `running` go over to `wanted`? Pure. Grants, tenants, listeners, the
// log level and some limits may differ. Error: wrong_state, which names every key that differs and
// may not.
Result<void> check_reload(const Config& running, const Config& wanted);

class Reloader {
  public:
    // `owned` outlives it.
    Reloader(Config running, OwnedPaths& owned) : running_(std::move(running)), owned_(owned) {}
    Reloader(const Reloader&) = delete;
    Reloader& operator=(const Reloader&) = delete;

    // Reads the file of the running configuration again. Called on a worker, and not again before
    // what it returned was taken on or dropped. Errors: those of read_config(), check_reload() and
    // prepare_socket().
    Result<Reconfiguration> read();

    const Config& running() const noexcept { return running_; }

  private:
    Config running_;
    OwnedPaths& owned_;
};

// The tenants as the server takes them.
std::vector<std::pair<TenantId, std::string>> tenants_of(const Config& config);

}  // namespace cxlpool

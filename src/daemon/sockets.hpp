// The sockets of a configuration.
//
// Responsible for: taking those that the service manager passed in, making the others, and removing
// the files of what was made when it ends. Invariants: all sockets of a configuration are there, or
// none is given out; a file that was not made here is never removed.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "daemon/config.hpp"
#include "server/door.hpp"
#include "server/listener.hpp"

namespace cxlpool {

// Socket files that this process made, removed when it ends.
class OwnedPaths {
  public:
    OwnedPaths() = default;
    ~OwnedPaths();
    OwnedPaths(const OwnedPaths&) = delete;
    OwnedPaths& operator=(const OwnedPaths&) = delete;

    void add(const std::string& path);
    bool has(const std::string& path) const { return paths_.count(path) != 0; }
    // Removes the file of a socket that is still open, and is about to be closed.
    void give_up(const std::string& path);

  private:
    std::set<std::string> paths_;
};

// Engine, admin, then every [[listener]]. Errors: those of listen_at(); invalid_argument (a passed
// socket that no [[listener]] has the path of, or that everybody may write although its mode does
// not say so).
Result<std::vector<Listener>> open_sockets(const Config& config, PassedSockets passed,
                                           OwnedPaths& owned);

// The directory is made when it is not there. Errors: those of prepare_listener(), io.
Result<PreparedListener> prepare_socket(const ListenerConfig& config, bool ours);

// A sentence about a listener that every local user may reach; empty for others.
std::string open_to_everybody(const ListenerConfig& config);

}  // namespace cxlpool

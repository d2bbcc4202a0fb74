// The sockets that lead in, and what standing at one of them gives a peer.
//
// Responsible for: which roles a socket serves, and who a peer is there. Pure. Invariants: at a
// socket with tenants of its own grants neither add nor take anything; nobody is somebody at any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "server/authorizer.hpp"

namespace cxlpool {

enum class Door : std::uint8_t { engine, admin };

struct Listener {
    Door door = Door::engine;
    std::string name;  // for the log: "engine", "admin", or the path of its own
    // Not empty: the socket is the credential, and whoever reached it may act as these tenants.
    std::vector<TenantId> tenants;
    UniqueFd socket;
};

// The engine socket serves the role engine, the admin socket the others.
inline Roles roles_at(Door door, const Identity& identity) noexcept {
    const Roles engine = static_cast<Roles>(Role::engine);
    return door == Door::engine ? identity.roles & engine : identity.roles & ~engine;
}

// Who the peer is at this socket, with one role there at least. Error: not_permitted.
Result<Identity> identify_at(const Listener& listener, const PeerCredentials& peer,
                             const Authorizer& authorizer);

}  // namespace cxlpool

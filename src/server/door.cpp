#include "server/door.hpp"

namespace cxlpool {

Result<Identity> identify_at(const Listener& listener, const PeerCredentials& peer,
                             const Authorizer& authorizer) {
    Result<Identity> identity = listener.tenants.empty()
                                    ? authorizer.identify(peer)
                                    : Authorizer::identify_by_socket(listener.tenants, peer);
    if (!identity || roles_at(listener.door, *identity) != 0) {
        return identity;
    }
    return Error{Errc::not_permitted,
                 listener.door == Door::engine
                     ? "this is the engine socket, and no grant lets this user act as an engine; "
                       "operators use admin.sock"
                     : "no grant lets this user use the admin socket"};
}

}  // namespace cxlpool

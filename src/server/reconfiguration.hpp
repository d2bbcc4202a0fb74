// What a running server is asked to take on, whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "server/authorizer.hpp"
#include "server/door.hpp"
#include "server/limits.hpp"

namespace cxlpool {

struct Reconfiguration {
    // Those of the file, with their names. None goes: a tenant that is not here any more keeps its
    // cells.
    std::vector<std::pair<TenantId, std::string>> tenants;
    Authorizer authorizer;
    // Those that hello tells an engine, and those that memory was set aside for, are as they were.
    Limits limits;
    // All but engine and admin. One without a socket is the open one of that name, with these
    // tenants from now on; an open one that is not here is closed.
    std::vector<Listener> listeners;
    // Moves the new sockets to their paths, and removes the files of those that go. On error
    // nothing has changed. May be empty.
    std::function<Result<void>()> publish;
    // Called when everything has been taken on. May be empty.
    std::function<void()> taken;
};

struct ReloadReport {
    std::uint32_t connections_closed = 0;  // whose peers may not be there any more
};

}  // namespace cxlpool

// The leases of all connections, by connection and index.
//
// Responsible for: generations, indexes, expiry order. Refuses to know: what a cell is. Invariants:
// an index is live under at most one generation; a generation is never 0 and never used twice in
// a row; the expiry index holds exactly the live leases.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "registry/registry.hpp"

namespace cxlpool {

struct Lease {
    std::uint32_t generation = 0;
    bool live = false;
    bool revoked = false;  // the last one of this index ended by revocation
    bool filling = false;
    CellId cell;
    std::uint64_t location = 0;
    std::uint32_t holder_slot = 0;  // where the cell keeps it among its holders
    Timestamp expires_at;
};

struct ConnectionState {
    TenantId tenant;
    uid_t uid = 0;
    std::string engine;
    std::vector<Lease> leases;
    std::vector<std::uint32_t> free_indexes;
};

class LeaseTable {
  public:
    explicit LeaseTable(std::uint32_t leases_per_connection) : limit_(leases_per_connection) {}

    ConnectionId open(TenantId tenant, uid_t uid, std::string engine);
    // All its leases must have ended.
    void close(ConnectionId id);
    ConnectionState* find(ConnectionId id);
    const ConnectionState* find(ConnectionId id) const;

    bool full(const ConnectionState& connection) const noexcept;
    // Error: limit_exceeded.
    Result<LeaseRef> grant(ConnectionId id, CellId cell, std::uint64_t location, bool filling,
                           Timestamp expires_at);
    // The live lease that `ref` names. Errors: stale_lease, revoked.
    Result<Lease*> live(ConnectionId id, const LeaseRef& ref);
    void renew(ConnectionId id, std::uint32_t index, Timestamp expires_at);
    Lease& at(ConnectionId id, std::uint32_t index);
    // Returns a copy of what ended.
    Lease end(ConnectionId id, std::uint32_t index, bool revoked);

    struct Expired {
        ConnectionId connection;
        std::uint32_t index;
    };
    // The earliest lease that is due at `now`, or nothing.
    std::optional<Expired> first_due(Timestamp now) const;

    std::vector<std::uint32_t> live_indexes(ConnectionId id) const;
    const std::unordered_map<std::uint64_t, ConnectionState>& all() const noexcept {
        return connections_;
    }
    std::size_t expiry_count() const noexcept { return expiry_.size(); }

  private:
    std::uint32_t limit_;
    std::uint64_t last_connection_ = 0;
    std::unordered_map<std::uint64_t, ConnectionState> connections_;
    std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> expiry_;
};

}  // namespace cxlpool

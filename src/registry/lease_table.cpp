#include "registry/lease_table.hpp"

#include <utility>

#include "base/check.hpp"

namespace cxlpool {

ConnectionId LeaseTable::open(TenantId tenant, uid_t uid, std::string engine) {
    const ConnectionId id{++last_connection_};
    ConnectionState& state = connections_[id.value];
    state.tenant = tenant;
    state.uid = uid;
    state.engine = std::move(engine);
    return id;
}

void LeaseTable::close(ConnectionId id) {
    CXLPOOL_CHECK(live_indexes(id).empty());
    connections_.erase(id.value);
}

ConnectionState* LeaseTable::find(ConnectionId id) {
    const auto at = connections_.find(id.value);
    return at == connections_.end() ? nullptr : &at->second;
}

const ConnectionState* LeaseTable::find(ConnectionId id) const {
    const auto at = connections_.find(id.value);
    return at == connections_.end() ? nullptr : &at->second;
}

bool LeaseTable::full(const ConnectionState& connection) const noexcept {
    return connection.free_indexes.empty() && connection.leases.size() >= limit_;
}

Result<LeaseRef> LeaseTable::grant(ConnectionId id, CellId cell, std::uint64_t location,
                                   bool filling, Timestamp expires_at) {
    ConnectionState* connection = find(id);
    CXLPOOL_CHECK(connection != nullptr);
    if (full(*connection)) {
        return Error{Errc::limit_exceeded, "this connection holds " + std::to_string(limit_) +
                                               " leases already; release some"};
    }
    std::uint32_t index = 0;
    if (connection->free_indexes.empty()) {
        index = static_cast<std::uint32_t>(connection->leases.size());
        connection->leases.emplace_back();
    } else {
        index = connection->free_indexes.back();
        connection->free_indexes.pop_back();
    }
    Lease& lease = connection->leases[index];
    CXLPOOL_CHECK(!lease.live);
    const std::uint32_t generation = lease.generation + 1 == 0 ? 1 : lease.generation + 1;
    lease = Lease{generation, true, false, filling, cell, location, 0, expires_at};
    expiry_.emplace(expires_at.ns, id.value, index);
    return LeaseRef{index, generation};
}

Result<Lease*> LeaseTable::live(ConnectionId id, const LeaseRef& ref) {
    ConnectionState* connection = find(id);
    CXLPOOL_CHECK(connection != nullptr);
    if (ref.index >= connection->leases.size()) {
        return Error{Errc::stale_lease, "no such lease on this connection"};
    }
    Lease& lease = connection->leases[ref.index];
    if (lease.generation != ref.generation) {
        return Error{Errc::stale_lease, "this lease has ended"};
    }
    if (!lease.live) {
        return lease.revoked
                   ? Error{Errc::revoked, "the cell was taken away; its bytes must not be used"}
                   : Error{Errc::stale_lease, "this lease has ended"};
    }
    return &lease;
}

void LeaseTable::renew(ConnectionId id, std::uint32_t index, Timestamp expires_at) {
    Lease& lease = find(id)->leases[index];
    expiry_.erase({lease.expires_at.ns, id.value, index});
    lease.expires_at = expires_at;
    expiry_.emplace(expires_at.ns, id.value, index);
}

Lease& LeaseTable::at(ConnectionId id, std::uint32_t index) {
    ConnectionState* connection = find(id);
    CXLPOOL_CHECK(connection != nullptr && index < connection->leases.size());
    return connection->leases[index];
}

Lease LeaseTable::end(ConnectionId id, std::uint32_t index, bool revoked) {
    ConnectionState* connection = find(id);
    CXLPOOL_CHECK(connection != nullptr && index < connection->leases.size());
    Lease& lease = connection->leases[index];
    CXLPOOL_CHECK(lease.live);
    const Lease ended = lease;
    CXLPOOL_CHECK(expiry_.erase({lease.expires_at.ns, id.value, index}) == 1);
    lease.live = false;
    lease.revoked = revoked;
    connection->free_indexes.push_back(index);
    return ended;
}

std::optional<LeaseTable::Expired> LeaseTable::first_due(Timestamp now) const {
    if (expiry_.empty() || std::get<0>(*expiry_.begin()) > now.ns) {
        return std::nullopt;
    }
    const auto& [at, connection, index] = *expiry_.begin();
    return Expired{ConnectionId{connection}, index};
}

std::vector<std::uint32_t> LeaseTable::live_indexes(ConnectionId id) const {
    std::vector<std::uint32_t> out;
    const ConnectionState* connection = find(id);
    if (connection != nullptr) {
        for (std::uint32_t index = 0; index < connection->leases.size(); ++index) {
            if (connection->leases[index].live) {
                out.push_back(index);
            }
        }
    }
    return out;
}

}  // namespace cxlpool

// How much a connection, a user, a tenant and all of them together may hold: what an operator can
// set, with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cxlpool {

// Connections that an operator always finds free.
inline constexpr std::uint32_t kOperatorConnections = 16;

struct Limits {
    // An engine process needs one connection a worker process; eight GPUs with four each.
    std::uint32_t connections_per_uid = 32;
    // Models × adapters that a process serves at a time.
    std::uint32_t contexts_per_connection = 64;
    // Cells that a running batch attends; also the size of the lease board (4 bytes each).
    std::uint32_t leases_per_connection = 4096;
    // Bytes being filled and not yet sealed.
    std::uint64_t filling_bytes_per_uid = 4ULL << 30U;
    std::uint64_t cell_bytes = 1ULL << 30U;
    // Cells that one tenant may keep for one span (other contexts), so that nobody can make a
    // lookup of that span long.
    std::uint32_t cells_per_span_and_tenant = 16;
    // Cells that all tenants together may keep; bounds the daemon's own memory (about 1 KiB each).
    std::uint32_t cells = 1U << 20U;
    std::uint32_t cells_per_tenant = 1U << 18U;
    // Requests of one connection that wait for a worker.
    std::uint32_t pending_per_connection = 16;
    // A lease ends this long after the last renewal.
    std::uint32_t lease_ttl_ms = 30'000;
    // A connection that has not said hello by then is closed.
    std::uint32_t hello_timeout_ms = 5'000;
    // All connections together; kOperatorConnections of them are kept free for operators.
    std::uint32_t connections = 1024;
    // Distinct axis values of one tenant's contexts and cells, whether or not others use them: 64
    // contexts that share nothing hold 960, and what is sealed keeps its values for as long.
    std::uint32_t axis_values_per_tenant = 4096;
    // The same, summed over all tenants; bounds the daemon's own memory (256 bytes each at most,
    // and about as much to keep them). So far above the limit of one that only that one is met.
    std::uint32_t axis_values = 1U << 20U;
    bool operator==(const Limits&) const = default;
};

}  // namespace cxlpool

// Records as rows, each sealed by a digest.
//
// Invariants: what read_*() returns obeys the rules of records.hpp and is, bit for bit, what was
// written; anything else is the error malformed.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/gate.hpp"
#include "state/database.hpp"
#include "state/records.hpp"

namespace cxlpool::state {

Result<void> write_tenancy(const Database& database, TenancyMode mode);
Result<TenancyMode> read_tenancy(const Database& database);

// Each takes the place of the row with the same key; a reservation of 0 bytes has no row.
Result<void> write(const Database& database, const TenantRecord& tenant);
Result<void> write(const Database& database, const Reservation& reservation);
Result<void> write(const Database& database, const ErasureRecord& erasure);

Result<void> write(const Database& database, const std::vector<CellRecord>& cells);
Result<void> remove(const Database& database, const std::vector<CellId>& cells);

Result<std::vector<TenantRecord>> read_tenants(const Database& database);
Result<std::vector<Reservation>> read_reservations(const Database& database);
Result<std::vector<ErasureRecord>> read_erasures(const Database& database);
Result<std::vector<CellRecord>> read_cells(const Database& database);  // by id

}  // namespace cxlpool::state

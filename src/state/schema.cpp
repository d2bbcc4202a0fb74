#include "state/schema.hpp"

#include <array>
#include <string>

namespace cxlpool::state {
namespace {

// Numbers of 64 bits stand as the signed number of the same bits. `seal` is a digest of the row's
// other columns: a disk may change a bit of a salt, and no structure of SQLite would notice.
constexpr const char* kFirst = R"(
CREATE TABLE host (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    tenancy TEXT NOT NULL
) STRICT;
CREATE TABLE tenant (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    salt INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    trust_epoch INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    had_cells INTEGER NOT NULL,
    seal BLOB NOT NULL
) STRICT;
CREATE TABLE reservation (
    tenant INTEGER NOT NULL REFERENCES tenant (id),
    pool TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (tenant, pool)
) STRICT, WITHOUT ROWID;
CREATE TABLE erasure (
    tenant INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    step TEXT NOT NULL,
    started INTEGER NOT NULL,
    finished INTEGER,
    receipt TEXT NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (tenant, incarnation)
) STRICT, WITHOUT ROWID;
)";

// A cell's columns are read by nobody but the program, all at once: they stand as one JSON text.
constexpr const char* kCells = R"(
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    seal BLOB NOT NULL
) STRICT;
)";

constexpr std::array kMigrations{kFirst, kCells};

}  // namespace

std::span<const char* const> migrations() noexcept {
    return kMigrations;
}

Result<void> migrate(Database& database, std::span<const char* const> steps) {
    const Result<std::uint64_t> version = database.ask_number("PRAGMA user_version");
    if (!version) {
        return version.error();
    }
    if (*version > steps.size()) {
        return Error{Errc::unsupported_version,
                     "'" + database.path() + "' has version " + std::to_string(*version) +
                         ", and this cxlpoold knows versions up to " +
                         std::to_string(steps.size()) +
                         "; install the version that wrote it, or use another state directory"};
    }
    for (std::size_t at = *version; at < steps.size(); ++at) {
        const auto step = [&]() -> Result<void> {
            CXLPOOL_TRY(database.run(steps[at]));
            return database.run("PRAGMA user_version = " + std::to_string(at + 1));
        };
        CXLPOOL_TRY(database.transact(step));
    }
    return {};
}

}  // namespace cxlpool::state

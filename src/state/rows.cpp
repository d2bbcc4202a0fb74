#include "state/rows.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "domain/tagged_hash.hpp"

namespace cxlpool::state {
namespace {

// The seal of a row: all its columns but the seal, in their order.
class Seal {
  public:
    explicit Seal(std::string_view table) : hash_(table) {}
    Seal& add(std::uint64_t value) {
        hash_.begin_field(++field_, sizeof value);
        hash_.u64(value);
        return *this;
    }
    Seal& add(std::string_view text) {
        hash_.begin_field(++field_, text.size());
        hash_.text(text);
        return *this;
    }
    Seal& add_null() {
        hash_.begin_field(++field_, 0);
        return *this;
    }
    Digest256 finish() { return hash_.finish(); }

  private:
    TaggedHash hash_;
    std::uint8_t field_ = 0;
};

Digest256 seal_of(const TenantRecord& tenant) {
    return Seal("cxlpool/state/tenant/1")
        .add(tenant.id.value)
        .add(tenant.name)
        .add(tenant.salt)
        .add(std::uint64_t{tenant.weight})
        .add(tenant.trust_epoch)
        .add(tenant.incarnation)
        .add(std::uint64_t{tenant.had_cells})
        .finish();
}

Digest256 seal_of(const Reservation& reservation) {
    return Seal("cxlpool/state/reservation/1")
        .add(reservation.tenant.value)
        .add(reservation.pool)
        .add(reservation.bytes)
        .finish();
}

Digest256 seal_of(const ErasureRecord& erasure) {
    Seal seal("cxlpool/state/erasure/1");
    seal.add(erasure.tenant.value)
        .add(erasure.incarnation)
        .add(erasure.step)
        .add(erasure.started.ns);
    erasure.finished ? seal.add(erasure.finished->ns) : seal.add_null();
    return seal.add(erasure.receipt).finish();
}

std::uint32_t narrow(std::uint64_t value) noexcept {
    return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value)
                                                              : 0;
}

TenantRecord tenant_from(Statement& row) {
    TenantRecord out;
    out.id = TenantId{row.number(0)};
    out.name = row.text(1);
    out.salt = row.number(2);
    out.weight = narrow(row.number(3));  // 0 is no weight, and refused
    out.trust_epoch = row.number(4);
    out.incarnation = row.number(5);
    out.had_cells = row.number(6) != 0;
    return out;
}

Reservation reservation_from(Statement& row) {
    return Reservation{TenantId{row.number(0)}, row.text(1), row.number(2)};
}

ErasureRecord erasure_from(Statement& row) {
    ErasureRecord out;
    out.tenant = TenantId{row.number(0)};
    out.incarnation = row.number(1);
    out.step = row.text(2);
    out.started = Timestamp{row.number(3)};
    if (!row.is_null(4)) {
        out.finished = Timestamp{row.number(4)};
    }
    out.receipt = row.text(5);
    return out;
}

// All rows of a query whose last column is the seal.
template <typename Record>
Result<std::vector<Record>> read_all(const Database& database, std::string_view sql,
                                     int seal_column, Record (*make)(Statement&)) {
    Result<Statement> rows = database.prepare(sql);
    if (!rows) {
        return std::move(rows).error();
    }
    std::vector<Record> out;
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row) {
            return row.error();
        }
        if (!*row) {
            return out;
        }
        Record record = make(*rows);
        if (rows->digest(seal_column) != seal_of(record)) {
            return database.damaged("a row is not what was written");
        }
        if (Result<void> good = check_record(record); !good) {
            return database.damaged(good.error().message());
        }
        out.push_back(std::move(record));
    }
}

}  // namespace

Result<void> write_tenancy(const Database& database, TenancyMode mode) {
    Result<Statement> insert = database.prepare("INSERT INTO host (id, tenancy) VALUES (1, ?)");
    if (!insert) {
        return std::move(insert).error();
    }
    return insert->bind(to_word(mode)).run();
}

Result<TenancyMode> read_tenancy(const Database& database) {
    const Result<std::string> word = database.ask_text("SELECT tenancy FROM host WHERE id = 1");
    if (!word) {
        return word.error();
    }
    const std::optional<TenancyMode> mode = parse_tenancy_mode(*word);
    return mode ? Result<TenancyMode>(*mode) : database.damaged("it names no tenancy mode");
}

Result<void> write(const Database& database, const TenantRecord& tenant) {
    // Not REPLACE, which would delete the row that reservations refer to.
    Result<Statement> put = database.prepare(
        "INSERT INTO tenant (id, name, salt, weight, trust_epoch, incarnation, had_cells, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, "
        "salt = excluded.salt, weight = excluded.weight, trust_epoch = excluded.trust_epoch, "
        "incarnation = excluded.incarnation, had_cells = excluded.had_cells, seal = excluded.seal");
    if (!put) {
        return std::move(put).error();
    }
    return put->bind(tenant.id.value)
        .bind(tenant.name)
        .bind(tenant.salt)
        .bind(std::uint64_t{tenant.weight})
        .bind(tenant.trust_epoch)
        .bind(tenant.incarnation)
        .bind(std::uint64_t{tenant.had_cells})
        .bind(seal_of(tenant))
        .run();
}

Result<void> write(const Database& database, const Reservation& reservation) {
    Result<Statement> put = database.prepare(
        reservation.bytes == 0
            ? "DELETE FROM reservation WHERE tenant = ? AND pool = ?"
            : "INSERT OR REPLACE INTO reservation (tenant, pool, bytes, seal) VALUES (?, ?, ?, ?)");
    if (!put) {
        return std::move(put).error();
    }
    put->bind(reservation.tenant.value).bind(reservation.pool);
    if (reservation.bytes != 0) {
        put->bind(reservation.bytes).bind(seal_of(reservation));
    }
    return put->run();
}

Result<void> write(const Database& database, const ErasureRecord& erasure) {
    Result<Statement> put = database.prepare(
        "INSERT OR REPLACE INTO erasure "
        "(tenant, incarnation, step, started, finished, receipt, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)");
    if (!put) {
        return std::move(put).error();
    }
    put->bind(erasure.tenant.value)
        .bind(erasure.incarnation)
        .bind(erasure.step)
        .bind(erasure.started.ns);
    erasure.finished ? put->bind(erasure.finished->ns) : put->bind_null();
    return put->bind(erasure.receipt).bind(seal_of(erasure)).run();
}

Result<std::vector<TenantRecord>> read_tenants(const Database& database) {
    auto out = read_all<TenantRecord>(
        database,
        "SELECT id, name, salt, weight, trust_epoch, incarnation, had_cells, seal FROM tenant", 7,
        &tenant_from);
    if (out) {
        // Here, because SQLite takes the numbers for signed ones.
        std::sort(out->begin(), out->end(),
                  [](const TenantRecord& a, const TenantRecord& b) { return a.id < b.id; });
    }
    return out;
}

Result<std::vector<Reservation>> read_reservations(const Database& database) {
    auto out = read_all<Reservation>(database, "SELECT tenant, pool, bytes, seal FROM reservation",
                                     3, &reservation_from);
    if (out) {
        std::sort(out->begin(), out->end(), [](const Reservation& a, const Reservation& b) {
            return std::tie(a.tenant, a.pool) < std::tie(b.tenant, b.pool);
        });
    }
    return out;
}

Result<std::vector<ErasureRecord>> read_erasures(const Database& database) {
    auto out = read_all<ErasureRecord>(
        database, "SELECT tenant, incarnation, step, started, finished, receipt, seal FROM erasure",
        6, &erasure_from);
    if (out) {
        std::sort(out->begin(), out->end(), [](const ErasureRecord& a, const ErasureRecord& b) {
            return std::tie(a.started, a.tenant, a.incarnation) <
                   std::tie(b.started, b.tenant, b.incarnation);
        });
    }
    return out;
}

}  // namespace cxlpool::state

#include "state/state_store.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

#include "base/directory.hpp"
#include "base/unique_fd.hpp"
#include "state/database.hpp"
#include "state/rows.hpp"
#include "state/schema.hpp"
#include "state/state_directory.hpp"

namespace cxlpool {

using state::Database;
using state::StateDirectory;

struct StateStore::Impl {
    Impl(StateDirectory held, Database opened)
        : directory(std::move(held)), database(std::move(opened)) {}

    Result<std::optional<ErasureRecord>> find_erasure(TenantId tenant,
                                                      std::uint64_t incarnation) const;
    // In one transaction, with the tenant's record if there is one to put.
    Result<void> change_erasure(TenantId tenant, std::uint64_t incarnation, const std::string& step,
                                const std::function<void(ErasureRecord&)>& change,
                                const TenantRecord* record = nullptr);
    // Both inside a transaction. put(): the rules that no single record can break are looked at.
    Result<void> put(const TenantRecord& tenant);
    Result<void> remove_cells_of(TenantId owner);

    // A write of the journal between the two calls of the hook.
    Result<void> journal(const std::string& step, const std::function<Result<void>()>& write) {
        if (hook) {
            hook(step, false);
        }
        Result<void> written = database.transact(write);
        if (written && hook) {
            hook(step, true);
        }
        return written;
    }

    StateDirectory directory;
    Database database;
    std::string kept_aside;
    std::function<void(std::string_view, bool)> hook;
};

namespace {

// Where versions before 0.2 kept the tenancy mode.
constexpr const char* kOldStamp = "tenancy";

Result<void> same_mode(TenancyMode kept, TenancyMode wanted, const std::string& file) {
    if (kept == wanted) {
        return {};
    }
    return Error{Errc::tenancy_mismatch,
                 "tenancy_mismatch: this state directory belongs to tenancy \"" +
                     std::string(to_word(kept)) + "\" ('" + file + "'), the configuration says \"" +
                     std::string(to_word(wanted)) + "\"; use another state directory"};
}

std::string of_erasure(TenantId tenant, std::uint64_t incarnation) {
    return "the erasure of tenant " + std::to_string(tenant.value) + ", incarnation " +
           std::to_string(incarnation) + ",";
}

// Nothing to say about: the stamp is absent, or this user may not see it.
bool unseen(int error) noexcept {
    return error == ENOENT || error == EACCES;
}

Result<void> check_old_stamp(const std::string& directory, TenancyMode mode) {
    const std::string path = directory + "/" + kOldStamp;
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::array<char, 32> text{};
    const ssize_t size = file ? ::read(file.get(), text.data(), text.size() - 1) : -1;
    if (size < 0) {
        return unseen(errno) ? Result<void>() : os_error("reading '" + path + "'", errno);
    }
    std::string_view word(text.data(), static_cast<std::size_t>(size));
    word = word.substr(0, word.find('\n'));
    const std::optional<TenancyMode> stamped = parse_tenancy_mode(word);
    if (!stamped) {
        return Error{Errc::malformed, "'" + path +
                                          "' names no tenancy mode; restore it, or start with an "
                                          "empty state directory"};
    }
    return same_mode(*stamped, mode, path);
}

// The mode of the file as it lies there: it was written before the file had its name, so no log
// can hold another.
Result<void> check_mode(const std::string& file, TenancyMode mode) {
    const Result<Database> database = Database::open(file, Database::Access::peek);
    if (!database) {
        return database.error();
    }
    const Result<std::uint64_t> version = database->ask_number("PRAGMA user_version");
    if (!version) {
        return version.error();
    }
    if (*version > state::migrations().size()) {
        return {};  // open() says what to do about it
    }
    const Result<TenancyMode> kept = state::read_tenancy(*database);
    return kept ? same_mode(*kept, mode, file) : Result<void>(kept.error());
}

Result<void> make_file(const StateDirectory& directory, TenancyMode mode) {
    CXLPOOL_TRY(directory.begin_file());
    {
        Result<Database> database =
            Database::open(directory.unfinished_file(), Database::Access::write);
        if (!database) {
            return std::move(database).error();
        }
        CXLPOOL_TRY(state::migrate(*database, state::migrations()));
        CXLPOOL_TRY(state::write_tenancy(*database, mode));
    }
    return directory.finish_file();
}

// Everything in the file was looked at when this returns a database.
Result<Database> open_file(const StateDirectory& directory, TenancyMode mode) {
    Result<Database> database = Database::open(directory.file(), Database::Access::write);
    if (!database) {
        return database;
    }
    database->keep_log(true);
    const Result<std::uint64_t> version = database->ask_number("PRAGMA user_version");
    if (!version) {
        return version.error();
    }
    if (*version == 0) {
        // A file gets its name after its tables. SQLite would take an empty one for a new one.
        return database->damaged("it holds no state of cxlpool");
    }
    CXLPOOL_TRY(database->use_log());
    CXLPOOL_TRY(state::migrate(*database, state::migrations()));
    const Result<std::string> health = database->ask_text("PRAGMA integrity_check(1)");
    if (!health) {
        return health.error();
    }
    if (*health != "ok") {
        return database->damaged(*health);
    }
    const Result<TenancyMode> kept = state::read_tenancy(*database);
    if (!kept) {
        return kept.error();
    }
    CXLPOOL_TRY(same_mode(*kept, mode, directory.file()));
    return database;
}

Result<State> read_state(const Database& database) {
    State out;
    Result<std::vector<TenantRecord>> tenants = state::read_tenants(database);
    if (!tenants) {
        return std::move(tenants).error();
    }
    out.tenants = std::move(*tenants);
    Result<std::vector<Reservation>> reservations = state::read_reservations(database);
    if (!reservations) {
        return std::move(reservations).error();
    }
    out.reservations = std::move(*reservations);
    Result<std::vector<ErasureRecord>> erasures = state::read_erasures(database);
    if (!erasures) {
        return std::move(erasures).error();
    }
    out.erasures = std::move(*erasures);
    return out;
}

// The same, for a file that nobody has vouched for yet.
Result<Database> open_whole(const StateDirectory& directory, TenancyMode mode) {
    Result<Database> database = open_file(directory, mode);
    if (!database) {
        return database;
    }
    const Result<State> all = read_state(*database);
    if (!all) {
        return all.error();
    }
    if (const Result<void> good = check_state(*all); !good) {
        return database->damaged(good.error().message());
    }
    if (const Result<std::vector<CellRecord>> cells = state::read_cells(*database); !cells) {
        return cells.error();
    }
    database->keep_log(false);
    return database;
}

Error lost(const std::string& what, const StateDirectory& directory) {
    return Error{Errc::malformed,
                 what + ". Nothing of it is used: put a good copy in place as '" +
                     directory.file() +
                     "', or start once with --accept-empty-state to go on without; tenants, salts, "
                     "weights and reservations that operators set are then to be set again"};
}

// There is no file: was there ever one?
Result<void> check_never_used(const StateDirectory& directory) {
    const Result<std::vector<std::string>> kept = directory.kept();
    if (!kept) {
        return kept.error();
    }
    if (kept->empty()) {
        return {};
    }
    return lost(
        "'" + directory.file() + "' is missing; a damaged one was kept as '" + kept->back() + "'",
        directory);
}

Result<Database> begin_anew(const StateDirectory& directory, TenancyMode mode) {
    CXLPOOL_TRY(make_file(directory, mode));
    return open_whole(directory, mode);
}

struct Opened {
    Database database;
    std::string kept_aside;
};

Result<Opened> open_or_make(const StateDirectory& directory, TenancyMode mode, Timestamp wall,
                            OnLoss on_loss) {
    const Result<bool> there = directory.has_file();
    const Result<bool> leftovers = directory.has_leftovers();
    if (!there || !leftovers) {
        return there ? leftovers.error() : there.error();
    }
    std::string damage;
    if (*there) {
        // Before anything is opened that could write.
        if (const Result<void> same = check_mode(directory.file(), mode);
            !same && same.error().code() == Errc::tenancy_mismatch) {
            return same.error();
        }
        Result<Database> database = open_whole(directory, mode);
        if (database) {
            return Opened{std::move(*database), ""};
        }
        if (database.error().code() != Errc::malformed) {
            return std::move(database).error();
        }
        damage = database.error().message();
    } else if (*leftovers) {
        damage = "'" + directory.file() + "' is missing, and its log is not";
    }
    std::string kept_aside;
    if (!damage.empty()) {
        Result<std::string> name = directory.keep_aside(wall);
        if (!name) {
            return std::move(name).error();
        }
        kept_aside = damage + "; it is kept as '" + *name + "'";
        if (on_loss == OnLoss::refuse) {
            return lost(kept_aside, directory);
        }
    } else {
        CXLPOOL_TRY(check_old_stamp(directory.path(), mode));
        if (on_loss == OnLoss::refuse) {
            CXLPOOL_TRY(check_never_used(directory));
        }
    }
    Result<Database> database = begin_anew(directory, mode);
    if (!database) {
        return std::move(database).error();
    }
    return Opened{std::move(*database), std::move(kept_aside)};
}

// Puts the record in the place of the one that `same` holds for, or at the end.
template <typename Record, typename Same>
void put(std::vector<Record>& records, const Record& record, Same same) {
    const auto at = std::find_if(records.begin(), records.end(), same);
    if (at == records.end()) {
        records.push_back(record);
    } else {
        *at = record;
    }
}

}  // namespace

StateStore::StateStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StateStore::~StateStore() = default;

Result<std::unique_ptr<StateStore>> StateStore::open(const std::string& directory, TenancyMode mode,
                                                     Timestamp wall, OnLoss on_loss) {
    Result<StateDirectory> held = StateDirectory::hold(directory);
    if (!held) {
        return std::move(held).error();
    }
    Result<Opened> opened = open_or_make(*held, mode, wall, on_loss);
    if (!opened) {
        return std::move(opened).error();
    }
    CXLPOOL_TRY(held->remove(kOldStamp));
    auto impl = std::make_unique<Impl>(std::move(*held), std::move(opened->database));
    impl->kept_aside = std::move(opened->kept_aside);
    return std::unique_ptr<StateStore>(new StateStore(std::move(impl)));
}

Result<void> StateStore::check(const std::string& directory, TenancyMode mode) {
    const StateDirectory seen = StateDirectory::look(directory);
    const Result<bool> there = seen.has_file();
    Result<void> good;
    if (!there) {
        good = there.error();
    } else if (*there) {
        good = check_mode(seen.file(), mode);
    } else {
        good = check_old_stamp(directory, mode);
        if (good) {
            good = check_never_used(seen);
        }
        if (good || good.error().os_errno() == ENOENT) {
            // The last directory is made at the start, and no other.
            good = check_makeable(directory, "making the state directory '" + directory + "'");
        }
    }
    return good || good.error().os_errno() != EACCES ? good : Result<void>();
}

const std::string& StateStore::kept_aside() const noexcept {
    return impl_->kept_aside;
}

Result<State> StateStore::read() const {
    return read_state(impl_->database);
}

Result<void> StateStore::save(const std::vector<TenantRecord>& tenants,
                              const std::vector<Reservation>& reservations) {
    for (const TenantRecord& tenant : tenants) {
        CXLPOOL_TRY(check_record(tenant));
    }
    for (const Reservation& reservation : reservations) {
        CXLPOOL_TRY(check_record(reservation));
    }
    return impl_->database.transact([&]() -> Result<void> {
        Result<State> all = read();
        if (!all) {
            return std::move(all).error();
        }
        for (const TenantRecord& tenant : tenants) {
            put(all->tenants, tenant, [&](const TenantRecord& old) { return old.id == tenant.id; });
        }
        for (const Reservation& reservation : reservations) {
            put(all->reservations, reservation, [&](const Reservation& old) {
                return old.tenant == reservation.tenant && old.pool == reservation.pool;
            });
        }
        CXLPOOL_TRY(check_state(*all));
        for (const TenantRecord& tenant : tenants) {
            CXLPOOL_TRY(state::write(impl_->database, tenant));
        }
        for (const Reservation& reservation : reservations) {
            CXLPOOL_TRY(state::write(impl_->database, reservation));
        }
        return {};
    });
}

Result<void> StateStore::save_cells(const std::vector<CellRecord>& put,
                                    const std::vector<CellId>& gone) {
    for (const CellRecord& cell : put) {
        CXLPOOL_TRY(check_record(cell));
    }
    return impl_->database.transact([&]() -> Result<void> {
        CXLPOOL_TRY(state::write(impl_->database, put));
        return state::remove(impl_->database, gone);
    });
}

Result<std::vector<CellRecord>> StateStore::cells() const {
    return state::read_cells(impl_->database);
}

Result<void> StateStore::begin_erasure(const TenantRecord& tenant, const std::string& step,
                                       Timestamp wall) {
    ErasureRecord fresh;
    fresh.tenant = tenant.id;
    fresh.incarnation = tenant.incarnation;
    fresh.step = step;
    fresh.started = wall;
    CXLPOOL_TRY(check_record(fresh));
    return impl_->journal(step, [&]() -> Result<void> {
        const Result<std::optional<ErasureRecord>> old =
            impl_->find_erasure(fresh.tenant, fresh.incarnation);
        if (!old) {
            return old.error();
        }
        if (old->has_value()) {
            return Error{Errc::already_exists,
                         of_erasure(fresh.tenant, fresh.incarnation) + " has begun already"};
        }
        CXLPOOL_TRY(impl_->put(tenant));
        return state::write(impl_->database, fresh);
    });
}

Result<void> StateStore::advance_erasure(TenantId tenant, std::uint64_t incarnation,
                                         const std::string& step) {
    return impl_->change_erasure(tenant, incarnation, step, [](ErasureRecord&) {});
}

Result<void> StateStore::finish_erasure(const TenantRecord& tenant, const std::string& step,
                                        const std::string& receipt_json, Timestamp wall) {
    if (tenant.incarnation == 0) {
        return Error{Errc::invalid_argument, "incarnation 0 comes after none"};
    }
    return impl_->change_erasure(
        tenant.id, tenant.incarnation - 1, step,
        [&](ErasureRecord& erasure) {
            erasure.receipt = receipt_json;
            erasure.finished = wall;
        },
        &tenant);
}

void StateStore::set_journal_hook(std::function<void(std::string_view, bool)> hook) {
    impl_->hook = std::move(hook);
}

Result<std::vector<ErasureRecord>> StateStore::erasures() const {
    return state::read_erasures(impl_->database);
}

Result<std::optional<ErasureRecord>> StateStore::Impl::find_erasure(
    TenantId tenant, std::uint64_t incarnation) const {
    const Result<std::vector<ErasureRecord>> all = state::read_erasures(database);
    if (!all) {
        return all.error();
    }
    const auto at = std::find_if(all->begin(), all->end(), [&](const ErasureRecord& erasure) {
        return erasure.tenant == tenant && erasure.incarnation == incarnation;
    });
    return at == all->end() ? std::optional<ErasureRecord>() : std::optional(*at);
}

Result<void> StateStore::Impl::change_erasure(TenantId tenant, std::uint64_t incarnation,
                                              const std::string& step,
                                              const std::function<void(ErasureRecord&)>& change,
                                              const TenantRecord* record) {
    return journal(step, [&]() -> Result<void> {
        Result<std::optional<ErasureRecord>> found = find_erasure(tenant, incarnation);
        if (!found) {
            return std::move(found).error();
        }
        if (!found->has_value()) {
            return Error{Errc::not_found, of_erasure(tenant, incarnation) + " has not begun"};
        }
        ErasureRecord& erasure = **found;
        if (erasure.finished) {
            return Error{Errc::wrong_state, of_erasure(tenant, incarnation) + " has finished"};
        }
        erasure.step = step;
        change(erasure);
        CXLPOOL_TRY(check_record(erasure));
        if (record != nullptr) {
            CXLPOOL_TRY(put(*record));
        }
        if (erasure.finished) {
            CXLPOOL_TRY(remove_cells_of(tenant));
        }
        return state::write(database, erasure);
    });
}

Result<void> StateStore::Impl::remove_cells_of(TenantId owner) {
    const Result<std::vector<CellRecord>> all = state::read_cells(database);
    if (!all) {
        return all.error();
    }
    std::vector<CellId> gone;
    for (const CellRecord& cell : *all) {
        if (cell.owner == owner) {
            gone.push_back(cell.id);
        }
    }
    return state::remove(database, gone);
}

Result<void> StateStore::Impl::put(const TenantRecord& tenant) {
    CXLPOOL_TRY(check_record(tenant));
    Result<State> all = read_state(database);
    if (!all) {
        return std::move(all).error();
    }
    cxlpool::put(all->tenants, tenant,
                 [&](const TenantRecord& old) { return old.id == tenant.id; });
    CXLPOOL_TRY(check_state(*all));
    return state::write(database, tenant);
}

}  // namespace cxlpool

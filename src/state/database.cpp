#include "state/database.hpp"

#include <sqlite3.h>

#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace cxlpool::state {
namespace {

// A row of ours has a few hundred bytes, a receipt some thousands; a damaged length asks for more.
constexpr int kMaxValueBytes = 1 << 20;
// Somebody may look at the file with sqlite3 for a moment.
constexpr int kBusyTimeoutMs = 2000;

Errc code_of(int sqlite) noexcept {
    switch (sqlite & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_FORMAT:
        case SQLITE_TOOBIG:
        // Our statements are right, so the schema that they meet is not.
        case SQLITE_ERROR:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
            return Errc::malformed;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return Errc::unavailable;
        case SQLITE_NOMEM:
            return Errc::out_of_memory;
        case SQLITE_MISUSE:
        case SQLITE_RANGE:
            return Errc::internal;
        default:
            return Errc::io;
    }
}

// A file name as a URI, in which '?', '#' and '%' would mean something.
std::string uri_of(const std::string& path, std::string_view parameters) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    std::string out("file:");
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
        if (plain) {
            out.push_back(c);
        } else {
            out.append({'%', kHex[byte >> 4U], kHex[byte & 0xfU]});
        }
    }
    return out.append("?").append(parameters);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
    ::sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, sqlite3_stmt* statement)
    : database_(&database), statement_(statement), bind_code_(SQLITE_OK) {}

Statement& Statement::bind(std::uint64_t value) {
    const int code = ::sqlite3_bind_int64(statement_.get(), next_parameter_++,
                                          std::bit_cast<std::int64_t>(value));
    bind_code_ = bind_code_ == SQLITE_OK ? code : bind_code_;
    return *this;
}

Statement& Statement::bind(std::string_view text) {
    const int code = ::sqlite3_bind_text64(statement_.get(), next_parameter_++, text.data(),
                                           text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    bind_code_ = bind_code_ == SQLITE_OK ? code : bind_code_;
    return *this;
}

Statement& Statement::bind(const Digest256& digest) {
    const int code = ::sqlite3_bind_blob64(statement_.get(), next_parameter_++, digest.bytes.data(),
                                           digest.bytes.size(), SQLITE_TRANSIENT);
    bind_code_ = bind_code_ == SQLITE_OK ? code : bind_code_;
    return *this;
}

Statement& Statement::bind_null() {
    const int code = ::sqlite3_bind_null(statement_.get(), next_parameter_++);
    bind_code_ = bind_code_ == SQLITE_OK ? code : bind_code_;
    return *this;
}

Result<bool> Statement::step() {
    if (mistyped_) {
        return database_->damaged("a column has another type than it was given");
    }
    const int code =
        bind_code_ == SQLITE_OK ? ::sqlite3_step(statement_.get()) : std::exchange(bind_code_, 0);
    if (code == SQLITE_ROW) {
        return true;
    }
    std::optional<Error> error;
    if (code != SQLITE_DONE) {
        error = database_->error(code);
    }
    ::sqlite3_reset(statement_.get());
    next_parameter_ = 1;
    return error ? Result<bool>(std::move(*error)) : Result<bool>(false);
}

Result<void> Statement::run() {
    const Result<bool> row = step();
    if (!row) {
        return row.error();
    }
    CXLPOOL_CHECK(!*row);
    return {};
}

bool Statement::has_type(int column, int type) {
    const bool good = ::sqlite3_column_type(statement_.get(), column) == type;
    mistyped_ = mistyped_ || !good;
    return good;
}

std::uint64_t Statement::number(int column) {
    return has_type(column, SQLITE_INTEGER) ? std::bit_cast<std::uint64_t>(std::int64_t{
                                                  ::sqlite3_column_int64(statement_.get(), column)})
                                            : 0;
}

std::string Statement::text(int column) {
    if (!has_type(column, SQLITE_TEXT)) {
        return {};
    }
    const auto* bytes =
        reinterpret_cast<const char*>(::sqlite3_column_text(statement_.get(), column));
    const int size = ::sqlite3_column_bytes(statement_.get(), column);
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

Digest256 Statement::digest(int column) {
    Digest256 out;
    if (!has_type(column, SQLITE_BLOB)) {
        return out;
    }
    const void* bytes = ::sqlite3_column_blob(statement_.get(), column);
    const int size = ::sqlite3_column_bytes(statement_.get(), column);
    if (bytes == nullptr || static_cast<std::size_t>(size) != out.bytes.size()) {
        mistyped_ = true;
    } else {
        std::memcpy(out.bytes.data(), bytes, out.bytes.size());
    }
    return out;
}

bool Statement::is_null(int column) const {
    return ::sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* connection) const noexcept {
    ::sqlite3_close_v2(connection);
}

Database::Database(std::string path, sqlite3* connection)
    : path_(std::move(path)), connection_(connection) {}

Result<Database> Database::open(const std::string& path, Access access) {
    const bool write = access == Access::write;
    sqlite3* connection = nullptr;
    const std::string uri = uri_of(path, write ? "mode=rw" : "mode=ro&immutable=1");
    const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE |
                      (write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    const int code = ::sqlite3_open_v2(uri.c_str(), &connection, flags, nullptr);
    Database database(path, connection);
    if (code != SQLITE_OK) {
        return database.error(code);
    }
    ::sqlite3_busy_timeout(connection, kBusyTimeoutMs);
    ::sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
    ::sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
    // What stands in the schema of the file is foreign text.
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    ::sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    if (write) {
        CXLPOOL_TRY(
            database.run("PRAGMA locking_mode = EXCLUSIVE;"
                         "PRAGMA synchronous = FULL;"
                         "PRAGMA foreign_keys = ON;"
                         "PRAGMA cell_size_check = ON;"
                         "PRAGMA temp_store = MEMORY;"
                         "PRAGMA mmap_size = 0"));
    }
    return database;
}

Result<void> Database::run(const std::string& sql) {
    const int code = ::sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Result<void>() : Result<void>(error(code));
}

Result<Statement> Database::prepare(std::string_view sql) const {
    sqlite3_stmt* statement = nullptr;
    const int code = ::sqlite3_prepare_v2(connection_.get(), sql.data(),
                                          static_cast<int>(sql.size()), &statement, nullptr);
    if (code != SQLITE_OK) {
        return error(code);
    }
    return Statement(*this, statement);
}

Result<void> Database::transact(const std::function<Result<void>()>& body) {
    CXLPOOL_TRY(run("BEGIN IMMEDIATE"));
    Result<void> done = body();
    if (done) {
        done = run("COMMIT");
    }
    if (!done && ::sqlite3_get_autocommit(connection_.get()) == 0) {
        // SQLite undoes it by itself after some errors, and otherwise here; if even that fails, the
        // log has no commit and the next start undoes it.
        static_cast<void>(run("ROLLBACK"));
    }
    return done;
}

Result<Statement> Database::ask(std::string_view sql) const {
    Result<Statement> statement = prepare(sql);
    if (!statement) {
        return statement;
    }
    const Result<bool> row = statement->step();
    if (!row) {
        return row.error();
    }
    if (!*row) {
        return damaged("an answer is missing");
    }
    return statement;
}

Result<std::uint64_t> Database::ask_number(std::string_view sql) const {
    Result<Statement> answer = ask(sql);
    if (!answer) {
        return answer.error();
    }
    return answer->number(0);
}

Result<std::string> Database::ask_text(std::string_view sql) const {
    Result<Statement> answer = ask(sql);
    if (!answer) {
        return answer.error();
    }
    return answer->text(0);
}

Result<void> Database::use_log() {
    const Result<std::string> mode = ask_text("PRAGMA journal_mode = WAL");
    if (!mode) {
        return mode.error();
    }
    if (*mode != "wal") {
        return Error{Errc::io,
                     "'" + path_ + "' cannot have a write-ahead log; use a disk of this host"};
    }
    // Copied into the file after each commit: the log never holds more than the last one, so the
    // file alone is a whole state but for that.
    return run("PRAGMA wal_autocheckpoint = 1");
}

void Database::keep_log(bool keep) noexcept {
    ::sqlite3_db_config(connection_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep ? 1 : 0, nullptr);
}

Error Database::damaged(std::string_view what) const {
    return Error{Errc::malformed, "'" + path_ + "' is damaged: " + std::string(what)};
}

Error Database::error(int code) const {
    const Errc ours = code_of(code);
    const std::string text =
        printable(connection_ ? ::sqlite3_errmsg(connection_.get()) : ::sqlite3_errstr(code));
    if (ours == Errc::malformed) {
        return damaged(text);
    }
    if (ours == Errc::unavailable) {
        return Error{ours, "'" + path_ + "' is in use by another process: " + text};
    }
    std::string message = "'" + path_ + "': " + text;
    // Of any other code an errno would be left over from something else.
    const bool from_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    const int os_errno = from_system && connection_ ? ::sqlite3_system_errno(connection_.get()) : 0;
    return os_errno != 0 ? os_error(std::move(message), os_errno, ours)
                         : Error{ours, std::move(message)};
}

}  // namespace cxlpool::state

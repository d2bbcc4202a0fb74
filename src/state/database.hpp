// SQLite behind Result and RAII.
//
// Responsible for: how a connection is set up (bound parameters only, exclusive, write-ahead log,
// synchronous at each commit), and one mapping of SQLite's codes to ours. Refuses to know what the
// tables hold. Invariants: a transaction is committed whole or not at all; a column of another type
// than was asked for is an error, not a conversion; every error names the file and says what
// SQLite said. Codes: malformed (the file is damaged, or is no database of this schema),
// unavailable (somebody else holds it), out_of_memory, io (all else: a full or read-only disk).
//
// Threads: one caller at a time, on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace cxlpool::state {

class Database;

// One prepared statement. Parameters are bound in their order, columns are read by index; what went
// wrong on the way is told by the next step().
class Statement {
  public:
    // All 64 bits survive: SQLite keeps the same bits as a signed number.
    Statement& bind(std::uint64_t value);
    Statement& bind(std::string_view text);
    Statement& bind(const Digest256& digest);
    Statement& bind_null();

    // True: there is a row to read. After the last row, or an error, it can be bound again.
    Result<bool> step();
    // For what returns no rows.
    Result<void> run();

    std::uint64_t number(int column);
    std::string text(int column);
    Digest256 digest(int column);
    bool is_null(int column) const;

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    Statement(const Database& database, sqlite3_stmt* statement);
    Error fail();
    bool has_type(int column, int type);

    const Database* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
    int next_parameter_ = 1;
    int bind_code_;
    bool mistyped_ = false;
};

class Database {
  public:
    enum class Access : std::uint8_t {
        write,
        // Takes no lock, sees only what is in the file itself, and changes nothing beside it.
        peek,
    };
    // The file must be there.
    static Result<Database> open(const std::string& path, Access access);

    // Statements without parameters, whose rows nobody needs.
    Result<void> run(const std::string& sql);
    // Only texts of this program; values are bound.
    Result<Statement> prepare(std::string_view sql) const;
    // Committed, and on the disk, when this returns without an error; otherwise nothing happened.
    Result<void> transact(const std::function<Result<void>()>& body);
    // The first column of the first row of a statement without parameters.
    Result<std::uint64_t> ask_number(std::string_view sql) const;
    Result<std::string> ask_text(std::string_view sql) const;

    // Turns the write-ahead log on. Error: io, where the disk does not allow it.
    Result<void> use_log();
    // Whether closing leaves the log beside the file, as evidence.
    void keep_log(bool keep) noexcept;

    const std::string& path() const noexcept { return path_; }
    Error damaged(std::string_view what) const;

  private:
    // At its first row. Errors: malformed (there is none), and those of prepare and step.
    Result<Statement> ask(std::string_view sql) const;
    friend class Statement;
    struct Close {
        void operator()(sqlite3* connection) const noexcept;
    };
    Database(std::string path, sqlite3* connection);
    Error error(int code) const;

    std::string path_;
    std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace cxlpool::state

// What outlives the daemon: the tenancy mode, tenants and what operators gave them, erasures, and
// the cells whose bytes do.
//
// Responsible for: one SQLite file, "state.db" in the state directory, readable by its owner alone.
// Refuses to know what the values are for. Invariants: a change is on the disk when its call
// returns without an error, and did not happen otherwise; a change is whole or absent after a
// crash; a file that is damaged, or that breaks a rule of records.hpp, is kept aside and nothing of
// it is used; an empty state is never put in the place of a lost one unless the operator says so; a
// directory that was used under one tenancy mode is not changed under the other.
//
// Threads: one caller at a time, on any thread. Every call may wait for the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "domain/gate.hpp"
#include "state/records.hpp"

namespace cxlpool {

// What to do when the file is damaged, or when one was kept aside and none has come in its place.
enum class OnLoss : std::uint8_t {
    refuse,
    accept_empty,  // the operator's word: begin anew
};

class StateStore {
  public:
    // Makes the directory and the file when there was never any. Errors: tenancy_mismatch (names
    // both modes), malformed (damaged; says what was kept as what, and what to do),
    // unsupported_version (written by a newer one), unavailable (another daemon has it), io,
    // out_of_memory.
    static Result<std::unique_ptr<StateStore>> open(const std::string& directory, TenancyMode mode,
                                                    Timestamp wall,
                                                    OnLoss on_loss = OnLoss::refuse);
    // Would open() refuse the tenancy mode? Reads only, beside a running daemon too; what this user
    // may not see counts as good. Errors: as open().
    static Result<void> check(const std::string& directory, TenancyMode mode);

    ~StateStore();
    StateStore(const StateStore&) = delete;
    StateStore& operator=(const StateStore&) = delete;

    // What open() kept aside before it began anew; empty: nothing.
    const std::string& kept_aside() const noexcept;

    // Errors of all below: io, unavailable, malformed (the file was damaged since), and what they
    // name.
    Result<State> read() const;

    // Puts each record in the place of the one with the same tenant (and pool), all of them or
    // none. Errors: invalid_argument, already_exists (a name twice), not_found (a reservation of a
    // tenant that is neither kept nor in `tenants`).
    Result<void> save(const std::vector<TenantRecord>& tenants,
                      const std::vector<Reservation>& reservations = {});

    // The cells whose bytes outlive the daemon: those of `put` in the place of their old records,
    // and without those of `gone`, all of it or nothing. Error: invalid_argument.
    Result<void> save_cells(const std::vector<CellRecord>& put, const std::vector<CellId>& gone);
    // By id.
    Result<std::vector<CellRecord>> cells() const;

    // The journal of erasures. The tenant's record is kept with it, so that a start knows whose
    // erasure is to be gone on with. Errors: those of save, already_exists (this incarnation's was
    // begun before).
    Result<void> begin_erasure(const TenantRecord& tenant, const std::string& step, Timestamp wall);
    // Errors of both: not_found, wrong_state (it has finished).
    Result<void> advance_erasure(TenantId tenant, std::uint64_t incarnation,
                                 const std::string& step);
    // In one step with the tenant's record, whose incarnation is the one after the erased one; the
    // records of its cells, if any are left, go with it.
    Result<void> finish_erasure(const TenantRecord& tenant, const std::string& step,
                                const std::string& receipt_json, Timestamp wall);
    // For tests that end the process in between: called on the thread that writes, before and after
    // each write of the journal, with its step.
    void set_journal_hook(std::function<void(std::string_view step, bool written)> hook);

    // By start. Those that have not finished are to be gone on with.
    Result<std::vector<ErasureRecord>> erasures() const;

  private:
    struct Impl;
    explicit StateStore(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxlpool

// Tenants beside the registry: what of them is on the disk, and what must get there.
//
// Responsible for: handing a start's tenants and reservations to the registry, what operators
// change of them, and saying which record a tenant has to have on the disk. Refuses to know: how
// records are kept, and who asks. Invariants: a change that the registry would refuse is not saved;
// the
// registry is what counts now, a record is what counts after a restart, and record_of() makes the
// second out of the first.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.hpp"
#include "state/records.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

struct ServedTenant {
    TenantRecord record;
    bool declared = false;  // by the configuration file
    bool named = false;     // by it, too
};

// What must be on the disk before a change is in force.
struct TenantSaving {
    std::vector<TenantRecord> tenants;
    std::vector<Reservation> reservations;
};

class TenantBook {
  public:
    // `pools`: their names, by the index that the registry has for them.
    explicit TenantBook(std::vector<std::string> pools) : pools_(std::move(pools)) {}

    // Errors: those of the registry; invalid_argument (the reservations of a pool exceed it: what
    // to do).
    Result<void> load(Registry& registry, const std::vector<ServedTenant>& tenants,
                      const std::vector<Reservation>& reservations);
    // Reservations of pools that are not served now; they are kept until somebody removes them.
    const std::vector<Reservation>& unserved() const noexcept { return unserved_; }

    // What a file says that is read while the daemon runs: ids, and names where it gives some.
    using Declared = std::vector<std::pair<TenantId, std::string>>;
    // Errors: already_exists (a name that an operator gave to another tenant). Nothing is changed.
    Result<void> check_declared(const Registry& registry, const Declared& tenants) const;
    // Those that are new come in; those that the file does not name any more stay, undeclared.
    // Only after check_declared().
    void declare(Registry& registry, const Declared& tenants);

    bool is_declared(TenantId tenant) const noexcept;
    TenantRecord record_of(const Registry& registry, TenantId tenant) const;

    // What a change needs on the disk; nothing is changed yet. Errors: not_found (tenant, pool),
    // already_exists (id, name), wrong_state (a name that the file gives, the salt of a tenant with
    // cells), invalid_argument, capacity (reservations over the pool), limit_exceeded. Without one,
    // the name of the change is held until apply() or abandon(); one change at a time.
    Result<TenantSaving> prepare(const Registry& registry, const wire::TenantChangeRequest& change);
    // After it was saved. Error: wrong_state (a salt, and the first cell came meanwhile; a name,
    // and the file gives one meanwhile).
    Result<void> apply(Registry& registry, const wire::TenantChangeRequest& change);
    // It was not saved.
    void abandon() noexcept { held_name_.reset(); }

    // What a tenant is after its erasure, and that it is that.
    TenantRecord record_after_erasure(const Registry& registry, TenantId tenant) const;
    void erased(TenantId tenant);

    // Records that the disk does not have yet: of tenants whose first cell has come, or that a file
    // has renamed.
    std::vector<TenantRecord> unsaved(const Registry& registry) const;
    void saved(const Registry& registry, const std::vector<TenantRecord>& records);

  private:
    Result<void> check_reservation(const Registry& registry,
                                   const wire::TenantChangeRequest& change) const;
    std::optional<std::size_t> pool_index(const std::string& name) const noexcept;

    // What the registry does not know.
    struct Kept {
        bool declared = false;
        bool named = false;
        std::uint64_t incarnation = 0;
    };

    std::vector<std::string> pools_;
    std::map<TenantId, Kept> kept_;
    std::set<TenantId> without_cells_;
    std::set<TenantId> renamed_;
    std::optional<std::pair<TenantId, std::string>> held_name_;
    std::vector<Reservation> unserved_;
};

}  // namespace cxlpool

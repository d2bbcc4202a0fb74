// Tenants beside the registry: what of them is on the disk, and what must get there.
//
// Responsible for: handing a start's tenants and reservations to the registry, and saying which
// record a tenant has to have on the disk. Refuses to know: how records are kept. Invariant: the
// registry is what counts now, a record is what counts after a restart, and record_of() makes the
// second out of the first.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.hpp"
#include "state/records.hpp"

namespace cxlpool {

struct ServedTenant {
    TenantRecord record;
    bool declared = false;  // by the configuration file, which then decides about its name
};

class TenantBook {
  public:
    // `pools`: their names, by the index that the registry has for them.
    explicit TenantBook(std::vector<std::string> pools) : pools_(std::move(pools)) {}

    // Errors: those of the registry; capacity (the reservations of a pool exceed it: what to do).
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

    // Tenants whose first cell has come and whose record does not say so yet.
    std::vector<TenantId> first_cells(const Registry& registry) const;
    void first_cell_saved(TenantId tenant);

  private:
    // What the registry does not know.
    struct Kept {
        bool declared = false;
        std::uint64_t incarnation = 0;
    };

    std::vector<std::string> pools_;
    std::map<TenantId, Kept> kept_;
    std::set<TenantId> without_cells_;
    std::vector<Reservation> unserved_;
};

}  // namespace cxlpool

// The receipt of an erasure: what was erased, how, and when, under a digest.
//
// Responsible for: the one spelling of a receipt (schema cxlpool-receipt/1), and telling a whole
// one from another. The digest is that of BLAKE2b with 256 bits over the compact JSON text of all
// other fields, in their order; it finds a changed receipt, and does not say who wrote it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace cxlpool {

struct Erasure {
    TenantId tenant;
    std::string name;                     // may be empty
    std::uint64_t incarnation = 0;        // that was erased
    std::uint64_t cells = 0;              // removed; those of a resumed one: that a restart found
    std::uint64_t bytes = 0;              // their lengths
    std::uint64_t leases_drained = 0;     // on those cells, that ended by themselves
    std::uint64_t leases_revoked = 0;     // that did not end in the time they were given
    std::uint64_t bytes_overwritten = 0;  // of extents, and read back
    std::uint64_t bytes_withdrawn = 0;    // that could not be, and are never used again
    bool resumed = false;                 // the daemon ended and was started again in between
    Timestamp started;                    // wall clock, both
    Timestamp finished;
};

// Compact JSON without a line break.
std::string receipt_of(const Erasure& erasure);

// Errors: malformed (no receipt, or one that was changed; says what is wrong).
Result<void> check_receipt(std::string_view name, std::string_view text);

}  // namespace cxlpool

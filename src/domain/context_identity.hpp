// One digest for a whole context, for logs and for engines that keep track of their contexts.
//
// Responsible for: the recipe cxlpool-context-1, exactly as docs/span-digest.md describes it. No
// decision rests on it: the gate compares axes.
// Invariants: same values, same digest, on every host and byte order; an absent axis is not one
// with some other value.
#pragma once

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/context.hpp"

namespace cxlpool {

struct ContextIdentity : Digest256 {
    auto operator<=>(const ContextIdentity&) const = default;
};

// Errors: those of validate().
Result<ContextIdentity> context_identity(const ContextFields& fields);

}  // namespace cxlpool

// The placement plan as an engine asks for it.
//
// Responsible for: turning what an engine says of its tiers and cells, and the profiles of this
// host, into domain's question, and domain's directives into numbers. Refuses to know: sessions,
// and what any pool holds: the room is what the engine says, because the daemon's own figures would
// tell one tenant what others store. Invariants: work in proportion to the cells; a cell without a
// directive says so in its item and spoils no other.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "domain/profile.hpp"
#include "domain/tier.hpp"
#include "wire/messages.hpp"

namespace cxlpool {

// The live profile of a tier, or of the pool that is named; null when there is none.
using FindProfile = std::function<const Profile*(Tier tier, std::string_view pool)>;

// Of a tier without a profile nothing is known. Cells are planned in their order, each as if the
// directives before it had been carried out. Errors: not_found (a named pool is none of its tier),
// already_exists (a tier stands twice).
Result<wire::PlanPlacementReply> plan_placement(const wire::PlanPlacementRequest& request,
                                                const FindProfile& find_profile);

}  // namespace cxlpool

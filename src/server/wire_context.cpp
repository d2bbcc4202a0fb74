#include "server/wire_context.hpp"

#include "domain/fleet_plan.hpp"
#include "domain/gate.hpp"
#include "domain/placement.hpp"
#include "server/authorizer.hpp"

namespace cxlpool {

// What the protocol numbers and domain names, wire must not include domain for.
static_assert(wire::kMaxAxes == kAxisCount);
static_assert(wire::kMaxAxisBytes == kAxisValueMaxBytes);
static_assert(wire::kLastScope == static_cast<std::uint8_t>(Scope::fleet));
static_assert(wire::kLastRegime == static_cast<std::uint8_t>(Regime::coherent));
static_assert(wire::kLastAdvice == static_cast<std::uint8_t>(FleetAdvice::recompute_cheaper));
static_assert(wire::kMaxPlacementTiers == kTiers.size());
static_assert(wire_number(Tier::hbm) == 1 && wire_number(Tier::dram) == 2 &&
              wire_number(Tier::numa_far) == 3 && wire_number(Tier::cxl) == 4 &&
              wire_number(Tier::remote_dram) == 5 && wire_number(Tier::disk) == 6 &&
              wire_number(Tier::remote) == wire::kLastTier);
static_assert(wire_number(Source::measured) == 1 && wire_number(Source::observed) == 2 &&
              wire_number(Source::firmware) == 3 && wire_number(Source::declared) == 4 &&
              wire_number(Source::representative) == 5 &&
              wire_number(Source::unknown) == wire::kLastSource);
static_assert(wire_number(PlacementAction::keep) == 1 &&
              wire_number(PlacementAction::promote) == 2 &&
              wire_number(PlacementAction::demote) == 3 &&
              wire_number(PlacementAction::spill) == 4 &&
              wire_number(PlacementAction::evict) == wire::kLastAction);
static_assert(wire_number(PlacementReason::hot_promoted) == 1 &&
              wire_number(PlacementReason::fresh_and_room) == 2 &&
              wire_number(PlacementReason::expired_no_demote) == 3 &&
              wire_number(PlacementReason::no_colder_tier_with_room) == 4 &&
              wire_number(PlacementReason::demote_beats_recompute) == 5 &&
              wire_number(PlacementReason::spill_beats_recompute) == 6 &&
              wire_number(PlacementReason::recompute_cheaper_than_retain) == wire::kLastReason);
static_assert(static_cast<std::uint8_t>(Lifecycle::sealed) == wire::kFirstMovable &&
              static_cast<std::uint8_t>(Lifecycle::expiring) == 2 &&
              static_cast<std::uint8_t>(Lifecycle::expired) == 3 &&
              static_cast<std::uint8_t>(Lifecycle::spilled) == wire::kLastMovable);
static_assert(static_cast<int>(TenancyMode::single) == 0);
static_assert(static_cast<int>(TenancyMode::multi) == 1);
static_assert(static_cast<Roles>(Role::admin) == 8);

Result<ContextFields> wire_context(const std::vector<wire::AxisField>& axes) {
    ContextFields fields;
    for (const wire::AxisField& field : axes) {
        if (field.axis >= kAxisCount) {
            return Error{Errc::unknown_word, "there is no axis " + std::to_string(field.axis)};
        }
        std::optional<std::string>& value = fields.axes[field.axis];
        if (value) {
            return Error{
                Errc::invalid_argument,
                "axis " + std::string(to_word(static_cast<Axis>(field.axis))) + " is given twice"};
        }
        value = field.value;
    }
    return fields;
}

}  // namespace cxlpool

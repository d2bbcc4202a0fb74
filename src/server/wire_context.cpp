#include "server/wire_context.hpp"

#include "domain/fleet_plan.hpp"
#include "domain/gate.hpp"
#include "server/authorizer.hpp"

namespace cxlpool {

// What the protocol numbers and domain names, wire must not include domain for.
static_assert(wire::kMaxAxes == kAxisCount);
static_assert(wire::kMaxAxisBytes == kAxisValueMaxBytes);
static_assert(wire::kLastScope == static_cast<std::uint8_t>(Scope::fleet));
static_assert(wire::kLastRegime == static_cast<std::uint8_t>(Regime::coherent));
static_assert(wire::kLastAdvice == static_cast<std::uint8_t>(FleetAdvice::recompute_cheaper));
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

#include "server/wire_context.hpp"

namespace cxlpool {

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

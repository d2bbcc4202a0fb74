#include "domain/context_identity.hpp"

#include "domain/tagged_hash.hpp"

namespace cxlpool {

Result<ContextIdentity> context_identity(const ContextFields& fields) {
    CXLPOOL_TRY(validate(fields));
    TaggedHash hash("cxlpool-context-1");
    for (std::size_t axis = 0; axis < kAxisCount; ++axis) {
        if (const std::optional<std::string>& value = fields.axes[axis]) {
            hash.begin_field(static_cast<std::uint8_t>(axis), value->size());
            hash.text(*value);
        }
    }
    return ContextIdentity{hash.finish()};
}

}  // namespace cxlpool

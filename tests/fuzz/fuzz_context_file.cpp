// Any bytes as a context file: they are refused with an error that names a place, or give axes that
// can be judged for what they are.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "domain/context_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cxlpool;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto fields = parse_context_file("F", text);
    if (!fields) {
        CXLPOOL_CHECK(fields.error().message().substr(0, 2) == "F:");
        return 0;
    }
    ContextInterner interner(kAxisCount, kAxisCount);
    const auto key = interner.acquire(*fields, TenantId{1});
    CXLPOOL_CHECK(key.has_value() == validate(*fields).has_value());
    if (key) {
        CXLPOOL_CHECK(interner.fields(*key) == *fields);
    }
    return 0;
}

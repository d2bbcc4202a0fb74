// Any bytes as cxlpoold.toml: they are refused with an error that names a place, or give a
// configuration that has what the daemon relies on.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "daemon/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cxlpool;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto config = parse_config("F", text);
    if (!config) {
        CXLPOOL_CHECK(config.error().message().substr(0, 1) == "F");
        return 0;
    }
    CXLPOOL_CHECK(!config->pools.empty() && !config->grants.empty());
    CXLPOOL_CHECK(config->limits.connections > kOperatorConnections);
    for (const Grant& grant : config->grants) {
        CXLPOOL_CHECK(grant.uid.has_value() != grant.gid.has_value());
        CXLPOOL_CHECK(grant.uid != 65534U && grant.gid != 65534U && grant.roles != 0);
        for (const TenantId tenant : grant.tenants) {
            CXLPOOL_CHECK(std::any_of(config->tenants.begin(), config->tenants.end(),
                                      [tenant](const TenantConfig& t) { return t.id == tenant; }));
        }
    }
    return 0;
}

// Tenants by what people call them: a number, or a name that the running daemon knows.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "cxlpoolctl/options.hpp"

namespace cxlpool::ctl {

struct FoundTenant {
    std::string document;  // of all tenants
    json::Value row;
    std::uint64_t id = 0;
};
// Errors: not_found, those of fetch_document().
Result<FoundTenant> find_tenant(const OptionValues& values, const std::string& who);

// The number of a tenant, above 0. Error: invalid_argument.
Result<std::uint64_t> read_tenant_number(const std::string& word);

// Numbers stand for themselves; a name needs the daemon's list, and so the role inspector or admin.
// Errors: invalid_argument (neither), those of find_tenant().
Result<std::uint64_t> resolve_tenant(const OptionValues& values, const std::string& who);

// The tenant that --<option> says. Errors: as resolve_tenant().
Result<std::uint64_t> tenant_option(const OptionValues& values, const std::string& option);

}  // namespace cxlpool::ctl

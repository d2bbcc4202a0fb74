#include "cxlpoolctl/tenant_lookup.hpp"

#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/json_view.hpp"
#include "cxlpoolctl/source.hpp"

namespace cxlpool::ctl {

Result<FoundTenant> find_tenant(const OptionValues& values, const std::string& who) {
    Result<std::string> document = fetch_document(values, wire::Document::tenants);
    if (!document) {
        return std::move(document).error();
    }
    const Result<json::Value> all = parse_document("the daemon's answer", *document);
    if (!all) {
        return all.error();
    }
    const Result<std::uint64_t> id = parse_u64(who);
    for (const json::Value& row : items_of(*all, "tenants")) {
        if (id ? number_of(row, "tenant") == *id : text_of(row, "name") == who) {
            return FoundTenant{std::move(*document), row, number_of(row, "tenant").value_or(0)};
        }
    }
    return Error{Errc::not_found,
                 "not_found: there is no tenant '" + who + "'; cxlpoolctl tenant list shows all"};
}

Result<std::uint64_t> read_tenant_number(const std::string& word) {
    const Result<std::uint64_t> id = parse_u64(word);
    if (!id || *id == 0) {
        return Error{Errc::invalid_argument,
                     "'" + word + "' is not the number of a tenant, which is above 0"};
    }
    return *id;
}

Result<std::uint64_t> resolve_tenant(const OptionValues& values, const std::string& who) {
    if (!is_name(who)) {
        return read_tenant_number(who);
    }
    const Result<FoundTenant> found = find_tenant(values, who);
    return found ? Result<std::uint64_t>(found->id) : found.error();
}

Result<std::uint64_t> tenant_option(const OptionValues& values, const std::string& option) {
    Result<std::uint64_t> tenant = resolve_tenant(values, values.value(option).value_or(""));
    if (!tenant && tenant.error().code() == Errc::invalid_argument) {
        return std::move(tenant).error().with_context("--" + option);
    }
    return tenant;
}

}  // namespace cxlpool::ctl

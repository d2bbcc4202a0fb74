// Any bytes as a profile file: they are refused with an error that names a place, or give profiles
// that can be merged, printed and planned with, and that change nothing they do not name.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "domain/fleet_plan.hpp"
#include "domain/profile_fields.hpp"
#include "domain/profile_file.hpp"
#include "topology/report.hpp"

namespace {

using namespace cxlpool;

void use(const Profile& named) {
    Profile base = representative_profile(named.tier);
    base.name = named.name;
    ProfileFile file;
    file.pools.push_back(named);
    const std::vector<Profile> merged = merge({base}, file);
    CXLPOOL_CHECK(merged.size() == 1);
    for_each_profile_field([&](const auto& field) {
        const auto& given = named.*field.known;
        CXLPOOL_CHECK(merged[0].*field.known == (given.value ? given : base.*field.known));
        CXLPOOL_CHECK(given.value.has_value() == (given.evidence.source != Source::unknown));
    });
    CXLPOOL_CHECK(!profiles_json(merged).empty());

    FleetPlanInput input;
    input.tenants = 8;
    input.tokens = 4000;
    input.bytes = 64U << 20U;
    input.recompute_ns_per_token = 2'000'000;
    const auto plan = plan_fleet(input, merged[0]);
    if (plan) {
        CXLPOOL_CHECK(plan->holds != Regime::coherent || fabric_shareable(merged[0]));
        CXLPOOL_CHECK(plan->coherent.prefill_tokens_saved <= plan->private_copies.prefill_tokens);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file =
        parse_profile_file("f", std::string_view(reinterpret_cast<const char*>(data), size));
    if (!file) {
        CXLPOOL_CHECK(file.error().code() == Errc::too_large ||
                      file.error().message().substr(0, 2) == "f:");
        return 0;
    }
    for (const std::vector<Profile>* list : {&file->tiers, &file->pools}) {
        for (const Profile& named : *list) {
            use(named);
        }
    }
    return 0;
}

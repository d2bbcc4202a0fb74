// A lookup takes nothing from the heap, whatever its answer.
#include <gtest/gtest.h>

#include "fixture.hpp"
#include "registry/registry.hpp"
#include "support/allocations.hpp"

namespace cxlpool {
namespace {

using testing::at_ms;
using testing::content_of;
using testing::key_of;
using testing::location_of;
using testing::span_of;

TEST(LookupAllocation, NoneForAHitARefusalAndAMiss) {
    Registry registry(TenancyMode::multi, {});
    ASSERT_TRUE(registry.add_tenant(TenantId{1}, "a"));
    ASSERT_TRUE(registry.add_tenant(TenantId{2}, "b"));
    registry.add_pool({Isolation::kernel});
    const ConnectionId writer = registry.open_connection(TenantId{1}, 1001, "w");
    const ConnectionId reader = registry.open_connection(TenantId{2}, 1002, "r");
    const auto grant =
        registry.begin(writer, key_of(1), span_of(1), location_of(1, 64), at_ms(1), at_ms(1));
    ASSERT_TRUE(grant);
    const auto work = registry.start_seal(writer, grant->lease);
    ASSERT_TRUE(work);
    ASSERT_TRUE(registry.finish_seal(*work, content_of(1), std::nullopt, at_ms(2)));

    const auto ask = [&](ConnectionId who, unsigned span, Verdict told) {
        const std::size_t before = test::allocations();
        const LookupResult found = registry.lookup(who, key_of(1), span_of(span), at_ms(3));
        EXPECT_EQ(test::allocations(), before) << to_word(found.verdict);
        EXPECT_EQ(found.told.verdict(), told);
        return found.verdict;
    };
    EXPECT_EQ(ask(writer, 1, Verdict::hit_in_place), Verdict::hit_in_place);
    EXPECT_EQ(ask(reader, 1, Verdict::miss_absent), Verdict::miss_absent) << "a refusal";
    EXPECT_EQ(ask(reader, 2, Verdict::miss_absent), Verdict::miss_absent) << "no such cell";

    const std::size_t before = test::allocations();
    EXPECT_EQ(registry.tenants().size(), 2U);
    EXPECT_GT(test::allocations(), before) << "the counter counts";
}

}  // namespace
}  // namespace cxlpool

// A new window changes what is counted since, and nothing else.
#include "server/stats_window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr TenantId kOne{1};
constexpr TenantId kTwo{2};

class Window : public ::testing::Test {
  protected:
    Window() {
        EXPECT_TRUE(registry.add_tenant(kOne, "one"));
        EXPECT_TRUE(registry.add_tenant(kTwo, "two"));
        registry.add_pool({Isolation::cooperative, Tier::cxl, 1000, false});
        one = registry.open_connection(kOne, 1, "");
    }
    static ContextKey key() {
        ContextKey key;
        key.axes.fill(AxisId{1});
        return key;
    }
    static SpanDigest span_of(std::uint8_t number) {
        SpanDigest span;
        span.bytes.fill(number);
        return span;
    }
    void store(std::uint8_t number) {
        Location location;
        location.placement.length_bytes = 100;
        location.placement.extent = {number * 100ULL, 100};
        const auto begun = registry.begin(one, key(), span_of(number), location, {}, {});
        ASSERT_TRUE(begun) << begun.error().message();
        const auto work = registry.start_seal(one, begun->lease);
        ASSERT_TRUE(work);
        ContentDigest digest;
        digest.bytes.fill(number);
        ASSERT_TRUE(registry.finish_seal(*work, digest, std::nullopt, {}));
    }
    void look_up(std::uint8_t number) {
        static_cast<void>(registry.lookup(one, key(), span_of(number), {}));
    }
    std::string document() const {
        return stats_document(registry, {"p"}, refusals, window, {90, Timestamp{50'000'000'000}});
    }

    Registry registry{TenancyMode::multi, RegistryLimits{}};
    Refusals refusals;
    StatsWindow window;
    ConnectionId one;
};

TEST_F(Window, CountsFromWhereItBegan) {
    store(1);
    look_up(1);
    look_up(9);
    ASSERT_TRUE(registry.evict_for(kOne, 0, 1000));
    refusals[kOne] = {{Errc::capacity, 3}, {Errc::io, 1}};
    EXPECT_THAT(document(), HasSubstr("\"window\":null"));
    window.begin(registry, refusals, Timestamp{20'000'000'000}, Timestamp{7});
    TenantCounters nothing;
    EXPECT_EQ(window.counters(registry, kOne), nothing);
    EXPECT_TRUE(window.eviction_flows(registry).empty());
    EXPECT_TRUE(window.refused(refusals, kOne).empty());

    store(2);
    look_up(2);
    look_up(2);
    refusals[kOne][Errc::capacity] = 5;
    const TenantCounters counted = window.counters(registry, kOne);
    EXPECT_EQ(counted.hits, 2U);
    EXPECT_EQ(counted.misses, 0U);
    EXPECT_EQ(counted.cells_materialised, 1U);
    EXPECT_EQ(counted.bytes_materialised, 100U);
    EXPECT_EQ(counted.evictions_suffered, 0U);
    EXPECT_EQ(counted.cells, 1U) << "what there is, whenever it came";
    EXPECT_EQ(window.refused(refusals, kOne), (std::map<Errc, std::uint64_t>{{Errc::capacity, 2}}));
    ASSERT_TRUE(registry.evict_for(kOne, 0, 1000));
    ASSERT_EQ(window.eviction_flows(registry).size(), 1U);
    EXPECT_EQ(window.eviction_flows(registry)[0].cells, 1U);
    EXPECT_EQ(window.eviction_flows(registry)[0].bytes, 100U);
}

TEST_F(Window, LeavesTheCountersAndTheCellsAlone) {
    store(1);
    look_up(1);
    const TenantCounters before = registry.counters(kOne);
    window.begin(registry, refusals, Timestamp{1}, Timestamp{2});
    EXPECT_EQ(registry.counters(kOne), before);
    registry.check();
    const std::string text = document();
    EXPECT_THAT(text, HasSubstr("\"weight\":100,\"hits\":1,\"misses\":0"));
    EXPECT_THAT(text, HasSubstr("\"window\":{\"started_at_ns\":2,\"seconds\":49,\"tenants\":["
                                "{\"tenant\":1,\"hits\":0,"));
    EXPECT_TRUE(json::parse("stats", text));
}

TEST_F(Window, ATenantThatCameLaterHasAllOfItsCounters) {
    window.begin(registry, refusals, Timestamp{1}, Timestamp{2});
    ASSERT_TRUE(registry.add_tenant(TenantId{3}, "three"));
    one = registry.open_connection(TenantId{3}, 3, "");
    store(1);
    refusals[TenantId{3}][Errc::io] = 4;
    EXPECT_EQ(window.counters(registry, TenantId{3}).cells_materialised, 1U);
    EXPECT_EQ(window.refused(refusals, TenantId{3}).at(Errc::io), 4U);
}

}  // namespace
}  // namespace cxlpool

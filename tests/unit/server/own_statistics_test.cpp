// An engine's own counters are right, and the same whatever other tenants do.
#include "server/own_statistics.hpp"

#include <gtest/gtest.h>

namespace cxlpool {
namespace {

constexpr TenantId kOne{1};
constexpr TenantId kTwo{2};
constexpr std::uint64_t kBytes = 100;

class OwnStatistics : public ::testing::Test {
  protected:
    OwnStatistics() {
        EXPECT_TRUE(registry.add_tenant(kOne, "one"));
        EXPECT_TRUE(registry.add_tenant(kTwo, "two"));
        for (const Tier tier : {Tier::cxl, Tier::dram, Tier::cxl}) {
            registry.add_pool({Isolation::cooperative, tier, 3 * kBytes, false});
        }
        one = registry.open_connection(kOne, 1, "");
        two = registry.open_connection(kTwo, 2, "");
    }
    static SpanDigest span_of(std::uint8_t number) {
        SpanDigest span;
        span.bytes.fill(number);
        return span;
    }
    static ContextKey key() {
        ContextKey key;
        key.axes.fill(AxisId{1});
        return key;
    }
    void begin(ConnectionId who, std::uint8_t span, std::size_t pool) {
        Location location;
        location.pool = pool;
        location.placement.length_bytes = kBytes;
        location.placement.extent = {offset_, kBytes};
        offset_ += kBytes;
        const auto begun = registry.begin(who, key(), span_of(span), location, {}, {});
        ASSERT_TRUE(begun) << begun.error().message();
        lease = begun->lease;
    }
    void store(ConnectionId who, std::uint8_t span, std::size_t pool) {
        begin(who, span, pool);
        const auto work = registry.start_seal(who, lease);
        ASSERT_TRUE(work);
        ContentDigest digest;
        digest.bytes.fill(span);
        ASSERT_TRUE(registry.finish_seal(*work, digest, std::nullopt, {}));
    }
    wire::OwnStatisticsReply said(TenantId tenant) const {
        return own_statistics(registry, tenant, refusals, incarnations);
    }

    Registry registry{TenancyMode::multi, RegistryLimits{}};
    Refusals refusals;
    StatsWindow incarnations;
    ConnectionId one;
    ConnectionId two;
    LeaseRef lease;

  private:
    std::uint64_t offset_ = 0;
};

TEST_F(OwnStatistics, CountWhatTheTenantDid) {
    ASSERT_TRUE(registry.set_reservation(kOne, 2, 2 * kBytes));
    store(one, 1, 0);
    store(one, 2, 1);
    store(one, 3, 2);
    const LookupResult hit = registry.lookup(one, key(), span_of(1), {});
    ASSERT_TRUE(registry.grant_read(one, hit.cell, {}));
    static_cast<void>(registry.lookup(one, key(), span_of(9), {}));
    begin(one, 4, 0);
    ASSERT_TRUE(registry.evict_for(kOne, 1, 3 * kBytes));
    refusals[kOne][Errc::capacity] = 3;
    refusals[kOne][Errc::not_found] = 1;
    const wire::OwnStatisticsReply expected{1,
                                            1,
                                            1,
                                            1,
                                            3,
                                            3 * kBytes,
                                            3,
                                            3 * kBytes,
                                            2,
                                            {{4, 3 * kBytes, 2 * kBytes}},
                                            {{static_cast<std::uint16_t>(Errc::not_found), 1},
                                             {static_cast<std::uint16_t>(Errc::capacity), 3}}};
    EXPECT_EQ(said(kOne), expected);
}

TEST_F(OwnStatistics, BeginAnewWithTheNextIncarnation) {
    store(one, 1, 1);
    static_cast<void>(registry.lookup(one, key(), span_of(1), {}));
    ASSERT_TRUE(registry.evict_for(kOne, 1, 3 * kBytes));
    refusals[kOne][Errc::capacity] = 3;
    store(two, 1, 0);
    const wire::OwnStatisticsReply of_two = said(kTwo);
    incarnations.begin_for(kOne, registry, refusals);
    EXPECT_EQ(said(kOne), wire::OwnStatisticsReply{});
    EXPECT_EQ(said(kTwo), of_two);
    refusals[kOne][Errc::io] = 1;
    static_cast<void>(registry.lookup(one, key(), span_of(1), {}));
    EXPECT_EQ(said(kOne).misses, 1U);
    EXPECT_EQ(said(kOne).refusals,
              (std::vector<wire::RefusalRow>{{static_cast<std::uint16_t>(Errc::io), 1}}));
}

TEST_F(OwnStatistics, AreEmptyAtFirstAndForNobody) {
    EXPECT_EQ(said(kOne), wire::OwnStatisticsReply{});
    EXPECT_EQ(said(TenantId{77}), wire::OwnStatisticsReply{});
}

TEST_F(OwnStatistics, SayNothingOfOthers) {
    store(one, 1, 0);
    const wire::OwnStatisticsReply before = said(kOne);
    store(two, 1, 0);
    store(two, 2, 1);
    static_cast<void>(registry.lookup(two, key(), span_of(1), {}));
    ASSERT_TRUE(registry.set_reservation(kTwo, 2, kBytes));
    refusals[kTwo][Errc::io] = 7;
    EXPECT_EQ(said(kOne), before);
    // And when its demand takes a cell of the other: that one hears of it, nobody else.
    store(two, 3, 1);
    const auto gone = registry.evict_for(kOne, 1, kBytes);
    ASSERT_TRUE(gone);
    ASSERT_EQ(gone->victim, kTwo);
    EXPECT_EQ(said(kOne), before);
    EXPECT_EQ(said(kTwo).evictions_suffered, 1U);
    EXPECT_EQ(said(kTwo).evictions_self, 0U);
}

}  // namespace
}  // namespace cxlpool

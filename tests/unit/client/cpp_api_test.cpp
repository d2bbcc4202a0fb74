// cxlpool.hpp: owners that give back what they own.
#include "cxlpool/cxlpool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "client/abi_world.hpp"

namespace cxlpool::test {
namespace {

class CppApi : public testing::Test {
  protected:
    Client must_connect() {
        auto client = Client::connect({daemon.path().c_str(), 1, "cpp", 0});
        EXPECT_TRUE(client) << client.failure().message;
        return *std::move(client);
    }
    static Context must_create(Client& client) {
        const std::array<AxisValue, 1> axes{{{CXLPOOL_AXIS_MODEL, 0, "m"}}};
        auto context = client.create_context(axes);
        EXPECT_TRUE(context) << context.failure().message;
        return *std::move(context);
    }
    FakeDaemon daemon;
    const Digest span = digest_of("span");
};

TEST_F(CppApi, FillsSealsAndAttends) {
    Client client = must_connect();
    EXPECT_EQ(client.info().tenant, 1U);
    Context context = must_create(client);
    {
        auto fill = context.begin(span, 256);
        ASSERT_TRUE(fill) << fill.failure().message;
        ASSERT_EQ(fill->bytes().size(), 256U);
        std::fill(fill->bytes().begin(), fill->bytes().end(), std::byte{9});
        EXPECT_TRUE(fill->lease().live());
        const auto digest = fill->seal();
        ASSERT_TRUE(digest);
        EXPECT_EQ(digest->bytes[0], span.bytes[0]);
        EXPECT_TRUE(fill->bytes().empty());
    }
    EXPECT_TRUE(context.share(span, CXLPOOL_SCOPE_FLEET));
    auto hits = context.lookup({&span, 1});
    ASSERT_TRUE(hits);
    ASSERT_EQ(hits->size(), 1U);
    Hit& hit = hits->front();
    EXPECT_TRUE(hit.in_place());
    EXPECT_STREQ(hit.verdict_name(), "hit/in_place");
    const auto bytes = hit.attend();
    ASSERT_TRUE(bytes) << bytes.failure().message;
    EXPECT_EQ(bytes->size(), 256U);
    EXPECT_EQ((*bytes)[255], std::byte{9});
    const auto ttl = hit.lease().renew();
    ASSERT_TRUE(ttl);
    EXPECT_EQ(*ttl, 30'000U);
    daemon.revoke({hit.raw().lease.index, hit.raw().lease.generation});
    EXPECT_FALSE(hit.live());
}

TEST_F(CppApi, DestructorsGiveLeasesBack) {
    Client client = must_connect();
    Context context = must_create(client);
    {
        auto abandoned = context.begin(span, 64);
        ASSERT_TRUE(abandoned);
        EXPECT_EQ(daemon.live_leases(), 1U);
        Fill moved = *std::move(abandoned);
        EXPECT_EQ(daemon.live_leases(), 1U);
    }
    EXPECT_EQ(daemon.live_leases(), 0U);
    {
        auto fill = context.begin(span, 64);
        ASSERT_TRUE(fill && fill->seal());
        auto first = context.lookup({&span, 1});
        auto second = context.lookup({&span, 1});
        ASSERT_TRUE(first && second);
        EXPECT_EQ(daemon.live_leases(), 2U);
        *first = *std::move(second);
        EXPECT_EQ(daemon.live_leases(), 1U);
        EXPECT_TRUE(first->front().lease().release());
        EXPECT_EQ(daemon.live_leases(), 0U);
        EXPECT_TRUE(first->front().lease().release()) << "released already";
    }
    EXPECT_EQ(daemon.live_leases(), 0U);
}

TEST_F(CppApi, PartsKeepTheConnectionAlive) {
    auto context = [this] {
        Client client = must_connect();
        return must_create(client);
    }();
    EXPECT_TRUE(context.begin(span, 64));
}

TEST_F(CppApi, FailuresHaveCodeAndMessage) {
    auto nobody = Client::connect({"/nonexistent/socket", 0, nullptr, 0});
    ASSERT_FALSE(nobody);
    EXPECT_EQ(nobody.failure().code, CXLPOOL_E_UNAVAILABLE);
    EXPECT_NE(nobody.failure().message.find("/nonexistent/socket"), std::string::npos);

    Client client = must_connect();
    Context context = must_create(client);
    daemon.refuse(wire::Type::begin, Errc::capacity, "no room");
    const auto fill = context.begin(span, 64);
    ASSERT_FALSE(fill);
    EXPECT_EQ(fill.failure().code, CXLPOOL_E_CAPACITY);
    EXPECT_EQ(fill.failure().message, "no room");
    daemon.refuse(wire::Type::share, Errc::not_found, "no such cell");
    EXPECT_EQ(context.share(span, CXLPOOL_SCOPE_TENANT).failure().code, CXLPOOL_E_NOT_FOUND);
    daemon.refuse(wire::Type::lookup, Errc::internal, "oh");
    EXPECT_EQ(context.lookup({&span, 1}).failure().code, CXLPOOL_E_INTERNAL);
    daemon.refuse(wire::Type::plan_fleet, Errc::overflow, "too much");
    EXPECT_EQ(client.plan_fleet({}).failure().code, CXLPOOL_E_OVERFLOW);
    EXPECT_EQ(client.plan_placement({}, {}).failure().code, CXLPOOL_E_INVALID_ARGUMENT);
    daemon.refuse(wire::Type::map, Errc::not_found, "gone");
    EXPECT_EQ(client.segment_fd(3, CXLPOOL_ACCESS_READ).failure().code, CXLPOOL_E_NOT_FOUND);
    daemon.refuse(wire::Type::context_register, Errc::limit_exceeded, "64 contexts");
    EXPECT_EQ(client.create_context({}).failure().code, CXLPOOL_E_LIMIT_EXCEEDED);
}

TEST_F(CppApi, PlansAndDescriptors) {
    Client client = must_connect();
    FleetQuestion question{};
    question.tenants = 8;
    const auto plan = client.plan_fleet(question);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->hosts, 8U);
    const std::array<LadderTier, 1> tiers{{{CXLPOOL_TIER_DRAM, 0, 0, 0, 0, 0, nullptr}}};
    const std::array<LadderCell, 2> cells{
        {{CXLPOOL_STATE_SEALED, CXLPOOL_TIER_DRAM, 0, 0, 64, 0, 0, 0, 0, 0},
         {CXLPOOL_STATE_SEALED, CXLPOOL_TIER_DRAM, 0, 0, 64, 0, 0, 0, 0, 0}}};
    const auto placement = client.plan_placement(tiers, cells);
    ASSERT_TRUE(placement) << placement.failure().message;
    ASSERT_EQ(placement->size(), 2U);
    EXPECT_EQ(placement->front().action, static_cast<std::uint32_t>(CXLPOOL_ACTION_DEMOTE));
    EXPECT_EQ(placement->back().status, static_cast<std::uint32_t>(CXLPOOL_E_WRONG_STATE));
    const auto fd = client.segment_fd(kFakeSegment, CXLPOOL_ACCESS_READ);
    ASSERT_TRUE(fd);
    EXPECT_EQ(::close(*fd), 0);
}

TEST_F(CppApi, Statistics) {
    Client client = must_connect();
    const auto said = client.statistics();
    ASSERT_TRUE(said) << said.failure().message;
    EXPECT_EQ(said->tenant.hits, 1U);
    ASSERT_EQ(said->tiers.size(), 2U);
    EXPECT_EQ(said->tiers.back().reserved_bytes, 12U);
    ASSERT_EQ(said->refusals.size(), 2U);
    EXPECT_EQ(said->refusals.front().count, 13U);
    daemon.refuse(wire::Type::own_statistics, Errc::unknown_word, "older");
    EXPECT_EQ(client.statistics().failure().code, CXLPOOL_E_UNKNOWN_WORD);
}

TEST(ExpectedDeathTest, AskingForWhatItDoesNotHoldEndsTheProgram) {
    const Expected<int> failed(Failure{CXLPOOL_E_IO, "no"});
    EXPECT_DEATH(static_cast<void>(*failed), "");
    const Expected<int> good(1);
    EXPECT_DEATH(static_cast<void>(good.failure()), "");
}

TEST(CppApiNames, AreThoseOfTheCFunctions) {
    const std::array<std::uint32_t, 5> tokens{1, 2, 3, 4, 5};
    const std::array<SpanItem, 1> items{{{1, 2, digest_of("image")}}};
    const auto chain = span_chain(nullptr, tokens, 2, items);
    ASSERT_TRUE(chain) << chain.failure().message;
    ASSERT_EQ(chain->size(), 2U);
    cxlpool_digest expected[2];
    ASSERT_EQ(cxlpool_span_chain(nullptr, tokens.data(), 5, items.data(), 1, 2, expected, 2),
              CXLPOOL_OK);
    EXPECT_EQ(std::memcmp(chain->data(), expected, sizeof expected), 0);
    const auto first = span_digest(nullptr, std::span(tokens).first(2), items);
    ASSERT_TRUE(first) << first.failure().message;
    EXPECT_EQ(std::memcmp(&*first, &expected[0], sizeof expected[0]), 0);
    EXPECT_EQ(span_chain(nullptr, tokens, 0).failure().code, CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(span_digest(nullptr, {}).failure().code, CXLPOOL_E_INVALID_ARGUMENT);

    const std::array<AxisValue, 1> axes{{{CXLPOOL_AXIS_MODEL, 0, "m"}}};
    const auto identity = context_identity(axes);
    ASSERT_TRUE(identity) << identity.failure().message;
    ASSERT_EQ(cxlpool_context_identity(axes.data(), 1, expected), CXLPOOL_OK);
    EXPECT_EQ(std::memcmp(&*identity, &expected[0], sizeof expected[0]), 0);
}

}  // namespace
}  // namespace cxlpool::test

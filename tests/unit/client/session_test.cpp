// What the C ABI cannot show: time, and what goes back to the daemon when a call fails half-way.
#include "client/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "support/fake_daemon.hpp"

namespace cxlpool::client {
namespace {

using test::Answer;
using test::FakeDaemon;
using testing::HasSubstr;

class StoppedClock final : public Clock {
  public:
    Timestamp monotonic() const override { return now; }
    Timestamp wall() const override { return now; }
    Timestamp now{1'000'000'000};
};

SpanDigest span_of(std::uint32_t n) {
    SpanDigest span;
    for (std::size_t i = 0; i < 4; ++i) {
        span.bytes[i] = static_cast<std::uint8_t>(n >> (8U * i));
    }
    span.bytes[31] = 1;
    return span;
}

wire::HelloRequest hello() {
    wire::HelloRequest request;
    request.tenant = 1;
    return request;
}

class SessionTest : public testing::Test {
  protected:
    Result<std::unique_ptr<Session>> open() {
        auto connection = Connection::connect(daemon.path(), hello());
        EXPECT_TRUE(connection) << connection.error().message();
        return Session::open(std::move(connection).value(), clock);
    }
    std::unique_ptr<Session> must_open() {
        auto session = open();
        EXPECT_TRUE(session) << session.error().message();
        return std::move(session).value();
    }
    void make_cell(Session& session, std::uint32_t n, std::uint64_t length_bytes = 64) {
        auto fill = session.begin({1, span_of(n), length_bytes, 0, ""});
        ASSERT_TRUE(fill) << fill.error().message();
        ASSERT_TRUE(session.seal(fill->grant.lease));
    }
    wire::LookupItem must_hit(Session& session, std::uint32_t n) {
        const SpanDigest span = span_of(n);
        auto items = session.lookup(1, {&span, 1});
        EXPECT_TRUE(items) << items.error().message();
        EXPECT_EQ(items->at(0).verdict, 1);
        return items->at(0);
    }
    std::size_t count(wire::Type type) {
        std::size_t n = 0;
        for (const auto& request : daemon.take_requests()) {
            n += wire::type_of(request.body) == type ? 1U : 0U;
        }
        return n;
    }
    StoppedClock clock;
    FakeDaemon daemon;
};

TEST_F(SessionTest, AHelloThatCannotBeTrueIsRefused) {
    const wire::HelloReply good = daemon.greeting;
    daemon.greeting.max_leases = 0;
    EXPECT_EQ(open().error().code(), Errc::protocol);
    daemon.greeting = good;
    daemon.greeting.lease_ttl_ms = 0;
    EXPECT_EQ(open().error().code(), Errc::protocol);
    daemon.greeting = good;
    daemon.greeting.max_lookup_spans = 0;
    EXPECT_EQ(open().error().code(), Errc::protocol);
    daemon.greeting = good;
    daemon.greeting.max_leases = test::kFakeLeases + 1;
    EXPECT_THAT(open().error().message(), HasSubstr("lease board"));
    daemon.greeting = good;
    daemon.on(wire::Type::hello, [&](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(wire::Type::hello, request.cookie, good)}};
    });
    EXPECT_THAT(open().error().message(), HasSubstr("without a lease board"));
}

TEST_F(SessionTest, ALeaseIsOverWhenItsTimeIsEvenIfTheDaemonSaysNothing) {
    const auto session = must_open();
    make_cell(*session, 1);
    const auto hit = must_hit(*session, 1);
    clock.now.ns += 29'999'000'000;
    EXPECT_TRUE(session->live(hit.lease));
    clock.now.ns += 1'000'000;
    EXPECT_FALSE(session->live(hit.lease));
    EXPECT_EQ(session->attend(hit).error().code(), Errc::stale_lease);
}

TEST_F(SessionTest, RenewalStartsTheTimeAgain) {
    const auto session = must_open();
    make_cell(*session, 1);
    const auto hit = must_hit(*session, 1);
    clock.now.ns += 20'000'000'000;
    EXPECT_EQ(session->renew(hit.lease).value(), 30'000U);
    clock.now.ns += 29'000'000'000;
    EXPECT_TRUE(session->live(hit.lease));
}

TEST_F(SessionTest, NoLeaseIsLiveOnAClosedConnection) {
    const auto session = must_open();
    make_cell(*session, 1);
    const auto hit = must_hit(*session, 1);
    EXPECT_TRUE(session->live(hit.lease));
    daemon.on(wire::Type::renew, [](const wire::Request&) { return Answer{{}, {}, true}; });
    EXPECT_EQ(session->renew(hit.lease).error().code(), Errc::disconnected);
    EXPECT_FALSE(session->live(hit.lease));
    EXPECT_EQ(session->attend(hit).error().code(), Errc::disconnected);
}

TEST_F(SessionTest, LongLookupsAreSplitAndPutTogether) {
    daemon.greeting.max_lookup_spans = 3;
    const auto session = must_open();
    make_cell(*session, 2);
    make_cell(*session, 6);
    static_cast<void>(daemon.take_requests());
    std::vector<SpanDigest> spans;
    for (std::uint32_t i = 0; i < 8; ++i) {
        spans.push_back(span_of(i));
    }
    const auto items = session->lookup(1, spans);
    ASSERT_TRUE(items);
    ASSERT_EQ(items->size(), 8U);
    for (std::uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(items->at(i).verdict, i == 2 || i == 6 ? 1 : 16) << i;
    }
    EXPECT_EQ(count(wire::Type::lookup), 3U);
    EXPECT_TRUE(session->lookup(1, {}).value().empty());
    EXPECT_EQ(count(wire::Type::lookup), 0U);
    spans.back() = spans.front();
    EXPECT_EQ(session->lookup(1, spans).error().code(), Errc::invalid_argument)
        << "a span twice, in two messages";
    EXPECT_EQ(count(wire::Type::lookup), 0U);
}

TEST_F(SessionTest, AFailedBatchGivesTheLeasesOfThoseBeforeBack) {
    daemon.greeting.max_lookup_spans = 2;
    const auto session = must_open();
    make_cell(*session, 0);
    make_cell(*session, 1);
    int calls = 0;
    daemon.on(wire::Type::lookup, [&](const wire::Request& request) -> std::optional<Answer> {
        if (++calls < 2) {
            return std::nullopt;
        }
        return Answer{{FakeDaemon::encode_refusal(wire::Type::lookup, request.cookie,
                                                  Errc::not_found, "no such context")}};
    });
    const std::vector<SpanDigest> spans{span_of(0), span_of(1), span_of(2)};
    EXPECT_EQ(session->lookup(1, spans).error().code(), Errc::not_found);
    EXPECT_EQ(daemon.live_leases(), 0U);
}

TEST_F(SessionTest, ALookupAnsweredWithOtherItemsIsNonsense) {
    const auto nonsense = [&](wire::LookupReply reply) {
        daemon.on(wire::Type::lookup, [reply](const wire::Request& request) {
            return Answer{{FakeDaemon::encode(wire::Type::lookup, request.cookie, reply)}};
        });
        const auto session = must_open();
        const SpanDigest span = span_of(1);
        return session->lookup(1, {&span, 1}).error();
    };
    wire::LookupItem hit;
    hit.verdict = 1;
    hit.lease = {0, 1};
    hit.length_bytes = 8;
    EXPECT_EQ(nonsense({{hit, hit}}).code(), Errc::protocol);
    hit.lease = {0, 0};
    EXPECT_THAT(nonsense({{hit}}).message(), HasSubstr("without a lease"));
    hit.lease = {test::kFakeLeases, 1};
    EXPECT_THAT(nonsense({{hit}}).message(), HasSubstr("without a lease"));
    hit.lease = {0, 1};
    hit.length_bytes = 0;
    EXPECT_THAT(nonsense({{hit}}).message(), HasSubstr("without bytes"));
}

TEST_F(SessionTest, ARefusalCarriesNothingButItsVerdict) {
    wire::LookupItem miss;
    miss.verdict = 16;
    miss.status = static_cast<std::uint16_t>(Errc::limit_exceeded);
    miss.lease = {1, 1};
    miss.segment = 9;
    miss.length_bytes = 77;
    daemon.on(wire::Type::lookup, [&](const wire::Request& request) {
        return Answer{
            {FakeDaemon::encode(wire::Type::lookup, request.cookie, wire::LookupReply{{miss}})}};
    });
    const auto session = must_open();
    const SpanDigest span = span_of(1);
    const auto items = session->lookup(1, {&span, 1});
    ASSERT_TRUE(items);
    wire::LookupItem bare;
    bare.verdict = 16;
    bare.status = miss.status;
    EXPECT_EQ(items->at(0), bare);
}

TEST_F(SessionTest, ASegmentIsMappedOnceForAllThatIsInIt) {
    const auto session = must_open();
    const auto fill = session->begin({1, span_of(1), 64, 0, ""});
    make_cell(*session, 2);
    ASSERT_TRUE(session->seal(fill->grant.lease));
    EXPECT_EQ(count(wire::Type::map), 1U) << "for writing both";
    const auto first = must_hit(*session, 1);
    const auto second = must_hit(*session, 2);
    const auto* a = session->attend(first).value();
    const auto* b = session->attend(second).value();
    EXPECT_EQ(b - a, 4096);
    EXPECT_EQ(session->attend(first).value(), a);
    EXPECT_EQ(count(wire::Type::map), 1U) << "for reading";
    EXPECT_TRUE(session->release(first.lease));
    EXPECT_EQ(static_cast<int>(*b), 0) << "still mapped";
    EXPECT_TRUE(session->release(second.lease));
    static_cast<void>(session->attend(must_hit(*session, 1)).value());
    EXPECT_EQ(count(wire::Type::map), 1U) << "it had gone with its last lease";
}

TEST_F(SessionTest, ALeaseThatEndedStillUnmaps) {
    const auto session = must_open();
    make_cell(*session, 1);
    const auto hit = must_hit(*session, 1);
    static_cast<void>(session->attend(hit).value());
    daemon.revoke(hit.lease);
    EXPECT_FALSE(session->live(hit.lease));
    EXPECT_EQ(session->release(hit.lease).error().code(), Errc::stale_lease);
    static_cast<void>(daemon.take_requests());
    static_cast<void>(session->attend(must_hit(*session, 1)).value());
    EXPECT_EQ(count(wire::Type::map), 1U);
}

TEST_F(SessionTest, AHitThatWasTamperedWithIsRefused) {
    const auto session = must_open();
    make_cell(*session, 1);
    auto hit = must_hit(*session, 1);
    hit.offset_bytes = test::kFakeSegmentBytes;
    EXPECT_EQ(session->attend(hit).error().code(), Errc::invalid_argument);
    hit.offset_bytes = UINT64_MAX;
    EXPECT_EQ(session->attend(hit).error().code(), Errc::invalid_argument);
    hit.offset_bytes = 0;
    ASSERT_TRUE(session->attend(hit));
    hit.segment += 1;
    EXPECT_EQ(session->attend(hit).error().code(), Errc::invalid_argument);
}

TEST_F(SessionTest, AFillWhoseBytesCannotBeMappedIsRolledBack) {
    const auto session = must_open();
    daemon.refuse(wire::Type::map, Errc::not_permitted, "no");
    EXPECT_EQ(session->begin({1, span_of(1), 64, 0, ""}).error().code(), Errc::not_permitted);
    EXPECT_EQ(daemon.live_leases(), 0U);
}

TEST_F(SessionTest, ABeginThatCannotBeTrueIsNonsense) {
    const auto nonsense = [&](wire::BeginReply reply) {
        daemon.on(wire::Type::begin, [reply](const wire::Request& request) {
            return Answer{{FakeDaemon::encode(wire::Type::begin, request.cookie, reply)}};
        });
        return must_open()->begin({1, span_of(1), 64, 0, ""}).error();
    };
    EXPECT_THAT(nonsense({{0, 0}, 11, 0, 64}).message(), HasSubstr("without a lease"));
    EXPECT_THAT(nonsense({{0, 1}, 11, 0, 63}).message(), HasSubstr("fewer bytes"));
    EXPECT_THAT(nonsense({{0, 1}, 11, test::kFakeSegmentBytes, 64}).message(),
                HasSubstr("not inside its segment"));
    EXPECT_EQ(nonsense({{0, 1}, 11, UINT64_MAX, 64}).code(), Errc::protocol);
}

TEST_F(SessionTest, AMapWithoutADescriptorOrWithAWrongOneIsNonsense) {
    const auto nonsense = [&](std::shared_ptr<UniqueFd> descriptor) {
        daemon.on(wire::Type::map, [descriptor](const wire::Request& request) {
            return Answer{
                {FakeDaemon::encode(wire::Type::map, request.cookie, wire::MapReply{4096, 4096})},
                descriptor};
        });
        const auto session = must_open();
        const auto error = session->begin({1, span_of(1), 64, 0, ""}).error();
        EXPECT_EQ(session->renew({0, 1}).error().code(), Errc::disconnected);
        return error;
    };
    EXPECT_THAT(nonsense(nullptr).message(), HasSubstr("without a descriptor"));
    const auto unsealed = std::make_shared<UniqueFd>(::memfd_create("unsealed", MFD_CLOEXEC));
    EXPECT_THAT(nonsense(unsealed).message(), HasSubstr("sealed against shrinking"));
}

}  // namespace
}  // namespace cxlpool::client

#include "wire/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "wire/samples.hpp"

namespace cxlpool::wire {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes must_encode(const auto& message) {
    auto bytes = encode(message);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *std::move(bytes) : Bytes{};
}

void put(Bytes& bytes, std::size_t at, std::initializer_list<int> values) {
    for (const int v : values) {
        bytes.at(at++) = static_cast<std::byte>(v);
    }
}

// Makes the header's size field true again after bytes were added or taken away.
void fix_size(Bytes& bytes) {
    const std::size_t size = bytes.size();
    put(bytes, 0,
        {static_cast<int>(size & 0xFFU), static_cast<int>(size >> 8U & 0xFFU),
         static_cast<int>(size >> 16U & 0xFFU), 0});
}

void expect_refused(const auto& result, Errc code, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(text));
}

bool is_request(const samples::Sample& sample) {
    return std::holds_alternative<Request>(sample.message);
}

// Whatever the bytes are: they are refused, or they mean something that encodes again, and for a
// request (which has no ignored tail) to the same bytes.
bool accepts(const Bytes& bytes, bool request) {
    if (request) {
        const auto decoded = decode_request(bytes);
        if (decoded && decoded->body.index() != 0) {
            EXPECT_EQ(must_encode(*decoded), bytes);
        }
        return decoded.has_value();
    }
    const auto decoded = decode_reply(bytes);
    if (decoded) {
        const auto again = decode_reply(must_encode(*decoded));
        EXPECT_TRUE(again && again->body == decoded->body && again->status == decoded->status);
    }
    return decoded.has_value();
}

class EverySample : public testing::TestWithParam<samples::Sample> {};

TEST_P(EverySample, DecodesToItself) {
    const auto bytes = samples::bytes_of(GetParam());
    ASSERT_TRUE(bytes);
    if (const auto* request = std::get_if<Request>(&GetParam().message)) {
        const auto decoded = decode_request(*bytes);
        ASSERT_TRUE(decoded) << decoded.error().message();
        EXPECT_EQ(decoded->cookie, request->cookie);
        EXPECT_EQ(decoded->body, request->body);
    } else {
        const auto& reply = std::get<Reply>(GetParam().message);
        const auto decoded = decode_reply(*bytes);
        ASSERT_TRUE(decoded) << decoded.error().message();
        EXPECT_EQ(decoded->type, reply.type);
        EXPECT_EQ(decoded->status, reply.status);
        EXPECT_EQ(decoded->cookie, reply.cookie);
        EXPECT_EQ(decoded->body, reply.body);
    }
}

TEST_P(EverySample, NoTruncationIsAccepted) {
    const Bytes whole = *samples::bytes_of(GetParam());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(accepts(prefix, is_request(GetParam()))) << size << ": the size field lies";
        if (size >= kHeaderBytes) {
            fix_size(prefix);
            EXPECT_FALSE(accepts(prefix, is_request(GetParam()))) << size;
        }
    }
}

TEST_P(EverySample, EveryChangedByteIsRefusedOrMeansWhatItSays) {
    const Bytes whole = *samples::bytes_of(GetParam());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (int change = 1; change < 256; ++change) {
            Bytes bytes = whole;
            bytes[at] ^= static_cast<std::byte>(change);
            refused += accepts(bytes, is_request(GetParam())) ? 0U : 1U;
        }
    }
    EXPECT_GE(refused, 4U * 255U) << "at least every change of the size is";
}

TEST_P(EverySample, ALongerBody) {
    Bytes bytes = *samples::bytes_of(GetParam());
    bytes.resize(bytes.size() + 5);
    fix_size(bytes);
    const bool tail_ignored = !is_request(GetParam()) || GetParam().name == "hello.request";
    if (tail_ignored) {
        EXPECT_TRUE(accepts(bytes, is_request(GetParam())));
    } else {
        expect_refused(decode_request(bytes), Errc::malformed, "5 bytes after the last field");
    }
}

INSTANTIATE_TEST_SUITE_P(Messages, EverySample, testing::ValuesIn(samples::all()),
                         samples::test_name);

TEST(Header, IsCheckedBeforeTheBody) {
    const Bytes good = must_encode(Request{1, RenewRequest{{1, 2}}});
    ASSERT_EQ(good.size(), 24U);
    expect_refused(decode_request({}), Errc::malformed, "0 bytes are no message");
    expect_refused(decode_request(Bytes(15)), Errc::malformed, "15 bytes are no message");

    Bytes bytes = good;
    put(bytes, 0, {0, 0, 0, 0});
    expect_refused(decode_request(bytes), Errc::malformed, "says 0 bytes, 24 came");
    put(bytes, 0, {0xFF, 0xFF, 0xFF, 0xFF});
    expect_refused(decode_request(bytes), Errc::malformed, "says 4294967295 bytes, 24 came");
    put(bytes, 0, {25, 0, 0, 0});
    expect_refused(decode_request(bytes), Errc::malformed, "says 25 bytes, 24 came");

    Bytes large(kMaxMessageBytes + 1);
    put(large, 0, {0x01, 0x00, 0x01, 0x00});
    expect_refused(decode_request(large), Errc::too_large, "65537 bytes; at most 65536");
    expect_refused(decode_request(Bytes(175'937)), Errc::too_large, "175937 bytes");

    bytes = good;
    put(bytes, 4, {99, 0});
    expect_refused(decode_request(bytes), Errc::unknown_word, "type 99");
    expect_refused(decode_reply(bytes), Errc::unknown_word, "type 99");
    bytes = good;
    put(bytes, 6, {20, 0});
    expect_refused(decode_request(bytes), Errc::malformed, "renew request: status: not zero");
    put(bytes, 6, {0xFF, 0xFF});
    expect_refused(decode_reply(bytes), Errc::invalid_argument, "status");
}

TEST(Header, CookieAndTypeOfAMessageThatDoesNotDecode) {
    Bytes bytes(kHeaderBytes, std::byte{0xEE});
    put(bytes, 4, {0x34, 0x12});
    put(bytes, 8, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(peek_type(bytes), 0x1234);
    EXPECT_EQ(peek_cookie(bytes), 0x0807060504030201U);
    bytes.pop_back();
    EXPECT_EQ(peek_type(bytes), std::nullopt);
    EXPECT_EQ(peek_cookie(bytes), std::nullopt);
    EXPECT_EQ(peek_cookie({}), std::nullopt);
}

// A count that the bytes cannot hold is refused without allocating for it, whatever it says.
TEST(Counts, AreCheckedAgainstTheBytesThatCame) {
    Bytes lookup = must_encode(Request{1, LookupRequest{7, {SpanDigest{}}}});
    ASSERT_EQ(lookup.size(), kHeaderBytes + 4 + 4 + 32);
    put(lookup, 20, {2, 0, 0, 0});
    expect_refused(decode_request(lookup), Errc::malformed, "spans: the message ends before");
    put(lookup, 20, {0, 2, 0, 0});
    expect_refused(decode_request(lookup), Errc::malformed, "spans: the message ends before");
    put(lookup, 20, {1, 2, 0, 0});
    expect_refused(decode_request(lookup), Errc::too_large, "spans: 513 items, at most 512");
    put(lookup, 20, {0xFF, 0xFF, 0xFF, 0xFF});
    expect_refused(decode_request(lookup), Errc::too_large, "spans: 4294967295 items");
    put(lookup, 20, {0, 0, 0, 0});
    expect_refused(decode_request(lookup), Errc::invalid_argument, "spans: 0 items, at least 1");

    Bytes reply = must_encode(Reply{Type::lookup, Errc::ok, 1, LookupReply{{LookupItem{}}}});
    ASSERT_EQ(reply.size(), kHeaderBytes + 4 + 64);
    put(reply, 16, {2, 0, 0, 0});
    expect_refused(decode_reply(reply), Errc::malformed, "items: the message ends before");
    put(reply, 16, {0xFF, 0xFF, 0xFF, 0xFF});
    expect_refused(decode_reply(reply), Errc::too_large, "items: 4294967295 items");
}

TEST(Counts, TheLargestLookupFitsOneMessage) {
    LookupRequest request{1, std::vector<SpanDigest>(kMaxLookupSpans)};
    EXPECT_EQ(must_encode(Request{1, request}).size(), 16U + 8U + 512U * 32U);
    LookupReply reply{std::vector<LookupItem>(kMaxLookupSpans)};
    EXPECT_EQ(must_encode(Reply{Type::lookup, Errc::ok, 1, reply}).size(), 16U + 4U + 512U * 64U);
}

TEST(Counts, TheLargestPlacementFitsOneMessage) {
    PlanPlacementRequest request;
    request.tiers.assign(kMaxPlacementTiers, {1, 0, 0, 0, 0, 0, std::string(kMaxNameBytes, 'p')});
    request.cells.assign(kMaxPlacementCells, {1, 1});
    EXPECT_EQ(must_encode(Request{1, request}).size(),
              16U + 4U + 7U * (42U + 64U) + 4U + 256U * 56U);
    PlanPlacementReply reply{std::vector<PlacementItem>(kMaxPlacementCells)};
    EXPECT_EQ(must_encode(Reply{Type::plan_placement, Errc::ok, 1, reply}).size(),
              16U + 4U + 256U * 24U);
}

// What may not be said is refused by encode, and by decode when somebody says it all the same.
TEST(Encode, RefusesWhatDecodeWould) {
    LookupRequest many{1, std::vector<SpanDigest>(kMaxLookupSpans + 1)};
    expect_refused(encode(Request{1, many}), Errc::too_large, "513 items, at most 512");
    expect_refused(encode(Request{1, LookupRequest{}}), Errc::invalid_argument, "at least 1");

    HelloRequest hello;
    hello.engine_name = std::string(65, 'x');
    expect_refused(encode(Request{1, hello}), Errc::too_large, "engine name: 65 bytes, at most 64");
    hello.engine_name = "bell\a";
    expect_refused(encode(Request{1, hello}), Errc::invalid_argument, "printable");
    hello.engine_name = "caf\xC3\xA9";
    expect_refused(encode(Request{1, hello}), Errc::invalid_argument, "printable");
    hello.engine_name.clear();
    hello.magic = 1;
    expect_refused(encode(Request{1, hello}), Errc::malformed, "not a cxlpool client");

    ContextRegisterRequest context{{{3, "a"}, {3, "b"}}};
    expect_refused(encode(Request{1, context}), Errc::malformed, "ascending");
    context.axes = {{3, "a"}, {2, "b"}};
    expect_refused(encode(Request{1, context}), Errc::malformed, "ascending");
    context.axes = {{15, "a"}};
    expect_refused(encode(Request{1, context}), Errc::invalid_argument, "axis: no such value");
    context.axes = {{0, std::string(257, 'x')}};
    expect_refused(encode(Request{1, context}), Errc::too_large, "axis value: 257 bytes");
    context.axes = std::vector<AxisField>(16);
    expect_refused(encode(Request{1, context}), Errc::too_large, "axes: 16 items, at most 15");

    ShareRequest share{1, {}, 3, {}};
    expect_refused(encode(Request{1, share}), Errc::invalid_argument, "scope: no such value");
    share = {1, {}, 2, {4, 0}};
    expect_refused(encode(Request{1, share}), Errc::invalid_argument, "tenant 0 is nobody");
    share.allow_list = std::vector<std::uint64_t>(65, 1);
    expect_refused(encode(Request{1, share}), Errc::too_large, "allow-list: 65 items");

    expect_refused(encode(Request{1, AdjudicateRequest{1, {}, 0, {}, static_cast<Decision>(4)}}),
                   Errc::invalid_argument, "decision");
    const auto change = [](TenantOp op, std::uint64_t tenant, std::uint64_t value,
                           const std::string& name, const std::string& pool) {
        return encode(Request{1, TenantChangeRequest{op, tenant, value, name, pool}});
    };
    EXPECT_TRUE(change(TenantOp::add, 1, 0, "", ""));
    EXPECT_TRUE(change(TenantOp::set_salt, 1, ~0ULL, "", ""));
    expect_refused(change(static_cast<TenantOp>(6), 1, 0, "", ""), Errc::invalid_argument, "op");
    expect_refused(change(TenantOp::add, 0, 0, "", ""), Errc::invalid_argument, "0 is nobody");
    expect_refused(change(TenantOp::add, 1, 7, "a", ""), Errc::invalid_argument, "value: not of");
    expect_refused(change(TenantOp::set_salt, 1, 7, "a", ""), Errc::invalid_argument,
                   "name: not of");
    expect_refused(change(TenantOp::set_weight, 1, 7, "", "p"), Errc::invalid_argument, "pool");
    expect_refused(change(TenantOp::reserve, 1, 7, "", ""), Errc::invalid_argument, "pool");
    expect_refused(encode(Request{1, DocumentRequest{static_cast<Document>(0), 0, {}, {}}}),
                   Errc::invalid_argument, "document");
    expect_refused(encode(Request{1, MapRequest{1, static_cast<MapAccess>(2)}}),
                   Errc::invalid_argument, "access");
    expect_refused(encode(Request{1, BeginRequest{1, {}, 1, 0, std::string(65, 'p')}}),
                   Errc::too_large, "pool");
    expect_refused(
        encode(Reply{Type::document, Errc::ok, 1, DocumentReply{0, 0, std::string(60001, ' ')}}),
        Errc::too_large, "chunk: 60001 bytes, at most 60000");
    expect_refused(encode(Reply{Type::seal, Errc::io, 1, ErrorText{std::string(513, 'x')}}),
                   Errc::too_large, "error text: 513 bytes, at most 512");
    EXPECT_TRUE(encode(Reply{Type::seal, Errc::io, 1, ErrorText{std::string(512, 'x')}}));
}

TEST(Encode, StatisticsSayNothingThatDoesNotExist) {
    const auto encoded = [](std::vector<TierStatistics> tiers, std::vector<RefusalRow> refusals) {
        OwnStatisticsReply reply;
        reply.tiers = std::move(tiers);
        reply.refusals = std::move(refusals);
        return encode(Reply{Type::own_statistics, Errc::ok, 1, reply});
    };
    EXPECT_TRUE(encoded({{1, 0, 0}, {kLastTier, 0, 0}}, {{UINT16_MAX, 1}}))
        << "a code that this version does not know is passed on";
    expect_refused(encoded({{0, 0, 0}}, {}), Errc::invalid_argument, "tier: no such value");
    expect_refused(encoded({{8, 0, 0}}, {}), Errc::invalid_argument, "tier: no such value");
    expect_refused(encoded(std::vector<TierStatistics>(8, {1, 0, 0}), {}), Errc::too_large,
                   "tiers: 8 items, at most 7");
    expect_refused(encoded({}, {{0, 1}}), Errc::invalid_argument, "0 is no refusal");
    expect_refused(encoded({}, std::vector<RefusalRow>(129, {1, 1})), Errc::too_large,
                   "refusals: 129 items, at most 128");
}

TEST(Encode, APlacementSaysNothingThatDoesNotExist) {
    PlanPlacementRequest good;
    good.tiers.resize(1);
    good.tiers[0].tier = 1;
    good.cells.resize(1);
    good.cells[0].state = 1;
    good.cells[0].tier = 1;
    ASSERT_TRUE(encode(Request{1, good}));
    const auto refused = [&](auto change, Errc code, const std::string& what) {
        SCOPED_TRACE(what);
        PlanPlacementRequest bad = good;
        change(bad);
        expect_refused(encode(Request{1, bad}), code, what);
    };
    const Errc no = Errc::invalid_argument;
    refused([](auto& r) { r.tiers.clear(); }, no, "tiers: 0 items, at least 1");
    refused([&](auto& r) { r.tiers.resize(8, good.tiers[0]); }, Errc::too_large,
            "tiers: 8 items, at most 7");
    refused([](auto& r) { r.tiers[0].tier = 0; }, no, "tier: no such value");
    refused([](auto& r) { r.tiers[0].tier = 8; }, no, "tier: no such value");
    refused([](auto& r) { r.tiers[0].flags = 4; }, no, "flags: no such flag");
    refused([](auto& r) { r.tiers[0].promote_touches_per_hour = 1; }, no, "without its flag");
    refused([](auto& r) { r.tiers[0].pool.assign(65, 'p'); }, Errc::too_large, "pool: 65 bytes");
    refused([](auto& r) { r.cells.clear(); }, no, "cells: 0 items, at least 1");
    refused([&](auto& r) { r.cells.resize(257, good.cells[0]); }, Errc::too_large,
            "257 items, at most 256");
    refused([](auto& r) { r.cells[0].state = 0; }, no, "state: no such value");
    refused([](auto& r) { r.cells[0].state = 5; }, no, "state: no such value");
    refused([](auto& r) { r.cells[0].tier = 0; }, no, "cell's tier: no such value");
    refused([](auto& r) { r.cells[0].flags = 4; }, no, "flags: no such flag");
    refused([](auto& r) { r.cells[0].since_touch_ns = 1; }, no, "since touch: without touches");
    refused([](auto& r) { r.cells[0].since_revival_ns = 1; }, no,
            "since revival: without its flag");

    PlanPlacementReply reply{std::vector<PlacementItem>(1)};
    reply.items[0].reason = 8;
    expect_refused(encode(Reply{Type::plan_placement, Errc::ok, 1, reply}), no, "reason");
    reply.items[0] = {};
    reply.items[0].status = 0xFE;
    expect_refused(encode(Reply{Type::plan_placement, Errc::ok, 1, reply}), no, "item status");
}

TEST(Encode, ABodyOfAnotherTypeIsNotSent) {
    expect_refused(encode(Reply{Type::seal, Errc::ok, 1, EmptyReply{}}), Errc::internal, "seal");
    expect_refused(encode(Reply{Type::seal, Errc::ok, 1, ErrorText{"no"}}), Errc::internal, "seal");
    expect_refused(encode(Reply{Type::seal, Errc::io, 1, SealReply{}}), Errc::internal, "seal");
}

// The daemon answers a type that it does not know with a failure that echoes it.
TEST(Reply, AFailureMayAnswerAnyType) {
    const Reply refusal{static_cast<Type>(999), Errc::unknown_word, 5, ErrorText{"no such type"}};
    const auto decoded = decode_reply(must_encode(refusal));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(static_cast<std::uint16_t>(decoded->type), 999);
    EXPECT_EQ(std::get<ErrorText>(decoded->body).text, "no such type");
}

TEST(Decode, ReservedBytesAreZero) {
    Bytes map = must_encode(Request{1, MapRequest{4, MapAccess::read}});
    put(map, 23, {1});
    expect_refused(decode_request(map), Errc::malformed, "reserved bytes: not zero");
}

TEST(Decode, AnItemsStatusIsAKnownCode) {
    Bytes reply = must_encode(Reply{Type::lookup, Errc::ok, 1, LookupReply{{LookupItem{}}}});
    put(reply, 22, {0xFE, 0x00});
    expect_refused(decode_reply(reply), Errc::invalid_argument, "item status");
}

TEST(Type, WordsAreThoseOfTheBodies) {
    EXPECT_EQ(to_word(Type::hello), "hello");
    EXPECT_EQ(to_word(Type::document_more), "document_more");
    EXPECT_EQ(to_word(static_cast<Type>(0)), "unknown");
    EXPECT_EQ(type_of(RequestBody(MapRequest{})), Type::map);
    EXPECT_EQ(type_of(RequestBody(DocumentMoreRequest{})), Type::document_more);
}

}  // namespace
}  // namespace cxlpool::wire

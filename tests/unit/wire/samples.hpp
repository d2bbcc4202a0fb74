// One message of every type, with a different value in every field, so that a swapped or moved
// field cannot go unseen.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "wire/messages.hpp"

namespace cxlpool::wire::samples {

template <typename D>
D digest_from(std::uint8_t first) {
    D digest;
    for (std::uint8_t& b : digest.bytes) {
        b = first++;
    }
    return digest;
}

struct Sample {
    std::string name;  // of the golden file, without ".hex"
    std::variant<Request, Reply> message;
};

// What a failing test prints.
inline void PrintTo(const Sample& sample, std::ostream* out) {
    *out << sample.name;
}

// "hello.request" as the name of a test.
inline std::string test_name(const testing::TestParamInfo<Sample>& sample) {
    std::string name = sample.param.name;
    name[name.find('.')] = '_';
    return name;
}

inline std::vector<AxisField> all_axes() {
    std::vector<AxisField> axes;
    for (std::uint8_t i = 0; i < kMaxAxes; ++i) {
        axes.push_back({i, "value-" + std::to_string(i)});
    }
    return axes;
}

inline std::vector<Sample> all() {
    const auto span = digest_from<SpanDigest>(0x40);
    const auto other_span = digest_from<SpanDigest>(0x60);
    const auto content = digest_from<ContentDigest>(0x80);
    std::vector<Sample> list;
    std::uint64_t cookie = 0x1122334455667700;
    const auto request = [&](std::string name, RequestBody body) {
        list.push_back({std::move(name) + ".request", Request{cookie++, std::move(body)}});
    };
    const auto reply = [&](std::string name, Type type, ReplyBody body, Errc status = Errc::ok) {
        list.push_back(
            {std::move(name) + ".reply", Reply{type, status, cookie++, std::move(body)}});
    };

    HelloRequest hello;
    hello.tenant = 0x0102030405060708;
    hello.engine_name = "engine-a";
    request("hello", hello);
    HelloReply greeting;
    greeting.mode = 1;
    greeting.roles = 5;
    greeting.tenant = 0x0102030405060708;
    greeting.max_lookup_spans = 512;
    greeting.max_leases = 4096;
    greeting.max_contexts = 64;
    greeting.lease_ttl_ms = 30000;
    greeting.max_cell_bytes = 0x40000000;
    reply("hello", Type::hello, greeting);

    request("context_register", ContextRegisterRequest{all_axes()});
    reply("context_register", Type::context_register, ContextRegisterReply{7});
    request("context_release", ContextReleaseRequest{7});
    reply("context_release", Type::context_release, EmptyReply{});

    request("lookup", LookupRequest{7, {span, other_span}});
    LookupItem hit;
    hit.verdict = 1;
    hit.lease = {0x21222324, 0x31323334};
    hit.segment = 0x41424344;
    hit.offset_bytes = 0x5152535455565758;
    hit.length_bytes = 0x6162636465666768;
    hit.digest = content;
    LookupItem miss;
    miss.verdict = 16;
    LookupItem no_lease;
    no_lease.verdict = 16;
    no_lease.status = static_cast<std::uint16_t>(Errc::limit_exceeded);
    reply("lookup", Type::lookup, LookupReply{{hit, miss, no_lease}});

    request("begin", BeginRequest{7, span, 0x800000, 8000000, "cxl0"});
    reply("begin", Type::begin, BeginReply{{3, 9}, 4, 0x200000, 0x800000});
    request("map", MapRequest{4, MapAccess::write});
    reply("map", Type::map, MapReply{0x4000000, 0x200000});
    request("seal", SealRequest{{3, 9}});
    reply("seal", Type::seal, SealReply{content});
    request("share", ShareRequest{7, span, 2, {2, 0x7172737475767778}});
    reply("share", Type::share, EmptyReply{});
    request("release", ReleaseRequest{{3, 9}});
    reply("release", Type::release, EmptyReply{});
    request("renew", RenewRequest{{3, 9}});
    reply("renew", Type::renew, RenewReply{30000});

    request("plan_fleet", PlanFleetRequest{8, 4, 4000, 0x4000000, 2000000, "cxl0"});
    PlanFleetReply plan;
    plan.holds = 2;
    plan.advice = 0;
    plan.hosts = 8;
    plan.attending_hosts = 7;
    plan.private_copies = {32000, 0x20000000, 0, 0, 8000000000};
    plan.copy_only = {4001, 0x20000001, 28001, 1, 5692405};
    plan.coherent = {4000, 0x4000000, 28000, 0x1C000000, 300};
    plan.full_pass_ns = 1048876;
    plan.full_pass_shared_ns = UINT64_MAX;
    plan.seal_writeback_ns = 5592406;
    plan.reader_invalidate_ns = 3355444;
    reply("plan_fleet", Type::plan_fleet, plan);

    request("adjudicate", AdjudicateRequest{1, span, 0x1234, content, Decision::poison});
    reply("adjudicate", Type::adjudicate, EmptyReply{});
    request("document", DocumentRequest{Document::explain, 2, span, all_axes()});
    reply("document", Type::document, DocumentReply{24, 0, "{\"tenancy\": "});
    request("document_more", DocumentMoreRequest{12});
    reply("document_more", Type::document_more, DocumentReply{24, 12, "\"multi\"}   \n"});

    reply("error", Type::begin, ErrorText{"pool 'cxl0' has no room for 8388608 bytes"},
          Errc::capacity);

    PlanPlacementRequest placement;
    placement.tiers = {{2, 3, 0x800000, 0x4000000, 3600000000000, 60, ""},
                       {4, 1, 0x900000, 0, 7200000000000, 0, "cxl0"}};
    placement.cells = {
        {1, 2, 2, 0x200000, 1800000000000, 100000000000, 110000000000, 40, 8000000000},
        {4, 4, 1, 0x300000, 1900000000000, 0, 0, 0, 0}};
    request("plan_placement", placement);
    PlanPlacementReply directives;
    directives.items = {{0, 3, 5, 2, 4, 4, 1, 32818, 8000000000},
                        {0, 5, 7, 3, 0, 6, 6, UINT64_MAX, UINT64_MAX},
                        {static_cast<std::uint16_t>(Errc::wrong_state)}};
    reply("plan_placement", Type::plan_placement, directives);
    request("reload", ReloadRequest{});
    reply("reload", Type::reload, ReloadReply{0x21222324});

    request("tenant_change",
            TenantChangeRequest{TenantOp::reserve, 0x0102030405060708, 64ULL << 30U, "", "cxl0"});
    reply("tenant_change", Type::tenant_change, EmptyReply{});
    request("forget", ForgetRequest{0x0102030405060708, 30'000});
    reply("forget", Type::forget, ForgetReply{"{\"schema\":\"cxlpool-receipt/1\"}\n"});
    request("own_statistics", OwnStatisticsRequest{});
    reply("own_statistics", Type::own_statistics,
          OwnStatisticsReply{0x0102030405060708,
                             2,
                             9,
                             7,
                             40,
                             0x2800000,
                             12,
                             0xC00000,
                             3,
                             {{2, 0x1000000, 0}, {4, 0x800000, 64ULL << 30U}},
                             {{static_cast<std::uint16_t>(Errc::capacity), 5}}});
    return list;
}

inline Result<std::vector<std::byte>> bytes_of(const Sample& sample) {
    return std::visit([](const auto& message) { return encode(message); }, sample.message);
}

}  // namespace cxlpool::wire::samples

// The public ABI when all is well: what goes over the wire, and what comes back.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "base/errc.hpp"
#include "client/abi_world.hpp"
#include "domain/gate.hpp"

namespace cxlpool::test {
namespace {

// How many mappings of the fake daemon's segment this process has.
int segment_mappings() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) {
        count += line.find("memfd:fake-segment") != std::string::npos ? 1 : 0;
    }
    return count;
}

TEST(CApi, SaysWhatTheDaemonSaid) {
    World w;
    cxlpool_info info{};
    info.struct_size = sizeof info;
    ASSERT_EQ(cxlpool_get_info(w.client, &info), CXLPOOL_OK);
    EXPECT_EQ(info.protocol_version, 1U);
    EXPECT_EQ(info.mode, static_cast<std::uint32_t>(CXLPOOL_MODE_MULTI));
    EXPECT_EQ(info.roles, static_cast<std::uint32_t>(CXLPOOL_ROLE_ENGINE));
    EXPECT_EQ(info.tenant, 1U);
    EXPECT_EQ(info.max_lookup_spans, 512U);
    EXPECT_EQ(info.max_leases, kFakeLeases);
    EXPECT_EQ(info.max_contexts, 64U);
    EXPECT_EQ(info.lease_ttl_ms, 30'000U);
    EXPECT_EQ(info.max_cell_bytes, kFakeSegmentBytes);
}

TEST(CApi, AxesAreSentInOrder) {
    World w;
    const std::array<cxlpool_axis, 3> axes{{{CXLPOOL_AXIS_LAYOUT, 0, "hnd"},
                                            {CXLPOOL_AXIS_MODEL, 0, "m"},
                                            {CXLPOOL_AXIS_ADAPTER, 0, "none"}}};
    cxlpool_context* context = nullptr;
    ASSERT_EQ(cxlpool_context_create(w.client, axes.data(), axes.size(), &context), CXLPOOL_OK);
    const auto requests = w.daemon.take_requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(std::get<wire::ContextRegisterRequest>(requests[0].body),
              (wire::ContextRegisterRequest{{{0, "m"}, {7, "none"}, {14, "hnd"}}}));
    EXPECT_EQ(cxlpool_context_destroy(context), CXLPOOL_OK);
    const auto released = w.daemon.take_requests();
    ASSERT_EQ(released.size(), 1U);
    EXPECT_EQ(std::get<wire::ContextReleaseRequest>(released[0].body).context, 2U);
}

TEST(CApi, ACellIsFilledSealedAndAttendedInPlace) {
    World w;
    ASSERT_EQ(w.fill.length_bytes, 5000U);
    auto* bytes = static_cast<unsigned char*>(w.fill.data);
    for (std::size_t i = 0; i < 5000; ++i) {
        bytes[i] = static_cast<unsigned char>(i * 7);
    }
    cxlpool_digest digest{};
    EXPECT_EQ(cxlpool_lease_live(w.client, w.fill.lease), 1);
    ASSERT_EQ(cxlpool_seal(w.client, &w.fill, &digest), CXLPOOL_OK);
    EXPECT_EQ(std::memcmp(&digest, &w.open, sizeof digest), 0);
    EXPECT_EQ(cxlpool_lease_live(w.client, w.fill.lease), 0) << "it ended with the fill";

    cxlpool_hit hits[2];
    const cxlpool_digest spans[2] = {w.fresh, w.open};
    ASSERT_EQ(cxlpool_lookup(w.context, spans, 2, hits), CXLPOOL_OK);
    EXPECT_STREQ(cxlpool_verdict_name(hits[0].verdict), "miss/absent");
    EXPECT_EQ(hits[0].length_bytes, 0U);
    EXPECT_STREQ(cxlpool_verdict_name(hits[1].verdict), "hit/in_place");
    EXPECT_EQ(hits[1].status, static_cast<std::uint32_t>(CXLPOOL_OK));
    EXPECT_EQ(hits[1].length_bytes, 5000U);
    EXPECT_EQ(std::memcmp(&hits[1].digest, &w.open, sizeof digest), 0);

    const void* data = nullptr;
    ASSERT_EQ(cxlpool_attend(w.client, &hits[1], &data), CXLPOOL_OK);
    for (std::size_t i = 0; i < 5000; ++i) {
        ASSERT_EQ(static_cast<const unsigned char*>(data)[i], static_cast<unsigned char>(i * 7));
    }
    EXPECT_EQ(cxlpool_release(w.client, hits[1].lease), CXLPOOL_OK);
    EXPECT_EQ(cxlpool_release(w.client, hits[1].lease), CXLPOOL_E_STALE_LEASE);
}

TEST(CApi, MappingsGoWithTheirLeasesAndTheRestWithTheClient) {
    const int before = segment_mappings();
    {
        World w;
        EXPECT_EQ(segment_mappings(), before + 1) << "for writing";
        const void* data = nullptr;
        ASSERT_EQ(cxlpool_attend(w.client, &w.hit, &data), CXLPOOL_OK);
        EXPECT_EQ(segment_mappings(), before + 2);
        ASSERT_EQ(cxlpool_release(w.client, w.hit.lease), CXLPOOL_OK);
        EXPECT_EQ(segment_mappings(), before + 1);
    }
    EXPECT_EQ(segment_mappings(), before);
}

TEST(CApi, RevocationIsSeenWithoutACall) {
    World w;
    EXPECT_EQ(cxlpool_lease_live(w.client, w.hit.lease), 1);
    w.daemon.revoke({w.hit.lease.index, w.hit.lease.generation});
    EXPECT_EQ(cxlpool_lease_live(w.client, w.hit.lease), 0);
    EXPECT_TRUE(w.daemon.take_requests().empty());
}

TEST(CApi, AFillThatIsReleasedIsRolledBack) {
    World w;
    EXPECT_EQ(cxlpool_release(w.client, w.fill.lease), CXLPOOL_OK);
    EXPECT_EQ(cxlpool_seal(w.client, &w.fill, nullptr), CXLPOOL_E_STALE_LEASE);
}

TEST(CApi, ShareAndBeginCarryTheirArguments) {
    World w;
    const std::uint64_t allow[] = {2, 3};
    ASSERT_EQ(cxlpool_share(w.context, &w.sealed, CXLPOOL_SCOPE_FLEET, allow, 2), CXLPOOL_OK);
    cxlpool_fill fill{};
    fill.struct_size = sizeof fill;
    ASSERT_EQ(cxlpool_begin(w.context, &w.fresh, 64, 8000000, "cxl0", &fill), CXLPOOL_OK);
    const auto requests = w.daemon.take_requests();
    ASSERT_EQ(requests.size(), 2U) << "the segment of the fill is mapped already";
    const auto& share = std::get<wire::ShareRequest>(requests[0].body);
    EXPECT_EQ(share.context, 1U);
    EXPECT_EQ(share.scope, 2U);
    EXPECT_EQ(share.allow_list, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(std::memcmp(share.span.bytes.data(), w.sealed.bytes, 32), 0);
    const auto& begin = std::get<wire::BeginRequest>(requests[1].body);
    EXPECT_EQ(begin.pool, "cxl0");
    EXPECT_EQ(begin.length_bytes, 64U);
    EXPECT_EQ(begin.recompute_ns, 8'000'000U);
}

TEST(CApi, ASegmentDescriptorForReadingStaysThat) {
    World w;
    int fd = -1;
    ASSERT_EQ(cxlpool_segment_fd(w.client, kFakeSegment, CXLPOOL_ACCESS_READ, &fd), CXLPOOL_OK);
    const UniqueFd owned(fd);
    EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    int writable = -1;
    ASSERT_EQ(cxlpool_segment_fd(w.client, kFakeSegment, CXLPOOL_ACCESS_WRITE, &writable),
              CXLPOOL_OK);
    const UniqueFd owned_too(writable);
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0);
    EXPECT_NE(at, MAP_FAILED);
    ::munmap(at, 4096);
}

TEST(CApi, ThePlanComesBackWhole) {
    World w;
    cxlpool_fleet_question question{};
    question.struct_size = sizeof question;
    question.tenants = 8;
    question.tokens = 4000;
    question.bytes = 64;
    question.recompute_ns_per_token = 9;
    question.pool = "cxl0";
    cxlpool_fleet_plan plan{};
    plan.struct_size = sizeof plan;
    ASSERT_EQ(cxlpool_plan_fleet(w.client, &question, &plan), CXLPOOL_OK);
    EXPECT_EQ(plan.holds, static_cast<std::uint32_t>(CXLPOOL_REGIME_COHERENT));
    EXPECT_EQ(plan.hosts, 8U);
    EXPECT_EQ(plan.regimes[CXLPOOL_REGIME_PRIVATE].prefill_tokens, 1U);
    EXPECT_EQ(plan.regimes[CXLPOOL_REGIME_COPY_ONLY].resident_bytes, 7U);
    EXPECT_EQ(plan.regimes[CXLPOOL_REGIME_COHERENT].prefill_tokens_saved, 13U);
    EXPECT_EQ(plan.regimes[CXLPOOL_REGIME_COHERENT].bytes_saved, 14U);
    EXPECT_EQ(plan.regimes[CXLPOOL_REGIME_COHERENT].reader_cost_ns, 15U);
    EXPECT_EQ(plan.full_pass_ns, 16U);
    EXPECT_EQ(plan.full_pass_shared_ns, CXLPOOL_UNKNOWN);
    EXPECT_EQ(plan.seal_writeback_ns, 17U);
    EXPECT_EQ(plan.reader_invalidate_ns, CXLPOOL_UNKNOWN);
    const auto requests = w.daemon.take_requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(std::get<wire::PlanFleetRequest>(requests[0].body),
              (wire::PlanFleetRequest{8, 0, 4000, 64, 9, "cxl0"}));
}

TEST(CApi, ThePlacementComesBackWhole) {
    World w;
    const cxlpool_placement_tier tiers[] = {
        {CXLPOOL_TIER_DRAM, CXLPOOL_TIER_DEMOTE_EXPIRED | CXLPOOL_TIER_PROMOTE, 1, 2, 3, 4, "p"},
        {CXLPOOL_TIER_DISK, 0, 5, 6, 7, 0, nullptr}};
    const cxlpool_placement_cell cells[] = {
        {CXLPOOL_STATE_SEALED, CXLPOOL_TIER_DRAM, CXLPOOL_CELL_REVIVED, 0, 8, 9, 10, 11, 12, 13},
        {CXLPOOL_STATE_SPILLED, CXLPOOL_TIER_DISK, CXLPOOL_CELL_LEASED, 0, 14, 15, 0, 0, 0, 16}};
    cxlpool_placement_directive out[2];
    ASSERT_EQ(cxlpool_plan_placement(w.client, tiers, 2, cells, 2, out), CXLPOOL_OK);
    const cxlpool_placement_directive expected[2] = {
        {CXLPOOL_OK, CXLPOOL_ACTION_DEMOTE, CXLPOOL_REASON_DEMOTE_BEATS_RECOMPUTE,
         CXLPOOL_STATE_EXPIRING, CXLPOOL_TIER_CXL, CXLPOOL_TIER_DISK, CXLPOOL_SOURCE_MEASURED, 0,
         11, CXLPOOL_UNKNOWN},
        {CXLPOOL_E_WRONG_STATE, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
    EXPECT_EQ(std::memcmp(out, expected, sizeof out), 0);
    const auto requests = w.daemon.take_requests();
    ASSERT_EQ(requests.size(), 1U);
    const wire::PlanPlacementRequest asked{
        {{2, 3, 1, 2, 3, 4, "p"}, {6, 0, 5, 6, 7, 0, ""}},
        {{1, 2, 2, 8, 9, 10, 11, 12, 13}, {4, 6, 1, 14, 15, 0, 0, 0, 16}}};
    EXPECT_EQ(std::get<wire::PlanPlacementRequest>(requests[0].body), asked);
}

cxlpool_tenant_statistics room_for_statistics() {
    cxlpool_tenant_statistics out{};
    out.struct_size = sizeof out;
    return out;
}

TEST(CApi, StatisticsComeBackWhole) {
    World w;
    auto out = room_for_statistics();
    cxlpool_tier_statistics tiers[7]{};
    tiers[0].struct_size = sizeof tiers[0];
    cxlpool_refusal_statistics refusals[30]{};
    refusals[0].struct_size = sizeof refusals[0];
    ASSERT_EQ(cxlpool_statistics(w.client, &out, tiers, 7, refusals, 30), CXLPOOL_OK);
    const cxlpool_tenant_statistics expected{sizeof out, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2};
    EXPECT_EQ(std::memcmp(&out, &expected, sizeof out), 0);
    const cxlpool_tier_statistics of_tiers[3] = {{sizeof tiers[0], CXLPOOL_TIER_DRAM, 0, 10, 0},
                                                 {sizeof tiers[0], CXLPOOL_TIER_CXL, 0, 11, 12},
                                                 {}};
    EXPECT_EQ(std::memcmp(tiers, of_tiers, sizeof of_tiers), 0);
    const cxlpool_refusal_statistics of_codes[3] = {
        {sizeof refusals[0], CXLPOOL_E_CAPACITY, 0, 13}, {sizeof refusals[0], 999, 0, 14}, {}};
    EXPECT_EQ(std::memcmp(refusals, of_codes, sizeof of_codes), 0);
}

TEST(CApi, StatisticsSayHowManyRowsThereAreWhateverRoomThereIs) {
    World w;
    auto out = room_for_statistics();
    ASSERT_EQ(cxlpool_statistics(w.client, &out, nullptr, 0, nullptr, 0), CXLPOOL_OK);
    EXPECT_EQ(out.tier_rows, 2U);
    EXPECT_EQ(out.refusal_rows, 2U);
    EXPECT_EQ(out.live_leases, 9U);
    cxlpool_tier_statistics tiers[2]{};
    tiers[0].struct_size = sizeof tiers[0];
    out = room_for_statistics();
    ASSERT_EQ(cxlpool_statistics(w.client, &out, tiers, 1, nullptr, 0), CXLPOOL_OK);
    EXPECT_EQ(out.tier_rows, 2U);
    EXPECT_EQ(tiers[0].resident_bytes, 10U);
    EXPECT_EQ(tiers[1].struct_size, 0U) << "there was room for one";
}

// A program that was built against a newer header: its rows are larger, and lie further apart.
TEST(CApi, RowsOfANewerHeaderAreFilledAsFarAsTheyAreKnown) {
    World w;
    struct Newer {
        cxlpool_tier_statistics row;
        std::uint64_t added;
    };
    Newer tiers[2]{};
    tiers[0].row.struct_size = sizeof(Newer);
    tiers[0].added = tiers[1].added = 77;
    auto out = room_for_statistics();
    ASSERT_EQ(cxlpool_statistics(w.client, &out, &tiers[0].row, 2, nullptr, 0), CXLPOOL_OK);
    EXPECT_EQ(tiers[1].row.struct_size, sizeof(Newer));
    EXPECT_EQ(tiers[1].row.reserved_bytes, 12U);
    EXPECT_EQ(tiers[0].added, 0U);
    EXPECT_EQ(tiers[1].added, 0U);
}

TEST(CApi, SeveralThreadsUseOneClient) {
    World w;
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                cxlpool_hit hit{};
                const void* data = nullptr;
                const bool good = cxlpool_lookup(w.context, &w.sealed, 1, &hit) == CXLPOOL_OK &&
                                  cxlpool_attend(w.client, &hit, &data) == CXLPOOL_OK &&
                                  static_cast<const unsigned char*>(data)[99] == 0x5A &&
                                  cxlpool_lease_live(w.client, hit.lease) == 1 &&
                                  cxlpool_release(w.client, hit.lease) == CXLPOOL_OK;
                failures += good ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(failures, 0);
}

TEST(CApi, EachThreadHasItsOwnMessage) {
    EXPECT_EQ(cxlpool_release(nullptr, {}), CXLPOOL_E_INVALID_ARGUMENT);
    std::string elsewhere = "unset";
    std::thread([&] { elsewhere = cxlpool_last_message(); }).join();
    EXPECT_EQ(elsewhere, "");
    EXPECT_STREQ(cxlpool_last_message(), "a pointer is null");
}

TEST(CApi, AMessageOfAnyLengthFits) {
    World w;
    w.daemon.refuse(wire::Type::renew, Errc::io, std::string(512, 'x'));
    EXPECT_EQ(cxlpool_renew(w.client, w.hit.lease, nullptr), CXLPOOL_E_IO);
    EXPECT_EQ(std::string(cxlpool_last_message()), std::string(512, 'x'));
}

TEST(Words, ErrorsHaveTheNamesOfTheProject) {
    for (std::uint32_t number = 0; number < 65'536; ++number) {
        EXPECT_EQ(errc_name(static_cast<Errc>(number)), cxlpool_strerror(static_cast<int>(number)))
            << number;
    }
    EXPECT_STREQ(cxlpool_strerror(CXLPOOL_E_STALE_LEASE), "stale_lease");
    EXPECT_STREQ(cxlpool_strerror(-1), "unknown_error");
    EXPECT_STREQ(cxlpool_strerror(65'536), "unknown_error");
    EXPECT_STREQ(cxlpool_strerror(INT32_MAX), "unknown_error");
}

TEST(Words, VerdictsAreThoseOfTheGate) {
    for (std::uint32_t number = 0; number < 65'536; ++number) {
        EXPECT_EQ(to_word(static_cast<Verdict>(number)), cxlpool_verdict_name(number)) << number;
    }
    EXPECT_STREQ(cxlpool_verdict_name(65'537), "unknown");
    EXPECT_EQ(CXLPOOL_HIT_IN_PLACE, static_cast<int>(Verdict::hit_in_place));
    EXPECT_EQ(CXLPOOL_HIT_STAGE, static_cast<int>(Verdict::hit_stage));
    EXPECT_EQ(CXLPOOL_MISS_ABSENT, static_cast<int>(Verdict::miss_absent));
    EXPECT_EQ(CXLPOOL_REFUSED_UNREACHABLE, static_cast<int>(Verdict::unreachable));
    EXPECT_EQ(CXLPOOL_REFUSED_LAYOUT_MISMATCH, static_cast<int>(Verdict::layout_mismatch));
    EXPECT_EQ(CXLPOOL_AXIS_LAYOUT, static_cast<int>(Axis::layout));
    EXPECT_EQ(CXLPOOL_AXIS_COUNT, static_cast<int>(kAxisCount));
    EXPECT_EQ(CXLPOOL_SCOPE_FLEET, static_cast<int>(Scope::fleet));
}

TEST(Words, Version) {
    EXPECT_STREQ(cxlpool_version(), CXLPOOL_VERSION);
}

}  // namespace
}  // namespace cxlpool::test

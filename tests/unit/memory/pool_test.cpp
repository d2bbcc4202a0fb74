#include "memory/pool.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <random>

#include "support/fake_provider.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr TenantId kOne{1};
constexpr TenantId kTwo{2};

class PoolTest : public ::testing::Test {
  protected:
    std::unique_ptr<Pool> make(const ProviderTraits& traits, PoolOptions options) {
        options.name = "p0";
        auto made =
            Pool::create(std::move(options), std::make_unique<test::FakeProvider>(traits, state_));
        EXPECT_TRUE(made);
        return std::move(made).value();
    }
    std::unique_ptr<Pool> make(std::uint64_t capacity_bytes, std::uint64_t private_bytes,
                               std::size_t max_segments = 100) {
        PoolOptions options;
        options.private_segment_bytes = private_bytes;
        options.max_segments = max_segments;
        return make(test::fake_traits(capacity_bytes), options);
    }
    std::unique_ptr<Pool> make_device(std::uint64_t capacity_bytes) {
        return make(test::fake_device_traits(capacity_bytes), {});
    }
    static bool all(std::span<const std::byte> bytes, int value) {
        return std::all_of(bytes.begin(), bytes.end(),
                           [&](std::byte b) { return b == static_cast<std::byte>(value); });
    }

    test::FakeProviderState state_;
};

TEST_F(PoolTest, APrivateSegmentServesOneTenant) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement a = *pool->place_private(kOne, 5000);
    const Placement b = *pool->place_private(kOne, 4096);
    const Placement c = *pool->place_private(kTwo, 4096);
    EXPECT_EQ(a.segment, b.segment);
    EXPECT_NE(a.segment, c.segment);
    EXPECT_EQ(a.extent, (Extent{0, 8192}));
    EXPECT_EQ(a.length_bytes, 5000U);
    EXPECT_EQ(b.extent, (Extent{8192, 4096}));
    EXPECT_EQ(pool->segment_owner(a.segment), kOne);
    EXPECT_EQ(pool->segment_owner(c.segment), kTwo);
    EXPECT_EQ(pool->segment_size_bytes(a.segment), 64 * kKiB);
    EXPECT_EQ(pool->bytes(a).size(), 5000U);
    EXPECT_EQ(pool->extent_bytes(a).size(), 8192U);
    const PoolUsage usage = pool->usage();
    EXPECT_EQ(usage.capacity_bytes, 8 * kMiB);
    EXPECT_EQ(usage.segment_bytes, 128 * kKiB);
    EXPECT_EQ(usage.placed_bytes, 16384U);
    EXPECT_EQ(usage.segments, 2U);
    pool->check();
}

TEST_F(PoolTest, ALongCellGetsASegmentOfItsOwn) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement big = *pool->place_private(kOne, kMiB + 1);
    EXPECT_EQ(pool->segment_size_bytes(big.segment), kMiB + 4096);
    EXPECT_EQ(*pool->place_private(kTwo, 1), (Placement{SegmentId{2}, Extent{0, 4096}, 1}));
}

TEST_F(PoolTest, ASmallPoolIsNotTakenByItsFirstTenant) {
    const auto pool = make(64 * kMiB, 64 * kMiB);
    const Placement first = *pool->place_private(kOne, kMiB);
    EXPECT_EQ(pool->segment_size_bytes(first.segment), 8 * kMiB);
    EXPECT_TRUE(pool->place_shared(kOne, 16 * kMiB));
    EXPECT_TRUE(pool->place_private(kTwo, 32 * kMiB));
}

TEST_F(PoolTest, TheLastSegmentTakesWhatIsLeft) {
    const auto pool = make(kMiB, 128 * kKiB);
    const Placement big = *pool->place_private(kOne, kMiB - 8 * kKiB);
    const Placement rest = *pool->place_private(kTwo, 1);
    EXPECT_EQ(pool->segment_size_bytes(rest.segment), 8 * kKiB);
    const auto refused = pool->place_private(kOne, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::capacity);
    EXPECT_EQ(refused.error().message(),
              "pool 'p0': no room for 1 bytes: 0 of 1048576 bytes are free");
    ASSERT_TRUE(pool->release(big));
    EXPECT_TRUE(pool->place_private(kOne, 1));
    pool->check();
}

TEST_F(PoolTest, ASegmentDiesWithItsLastPlacement) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement a = *pool->place_private(kOne, 1);
    const Placement b = *pool->place_private(kOne, 1);
    ASSERT_TRUE(pool->release(a));
    EXPECT_EQ(state_.segments, 1U);
    EXPECT_EQ(pool->place_private(kOne, 1)->extent, a.extent);
    ASSERT_TRUE(pool->release(a));
    ASSERT_TRUE(pool->release(b));
    EXPECT_EQ(state_.segments, 0U);
    EXPECT_EQ(pool->usage().segment_bytes, 0U);
    EXPECT_EQ(pool->usage().placed_bytes, 0U);
    EXPECT_EQ(pool->segment_size_bytes(b.segment), 0U);
    // A number is never used twice.
    EXPECT_NE(pool->place_private(kOne, 1)->segment, a.segment);
    pool->check();
}

TEST_F(PoolTest, ASharedPlacementIsAloneInAFrozenSegment) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement own = *pool->place_private(kOne, 4096);
    const Placement a = *pool->place_shared(kOne, 4096);
    const Placement b = *pool->place_shared(kOne, 5000);
    EXPECT_NE(a.segment, own.segment);
    EXPECT_NE(a.segment, b.segment);
    EXPECT_EQ(pool->segment_size_bytes(a.segment), 4096U);
    EXPECT_EQ(pool->segment_size_bytes(b.segment), 8192U);
    ASSERT_EQ(state_.made.size(), 3U);
    EXPECT_EQ(state_.made[0].second, SegmentUse::private_writable);
    EXPECT_EQ(state_.made[1].second, SegmentUse::shared_read_only);
    // A private cell never goes into the free rest of a shared segment.
    EXPECT_EQ(pool->place_private(kOne, 4096)->segment, own.segment);
    EXPECT_EQ(pool->open_writable(a.segment).error().code(), Errc::not_permitted);
    EXPECT_TRUE(pool->open_readable(a.segment));
    EXPECT_TRUE(pool->open_writable(own.segment));
    ASSERT_TRUE(pool->release(a));
    EXPECT_EQ(pool->open_readable(a.segment).error().code(), Errc::not_found);
    EXPECT_EQ(pool->open_writable(a.segment).error().code(), Errc::not_found);
    pool->check();
}

TEST_F(PoolTest, RefusesNobodyAndNothing) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    for (const auto& [owner, length] :
         {std::pair{TenantId{}, std::uint64_t{1}}, std::pair{kOne, std::uint64_t{0}}}) {
        EXPECT_EQ(pool->place_private(owner, length).error().code(), Errc::invalid_argument);
        EXPECT_EQ(pool->place_shared(owner, length).error().code(), Errc::invalid_argument);
    }
    for (const std::uint64_t length : {8 * kMiB + 1, std::numeric_limits<std::uint64_t>::max()}) {
        EXPECT_EQ(pool->place_private(kOne, length).error().code(), Errc::capacity);
        EXPECT_EQ(pool->place_shared(kOne, length).error().code(), Errc::capacity);
    }
    EXPECT_EQ(state_.creates, 0U);
    EXPECT_TRUE(pool->place_shared(kOne, 8 * kMiB));
}

TEST_F(PoolTest, SegmentsAreLimited) {
    const auto pool = make(8 * kMiB, 64 * kKiB, 2);
    ASSERT_TRUE(pool->place_private(kOne, 1));
    const Placement shared = *pool->place_shared(kOne, 1);
    const auto refused = pool->place_private(kTwo, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(refused.error().message(),
              "pool 'p0' can have no more segments; try again when cells were released");
    EXPECT_TRUE(pool->place_private(kOne, 1));
    ASSERT_TRUE(pool->release(shared));
    EXPECT_TRUE(pool->place_private(kTwo, 1));
    pool->check();
}

TEST_F(PoolTest, NoTenantTakesTheSegmentsOfTheOthers) {
    PoolOptions options;
    options.private_segment_bytes = 64 * kKiB;
    EXPECT_EQ(options.max_segments_per_owner, 4096U);
    EXPECT_LT(options.max_segments_per_owner, options.max_segments);
    options.max_segments_per_owner = 2;
    const auto pool = make(test::fake_traits(8 * kMiB), options);
    ASSERT_TRUE(pool->place_private(kOne, 1));
    const Placement shared = *pool->place_shared(kOne, 1);
    for (const auto& refused : {pool->place_shared(kOne, 1), pool->place_private(kOne, kMiB)}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), Errc::limit_exceeded);
        EXPECT_EQ(refused.error().message(),
                  "pool 'p0': a tenant has at most 2 segments, one for each shared cell among "
                  "them, and this one has them; release cells");
    }
    // What fits into a segment that is there is no matter of segments, nor are other tenants.
    EXPECT_TRUE(pool->place_private(kOne, 1));
    EXPECT_TRUE(pool->place_shared(kTwo, 1));
    EXPECT_TRUE(pool->place_private(kTwo, 1));
    pool->check();
    ASSERT_TRUE(pool->release(shared));
    EXPECT_TRUE(pool->place_shared(kOne, 1));
    EXPECT_FALSE(pool->place_shared(kOne, 1));
    pool->check();
}

TEST_F(PoolTest, OnlyExactlyWhatIsHeldIsReleased) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement held = *pool->place_private(kOne, 5000);
    Placement wrong = held;
    wrong.segment.value += 1;
    EXPECT_EQ(pool->release(wrong).error().code(), Errc::invalid_argument);
    wrong = held;
    wrong.length_bytes = 8192;
    EXPECT_EQ(pool->release(wrong).error().code(), Errc::invalid_argument);
    EXPECT_TRUE(pool->bytes(wrong).empty());
    EXPECT_FALSE(pool->holds(wrong));
    wrong = held;
    wrong.extent.offset_bytes = 4096;
    EXPECT_EQ(pool->begin_release(wrong).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->finish_release(held).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->withdraw(held).error().code(), Errc::invalid_argument);
    EXPECT_TRUE(pool->holds(held));
    ASSERT_TRUE(pool->release(held));
    EXPECT_EQ(pool->release(held).error().code(), Errc::invalid_argument);
    EXPECT_TRUE(pool->extent_bytes(held).empty());
    EXPECT_EQ(pool->mark_scrubbed(held).error().code(), Errc::invalid_argument);
    pool->check();
}

TEST_F(PoolTest, ReleaseOverwritesTheWholeExtent) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement keeps = *pool->place_private(kOne, 4096);
    const Placement goes = *pool->place_private(kOne, 5000);
    std::memset(pool->extent_bytes(keeps).data(), 1, 4096);
    std::memset(pool->extent_bytes(goes).data(), 2, 8192);
    ASSERT_TRUE(pool->release(goes));
    const Placement again = *pool->place_private(kOne, 8192);
    EXPECT_EQ(again.extent, goes.extent);
    EXPECT_TRUE(all(pool->bytes(again), 0));
    EXPECT_TRUE(all(pool->bytes(keeps), 1));
}

TEST_F(PoolTest, AnExtentBeingReleasedIsNeitherHeldNorFree) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement placement = *pool->place_private(kOne, 5000);
    const std::span<std::byte> extent = *pool->begin_release(placement);
    EXPECT_EQ(extent.size(), 8192U);
    EXPECT_FALSE(pool->holds(placement));
    EXPECT_TRUE(pool->bytes(placement).empty());
    EXPECT_EQ(pool->begin_release(placement).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->release(placement).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->usage().placed_bytes, 8192U);
    EXPECT_EQ(state_.segments, 1U);
    EXPECT_NE(pool->place_private(kOne, 4096)->extent.offset_bytes, 0U);
    pool->check();
    ASSERT_TRUE(pool->finish_release(placement));
    EXPECT_EQ(pool->finish_release(placement).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->place_private(kOne, 8192)->extent, placement.extent);
    pool->check();
}

TEST_F(PoolTest, WithdrawnBytesNeverComeBack) {
    const auto pool = make_device(4 * kMiB);
    const Placement bad = *pool->place_private(kOne, kMiB);
    ASSERT_TRUE(pool->begin_release(bad));
    ASSERT_TRUE(pool->withdraw(bad));
    EXPECT_EQ(pool->withdraw(bad).error().code(), Errc::invalid_argument);
    EXPECT_EQ(pool->usage().quarantined_bytes, kMiB);
    EXPECT_EQ(pool->usage().placed_bytes, 0U);
    const Placement rest = *pool->place_private(kTwo, 3 * kMiB);
    EXPECT_EQ(rest.extent, (Extent{kMiB, 3 * kMiB}));
    EXPECT_EQ(pool->place_private(kTwo, 1).error().code(), Errc::capacity);
    pool->check();
}

TEST_F(PoolTest, WithdrawnBytesOfADeadSegmentAreTheKernelsConcern) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement bad = *pool->place_private(kOne, 4096);
    const Placement good = *pool->place_private(kOne, 4096);
    ASSERT_TRUE(pool->begin_release(bad));
    ASSERT_TRUE(pool->withdraw(bad));
    EXPECT_EQ(pool->usage().quarantined_bytes, 4096U);
    EXPECT_NE(pool->place_private(kOne, 1)->extent.offset_bytes, 0U);
    pool->check();
    ASSERT_TRUE(pool->release(good));
    pool->check();
}

// --- one device for all --------------------------------------------------------------------------

TEST_F(PoolTest, ADeviceIsOneSegmentThatBelongsToNobody) {
    const auto pool = make_device(4 * kMiB);
    EXPECT_EQ(pool->usage().segments, 1U);
    EXPECT_EQ(pool->usage().segment_bytes, 4 * kMiB);
    const Placement a = *pool->place_private(kOne, 5000);
    const Placement b = *pool->place_private(kTwo, 4096);
    EXPECT_EQ(a.segment, b.segment);
    EXPECT_EQ(b.extent, (Extent{8192, 4096}));
    EXPECT_EQ(pool->segment_owner(a.segment), TenantId{});
    const auto shared = pool->place_shared(kOne, 4096);
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().code(), Errc::wrong_state);
    ASSERT_TRUE(pool->release(a));
    ASSERT_TRUE(pool->release(b));
    EXPECT_EQ(pool->usage().segments, 1U);
    const auto refused = pool->place_private(kOne, 4 * kMiB + 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::capacity);
    EXPECT_THAT(refused.error().message(), HasSubstr("pool 'p0'"));
    EXPECT_TRUE(pool->place_private(kOne, 4 * kMiB));
    pool->check();
}

TEST_F(PoolTest, WhatADeviceCarriedMustBeOverwrittenOnce) {
    const auto pool = make_device(4 * kMiB);
    const Placement a = *pool->place_private(kOne, 4096);
    const Placement b = *pool->place_private(kOne, 4096);
    EXPECT_TRUE(all(pool->bytes(a), 0xee));
    EXPECT_TRUE(pool->needs_scrub(a));
    EXPECT_TRUE(pool->needs_scrub(b));
    std::memset(pool->extent_bytes(b).data(), 0, 4096);
    ASSERT_TRUE(pool->mark_scrubbed(b));
    EXPECT_FALSE(pool->needs_scrub(b));
    EXPECT_TRUE(pool->needs_scrub(a));
    // A release overwrites, so what comes back is clean; a longer one reaches fresh bytes again.
    ASSERT_TRUE(pool->release(a));
    EXPECT_FALSE(pool->needs_scrub(a));
    const Placement again = *pool->place_private(kTwo, 4096);
    EXPECT_EQ(again.extent, a.extent);
    EXPECT_FALSE(pool->needs_scrub(again));
    EXPECT_TRUE(all(pool->bytes(again), 0));
    ASSERT_TRUE(pool->release(again));
    ASSERT_TRUE(pool->release(b));
    const Placement longer = *pool->place_private(kTwo, 12288);
    EXPECT_EQ(longer.extent, (Extent{0, 12288}));
    EXPECT_TRUE(pool->needs_scrub(longer));
    EXPECT_TRUE(all(pool->bytes(longer).first(8192), 0));
    EXPECT_TRUE(all(pool->bytes(longer).last(4096), 0xee));
}

TEST_F(PoolTest, FreshSegmentsThatArePopulatedAreClean) {
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement placement = *pool->place_private(kOne, 4096);
    EXPECT_FALSE(pool->needs_scrub(placement));
    EXPECT_TRUE(pool->mark_scrubbed(placement));
}

TEST_F(PoolTest, WhatIsNotPopulatedIsOverwrittenOnceByAWorker) {
    state_.populated = false;
    const auto pool = make(8 * kMiB, 64 * kKiB);
    const Placement a = *pool->place_private(kOne, 4096);
    const Placement b = *pool->place_private(kOne, 4096);
    const Placement other = *pool->place_private(kTwo, 4096);
    ASSERT_EQ(a.segment, b.segment);
    EXPECT_TRUE(pool->needs_scrub(a));
    ASSERT_TRUE(pool->mark_scrubbed(a));
    EXPECT_FALSE(pool->needs_scrub(a));
    EXPECT_TRUE(pool->needs_scrub(b));
    // The same offset in another segment is another extent.
    ASSERT_EQ(other.extent, a.extent);
    EXPECT_TRUE(pool->needs_scrub(other));
    ASSERT_TRUE(pool->release(other));
    EXPECT_TRUE(pool->needs_scrub(b));
    // What a release has overwritten is populated.
    ASSERT_TRUE(pool->release(b));
    const Placement again = *pool->place_private(kOne, 4096);
    ASSERT_EQ(again.extent, b.extent);
    EXPECT_FALSE(pool->needs_scrub(again));
    // The copy into a shared placement is what populates it.
    EXPECT_FALSE(pool->needs_scrub(*pool->place_shared(kOne, 4096)));
    pool->check();
}

TEST_F(PoolTest, ADeviceThatCannotBeMappedMakesNoPool) {
    state_.fail_create = 1;
    state_.fail_code = Errc::unavailable;
    const auto made = Pool::create(
        {}, std::make_unique<test::FakeProvider>(test::fake_device_traits(4 * kMiB), state_));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Errc::unavailable);
}

// --- bytes that are taken away -------------------------------------------------------------------

class HoledSegment final : public Segment {
  public:
    HoledSegment() : fd_(::memfd_create("holed", MFD_CLOEXEC)) {
        EXPECT_EQ(::ftruncate(fd_.get(), kBytes), 0);
        void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
        EXPECT_NE(at, MAP_FAILED);
        bytes_ = {static_cast<std::byte*>(at), kBytes};
        EXPECT_EQ(::ftruncate(fd_.get(), 0), 0);
    }
    ~HoledSegment() override { ::munmap(bytes_.data(), bytes_.size()); }
    std::uint64_t size_bytes() const noexcept override { return kBytes; }
    bool populated() const noexcept override { return true; }
    std::span<std::byte> bytes() noexcept override { return bytes_; }
    Result<UniqueFd> open_writable() override { return UniqueFd(); }
    Result<UniqueFd> open_readable() override { return UniqueFd(); }

  private:
    static constexpr std::size_t kBytes = 2 * kMiB;
    UniqueFd fd_;
    std::span<std::byte> bytes_;
};

class HoledProvider final : public SegmentProvider {
  public:
    const ProviderTraits& traits() const noexcept override { return traits_; }
    Result<std::unique_ptr<Segment>> create_segment(std::uint64_t, SegmentUse) override {
        return std::unique_ptr<Segment>(std::make_unique<HoledSegment>());
    }

  private:
    ProviderTraits traits_ = test::fake_device_traits(2 * kMiB);
};

TEST_F(PoolTest, BytesThatCannotBeOverwrittenAreWithdrawn) {
    const auto pool = *Pool::create({}, std::make_unique<HoledProvider>());
    const Placement gone = *pool->place_private(kOne, kMiB);
    EXPECT_TRUE(pool->release(gone));
    EXPECT_EQ(pool->usage().quarantined_bytes, kMiB);
    EXPECT_EQ(pool->place_private(kTwo, kMiB)->extent.offset_bytes, kMiB);
    pool->check();
}

// --- faults and long runs ------------------------------------------------------------------------

// The same steps; what fails is skipped, and everything that was placed is given back.
void run_steps(Pool& pool) {
    std::vector<Placement> held;
    for (std::uint64_t step = 0; step < 24; ++step) {
        const TenantId owner{1 + step % 3};
        const auto placed = step % 4 == 3 ? pool.place_shared(owner, 5000 * (step + 1))
                                          : pool.place_private(owner, 9000 * (step + 1));
        pool.check();
        if (placed) {
            held.push_back(*placed);
        } else {
            EXPECT_EQ(placed.error().code(), Errc::out_of_memory);
        }
        if (step % 5 == 4 && !held.empty()) {
            EXPECT_TRUE(pool.release(held.front()));
            held.erase(held.begin());
            pool.check();
        }
    }
    for (const Placement& placement : held) {
        EXPECT_TRUE(pool.release(placement));
        pool.check();
    }
}

TEST_F(PoolTest, SurvivesTheFailureOfEveryCreate) {
    run_steps(*make(64 * kMiB, 64 * kKiB));
    const std::uint64_t creates = state_.creates;
    ASSERT_GT(creates, 10U);
    for (std::uint64_t n = 1; n <= creates; ++n) {
        SCOPED_TRACE("create " + std::to_string(n));
        state_ = {};
        state_.fail_create = n;
        const auto pool = make(64 * kMiB, 64 * kKiB);
        run_steps(*pool);
        EXPECT_GE(state_.creates, n);
        EXPECT_EQ(state_.segments, 0U);
        EXPECT_EQ(state_.bytes, 0U);
        EXPECT_EQ(pool->usage().segment_bytes, 0U);
        EXPECT_EQ(pool->usage().placed_bytes, 0U);
    }
}

TEST_F(PoolTest, NoByteIsHeldTwiceAndNoneCrossesTenantsUnscrubbed) {
    const char* fixed = std::getenv("CXLPOOL_TEST_SEED");
    const std::uint64_t seed =
        fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
    std::cout << "seed: CXLPOOL_TEST_SEED=" << seed << "\n";
    for (const bool device : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + (device ? " device" : " segments"));
        std::mt19937_64 random(seed);
        const auto pool = device ? make_device(2 * kMiB) : make(2 * kMiB, 64 * kKiB, 24);
        struct Cell {
            Placement placement;
            int mark;
            bool releasing;
        };
        std::vector<Cell> cells;
        int mark = 0;
        for (int step = 0; step < 6000; ++step) {
            const std::uint64_t dice = random() % 10;
            if (dice < 5 || cells.empty()) {
                const TenantId owner{1 + random() % 4};
                const std::uint64_t length = 1 + random() % (96 * kKiB);
                const auto placed = !device && dice == 0 ? pool->place_shared(owner, length)
                                                         : pool->place_private(owner, length);
                if (!placed) {
                    ASSERT_THAT(placed.error().code(),
                                ::testing::AnyOf(Errc::capacity, Errc::limit_exceeded));
                    continue;
                }
                if (pool->needs_scrub(*placed)) {
                    ASSERT_TRUE(device);
                    std::memset(pool->extent_bytes(*placed).data(), 0, placed->extent.length_bytes);
                    ASSERT_TRUE(pool->mark_scrubbed(*placed));
                }
                ASSERT_TRUE(all(pool->extent_bytes(*placed), 0));
                mark = mark % 255 + 1;
                std::memset(pool->extent_bytes(*placed).data(), mark, placed->extent.length_bytes);
                cells.push_back({*placed, mark, false});
            } else {
                const std::size_t at = static_cast<std::size_t>(random() % cells.size());
                Cell& cell = cells[at];
                if (cell.releasing) {
                    ASSERT_TRUE(pool->finish_release(cell.placement));
                } else {
                    ASSERT_TRUE(all(pool->extent_bytes(cell.placement), cell.mark));
                    if (dice == 9) {
                        const auto extent = pool->begin_release(cell.placement);
                        ASSERT_TRUE(extent);
                        std::memset(extent->data(), 0, extent->size());
                        cell.releasing = true;
                        continue;
                    }
                    ASSERT_TRUE(pool->release(cell.placement));
                }
                cells[at] = cells.back();
                cells.pop_back();
            }
            if (step % 16 == 0) {
                pool->check();
            }
        }
        for (const Cell& cell : cells) {
            ASSERT_TRUE(cell.releasing ? pool->finish_release(cell.placement)
                                       : pool->release(cell.placement));
        }
        pool->check();
        EXPECT_EQ(pool->usage().placed_bytes, 0U);
        EXPECT_EQ(pool->usage().segments, device ? 1U : 0U);
    }
}

// A keeper as a service manager is one: it holds descriptors of its own.
class Keeper : public SegmentKeeper {
  public:
    void keep(const std::string& pool, SegmentId segment, int descriptor) override {
        EXPECT_EQ(pool, "kept");
        held[segment.value] = UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    }
    void give_up(const std::string& pool, SegmentId segment) override {
        EXPECT_EQ(pool, "kept");
        EXPECT_EQ(held.erase(segment.value), 1U);
    }
    std::map<std::uint64_t, UniqueFd> held;
};

class KeptPool : public ::testing::Test {
  protected:
    std::unique_ptr<Pool> start(std::uint64_t capacity_bytes = 8 * kMiB) {
        MemfdOptions memory;
        memory.pool_name = "kept";
        memory.capacity_bytes = capacity_bytes;
        memory.hugepages = HugePages::never;
        PoolOptions options;
        options.name = "kept";
        options.private_segment_bytes = kMiB;
        options.keeper = keeper_;
        auto made = Pool::create(std::move(options), *make_memfd_provider(memory));
        EXPECT_TRUE(made);
        return std::move(*made);
    }
    static void fill(Pool& pool, const Placement& placement, int value) {
        const std::span<std::byte> bytes = pool.extent_bytes(placement);
        std::memset(bytes.data(), value, bytes.size());
    }
    static bool all(std::span<const std::byte> bytes, int value) {
        return std::all_of(bytes.begin(), bytes.end(),
                           [&](std::byte b) { return b == static_cast<std::byte>(value); });
    }
    std::shared_ptr<Keeper> keeper_ = std::make_shared<Keeper>();
};

TEST_F(KeptPool, PlacementsAreFoundAgainByTheNextProcess) {
    Placement kept;
    Placement lost;
    {
        const auto pool = start();
        EXPECT_TRUE(pool->outlives_daemon());
        kept = *pool->place_private(kOne, 5000);
        lost = *pool->place_private(kOne, 4096);
        fill(*pool, kept, 7);
        fill(*pool, lost, 8);
        EXPECT_EQ(keeper_->held.size(), 1U);
    }
    const auto pool = start();
    ASSERT_TRUE(
        pool->adopt(kept.segment, kOne, UniqueFd(::dup(keeper_->held.begin()->second.get()))));
    EXPECT_TRUE(all(pool->segment_bytes(kept.segment).first(5000), 7));
    ASSERT_TRUE(pool->restore(kept));
    EXPECT_EQ(pool->restore(kept).error().code(), Errc::already_exists);
    pool->drop_unused();
    pool->check();
    EXPECT_TRUE(all(pool->extent_bytes(kept), 7));
    EXPECT_EQ(pool->usage().placed_bytes, 8192U);
    // What nobody restored has to be overwritten before it is somebody's.
    const Placement again = *pool->place_private(kOne, 4096);
    EXPECT_EQ(again, lost);
    EXPECT_TRUE(pool->needs_scrub(again));
    EXPECT_FALSE(pool->needs_scrub(kept));
    // A new segment never has the number of an old one.
    EXPECT_GT(pool->place_private(kTwo, 4096)->segment.value, kept.segment.value);
    pool->check();
}

TEST_F(KeptPool, ASegmentThatNothingIsRestoredIntoIsDroppedAndItsBytesGo) {
    UniqueFd engine;
    Placement placement;
    {
        const auto pool = start();
        placement = *pool->place_private(kOne, 4096);
        fill(*pool, placement, 7);
        engine = *pool->open_writable(placement.segment);
    }
    char byte = 0;
    ASSERT_EQ(::pread(engine.get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 7) << "a stop erases nothing that is kept";
    const auto pool = start();
    ASSERT_TRUE(pool->adopt(placement.segment, kOne, UniqueFd(::dup(engine.get()))));
    pool->drop_unused();
    pool->check();
    EXPECT_TRUE(keeper_->held.empty());
    EXPECT_EQ(pool->usage().segments, 0U);
    ASSERT_EQ(::pread(engine.get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 0);
}

TEST_F(KeptPool, RefusesWhatIsNoSegmentOfThePool) {
    const auto pool = start(2 * kMiB);
    const auto adopt = [&](std::uint64_t segment, TenantId owner, int descriptor) {
        const Result<void> done = pool->adopt(SegmentId{segment}, owner, UniqueFd(descriptor));
        return done ? Errc::ok : done.error().code();
    };
    const int file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(adopt(3, kOne, file), Errc::invalid_argument);
    EXPECT_EQ(adopt(3, kOne, ::memfd_create("unsealed", MFD_CLOEXEC)), Errc::invalid_argument);
    const Placement here = *pool->place_private(kOne, 4096);
    const auto own = [&] { return ::dup(keeper_->held.at(here.segment.value).get()); };
    EXPECT_EQ(adopt(here.segment.value, kOne, own()), Errc::already_exists);
    EXPECT_EQ(adopt(0, kOne, own()), Errc::invalid_argument);
    EXPECT_EQ(adopt(9, TenantId{}, own()), Errc::invalid_argument);
    // A shared segment cannot be written any more, not by the daemon either.
    const Placement shared = *pool->place_shared(kOne, 4096);
    EXPECT_EQ(adopt(9, kOne, ::dup(keeper_->held.at(shared.segment.value).get())),
              Errc::invalid_argument);
    EXPECT_EQ(pool->restore({SegmentId{77}, {0, 4096}, 1}).error().code(), Errc::not_found);
    EXPECT_EQ(pool->restore({here.segment, {8192, 4096}, 4097}).error().code(),
              Errc::invalid_argument);
    pool->check();
    // It does not fit into a pool that has become smaller.
    keeper_->held.clear();
    const auto large = start(8 * kMiB);
    const Placement big = *large->place_private(kOne, 4 * kMiB);
    const auto small = start(2 * kMiB);
    EXPECT_EQ(
        small->adopt(big.segment, kOne, UniqueFd(::dup(keeper_->held.at(big.segment.value).get())))
            .error()
            .code(),
        Errc::capacity);
    small->check();
}

TEST_F(PoolTest, WhatAnEarlierProcessLeftOnADeviceCanBeOverwritten) {
    const auto pool = make_device(4 * kMiB);
    ASSERT_TRUE(pool->restore({SegmentId{1}, {kMiB, 8192}, 5000}));
    std::uint64_t bytes = 0;
    std::size_t pieces = 0;
    while (const std::optional<Placement> left = pool->place_unscrubbed(kMiB)) {
        EXPECT_LE(left->length_bytes, kMiB);
        EXPECT_FALSE(pool->needs_scrub(*left));
        bytes += left->length_bytes;
        ++pieces;
        pool->check();
        ASSERT_TRUE(pool->release(*left));
    }
    EXPECT_EQ(bytes, 4 * kMiB - 8192);
    EXPECT_EQ(pieces, 4U);
    EXPECT_FALSE(pool->needs_scrub(*pool->place_private(kOne, kMiB)));
    EXPECT_FALSE(make(4 * kMiB, kMiB)->place_unscrubbed(kMiB)) << "segments are made anew";
}

TEST_F(PoolTest, ADeviceKeepsItsBytesAndRestoresIntoItsOneSegment) {
    const auto pool = make_device(8 * kMiB);
    const Placement kept{SegmentId{1}, {kMiB, 8192}, 5000};
    ASSERT_TRUE(pool->restore(kept));
    EXPECT_FALSE(pool->needs_scrub(kept));
    EXPECT_EQ(pool->restore({SegmentId{1}, {kMiB + 4096, 4096}, 4096}).error().code(),
              Errc::already_exists);
    EXPECT_EQ(pool->adopt(SegmentId{2}, kOne, UniqueFd()).error().code(), Errc::invalid_argument);
    pool->drop_unused();
    pool->check();
    EXPECT_TRUE(pool->needs_scrub(*pool->place_private(kOne, 4096)));
}

}  // namespace
}  // namespace cxlpool

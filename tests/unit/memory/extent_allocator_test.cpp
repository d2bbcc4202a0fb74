#include "memory/extent_allocator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(ExtentAllocator, RoundsLengthsUpAndCapacityDown) {
    ExtentAllocator extents(10 * 4096 + 4095, 4096);
    EXPECT_EQ(extents.capacity_bytes(), 10U * 4096);
    EXPECT_EQ(*extents.allocate(1), (Extent{0, 4096}));
    EXPECT_EQ(*extents.allocate(4097), (Extent{4096, 8192}));
    EXPECT_EQ(extents.used_bytes(), 3U * 4096);
    EXPECT_EQ(extents.free_bytes(), 7U * 4096);
    EXPECT_EQ(extents.used_count(), 2U);
    extents.check();
}

TEST(ExtentAllocator, RefusesZeroAndWhatDoesNotFit) {
    ExtentAllocator extents(8192, 4096);
    EXPECT_EQ(extents.allocate(0).error().code(), Errc::invalid_argument);
    const Extent first = *extents.allocate(4096);
    const Result<Extent> too_long = extents.allocate(4097);
    ASSERT_FALSE(too_long);
    EXPECT_EQ(too_long.error().code(), Errc::capacity);
    EXPECT_EQ(too_long.error().message(),
              "no room for 4097 bytes: 4096 bytes are free, the largest free extent is 4096 bytes");
    EXPECT_TRUE(extents.free(first));
    EXPECT_EQ(*extents.allocate(4097), (Extent{0, 8192}));
    EXPECT_EQ(extents.allocate(1).error().code(), Errc::capacity);
}

TEST(ExtentAllocator, ALengthThatCannotBeRoundedUpDoesNotWrap) {
    ExtentAllocator extents(kMax, 4096);
    EXPECT_EQ(extents.capacity_bytes(), kMax - 4095);
    EXPECT_EQ(extents.allocate(kMax).error().code(), Errc::capacity);
    EXPECT_EQ(extents.allocate(kMax - 4094).error().code(), Errc::capacity);
    const Extent all = *extents.allocate(kMax - 4095);
    EXPECT_EQ(all, (Extent{0, kMax - 4095}));
    EXPECT_EQ(extents.free_bytes(), 0U);
    extents.check();
    EXPECT_TRUE(extents.free(all));
    extents.check();
}

TEST(ExtentAllocator, WorksToTheLastByteAtAlignmentOne) {
    ExtentAllocator extents(kMax, 1);
    const Extent low = *extents.allocate(kMax - 1);
    const Extent last = *extents.allocate(1);
    EXPECT_EQ(last, (Extent{kMax - 1, 1}));
    EXPECT_TRUE(extents.free(last));
    EXPECT_TRUE(extents.free(low));
    EXPECT_EQ(extents.largest_free_bytes(), kMax);
    extents.check();
}

TEST(ExtentAllocator, CapacityBelowTheAlignmentIsEmpty) {
    ExtentAllocator extents(4095, 4096);
    EXPECT_EQ(extents.capacity_bytes(), 0U);
    EXPECT_EQ(extents.largest_free_bytes(), 0U);
    EXPECT_EQ(extents.allocate(1).error().code(), Errc::capacity);
    extents.check();
}

TEST(ExtentAllocator, TakesTheSmallestExtentThatFits) {
    ExtentAllocator extents(100, 1);
    const Extent a = *extents.allocate(30);  // 0
    ASSERT_TRUE(extents.allocate(1));        // 30
    const Extent b = *extents.allocate(10);  // 31
    ASSERT_TRUE(extents.allocate(1));        // 41
    const Extent c = *extents.allocate(20);  // 42
    ASSERT_TRUE(extents.allocate(1));        // 62; 37 bytes are free behind it
    ASSERT_TRUE(extents.free(a));
    ASSERT_TRUE(extents.free(b));
    ASSERT_TRUE(extents.free(c));
    EXPECT_EQ(*extents.allocate(15), (Extent{42, 15}));
    EXPECT_EQ(*extents.allocate(10), (Extent{31, 10}));
    EXPECT_EQ(*extents.allocate(31), (Extent{63, 31}));
    extents.check();
}

TEST(ExtentAllocator, CoalescesWithBothNeighboursInEveryOrder) {
    std::vector<std::size_t> order{0, 1, 2};
    do {
        ExtentAllocator extents(3 * 64, 64);
        std::vector<Extent> held;
        for (int i = 0; i < 3; ++i) {
            held.push_back(*extents.allocate(64));
        }
        for (const std::size_t i : order) {
            ASSERT_TRUE(extents.free(held[i]));
            extents.check();
        }
        EXPECT_EQ(extents.largest_free_bytes(), 3U * 64);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ExtentAllocator, OnlyExactlyWhatWasHandedOutIsTakenBack) {
    ExtentAllocator extents(1024, 64);
    const Extent held = *extents.allocate(128);
    for (const Extent& wrong : {Extent{0, 64}, Extent{0, 192}, Extent{64, 64}, Extent{64, 128},
                                Extent{512, 64}, Extent{0, 0}, Extent{kMax, kMax}}) {
        const Result<void> freed = extents.free(wrong);
        ASSERT_FALSE(freed);
        EXPECT_EQ(freed.error().code(), Errc::invalid_argument);
        EXPECT_THAT(freed.error().message(), HasSubstr("is not handed out"));
        EXPECT_EQ(extents.quarantine(wrong).error().code(), Errc::invalid_argument);
    }
    EXPECT_EQ(extents.used_bytes(), 128U);
    EXPECT_TRUE(extents.free(held));
    EXPECT_EQ(extents.free(held).error().code(), Errc::invalid_argument);
    EXPECT_EQ(extents.free_bytes(), 1024U);
    extents.check();
}

TEST(ExtentAllocator, QuarantinedBytesNeverComeBack) {
    ExtentAllocator extents(4 * 64, 64);
    const Extent bad = *extents.allocate(64);
    const Extent good = *extents.allocate(64);
    ASSERT_TRUE(extents.quarantine(bad));
    EXPECT_EQ(extents.quarantined_bytes(), 64U);
    EXPECT_EQ(extents.free(bad).error().code(), Errc::invalid_argument);
    EXPECT_EQ(extents.quarantine(bad).error().code(), Errc::invalid_argument);
    ASSERT_TRUE(extents.free(good));
    EXPECT_EQ(extents.free_bytes(), 3U * 64);
    EXPECT_EQ(extents.largest_free_bytes(), 3U * 64);
    EXPECT_EQ(*extents.allocate(3 * 64), (Extent{64, 3 * 64}));
    EXPECT_EQ(extents.allocate(1).error().code(), Errc::capacity);
    extents.check();
}

TEST(ExtentAllocatorDeathTest, AlignmentMustBeAPowerOfTwo) {
    EXPECT_DEATH(ExtentAllocator(4096, 0), "broken invariant");
    EXPECT_DEATH(ExtentAllocator(4096, 3), "broken invariant");
}

// The same operations on a map of units, so plain that it cannot be wrong in the same way.
class Model {
  public:
    explicit Model(std::size_t units) : taken_(units, false) {}

    // The offset that best fit, lowest offset first, must choose; units when there is none.
    std::size_t best_fit(std::size_t length) const {
        std::size_t best = taken_.size();
        std::size_t best_length = taken_.size() + 1;
        for (std::size_t at = 0; at < taken_.size();) {
            std::size_t end = at;
            while (end < taken_.size() && !taken_[end]) {
                ++end;
            }
            if (end - at >= length && end - at < best_length) {
                best = at;
                best_length = end - at;
            }
            at = end == at ? at + 1 : end;
        }
        return best;
    }
    void set(std::size_t at, std::size_t length, bool taken) {
        for (std::size_t i = at; i < at + length; ++i) {
            ASSERT_NE(taken_[i], taken);
            taken_[i] = taken;
        }
    }
    std::size_t free_units() const {
        std::size_t count = 0;
        for (const bool taken : taken_) {
            count += taken ? 0 : 1;
        }
        return count;
    }

  private:
    std::vector<bool> taken_;
};

TEST(ExtentAllocator, AgreesWithANaiveModelOverRandomOperations) {
    constexpr std::size_t kUnits = 192;
    constexpr std::uint64_t kUnitBytes = 4096;
    constexpr int kOperations = 200'000;
    const char* fixed = std::getenv("CXLPOOL_TEST_SEED");
    const std::uint64_t seed =
        fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : std::random_device{}();
    std::cout << "seed: CXLPOOL_TEST_SEED=" << seed << "\n";
    std::mt19937_64 random(seed);

    ExtentAllocator extents(kUnits * kUnitBytes + kUnitBytes / 2, kUnitBytes);
    Model model(kUnits);
    std::vector<Extent> held;
    std::size_t quarantined_units = 0;
    for (int step = 0; step < kOperations; ++step) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step));
        const std::uint64_t dice = random() % 1000;
        if (dice < 520 || held.empty()) {
            const std::uint64_t most_units = random() % 8 == 0 ? 48 : 6;
            const std::uint64_t length = 1 + random() % (most_units * kUnitBytes);
            const std::size_t units =
                static_cast<std::size_t>((length + kUnitBytes - 1) / kUnitBytes);
            const std::size_t expected = model.best_fit(units);
            const Result<Extent> got = extents.allocate(length);
            ASSERT_EQ(got.has_value(), expected < kUnits);
            if (got) {
                ASSERT_EQ(*got, (Extent{expected * kUnitBytes, units * kUnitBytes}));
                model.set(expected, units, true);
                held.push_back(*got);
            }
        } else if (dice < 980) {
            const std::size_t index = static_cast<std::size_t>(random() % held.size());
            const Extent gone = held[index];
            held[index] = held.back();
            held.pop_back();
            // A bad sector now and then; few enough that the space lasts to the end.
            if (random() % 4096 == 0 && quarantined_units < kUnits / 4) {
                ASSERT_TRUE(extents.quarantine(gone));
                quarantined_units += static_cast<std::size_t>(gone.length_bytes / kUnitBytes);
            } else {
                ASSERT_TRUE(extents.free(gone));
                model.set(static_cast<std::size_t>(gone.offset_bytes / kUnitBytes),
                          static_cast<std::size_t>(gone.length_bytes / kUnitBytes), false);
            }
            ASSERT_FALSE(extents.free(gone));
        } else {
            Extent wrong = held[static_cast<std::size_t>(random() % held.size())];
            (random() % 2 == 0 ? wrong.offset_bytes : wrong.length_bytes) += kUnitBytes;
            bool exact = false;
            for (const Extent& extent : held) {
                exact = exact || extent == wrong;
            }
            if (!exact) {
                ASSERT_FALSE(extents.free(wrong));
            }
        }
        ASSERT_EQ(extents.free_bytes(), model.free_units() * kUnitBytes);
        ASSERT_EQ(extents.quarantined_bytes(), quarantined_units * kUnitBytes);
        ASSERT_EQ(extents.used_count(), held.size());
        extents.check();
    }
}

TEST(ExtentAllocator, TakesExactlyWhatIsAskedFor) {
    ExtentAllocator allocator(64 * 4096, 4096);
    const Extent middle{8 * 4096, 2 * 4096};
    ASSERT_TRUE(allocator.take(middle));
    allocator.check();
    EXPECT_EQ(allocator.used_bytes(), middle.length_bytes);
    EXPECT_EQ(allocator.largest_free_bytes(), 54U * 4096);
    for (const Extent& other :
         {middle, Extent{7 * 4096, 2 * 4096}, Extent{9 * 4096, 4096}, Extent{0, 64 * 4096}}) {
        EXPECT_EQ(allocator.take(other).error().code(), Errc::already_exists);
    }
    for (const Extent& none :
         {Extent{0, 0}, Extent{1, 4096}, Extent{0, 4095}, Extent{64 * 4096, 4096},
          Extent{63 * 4096, 2 * 4096}, Extent{~0ULL & ~4095ULL, 2 * 4096}}) {
        EXPECT_EQ(allocator.take(none).error().code(), Errc::invalid_argument);
    }
    ASSERT_TRUE(allocator.take({0, 8 * 4096}));
    ASSERT_TRUE(allocator.take({10 * 4096, 54 * 4096}));
    EXPECT_EQ(allocator.free_bytes(), 0U);
    allocator.check();
    ASSERT_TRUE(allocator.free(middle));
    EXPECT_EQ(*allocator.allocate(5000), middle);
    allocator.check();
}

}  // namespace
}  // namespace cxlpool

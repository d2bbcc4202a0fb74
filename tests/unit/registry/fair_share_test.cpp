#include "registry/fair_share.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cxlpool {
namespace {

constexpr TenantId kA{1};
constexpr TenantId kB{2};
constexpr TenantId kC{3};

Claim claim(TenantId tenant, std::uint64_t used, std::uint64_t reserved = 0,
            std::uint32_t weight = 100, std::uint64_t victim = 1, std::uint64_t touched = 1) {
    return Claim{tenant, used, reserved, weight, victim, touched};
}

std::optional<TenantId> fair(const std::vector<Claim>& claims, TenantId causer,
                             std::uint64_t needed = 1) {
    return choose_victim(claims, causer, needed, EvictionPolicy::fair);
}

std::optional<TenantId> lru(const std::vector<Claim>& claims, TenantId causer) {
    return choose_victim(claims, causer, 1, EvictionPolicy::lru);
}

TEST(FairShare, TheOneMostAboveItsShareGives) {
    EXPECT_EQ(fair({claim(kA, 60), claim(kB, 30), claim(kC, 10)}, kC), kA);
    EXPECT_EQ(fair({claim(kA, 60), claim(kB, 30)}, kC), kA) << "a newcomer holds nothing";
    EXPECT_EQ(fair({}, kC), std::nullopt);
}

TEST(FairShare, AFloodTakesFromItself) {
    EXPECT_EQ(fair({claim(kA, 60), claim(kB, 40)}, kA), kA);
    EXPECT_EQ(fair({claim(kA, 50), claim(kB, 50)}, kA), kA) << "what it needs counts";
    EXPECT_EQ(fair({claim(kA, 50), claim(kB, 50)}, kB), kB);
    EXPECT_EQ(fair({claim(kA, 49), claim(kB, 51)}, kA, 2), kA) << "equal then";
    EXPECT_EQ(fair({claim(kA, 49), claim(kB, 51)}, kA, 1), kB);
}

TEST(FairShare, WhoHoldsItsShareLeasedGetsNothingOfOthers) {
    EXPECT_EQ(fair({claim(kA, 60, 0, 100, 0), claim(kB, 40)}, kA), std::nullopt);
    EXPECT_EQ(fair({claim(kA, 40), claim(kB, 60, 0, 100, 0)}, kA), kA)
        << "the highest has nothing that can go";
}

TEST(FairShare, WeightsAreRatios) {
    // 3 : 1 of 100 is 75 and 25.
    EXPECT_EQ(fair({claim(kA, 74, 0, 300), claim(kB, 26, 0, 100)}, kA), kB);
    EXPECT_EQ(fair({claim(kA, 75, 0, 300), claim(kB, 25, 0, 100)}, kA), kA);
    EXPECT_EQ(fair({claim(kA, 75, 0, 300), claim(kB, 25, 0, 100)}, kB), kB);
    EXPECT_EQ(fair({claim(kA, 76, 0, 300), claim(kB, 24, 0, 100)}, kB), kA);
    // A weight of 0 is none that can be set; it counts as 1 and divides nothing.
    EXPECT_EQ(fair({claim(kA, 10, 0, 0), claim(kB, 90, 0, 1)}, kA), kB);
    // Exact where a double would round: 2^63 + 1 over 3 against 2^63 over 3.
    const std::uint64_t big = 1ULL << 63U;
    EXPECT_EQ(fair({claim(kA, big, 0, 3), claim(kB, big + 2, 0, 3)}, kA), kB);
    EXPECT_EQ(fair({claim(kA, big, 0, 3), claim(kB, big + 1, 0, 3)}, kA), kA);
    EXPECT_EQ(fair({claim(kA, UINT64_MAX), claim(kB, 1)}, kA, UINT64_MAX), kA) << "no wrap";
}

TEST(FairShare, AReservationIsAFloorForOthersAndNotForOneself) {
    EXPECT_EQ(fair({claim(kA, 60, 60), claim(kB, 40)}, kB), kB);
    EXPECT_EQ(fair({claim(kA, 60, 60), claim(kB, 40)}, kA), kB) << "1 above against 40";
    EXPECT_EQ(fair({claim(kA, 60, 60), claim(kB, 40, 40)}, kA), kA) << "below its own, by itself";
    EXPECT_EQ(fair({claim(kA, 10, 60), claim(kB, 90)}, kA, 50), kB)
        << "within its reservation it is below everybody";
    // B would fall below: its next cell is larger than what it has above its reservation.
    EXPECT_EQ(fair({claim(kA, 10, 50), claim(kB, 90, 89, 100, 2)}, kA), kA);
    EXPECT_EQ(fair({claim(kA, 10, 50), claim(kB, 90, 88, 100, 2)}, kA), kB);
    EXPECT_EQ(fair({claim(kA, 10, 50, 100, 0), claim(kB, 90, 89, 100, 2)}, kA), std::nullopt);
}

TEST(FairShare, LruLooksAtTheTouchAloneSaveForReservations) {
    EXPECT_EQ(lru({claim(kA, 90, 0, 100, 1, 7), claim(kB, 10, 0, 100, 1, 5)}, kA), kB);
    EXPECT_EQ(lru({claim(kA, 90, 0, 100, 1, 7), claim(kB, 10, 10, 100, 1, 5)}, kA), kA);
    EXPECT_EQ(lru({claim(kA, 90, 0, 100, 0, 0), claim(kB, 10, 0, 100, 1, 5)}, kA), kB);
    EXPECT_EQ(lru({claim(kA, 90, 0, 100, 0, 0)}, kA), std::nullopt);
}

TEST(FairShare, Words) {
    for (const EvictionPolicy policy : {EvictionPolicy::fair, EvictionPolicy::lru}) {
        EXPECT_EQ(*parse_eviction_policy(to_word(policy)), policy);
    }
    EXPECT_EQ(parse_eviction_policy("random").error().code(), Errc::unknown_word);
}

}  // namespace
}  // namespace cxlpool

#include "topology/lookup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "topology/assess.hpp"

namespace cxlpool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NaturalLess, NumbersCountAsNumbers) {
    EXPECT_TRUE(natural_less("mem2", "mem10"));
    EXPECT_FALSE(natural_less("mem10", "mem2"));
    EXPECT_TRUE(natural_less("dax0.9", "dax0.10"));
    EXPECT_TRUE(natural_less("dax1.0", "dax1.0a"));
    EXPECT_TRUE(natural_less("mem", "mem0"));
    EXPECT_FALSE(natural_less("mem1", "mem1"));
    EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
    // Equal numbers in other spellings still have one order.
    EXPECT_NE(natural_less("mem01", "mem1"), natural_less("mem1", "mem01"));
    EXPECT_TRUE(natural_less("mem01b", "mem1c"));
    EXPECT_TRUE(natural_less("a", "b"));
}

TEST(Ranges, AddressesThatCannotBeSeenAreNone) {
    EXPECT_EQ(physical_range(0x1000, 0x1000), (PhysicalRange{0x1000, 0x1fff}));
    EXPECT_EQ(physical_range(0, 0x1000), std::nullopt);
    EXPECT_EQ(physical_range(std::nullopt, 0x1000), std::nullopt);
    EXPECT_EQ(physical_range(0x1000, 0), std::nullopt);
    EXPECT_EQ(physical_range(0x1000, std::nullopt), std::nullopt);
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(physical_range(kMax, 2), std::nullopt);
    EXPECT_EQ(physical_range(kMax, 1), (PhysicalRange{kMax, kMax}));

    DaxDevice device;
    EXPECT_THAT(physical_ranges(device), IsEmpty());
    device.resource = 0x1000;
    device.capacity_bytes = 0x10;
    EXPECT_THAT(physical_ranges(device), ElementsAre(PhysicalRange{0x1000, 0x100f}));
    device.ranges = {{1, 2}, {5, 6}};
    EXPECT_THAT(physical_ranges(device), ElementsAre(PhysicalRange{1, 2}, PhysicalRange{5, 6}));
}

TEST(Claims, TheFirstKeepsAndIsNamed) {
    Claims claims;
    EXPECT_EQ(claims.claim("a", {{10, 19}, {40, 49}, {15, 25}}), std::nullopt);
    EXPECT_EQ(claims.claim("b", {{26, 39}}), std::nullopt);
    EXPECT_EQ(claims.claim("c", {{25, 25}}), "a");
    EXPECT_EQ(claims.claim("c", {{0, 9}, {49, 60}}), "a");
    EXPECT_EQ(claims.claim("c", {{0, 100}}).has_value(), true);
    EXPECT_EQ(claims.claim("c", {{0, 9}, {50, 60}}), std::nullopt);
    EXPECT_EQ(claims.claim("d", {}), std::nullopt);
    EXPECT_EQ(claims.holder({{20, 30}}, "a"), "b");
    EXPECT_EQ(claims.holder({{20, 25}}, "a"), std::nullopt);
    EXPECT_EQ(claims.holder({{100, 200}}, ""), std::nullopt);
}

TEST(Claims, AgreeWithComparingEveryPair) {
    std::mt19937 random(20240611);
    const auto draw = [&](std::uint64_t below) {
        return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
    };
    for (int round = 0; round < 200; ++round) {
        Claims claims;
        std::vector<PhysicalRange> taken;
        for (int i = 0; i < 30; ++i) {
            std::vector<PhysicalRange> ranges;
            for (std::uint64_t n = draw(3) + 1; n > 0; --n) {
                const std::uint64_t start = draw(1000);
                ranges.push_back({start, start + draw(30)});
            }
            bool overlaps = false;
            for (const PhysicalRange& range : ranges) {
                for (const PhysicalRange& other : taken) {
                    overlaps = overlaps || (range.start <= other.end && other.start <= range.end);
                }
            }
            EXPECT_EQ(claims.claim("x", ranges).has_value(), overlaps) << round << "/" << i;
            if (!overlaps) {
                taken.insert(taken.end(), ranges.begin(), ranges.end());
            }
        }
    }
}

TEST(Lookup, EndpointsAreFoundThroughTheDecoderOrTheMemdev) {
    Topology t;
    t.ports.push_back(Port{.name = "endpoint2", .kind = Port::Kind::endpoint, .host = "mem0"});
    t.decoders.push_back(Decoder{.name = "decoder2.0", .parent = "endpoint2"});
    const Lookup lookup(t);
    EXPECT_EQ(lookup.endpoint(RegionMapping{0, "", "decoder2.0"}), &t.ports[0]);
    EXPECT_EQ(lookup.endpoint(RegionMapping{0, "mem0", ""}), &t.ports[0]);
    EXPECT_EQ(lookup.endpoint(RegionMapping{0, "mem1", "decoder9.0"}), nullptr);
    EXPECT_EQ(lookup.memdev("mem0"), nullptr);
}

}  // namespace
}  // namespace cxlpool

#include "topology/changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "golden.hpp"

namespace cxlpool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = PoolChange::Kind;

constexpr std::uint64_t kMib = 1ULL << 20U;

// A volatile region of dynamic capacity at 4 GiB: two extents, and a device on each.
Topology two_pools() {
    constexpr std::uint64_t kBase = 4096 * kMib;
    Topology t;
    t.regions.push_back(Region{.name = "region0",
                               .resource = kBase,
                               .capacity_bytes = 1024 * kMib,
                               .type = "dynamic_ram_a",
                               .state = Region::State::committed,
                               .extents = {{0, 256 * kMib, ""}, {512 * kMib, 256 * kMib, ""}},
                               .has_dynamic_capacity = true});
    for (const std::uint64_t place : {0U, 512U}) {
        t.dax_devices.push_back(DaxDevice{.name = place == 0 ? "dax0.1" : "dax0.2",
                                          .capacity_bytes = 256 * kMib,
                                          .resource = kBase + place * kMib,
                                          .mode = DaxMode::devdax,
                                          .region = "region0"});
    }
    resolve(t);
    return t;
}

TEST(Changes, A20ReleaseTimeline) {
    const auto steps =
        nlohmann::json::parse(test::golden_file("topology/a20-dcd-release-timeline.json"))
            .at("steps");
    const Topology accepted = test::read_golden({"a20-dcd-extents.cxl-list.json"});
    std::uint64_t accepted_bytes = 0;
    for (const RegionExtent& extent : accepted.regions.at(0).extents) {
        accepted_bytes += extent.length_bytes;
    }
    ASSERT_EQ(steps.at(0).at("bytes"), accepted_bytes);

    // t1: the device is made. Before that there is no pool.
    ASSERT_EQ(steps.at(1).at("dax"), accepted.dax_devices.at(0).name);
    ASSERT_EQ(steps.at(1).at("bytes"), accepted.dax_devices.at(0).capacity_bytes.value());
    Topology without_device = accepted;
    without_device.dax_devices.clear();
    EXPECT_THAT(changes(without_device, accepted),
                ElementsAre(PoolChange{"dax0.1", Kind::returned}));

    // t3: the host asks for an extent back. The listing has no address of the device, so it may be
    // the one: draining.
    const std::uint64_t offset = parse_u64(steps.at(3).at("offset").get<std::string>()).value();
    const std::uint64_t length = steps.at(3).at("length");
    Topology asked = accepted;
    auto& extents = asked.regions.at(0).extents;
    const auto gone = std::find_if(extents.begin(), extents.end(), [&](const RegionExtent& extent) {
        return extent.offset_bytes == offset && extent.length_bytes == length;
    });
    ASSERT_NE(gone, extents.end());
    extents.erase(gone);
    EXPECT_THAT(changes(accepted, asked), ElementsAre(PoolChange{"dax0.1", Kind::draining}));

    // t4: the device has gone.
    Topology released = asked;
    released.dax_devices.clear();
    EXPECT_THAT(changes(asked, released), ElementsAre(PoolChange{"dax0.1", Kind::lost}));
    EXPECT_THAT(changes(released, released), IsEmpty());
}

TEST(Changes, NothingChangesBetweenEqualReadings) {
    EXPECT_THAT(changes(two_pools(), two_pools()), IsEmpty());
    EXPECT_THAT(changes(Topology{}, Topology{}), IsEmpty());
}

TEST(Changes, OnlyThePoolOnTheExtentDrainsWhereAddressesAreSeen) {
    Topology after = two_pools();
    after.regions[0].extents.pop_back();
    EXPECT_THAT(changes(two_pools(), after), ElementsAre(PoolChange{"dax0.2", Kind::draining}));
    // An extent that got shorter is another extent.
    after = two_pools();
    after.regions[0].extents[0].length_bytes -= kMib;
    EXPECT_THAT(changes(two_pools(), after), ElementsAre(PoolChange{"dax0.1", Kind::draining}));
    // A reader without rights sees no address: each of them may be the one.
    Topology before = two_pools();
    before.regions[0].resource.reset();
    EXPECT_THAT(changes(before, after), ElementsAre(PoolChange{"dax0.1", Kind::draining},
                                                    PoolChange{"dax0.2", Kind::draining}));
}

TEST(Changes, MoreCapacityChangesNoPool) {
    Topology after = two_pools();
    after.regions[0].extents.push_back({900 * kMib, 64 * kMib, ""});
    EXPECT_THAT(changes(two_pools(), after), IsEmpty());
}

TEST(Changes, ASmallerDeviceShrankAndALargerOneIsAnother) {
    Topology small = two_pools();
    small.dax_devices[0].capacity_bytes = 128 * kMib;
    EXPECT_THAT(changes(two_pools(), small), ElementsAre(PoolChange{"dax0.1", Kind::shrunk}));
    // A device grows only while nobody can have it mapped.
    EXPECT_THAT(changes(small, two_pools()), ElementsAre(PoolChange{"dax0.1", Kind::lost},
                                                         PoolChange{"dax0.1", Kind::returned}));
}

TEST(Changes, ANameIsNoIdentity) {
    Topology after = two_pools();
    after.dax_devices[0].resource = *after.dax_devices[0].resource + 128 * kMib;
    EXPECT_THAT(changes(two_pools(), after), ElementsAre(PoolChange{"dax0.1", Kind::lost},
                                                         PoolChange{"dax0.1", Kind::returned}));
}

TEST(Changes, APoolThatIsNoneAnyMoreIsLost) {
    for (const DaxMode mode : {DaxMode::system_ram, DaxMode::unbound, DaxMode::famfs}) {
        Topology after = two_pools();
        after.dax_devices[1].mode = mode;
        EXPECT_THAT(changes(two_pools(), after), ElementsAre(PoolChange{"dax0.2", Kind::lost}));
        EXPECT_THAT(changes(after, two_pools()), ElementsAre(PoolChange{"dax0.2", Kind::returned}));
    }
    Topology reset = two_pools();
    reset.regions[0].state = Region::State::reset;
    EXPECT_EQ(changes(two_pools(), reset).size(), 2U);
}

TEST(Changes, HaveWords) {
    EXPECT_EQ(to_word(Kind::draining), "draining");
    EXPECT_EQ(to_word(Kind::shrunk), "shrunk");
    EXPECT_EQ(to_word(Kind::lost), "lost");
    EXPECT_EQ(to_word(Kind::returned), "returned");
}

}  // namespace
}  // namespace cxlpool

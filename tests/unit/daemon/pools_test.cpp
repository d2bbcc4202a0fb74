#include "daemon/pools.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

Topology one_dax_device() {
    Topology topology;
    Memdev memdev;
    memdev.name = "mem0";
    memdev.serial = 4660;
    memdev.ram_bytes = 1U << 30U;
    memdev.enabled = true;
    topology.memdevs.push_back(memdev);
    Region region;
    region.name = "region0";
    region.resource = 0x100000000;
    region.capacity_bytes = 1U << 30U;
    region.type = "ram";
    region.interleave_ways = 1;
    region.state = Region::State::committed;
    region.mappings.push_back({0, "mem0", "decoder2.0"});
    topology.regions.push_back(region);
    DaxDevice dax;
    dax.name = "dax0.0";
    dax.capacity_bytes = 1U << 30U;
    dax.align_bytes = 2U << 20U;
    dax.resource = 0x100000000;
    dax.mode = DaxMode::devdax;
    dax.target_node = 1;
    dax.region = "region0";
    topology.dax_devices.push_back(dax);
    resolve(topology);
    return topology;
}

PoolConfig dax_pool() {
    PoolConfig pool;
    pool.name = "cxl0";
    pool.provider = "devdax";
    pool.where = "f.toml:7";
    pool.serial = 4660;
    pool.allow_cooperative = true;
    return pool;
}

PoolConfig memfd_pool() {
    PoolConfig pool;
    pool.name = "embedded";
    pool.provider = "memfd";
    pool.where = "f.toml:3";
    pool.capacity_bytes = 8U << 20U;
    return pool;
}

Result<std::vector<PoolPlan>> plan(std::vector<PoolConfig> pools,
                                   TenancyMode mode = TenancyMode::multi) {
    Config config;
    config.mode = mode;
    config.pools = std::move(pools);
    const Topology topology = one_dax_device();
    return plan_pools(config, topology, assess(topology));
}

TEST(PlanPools, FindsADaxDeviceBySerial) {
    const auto plans = plan({memfd_pool(), dax_pool()});
    ASSERT_TRUE(plans) << plans.error().message();
    EXPECT_EQ((*plans)[1].device_path, "/dev/dax0.0");
    EXPECT_EQ((*plans)[1].profile.name, "cxl0");
    EXPECT_EQ((*plans)[1].profile.tier, Tier::cxl);
    EXPECT_EQ(hosts_or_assumed((*plans)[1].profile), 1U);
}

TEST(PlanPools, DeclaredHostsCarryTheirLine) {
    PoolConfig pool = dax_pool();
    pool.hosts = 8;
    const auto plans = plan({pool});
    ASSERT_TRUE(plans) << plans.error().message();
    EXPECT_EQ((*plans)[0].profile.hosts.value, 8U);
    EXPECT_EQ((*plans)[0].profile.hosts.evidence.source, Source::declared);
    EXPECT_THAT((*plans)[0].profile.hosts.evidence.detail, HasSubstr("f.toml:7"));
}

// A declaration alone proves nothing, and an unproven right must not come to be: the daemon does
// not start, whatever else the configuration says. It reads no profile file at all.
TEST(PlanPools, DeclaredHardwareCoherenceStopsTheStart) {
    PoolConfig pool = dax_pool();
    pool.hosts = 8;
    pool.coherence = CrossHostCoherence::hardware;
    const auto refused = plan({pool});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::invalid_argument);
    EXPECT_THAT(refused.error().message(), HasSubstr("f.toml:7: pool 'cxl0'"));
    EXPECT_THAT(refused.error().message(), HasSubstr("needs a passed proof run"));

    pool.coherence = CrossHostCoherence::managed;
    const auto managed = plan({pool});
    ASSERT_TRUE(managed) << managed.error().message();
    EXPECT_EQ((*managed)[0].profile.cross_host_coherence.evidence.source, Source::declared);
    EXPECT_TRUE(fabric_shareable((*managed)[0].profile));

    pool.coherence.reset();
    const auto silent = plan({pool});
    ASSERT_TRUE(silent) << silent.error().message();
    EXPECT_FALSE(fabric_shareable((*silent)[0].profile));
}

TEST(PlanPools, MultiRefusesACooperativePoolByNameAndLine) {
    PoolConfig pool = dax_pool();
    pool.allow_cooperative = false;
    const auto refused = plan({memfd_pool(), pool});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::cooperative_refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("f.toml:7"));
    EXPECT_THAT(refused.error().message(), HasSubstr("'cxl0'"));
    EXPECT_THAT(refused.error().message(), HasSubstr("allow_cooperative = true"));
    EXPECT_TRUE(plan({pool}, TenancyMode::single)) << "single is one organisation";
}

TEST(PlanPools, OneDeviceIsOnePool) {
    PoolConfig again = dax_pool();
    again.name = "cxl1";
    again.serial.reset();
    again.device = "/dev/dax0.0";
    const auto refused = plan({dax_pool(), again});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::already_exists);
    EXPECT_THAT(refused.error().message(), HasSubstr("'cxl0'"));
}

TEST(PlanPools, AnUnknownDeviceIsNotFound) {
    PoolConfig pool = dax_pool();
    pool.serial = 77;
    EXPECT_EQ(plan({pool}).error().code(), Errc::not_found);
}

TEST(PlanPools, AnonymousMemoryIsWhatItIs) {
    const auto plans = plan({memfd_pool()});
    ASSERT_TRUE(plans);
    const Profile& profile = (*plans)[0].profile;
    EXPECT_EQ(profile.hosts.value, 1U);
    EXPECT_FALSE(profile.read_latency_ns.value.has_value()) << "nobody measured it";
    EXPECT_FALSE(reachable(profile));
    for (const int widen : {0, 1, 2}) {
        PoolConfig pool = memfd_pool();
        if (widen == 0) {
            pool.hosts = 2;
        } else if (widen == 1) {
            pool.coherence = CrossHostCoherence::managed;
        } else {
            pool.share_kind = ShareKind::cxl_hdm;
        }
        EXPECT_EQ(plan({pool}).error().code(), Errc::invalid_argument) << widen;
    }
}

TEST(PlanPools, AShareKindThatContradictsTheDevice) {
    PoolConfig pool = dax_pool();
    pool.share_kind = ShareKind::rdma;
    EXPECT_EQ(plan({pool}).error().code(), Errc::invalid_argument);
    pool.share_kind = ShareKind::cxl_hdm;
    EXPECT_TRUE(plan({pool}));
}

TEST(OpenPools, OpensAnonymousMemory) {
    const auto plans = plan({memfd_pool()});
    ASSERT_TRUE(plans);
    const auto pools = open_pools(*plans, nullptr);
    ASSERT_TRUE(pools) << pools.error().message();
    EXPECT_EQ((*pools)[0].pool->name(), "embedded");
    EXPECT_EQ((*pools)[0].pool->usage().capacity_bytes, 8U << 20U);
}

}  // namespace
}  // namespace cxlpool

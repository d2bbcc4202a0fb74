#include "domain/profile.hpp"

#include <gtest/gtest.h>

namespace cxlpool {
namespace {

struct Row {
    const char* word;
    std::uint64_t latency_ns;
    std::uint64_t mbps;
    std::uint64_t capacity_bytes;
    bool byte_addressable;
    bool coherent;
    bool persistent;
    const char* share_kind;
    std::uint32_t hosts;
    const char* coherence;
};

constexpr Row kTable[] = {
    {"hbm", 200, 2000000, 85899345920, true, true, false, "dmabuf", 1, "none"},
    {"dram", 90, 300000, 549755813888, true, true, false, "mmap", 1, "none"},
    {"numa_far", 140, 200000, 549755813888, true, true, false, "mmap", 1, "none"},
    {"cxl", 300, 64000, 2199023255552, true, true, false, "cxl_hdm", 8, "hardware"},
    {"remote_dram", 2000, 12000, 0, false, false, false, "rdma", 8, "none"},
    {"disk", 10000, 7000, 8796093022208, false, false, true, "none", 1, "none"},
    {"remote", 100000, 12000, 0, false, false, true, "rdma", 8, "none"},
};

TEST(RepresentativeProfile, IsTheTable) {
    ASSERT_EQ(std::size(kTable), kTiers.size());
    for (std::size_t i = 0; i < kTiers.size(); ++i) {
        const Row& row = kTable[i];
        const Profile p = representative_profile(kTiers[i]);
        SCOPED_TRACE(row.word);
        EXPECT_EQ(p.name, row.word);
        EXPECT_EQ(p.tier, kTiers[i]);
        EXPECT_EQ(p.read_latency_ns.value, row.latency_ns);
        EXPECT_EQ(p.read_mbps.value, row.mbps);
        EXPECT_EQ(p.capacity_bytes.value, row.capacity_bytes);
        EXPECT_EQ(p.byte_addressable.value, row.byte_addressable);
        EXPECT_EQ(p.coherent_in_host.value, row.coherent);
        EXPECT_EQ(p.persistent.value, row.persistent);
        EXPECT_EQ(p.hosts.value, row.hosts);
        ASSERT_TRUE(p.share_kind.value);
        EXPECT_EQ(to_word(*p.share_kind.value), row.share_kind);
        ASSERT_TRUE(p.cross_host_coherence.value);
        EXPECT_EQ(to_word(*p.cross_host_coherence.value), row.coherence);
        EXPECT_FALSE(p.may_shrink);
    }
}

TEST(RepresentativeProfile, SaysSoInEveryField) {
    for (const Tier tier : kTiers) {
        const Profile p = representative_profile(tier);
        for (const Evidence* evidence :
             {&p.read_latency_ns.evidence, &p.read_mbps.evidence, &p.capacity_bytes.evidence,
              &p.byte_addressable.evidence, &p.coherent_in_host.evidence, &p.persistent.evidence,
              &p.share_kind.evidence, &p.hosts.evidence, &p.cross_host_coherence.evidence}) {
            EXPECT_EQ(evidence->source, Source::representative) << p.name;
            EXPECT_FALSE(evidence->detail.empty()) << p.name;
        }
        EXPECT_FALSE(p.memory_node.value);
        EXPECT_EQ(p.memory_node.evidence.source, Source::unknown);
        EXPECT_FALSE(p.cpu_affinity_node.value);
    }
}

TEST(RepresentativeProfile, OfNoTierKnowsNothing) {
    const Profile p = representative_profile(static_cast<Tier>(200));
    EXPECT_FALSE(p.read_latency_ns.value);
    EXPECT_FALSE(p.hosts.value);
    EXPECT_FALSE(reachable(p));
}

TEST(Profile, UnknownNeverWidensARight) {
    const Profile nothing;
    EXPECT_EQ(hosts_or_assumed(nothing), 1U);
    EXPECT_EQ(coherence_or_none(nothing), CrossHostCoherence::none);
    EXPECT_EQ(share_kind_or_none(nothing), ShareKind::none);
    EXPECT_FALSE(reachable(nothing));
    EXPECT_FALSE(fabric_shareable(nothing));

    Profile p = representative_profile(Tier::cxl);
    ASSERT_TRUE(fabric_shareable(p));
    p.hosts.value = 0;
    EXPECT_EQ(hosts_or_assumed(p), 1U);
    EXPECT_FALSE(fabric_shareable(p));
    p = representative_profile(Tier::cxl);
    p.hosts = Known<std::uint32_t>::unknown();
    EXPECT_FALSE(reachable(p));
    EXPECT_FALSE(fabric_shareable(p));
    p = representative_profile(Tier::cxl);
    p.cross_host_coherence = Known<CrossHostCoherence>::unknown();
    EXPECT_TRUE(reachable(p));
    EXPECT_FALSE(fabric_shareable(p));
    p.cross_host_coherence.value = static_cast<CrossHostCoherence>(200);
    EXPECT_FALSE(fabric_shareable(p));
    p = representative_profile(Tier::cxl);
    p.share_kind = Known<ShareKind>::unknown();
    EXPECT_FALSE(fabric_shareable(p));
}

TEST(Profile, FabricShareableNeedsAllThree) {
    for (const std::uint32_t hosts : {1U, 2U}) {
        for (const auto coherence : {CrossHostCoherence::none, CrossHostCoherence::hardware,
                                     CrossHostCoherence::managed}) {
            for (const auto kind : {ShareKind::none, ShareKind::mmap, ShareKind::cxl_hdm,
                                    ShareKind::rdma, ShareKind::dmabuf}) {
                Profile p;
                p.hosts.value = hosts;
                p.cross_host_coherence.value = coherence;
                p.share_kind.value = kind;
                EXPECT_EQ(reachable(p), hosts > 1);
                EXPECT_EQ(fabric_shareable(p), hosts > 1 && kind == ShareKind::cxl_hdm &&
                                                   coherence != CrossHostCoherence::none);
            }
        }
    }
}

TEST(Source, WordsGoBothWaysBestFirst) {
    constexpr std::array<std::string_view, 6> kWords{"measured", "observed",       "firmware",
                                                     "declared", "representative", "unknown"};
    for (std::size_t i = 0; i < kWords.size(); ++i) {
        const auto source = static_cast<Source>(i);
        EXPECT_EQ(to_word(source), kWords[i]);
        EXPECT_EQ(*parse_source(kWords[i]), source);
    }
    EXPECT_EQ(parse_source("guessed").error().code(), Errc::unknown_word);
    EXPECT_EQ(to_word(static_cast<Source>(200)), "unknown");
}

TEST(Known, CarriesItsEvidence) {
    const auto k = Known<bool>::of(true, Source::measured, "run 7", Timestamp{5});
    EXPECT_EQ(k.value, true);
    EXPECT_EQ(k.evidence, (Evidence{Source::measured, "run 7", Timestamp{5}}));
    const auto u = Known<bool>::unknown("no such attribute");
    EXPECT_FALSE(u.value);
    EXPECT_EQ(u.evidence, (Evidence{Source::unknown, "no such attribute", Timestamp{0}}));
}

}  // namespace
}  // namespace cxlpool

#include "domain/tier.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cxlpool {
namespace {

TEST(Tier, WordsGoBothWaysWarmToCold) {
    constexpr std::array<std::string_view, 7> kWords{"hbm",         "dram", "numa_far", "cxl",
                                                     "remote_dram", "disk", "remote"};
    ASSERT_EQ(kTiers.size(), kWords.size());
    for (std::size_t i = 0; i < kTiers.size(); ++i) {
        EXPECT_EQ(to_word(kTiers[i]), kWords[i]);
        const auto tier = parse_tier(kWords[i]);
        ASSERT_TRUE(tier);
        EXPECT_EQ(*tier, kTiers[i]);
        if (i > 0) {
            EXPECT_LT(kTiers[i - 1], kTiers[i]);
        }
    }
}

TEST(Tier, UnknownWordIsAnErrorThatListsTheWords) {
    for (const char* bad : {"", "recompute", "CXL", "cxl ", " cxl", "far", "unknown"}) {
        const auto got = parse_tier(bad);
        ASSERT_FALSE(got) << bad;
        EXPECT_EQ(got.error().code(), Errc::unknown_word);
    }
    EXPECT_EQ(parse_tier("CXL").error().message(),
              "unknown tier 'CXL': known are hbm dram numa_far cxl remote_dram disk remote");
    EXPECT_EQ(to_word(static_cast<Tier>(200)), "unknown");
}

TEST(Tier, MessageShowsForeignBytesHarmlessly) {
    const auto got = parse_tier("\x1b[2J" + std::string(500, 'x'));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message().find('\x1b'), std::string::npos);
    EXPECT_LT(got.error().message().size(), 200U);
}

TEST(ShareKind, WordsGoBothWays) {
    const std::array<std::pair<ShareKind, std::string_view>, 5> table{{
        {ShareKind::none, "none"},
        {ShareKind::mmap, "mmap"},
        {ShareKind::cxl_hdm, "cxl_hdm"},
        {ShareKind::rdma, "rdma"},
        {ShareKind::dmabuf, "dmabuf"},
    }};
    for (const auto& [kind, word] : table) {
        EXPECT_EQ(to_word(kind), word);
        EXPECT_EQ(*parse_share_kind(word), kind);
    }
    EXPECT_EQ(parse_share_kind("hdm").error().code(), Errc::unknown_word);
    EXPECT_EQ(parse_share_kind("hdm").error().message(),
              "unknown share kind 'hdm': known are none mmap cxl_hdm rdma dmabuf");
    EXPECT_EQ(to_word(static_cast<ShareKind>(200)), "unknown");
}

TEST(ShareKind, ZeroCopy) {
    std::set<ShareKind> in_host;
    std::set<ShareKind> across;
    for (int n = 0; n < 256; ++n) {
        const auto kind = static_cast<ShareKind>(n);
        if (zero_copy_in_host(kind)) {
            in_host.insert(kind);
        }
        if (zero_copy_across_hosts(kind)) {
            across.insert(kind);
        }
    }
    EXPECT_EQ(in_host,
              (std::set<ShareKind>{ShareKind::mmap, ShareKind::dmabuf, ShareKind::cxl_hdm}));
    EXPECT_EQ(across, (std::set<ShareKind>{ShareKind::cxl_hdm}));
}

TEST(CrossHostCoherence, WordsGoBothWays) {
    const std::array<std::pair<CrossHostCoherence, std::string_view>, 3> table{{
        {CrossHostCoherence::none, "none"},
        {CrossHostCoherence::hardware, "hardware"},
        {CrossHostCoherence::managed, "managed"},
    }};
    for (const auto& [coherence, word] : table) {
        EXPECT_EQ(to_word(coherence), word);
        EXPECT_EQ(*parse_cross_host_coherence(word), coherence);
    }
    EXPECT_EQ(parse_cross_host_coherence("yes").error().code(), Errc::unknown_word);
    EXPECT_EQ(to_word(static_cast<CrossHostCoherence>(200)), "unknown");
}

}  // namespace
}  // namespace cxlpool

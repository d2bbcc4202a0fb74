#include "daemon/tenants.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_tree.hpp"

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Config config_of(std::vector<TenantConfig> tenants) {
    Config config;
    config.file = "cxlpoold.toml";
    config.tenants = std::move(tenants);
    return config;
}

TenantRecord record(std::uint64_t id, const std::string& name, std::uint64_t salt = 0) {
    TenantRecord out;
    out.id = TenantId{id};
    out.name = name;
    out.salt = salt;
    return out;
}

TEST(MergeTenants, TheFileNamesAndTheStateKeepsTheRest) {
    State state;
    state.tenants = {record(1, "old", 5), record(2, "added", 6), record(3, "named", 7)};
    const auto merged = merge_tenants(
        config_of({{TenantId{9}, "fresh"}, {TenantId{1}, "new"}, {TenantId{3}, ""}}), state);
    ASSERT_TRUE(merged) << merged.error().message();
    ASSERT_EQ(merged->size(), 4U);
    EXPECT_EQ((*merged)[0].record, record(1, "new", 5));
    EXPECT_TRUE((*merged)[0].declared);
    EXPECT_EQ((*merged)[1].record, record(2, "added", 6));
    EXPECT_FALSE((*merged)[1].declared);
    EXPECT_EQ((*merged)[2].record, record(3, "named", 7)) << "the file gives it no name";
    EXPECT_TRUE((*merged)[2].declared);
    EXPECT_EQ((*merged)[3].record, record(9, "fresh"));
}

TEST(MergeTenants, OneNameForTwoIsRefused) {
    State state;
    state.tenants = {record(2, "team")};
    const auto refused = merge_tenants(config_of({{TenantId{1}, "team"}}), state);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::already_exists);
    EXPECT_THAT(refused.error().message(), HasSubstr("cxlpoold.toml: tenant 1 is named \"team\""));
    EXPECT_THAT(refused.error().message(), HasSubstr("to tenant 2;"));
    EXPECT_TRUE(merge_tenants(config_of({{TenantId{1}, ""}}), state));
}

TEST(TakeTenants, NamesOfTheFileReachTheStore) {
    const test::ScratchTree tree;
    const auto store =
        StateStore::open(tree.path("state"), TenancyMode::multi, Timestamp{1'000'000'000});
    ASSERT_TRUE(store) << store.error().message();
    ASSERT_TRUE((*store)->save({record(1, "a", 5), record(2, "b", 6), record(3, "c", 7)},
                               {{TenantId{3}, "cxl0", 8}}));
    const auto taken = take_tenants(config_of({{TenantId{1}, "b"}, {TenantId{2}, "a"}}), **store);
    ASSERT_TRUE(taken) << taken.error().message();
    EXPECT_EQ(taken->tenants.size(), 3U);
    EXPECT_THAT(taken->reservations, ElementsAre(Reservation{TenantId{3}, "cxl0", 8}));
    EXPECT_THAT((*store)->read()->tenants,
                ElementsAre(record(1, "b", 5), record(2, "a", 6), record(3, "c", 7)));
}

}  // namespace
}  // namespace cxlpool

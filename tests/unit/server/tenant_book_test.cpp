#include "server/tenant_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ServedTenant served(std::uint64_t id, const std::string& name, bool declared) {
    ServedTenant out;
    out.record.id = TenantId{id};
    out.record.name = name;
    out.record.salt = 40 + id;
    out.declared = declared;
    return out;
}

// Tenant 1 of the file, tenant 2 of an operator.
class Declare : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(
            book_.load(registry_, {served(1, "alpha", true), served(2, "beta", false)}, {}));
    }
    std::string name_of(std::uint64_t id) const {
        return std::string(registry_.tenant_name(TenantId{id}));
    }

    Registry registry_{TenancyMode::multi, RegistryLimits{}};
    TenantBook book_{{}};
};

TEST_F(Declare, NewOnesComeInAndOthersGetTheirNames) {
    const TenantBook::Declared file{
        {TenantId{1}, "first"}, {TenantId{2}, ""}, {TenantId{3}, "gamma"}};
    ASSERT_TRUE(book_.check_declared(registry_, file));
    book_.declare(registry_, file);
    EXPECT_EQ(name_of(1), "first");
    EXPECT_EQ(name_of(2), "beta") << "a file without a name leaves the operator's";
    EXPECT_EQ(name_of(3), "gamma");
    for (const std::uint64_t id : {1U, 2U, 3U}) {
        EXPECT_TRUE(book_.is_declared(TenantId{id})) << id;
    }
    EXPECT_EQ(book_.record_of(registry_, TenantId{1}).salt, 41U) << "the rest is as it was";
    EXPECT_EQ(book_.record_of(registry_, TenantId{3}).name, "gamma");
}

TEST_F(Declare, OneThatTheFileDropsStays) {
    book_.declare(registry_, {{TenantId{2}, "beta"}});
    EXPECT_THAT(registry_.tenants(), ElementsAre(TenantId{1}, TenantId{2}));
    EXPECT_FALSE(book_.is_declared(TenantId{1}));
    EXPECT_EQ(name_of(1), "alpha");
    book_.declare(registry_, {{TenantId{1}, "alpha"}});
    EXPECT_TRUE(book_.is_declared(TenantId{1}));
}

TEST_F(Declare, ANameThatAnotherTenantHasIsRefused) {
    const Result<void> possible = book_.check_declared(registry_, {{TenantId{3}, "beta"}});
    ASSERT_FALSE(possible);
    EXPECT_EQ(possible.error().code(), Errc::already_exists);
    EXPECT_THAT(possible.error().message(), HasSubstr("tenants 2 and 3"));
    EXPECT_TRUE(book_.check_declared(registry_, {{TenantId{1}, "beta"}, {TenantId{2}, "alpha"}}))
        << "two may change names";
    EXPECT_TRUE(book_.check_declared(registry_, {{TenantId{3}, ""}, {TenantId{4}, ""}}))
        << "no name is nobody's";
}

}  // namespace
}  // namespace cxlpool

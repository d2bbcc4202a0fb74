#include "server/door.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Roles bit(Role role) {
    return static_cast<Roles>(role);
}

Listener listener(Door door, std::vector<TenantId> tenants = {}) {
    Listener out;
    out.door = door;
    out.name = "test";
    out.tenants = std::move(tenants);
    return out;
}

PeerCredentials peer(uid_t uid) {
    PeerCredentials credentials;
    credentials.pid = 4242;
    credentials.uid = uid;
    credentials.gid = 7;
    return credentials;
}

// An engine of tenant 3 and an operator at once, an engine, and an operator.
Authorizer authorizer() {
    std::vector<Grant> grants(3);
    grants[0].uid = 1000;
    grants[0].roles = bit(Role::engine) | bit(Role::admin);
    grants[0].tenants = {TenantId{3}};
    grants[1].uid = 1001;
    grants[1].roles = bit(Role::engine);
    grants[1].tenants = {TenantId{3}};
    grants[2].uid = 1002;
    grants[2].roles = bit(Role::admin);
    return Authorizer(std::move(grants));
}

TEST(IdentifyAt, TheEngineAndTheAdminSocketGoByGrants) {
    const Authorizer grants = authorizer();
    EXPECT_TRUE(identify_at(listener(Door::engine), peer(1000), grants));
    EXPECT_TRUE(identify_at(listener(Door::admin), peer(1000), grants));
    EXPECT_TRUE(identify_at(listener(Door::engine), peer(1001), grants));
    EXPECT_TRUE(identify_at(listener(Door::admin), peer(1002), grants));
    for (const auto& [door, uid, words] :
         {std::tuple{Door::engine, 1002U, "operators use admin.sock"},
          std::tuple{Door::admin, 1001U, "admin socket"},
          std::tuple{Door::engine, 1009U, "[[grant]]"}}) {
        const auto identity = identify_at(listener(door), peer(uid), grants);
        ASSERT_FALSE(identity) << uid;
        EXPECT_EQ(identity.error().code(), Errc::not_permitted);
        EXPECT_THAT(identity.error().message(), HasSubstr(words));
    }
}

TEST(IdentifyAt, ASocketWithTenantsOfItsOwnAsksNoGrant) {
    const Authorizer grants = authorizer();
    for (const uid_t uid : {1000U, 1001U, 1002U, 1009U}) {
        const auto identity = identify_at(listener(Door::engine, {TenantId{1}}), peer(uid), grants);
        ASSERT_TRUE(identity) << identity.error().message();
        EXPECT_THAT(identity->tenants, ElementsAre(TenantId{1})) << "a grant adds none";
        EXPECT_EQ(identity->roles, bit(Role::engine)) << "and no role";
    }
    EXPECT_FALSE(identify_at(listener(Door::engine, {TenantId{1}}), peer(65534), grants));
}

}  // namespace
}  // namespace cxlpool

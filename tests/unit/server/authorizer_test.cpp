#include "server/authorizer.hpp"

#include <utility>
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

Grant uid_grant(uid_t uid, Roles roles, std::vector<TenantId> tenants = {}) {
    Grant grant;
    grant.uid = uid;
    grant.roles = roles;
    grant.tenants = std::move(tenants);
    return grant;
}

Grant gid_grant(gid_t gid, Roles roles, std::vector<TenantId> tenants = {}) {
    Grant grant;
    grant.gid = gid;
    grant.roles = roles;
    grant.tenants = std::move(tenants);
    return grant;
}

PeerCredentials peer(uid_t uid, gid_t gid, std::vector<gid_t> groups = {}) {
    PeerCredentials credentials;
    credentials.pid = 4242;
    credentials.uid = uid;
    credentials.gid = gid;
    credentials.groups = std::move(groups);
    return credentials;
}

void expect_refused(const Authorizer& authorizer, const PeerCredentials& credentials) {
    const auto identity = authorizer.identify(credentials);
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().code(), Errc::not_permitted);
}

TEST(RoleWord, RoundTripsAndRefusesAnythingElse) {
    for (const Role role : {Role::engine, Role::adjudicator, Role::inspector, Role::admin}) {
        EXPECT_EQ(parse_role(to_word(role)), role);
    }
    for (const char* word : {"", "Engine", "engine ", "root", "adjudicater"}) {
        EXPECT_FALSE(parse_role(word)) << word;
    }
    EXPECT_EQ(to_word(static_cast<Role>(3)), "unknown");
}

TEST(Authorizer, MatchesTheUid) {
    const Authorizer authorizer({uid_grant(1000, bit(Role::engine), {TenantId{1}})});
    const auto identity = authorizer.identify(peer(1000, 5));
    ASSERT_TRUE(identity) << identity.error().message();
    EXPECT_EQ(identity->uid, 1000U);
    EXPECT_EQ(identity->gid, 5U);
    EXPECT_EQ(identity->roles, bit(Role::engine));
    EXPECT_THAT(identity->tenants, ElementsAre(TenantId{1}));
    EXPECT_TRUE(identity->has(Role::engine));
    EXPECT_FALSE(identity->has(Role::admin));
    expect_refused(authorizer, peer(1001, 1000));
    expect_refused(authorizer, peer(0, 0));
}

TEST(Authorizer, MatchesThePrimaryAndASupplementaryGroup) {
    const Authorizer authorizer({gid_grant(50, bit(Role::inspector))});
    EXPECT_TRUE(authorizer.identify(peer(1000, 50)));
    EXPECT_TRUE(authorizer.identify(peer(1000, 1, {7, 50})));
    expect_refused(authorizer, peer(50, 1, {7}));
}

TEST(Authorizer, PidZeroIsMatchedByUidAndGidAlone) {
    const Authorizer authorizer({uid_grant(1000, bit(Role::engine), {TenantId{1}})});
    PeerCredentials sibling = peer(1000, 1000);
    sibling.pid = 0;
    EXPECT_TRUE(authorizer.identify(sibling));
    sibling.uid = 1001;
    expect_refused(authorizer, sibling);
}

TEST(Authorizer, TakesTheUnionOfAllThatMatch) {
    const Authorizer authorizer({
        uid_grant(1000, bit(Role::engine), {TenantId{9}, TenantId{2}}),
        gid_grant(50, bit(Role::engine) | bit(Role::inspector), {TenantId{2}, TenantId{3}}),
        uid_grant(1001, bit(Role::admin)),
    });
    const auto identity = authorizer.identify(peer(1000, 50));
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->roles, bit(Role::engine) | bit(Role::inspector));
    EXPECT_THAT(identity->tenants, ElementsAre(TenantId{2}, TenantId{3}, TenantId{9}));
}

TEST(Authorizer, TwoNarrowGrantsDoNotAddUpToAWiderOne) {
    const Authorizer authorizer({
        uid_grant(1000, bit(Role::engine), {TenantId{1}}),
        uid_grant(1000, bit(Role::inspector), {TenantId{2}}),
    });
    const auto identity = authorizer.identify(peer(1000, 1000));
    ASSERT_TRUE(identity);
    EXPECT_THAT(identity->tenants, ElementsAre(TenantId{1})) << "an engine of tenant 1 alone";
}

TEST(Authorizer, NobodyMatchesNothing) {
    const Authorizer authorizer({
        uid_grant(65534, bit(Role::admin)),
        gid_grant(65534, bit(Role::admin)),
        uid_grant(static_cast<uid_t>(-1), bit(Role::admin)),
        gid_grant(static_cast<gid_t>(-1), bit(Role::admin)),
        gid_grant(50, bit(Role::admin)),
    });
    expect_refused(authorizer, peer(65534, 65534));
    expect_refused(authorizer, peer(65534, 50));
    expect_refused(authorizer, peer(1000, 65534, {65534}));
    expect_refused(authorizer, peer(static_cast<uid_t>(-1), static_cast<gid_t>(-1)));
    expect_refused(authorizer, PeerCredentials{});
}

TEST(Authorizer, AGrantThatNamesNobodyOrBothMatchesNothing) {
    Grant both = uid_grant(1000, bit(Role::admin));
    both.gid = 1000;
    const Authorizer authorizer({Grant{}, both});
    expect_refused(authorizer, peer(1000, 1000));
}

TEST(Authorizer, NoGrantIsNoRight) {
    const Authorizer authorizer({});
    const auto identity = authorizer.identify(peer(0, 0));
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().code(), Errc::not_permitted);
    EXPECT_THAT(identity.error().message(), HasSubstr("uid 0"));
    EXPECT_THAT(identity.error().message(), HasSubstr("[[grant]]"));
}

TEST(Authorizer, AGrantWithoutRolesIsNoRight) {
    const Authorizer authorizer({uid_grant(1000, 0, {TenantId{1}})});
    expect_refused(authorizer, peer(1000, 1000));
}

// Case D01, at a socket that is the credential.
TEST(IdentifyBySocket, AnyUidIsAnEngineOfTheSocketsTenantsAndNothingElse) {
    for (const uid_t uid : {0U, 1000U, 70'000U}) {
        const auto identity =
            Authorizer::identify_by_socket({TenantId{2}, TenantId{1}, TenantId{2}}, peer(uid, 7));
        ASSERT_TRUE(identity) << identity.error().message();
        EXPECT_EQ(identity->uid, uid);
        EXPECT_EQ(identity->gid, 7U);
        EXPECT_EQ(identity->roles, bit(Role::engine));
        EXPECT_THAT(identity->tenants, ElementsAre(TenantId{1}, TenantId{2}));
    }
}

TEST(IdentifyBySocket, NobodyIsNobodyThereToo) {
    for (const uid_t uid : {65534U, static_cast<uid_t>(-1)}) {
        const auto identity = Authorizer::identify_by_socket({TenantId{1}}, peer(uid, 7));
        ASSERT_FALSE(identity) << uid;
        EXPECT_EQ(identity.error().code(), Errc::not_permitted);
    }
}

TEST(IdentifyBySocket, APeerWhosePidIsNotSeenIsKnownByItsUidOnly) {
    PeerCredentials sibling = peer(1000, 1000);
    sibling.pid = 0;
    const auto identity = Authorizer::identify_by_socket({TenantId{1}}, sibling);
    ASSERT_FALSE(identity);
    EXPECT_EQ(identity.error().code(), Errc::not_permitted);
    EXPECT_THAT(identity.error().message(), HasSubstr("pid namespace"));
}

Identity engine_of(std::vector<TenantId> tenants) {
    Identity identity;
    identity.uid = 1000;
    identity.roles = bit(Role::engine);
    identity.tenants = std::move(tenants);
    return identity;
}

void expect_error(const Result<TenantId>& selected, Errc code) {
    ASSERT_FALSE(selected);
    EXPECT_EQ(selected.error().code(), code);
}

TEST(SelectTenant, ZeroTakesTheOnlyOne) {
    EXPECT_EQ(*Authorizer::select_tenant(engine_of({TenantId{7}}), TenantId{}), TenantId{7});
    expect_error(Authorizer::select_tenant(engine_of({TenantId{7}, TenantId{8}}), TenantId{}),
                 Errc::invalid_argument);
    expect_error(Authorizer::select_tenant(engine_of({}), TenantId{}), Errc::not_permitted);
}

TEST(SelectTenant, SelectsAmongItsOwnOnly) {
    const Identity identity = engine_of({TenantId{7}, TenantId{8}});
    EXPECT_EQ(*Authorizer::select_tenant(identity, TenantId{8}), TenantId{8});
    expect_error(Authorizer::select_tenant(identity, TenantId{9}), Errc::not_permitted);
    expect_error(Authorizer::select_tenant(engine_of({}), TenantId{7}), Errc::not_permitted);
}

TEST(SelectTenant, OnlyEnginesActAsATenant) {
    Identity identity = engine_of({TenantId{7}});
    identity.roles = bit(Role::admin) | bit(Role::inspector) | bit(Role::adjudicator);
    expect_error(Authorizer::select_tenant(identity, TenantId{7}), Errc::not_permitted);
    expect_error(Authorizer::select_tenant(identity, TenantId{}), Errc::not_permitted);
}

}  // namespace
}  // namespace cxlpool

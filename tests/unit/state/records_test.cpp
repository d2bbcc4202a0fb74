#include "state/records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

TenantRecord tenant(std::uint64_t id, const std::string& name) {
    TenantRecord out;
    out.id = TenantId{id};
    out.name = name;
    return out;
}

TEST(StateRecords, Tenants) {
    EXPECT_EQ(tenant(1, "").weight, 100U);
    EXPECT_TRUE(check_record(tenant(1, "")));
    EXPECT_TRUE(check_record(tenant(~0ULL, "team-a")));
    EXPECT_EQ(check_record(tenant(0, "team-a")).error().code(), Errc::invalid_argument);
    EXPECT_THAT(check_record(tenant(1, "a b")).error().message(), HasSubstr("'a b'"));
    TenantRecord weighed = tenant(7, "");
    weighed.weight = 0;
    EXPECT_THAT(check_record(weighed).error().message(), HasSubstr("write 1 to 1000000"));
    weighed.weight = 1'000'000;
    EXPECT_TRUE(check_record(weighed));
    weighed.weight = 1'000'001;
    EXPECT_THAT(check_record(weighed).error().message(),
                HasSubstr("1000001 is no weight of tenant 7"));
}

TEST(StateRecords, Reservations) {
    EXPECT_TRUE(check_record(Reservation{TenantId{1}, "cxl0", 0}));
    EXPECT_TRUE(check_record(Reservation{TenantId{1}, "cxl0", ~0ULL}));
    EXPECT_EQ(check_record(Reservation{TenantId{0}, "cxl0", 1}).error().code(),
              Errc::invalid_argument);
    EXPECT_EQ(check_record(Reservation{TenantId{1}, "", 1}).error().code(), Errc::invalid_argument);
}

TEST(StateRecords, Erasures) {
    const ErasureRecord good{TenantId{1}, 2, "leases_ended", Timestamp{3}, {}, ""};
    EXPECT_TRUE(check_record(good));
    ErasureRecord wrong = good;
    wrong.step = "Leases";
    EXPECT_FALSE(check_record(wrong));
    wrong.step = "";
    EXPECT_FALSE(check_record(wrong));
    wrong = good;
    wrong.receipt = "{}";
    EXPECT_FALSE(check_record(wrong)) << "a receipt before the end";
    wrong.finished = Timestamp{4};
    EXPECT_TRUE(check_record(wrong));
    wrong.receipt = "";
    EXPECT_FALSE(check_record(wrong)) << "an end without a receipt";
    wrong.receipt = std::string(65537, ' ');
    EXPECT_FALSE(check_record(wrong));
}

TEST(StateRecords, NamesAreUniqueAndReservationsHaveTenants) {
    State state;
    state.tenants = {tenant(1, ""), tenant(2, ""), tenant(3, "c")};
    state.reservations = {{TenantId{3}, "cxl0", 5}};
    EXPECT_TRUE(check_state(state));
    state.tenants.push_back(tenant(4, "c"));
    const Result<void> twice = check_state(state);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code(), Errc::already_exists);
    EXPECT_THAT(twice.error().message(), HasSubstr("tenant 3 is named 'c'"));
    state.tenants.pop_back();
    state.reservations.push_back({TenantId{4}, "cxl0", 5});
    EXPECT_EQ(check_state(state).error().code(), Errc::not_found);
}

}  // namespace
}  // namespace cxlpool

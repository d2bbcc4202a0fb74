#include "base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

namespace cxlpool {
namespace {

Result<int> half(int n) {
    if (n % 2 != 0) {
        return Error{Errc::invalid_argument, "odd"};
    }
    return n / 2;
}

Result<void> even(int n) {
    CXLPOOL_TRY(half(n));
    return {};
}

TEST(Result, HoldsAValueOrAnError) {
    EXPECT_EQ(*half(8), 4);
    const auto bad = half(7);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code(), Errc::invalid_argument);
    EXPECT_TRUE(even(2));
    EXPECT_EQ(even(1).error().message(), "odd");
}

TEST(Result, MovesItsValueOut) {
    Result<std::unique_ptr<int>> owned(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = std::move(owned).value();
    EXPECT_EQ(*taken, 5);
}

TEST(Error, KeepsItsCodeUnderContext) {
    const Error error =
        os_error("opening '/dev/dax0.0'", EACCES, Errc::not_permitted).with_context("pool 'cxl0'");
    EXPECT_EQ(error.code(), Errc::not_permitted);
    EXPECT_EQ(error.os_errno(), EACCES);
    EXPECT_EQ(error.message(), "pool 'cxl0': opening '/dev/dax0.0': Permission denied (EACCES)");
}

TEST(ResultDeathTest, AskingForTheWrongOneAborts) {
    const Result<int> bad = half(1);
    EXPECT_DEATH(static_cast<void>(bad.value()), "broken invariant");
    const Result<int> good = half(2);
    EXPECT_DEATH(static_cast<void>(good.error()), "broken invariant");
}

TEST(Errc, NamesAreUniqueAndNumbersAreKnown) {
    std::set<std::string_view> names;
    int known = 0;
    for (int number = 0; number < 200; ++number) {
        if (errc_known(static_cast<std::uint16_t>(number))) {
            ++known;
            EXPECT_TRUE(names.insert(errc_name(static_cast<Errc>(number))).second);
        }
    }
    EXPECT_EQ(known, 28);
    EXPECT_FALSE(errc_known(199));
    EXPECT_EQ(errc_name(static_cast<Errc>(199)), "unknown_error");
    EXPECT_EQ(static_cast<int>(Errc::not_permitted), 20);
    EXPECT_EQ(static_cast<int>(Errc::capacity), 40);
    EXPECT_EQ(static_cast<int>(Errc::internal), 100);
}

}  // namespace
}  // namespace cxlpool

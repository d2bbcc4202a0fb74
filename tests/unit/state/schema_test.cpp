#include "state/schema.hpp"

#include <gmock/gmock.h>

#include <array>

#include "fixture.hpp"

namespace cxlpool::state {
namespace {

using ::testing::HasSubstr;

class Migrations : public test::StateTest {
  protected:
    Migrations() { spill(path_, ""); }
    Database database() const {
        auto out = Database::open(path_, Database::Access::write);
        EXPECT_TRUE(out) << out.error().message();
        return std::move(*out);
    }
    std::uint64_t version() const { return *database().ask_number("PRAGMA user_version"); }
    std::string path_ = tree_.path("some.db");
};

constexpr std::array<const char*, 3> kSteps{
    "CREATE TABLE first (value INTEGER) STRICT; INSERT INTO first VALUES (1)",
    "CREATE TABLE second AS SELECT value + 1 AS value FROM first",
    "INSERT INTO second VALUES (7); INSERT INTO absent VALUES (1)",
};

TEST_F(Migrations, FromNothingToTheNewest) {
    Database fresh = database();
    ASSERT_TRUE(migrate(fresh, migrations()));
    EXPECT_EQ(*fresh.ask_number("PRAGMA user_version"), migrations().size());
    EXPECT_EQ(*fresh.ask_number("SELECT count(*) FROM tenant"), 0U);
    EXPECT_TRUE(migrate(fresh, migrations())) << "nothing is left to do";
}

TEST_F(Migrations, EachStepOnce) {
    {
        Database old = database();
        ASSERT_TRUE(migrate(old, std::span(kSteps).first(1)));
    }
    EXPECT_EQ(version(), 1U);
    Database newer = database();
    ASSERT_TRUE(migrate(newer, std::span(kSteps).first(2)));
    EXPECT_EQ(*newer.ask_number("SELECT value FROM second"), 2U);
    EXPECT_EQ(*newer.ask_number("SELECT count(*) FROM first"), 1U);
}

TEST_F(Migrations, AStepThatFailsLeavesNothing) {
    {
        Database fresh = database();
        EXPECT_FALSE(migrate(fresh, kSteps));
    }
    EXPECT_EQ(version(), 2U);
    EXPECT_EQ(*database().ask_number("SELECT count(*) FROM second"), 1U) << "7 is not in it";
}

TEST_F(Migrations, ANewerFileIsRefusedWithTheRemedy) {
    Database newer = database();
    ASSERT_TRUE(newer.run("PRAGMA user_version = 3"));
    const Result<void> refused = migrate(newer, std::span(kSteps).first(2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::unsupported_version);
    EXPECT_THAT(refused.error().message(), HasSubstr("version 3"));
    EXPECT_THAT(refused.error().message(), HasSubstr("install the version that wrote it"));
    EXPECT_EQ(*newer.ask_number("PRAGMA user_version"), 3U);
}

TEST_F(Migrations, ATransactionIsWholeOrNothing) {
    Database some = database();
    ASSERT_TRUE(migrate(some, std::span(kSteps).first(1)));
    const Result<void> stopped = some.transact([&]() -> Result<void> {
        EXPECT_TRUE(some.run("INSERT INTO first VALUES (2)"));
        return Error{Errc::cancelled, "enough"};
    });
    EXPECT_EQ(stopped.error().code(), Errc::cancelled);
    EXPECT_EQ(*some.ask_number("SELECT count(*) FROM first"), 1U);
    EXPECT_TRUE(some.transact([&] { return some.run("INSERT INTO first VALUES (2)"); }));
    EXPECT_EQ(*some.ask_number("SELECT count(*) FROM first"), 2U);
}

TEST_F(Migrations, AColumnOfAnotherTypeIsNoValue) {
    Database some = database();
    ASSERT_TRUE(some.run("CREATE TABLE loose (value); INSERT INTO loose VALUES ('7')"));
    Result<Statement> rows = some.prepare("SELECT value FROM loose");
    ASSERT_TRUE(rows);
    ASSERT_TRUE(*rows->step());
    EXPECT_EQ(rows->number(0), 0U);
    EXPECT_EQ(rows->step().error().code(), Errc::malformed);
}

TEST_F(Migrations, AnUnknownColumnIsTheFilesFault) {
    const Database some = database();
    const Result<Statement> refused = some.prepare("SELECT salt FROM tenant");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::malformed);
    EXPECT_THAT(refused.error().message(), HasSubstr(path_));
    EXPECT_THAT(refused.error().message(), HasSubstr("no such table: tenant"));
}

}  // namespace
}  // namespace cxlpool::state

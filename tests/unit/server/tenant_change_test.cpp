#include "server/tenant_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "server/documents.hpp"

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using wire::TenantChangeRequest;
using wire::TenantOp;

constexpr std::uint64_t kMax = ~0ULL;

TenantRecord record(std::uint64_t id, const std::string& name) {
    TenantRecord out;
    out.id = TenantId{id};
    out.name = name;
    return out;
}

class Book : public ::testing::Test {
  protected:
    Book() {
        registry_.add_pool({Isolation::kernel, Tier::cxl, 100});
        TenantRecord second = record(2, "beta");
        second.salt = 7;
        second.weight = 5;
        second.trust_epoch = 3;
        second.incarnation = 4;
        second.had_cells = true;
        EXPECT_TRUE(book_.load(registry_,
                               {{record(1, "alpha"), true, true}, {second, false, false}},
                               {{TenantId{2}, "cxl0", 60}, {TenantId{2}, "gone", 9}}));
    }
    Errc refused(const TenantChangeRequest& change) {
        const Result<TenantSaving> saving = book_.prepare(registry_, change);
        return saving ? Errc::ok : saving.error().code();
    }
    // What is saved for it; then it is in force.
    TenantSaving change(const TenantChangeRequest& change) {
        Result<TenantSaving> saving = book_.prepare(registry_, change);
        EXPECT_TRUE(saving) << saving.error().message();
        EXPECT_TRUE(book_.apply(registry_, change));
        return saving ? std::move(*saving) : TenantSaving{};
    }

    Registry registry_{TenancyMode::multi, RegistryLimits{}};
    TenantBook book_{{"cxl0"}};
};

TEST_F(Book, LoadsAllThatWasKept) {
    TenantRecord second = record(2, "beta");
    second.salt = 7;
    second.weight = 5;
    second.trust_epoch = 3;
    second.incarnation = 4;
    second.had_cells = true;
    EXPECT_EQ(book_.record_of(registry_, TenantId{2}), second);
    EXPECT_EQ(book_.record_of(registry_, TenantId{1}), record(1, "alpha"));
    EXPECT_EQ(registry_.reserved_bytes(TenantId{2}, 0), 60U);
    EXPECT_THAT(book_.unserved(), ElementsAre(Reservation{TenantId{2}, "gone", 9}));
    EXPECT_TRUE(book_.is_declared(TenantId{1}));
    EXPECT_FALSE(book_.is_declared(TenantId{2}));
}

TEST_F(Book, ReservationsThatNoLongerFitAreSaidWithTheRemedy) {
    Registry registry{TenancyMode::multi, RegistryLimits{}};
    registry.add_pool({Isolation::kernel, Tier::cxl, 50});
    TenantBook book({"cxl0"});
    const Result<void> refused =
        book.load(registry, {{record(1, "alpha"), true, true}}, {{TenantId{1}, "cxl0", 60}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::invalid_argument);
    EXPECT_THAT(refused.error().message(), HasSubstr("pool 'cxl0' cannot keep the 60 B"));
    EXPECT_THAT(refused.error().message(), HasSubstr("cxlpoolctl tenant reserve"));
}

TEST_F(Book, EachChangeIsSavedAndThenInForce) {
    EXPECT_THAT(change({TenantOp::add, kMax, 0, "gamma", ""}).tenants,
                ElementsAre(record(kMax, "gamma")));
    EXPECT_TRUE(registry_.has_tenant(TenantId{kMax}));
    TenantRecord gamma = record(kMax, "delta");
    EXPECT_THAT(change({TenantOp::set_name, kMax, 0, "delta", ""}).tenants, ElementsAre(gamma));
    gamma.salt = kMax;
    EXPECT_THAT(change({TenantOp::set_salt, kMax, kMax, "", ""}).tenants, ElementsAre(gamma));
    gamma.weight = 1'000'000;
    EXPECT_THAT(change({TenantOp::set_weight, kMax, 1'000'000, "", ""}).tenants,
                ElementsAre(gamma));
    const TenantSaving reserved = change({TenantOp::reserve, kMax, 40, "", "cxl0"});
    EXPECT_THAT(reserved.tenants, ElementsAre(gamma)) << "a reservation is of a kept tenant";
    EXPECT_THAT(reserved.reservations, ElementsAre(Reservation{TenantId{kMax}, "cxl0", 40}));
    EXPECT_EQ(registry_.reserved_bytes(TenantId{kMax}, 0), 40U);
    EXPECT_EQ(book_.record_of(registry_, TenantId{kMax}), gamma);
}

TEST_F(Book, WhatTheRegistryWouldRefuseIsNotSaved) {
    EXPECT_EQ(refused({TenantOp::add, 1, 0, "", ""}), Errc::already_exists);
    EXPECT_EQ(refused({TenantOp::add, 3, 0, "beta", ""}), Errc::already_exists);
    EXPECT_EQ(refused({TenantOp::add, 3, 0, "-", ""}), Errc::invalid_argument);
    EXPECT_EQ(refused({TenantOp::set_name, 3, 0, "x", ""}), Errc::not_found);
    EXPECT_EQ(refused({TenantOp::set_name, 1, 0, "x", ""}), Errc::wrong_state);
    EXPECT_EQ(refused({TenantOp::set_name, 2, 0, "alpha", ""}), Errc::already_exists);
    EXPECT_EQ(refused({TenantOp::set_salt, 2, 8, "", ""}), Errc::wrong_state);
    EXPECT_EQ(refused({TenantOp::set_salt, 2, 7, "", ""}), Errc::ok);
    EXPECT_EQ(refused({TenantOp::set_weight, 2, 0, "", ""}), Errc::invalid_argument);
    EXPECT_EQ(refused({TenantOp::set_weight, 2, (1ULL << 32U) + 1, "", ""}),
              Errc::invalid_argument);
    EXPECT_EQ(refused({TenantOp::reserve, 1, 41, "", "cxl0"}), Errc::capacity);
    EXPECT_EQ(refused({TenantOp::reserve, 1, 40, "", "cxl0"}), Errc::ok);
    EXPECT_EQ(refused({TenantOp::reserve, 1, 0, "", "gone"}), Errc::not_found);
    EXPECT_EQ(refused({TenantOp::reserve, 2, 1, "", "gone"}), Errc::not_found);
}

TEST_F(Book, AReservationOfAPoolThatIsGoneCanBeRemoved) {
    EXPECT_THAT(change({TenantOp::reserve, 2, 0, "", "gone"}).reservations,
                ElementsAre(Reservation{TenantId{2}, "gone", 0}));
    EXPECT_THAT(book_.unserved(), IsEmpty());
}

// A file that is read while a change is being saved.
TEST_F(Book, AFileAndAnOperatorNeverGiveOneNameToTwo) {
    const TenantChangeRequest add{TenantOp::add, 3, 0, "gamma", ""};
    ASSERT_TRUE(book_.prepare(registry_, add));
    const TenantBook::Declared another{{TenantId{1}, "alpha"}, {TenantId{4}, "gamma"}};
    EXPECT_EQ(book_.check_declared(registry_, another).error().code(), Errc::already_exists);
    const TenantBook::Declared the_same{{TenantId{1}, "alpha"}, {TenantId{3}, "delta"}};
    ASSERT_TRUE(book_.check_declared(registry_, the_same));
    book_.declare(registry_, the_same);
    EXPECT_TRUE(book_.apply(registry_, add));
    EXPECT_EQ(registry_.tenant_name(TenantId{3}), "delta") << "the file decides";
    EXPECT_THAT(book_.unsaved(registry_), ElementsAre(record(3, "delta")));
    EXPECT_TRUE(book_.check_declared(registry_, {{TenantId{4}, "gamma"}})) << "held no more";
    const TenantChangeRequest rename{TenantOp::set_name, 3, 0, "epsilon", ""};
    EXPECT_EQ(refused(rename), Errc::wrong_state);
}

TEST_F(Book, WhatAFileRenamesIsUnsavedUntilItIsSaved) {
    book_.declare(registry_, {{TenantId{1}, "beta"}, {TenantId{2}, "alpha"}});
    const std::vector<TenantRecord> unsaved = book_.unsaved(registry_);
    ASSERT_EQ(unsaved.size(), 2U);
    EXPECT_EQ(unsaved[0].name, "beta");
    EXPECT_EQ(unsaved[1].name, "alpha");
    book_.declare(registry_, {{TenantId{1}, "omega"}, {TenantId{2}, "alpha"}});
    book_.saved(registry_, unsaved);
    EXPECT_THAT(book_.unsaved(registry_), ElementsAre(record(1, "omega")));
}

TEST_F(Book, TheDocumentIsExact) {
    change({TenantOp::set_salt, 1, 0x00ff, "", ""});
    EXPECT_EQ(tenants_document(registry_, book_, {"cxl0"}),
              "{\"tenants\":["
              "{\"tenant\":1,\"name\":\"alpha\",\"declared\":true,\"salt\":\"0x00000000000000ff\","
              "\"weight\":100,\"trust_epoch\":1,\"incarnation\":0,\"had_cells\":false,"
              "\"pools\":[]},"
              "{\"tenant\":2,\"name\":\"beta\",\"declared\":false,\"salt\":\"0x0000000000000007\","
              "\"weight\":5,\"trust_epoch\":3,\"incarnation\":4,\"had_cells\":true,\"pools\":["
              "{\"pool\":\"cxl0\",\"served\":true,\"reserved_bytes\":60,\"resident_bytes\":0},"
              "{\"pool\":\"gone\",\"served\":false,\"reserved_bytes\":9,\"resident_bytes\":0}]}]}");
}

}  // namespace
}  // namespace cxlpool

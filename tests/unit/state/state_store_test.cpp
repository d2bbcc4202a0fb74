#include "state/state_store.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "fixture.hpp"
#include "support/processes.hpp"

namespace cxlpool {
namespace {

using test::after_erasure;
using test::extreme_cell;
using test::extreme_tenant;
using test::kMaxU64;
using test::kWall;
using test::plain_cell;
using test::plain_tenant;
using test::run_as;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uid_t kNobody = 65534;

class Store : public test::StateTest {
  protected:
    // Runs in another process, where locks count; what it returns comes back.
    template <typename Code>
    static int elsewhere(Code code) {
        return run_as(::getuid(), code);
    }
    static void sqlite(const std::string& file, const std::string& sql) {
        sqlite3* db = nullptr;
        ASSERT_EQ(::sqlite3_open(file.c_str(), &db), SQLITE_OK);
        char* why = nullptr;
        EXPECT_EQ(::sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &why), SQLITE_OK) << why;
        ::sqlite3_close(db);
    }
};

TEST_F(Store, BeginsEmptyAndClosed) {
    const auto store = opened();
    ASSERT_TRUE(store);
    const Result<State> state = store->read();
    ASSERT_TRUE(state);
    EXPECT_THAT(state->tenants, IsEmpty());
    EXPECT_THAT(state->reservations, IsEmpty());
    EXPECT_THAT(state->erasures, IsEmpty());
    EXPECT_EQ(store->kept_aside(), "");
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(directory()).permissions(), perms::owner_all);
    for (const auto& entry : std::filesystem::directory_iterator(directory())) {
        EXPECT_EQ(entry.status().permissions(), perms::owner_read | perms::owner_write)
            << entry.path() << " holds salts";
    }
}

TEST_F(Store, KeepsAll64Bits) {
    const TenantRecord plain = plain_tenant(1, "");
    TenantRecord middle = plain_tenant(1ULL << 63U, "middle");
    middle.salt = (1ULL << 63U) - 1;
    {
        const auto store = opened();
        ASSERT_TRUE(store->save({extreme_tenant(), middle, plain},
                                {{TenantId{kMaxU64}, "cxl0", kMaxU64}, {TenantId{1}, "cxl0", 1}}));
    }
    const auto store = opened();
    const Result<State> state = store->read();
    ASSERT_TRUE(state);
    EXPECT_THAT(state->tenants, ElementsAre(plain, middle, extreme_tenant()));
    EXPECT_THAT(state->reservations, ElementsAre(Reservation{TenantId{1}, "cxl0", 1},
                                                 Reservation{TenantId{kMaxU64}, "cxl0", kMaxU64}));
}

TEST_F(Store, KeepsCellsWithAllTheirFields) {
    {
        const auto store = opened();
        ASSERT_TRUE(store->save_cells({extreme_cell(), plain_cell(3), plain_cell(2)}, {}));
    }
    const auto store = opened();
    EXPECT_THAT(*store->cells(), ElementsAre(plain_cell(2), plain_cell(3), extreme_cell()));
    CellRecord newer = plain_cell(3);
    newer.taint = Taint::trusted;
    // One that is not there is as gone as it can be.
    ASSERT_TRUE(store->save_cells({newer}, {CellId{2}, CellId{77}}));
    EXPECT_THAT(*store->cells(), ElementsAre(newer, extreme_cell()));
}

TEST_F(Store, ACellThatBreaksARuleChangesNothing) {
    const auto store = opened();
    ASSERT_TRUE(store->save_cells({plain_cell(1)}, {}));
    const std::vector<std::function<void(CellRecord&)>> breaks{
        [](CellRecord& c) { c.id = CellId{}; },
        [](CellRecord& c) { c.owner = TenantId{}; },
        [](CellRecord& c) { c.pool = "../x"; },
        [](CellRecord& c) { c.segment = 0; },
        [](CellRecord& c) { c.length_bytes = 0; },
        [](CellRecord& c) { c.length_bytes = c.extent_bytes + 1; },
        [](CellRecord& c) { c.offset_bytes = kMaxU64; },
        [](CellRecord& c) { c.span = SpanDigest{}; },
        [](CellRecord& c) { c.digest = ContentDigest{}; },
        [](CellRecord& c) { c.taint = Taint::poisoned; },
        [](CellRecord& c) { c.quarantined = true; },
        [](CellRecord& c) { c.context[Axis::weights] = "a name"; },
    };
    for (const auto& broken : breaks) {
        CellRecord cell = plain_cell(2);
        broken(cell);
        const Result<void> saved = store->save_cells({plain_cell(3), cell}, {CellId{1}});
        EXPECT_FALSE(saved) << &broken - breaks.data();
        EXPECT_THAT(*store->cells(), ElementsAre(plain_cell(1)));
    }
}

TEST_F(Store, ARecordTakesThePlaceOfItsOlderSelf) {
    const auto store = opened();
    TenantRecord tenant = plain_tenant(1, "team");
    ASSERT_TRUE(store->save({tenant}, {{tenant.id, "cxl0", 5}, {tenant.id, "cxl1", 6}}));
    tenant.name = "crew";
    tenant.salt = 7;
    tenant.had_cells = true;
    ASSERT_TRUE(store->save({tenant}, {{tenant.id, "cxl0", 8}, {tenant.id, "cxl1", 0}}));
    const Result<State> state = store->read();
    ASSERT_TRUE(state);
    EXPECT_THAT(state->tenants, ElementsAre(tenant));
    EXPECT_THAT(state->reservations, ElementsAre(Reservation{tenant.id, "cxl0", 8}));
}

TEST_F(Store, TenantsMaySwapTheirNames) {
    const auto store = opened();
    ASSERT_TRUE(store->save({plain_tenant(1, "a"), plain_tenant(2, "b")}));
    EXPECT_TRUE(store->save({plain_tenant(1, "b"), plain_tenant(2, "a")}));
}

TEST_F(Store, WhatBreaksARuleChangesNothing) {
    const auto store = opened();
    ASSERT_TRUE(store->save({plain_tenant(1, "a")}));
    const auto refused = [&](const std::vector<TenantRecord>& tenants,
                             const std::vector<Reservation>& reservations) {
        const Result<void> saved = store->save(tenants, reservations);
        EXPECT_FALSE(saved);
        return saved ? Errc::ok : saved.error().code();
    };
    EXPECT_EQ(refused({plain_tenant(2, "b"), plain_tenant(3, "a")}, {}), Errc::already_exists);
    EXPECT_EQ(refused({plain_tenant(2, "b"), plain_tenant(0, "")}, {}), Errc::invalid_argument);
    EXPECT_EQ(refused({plain_tenant(2, "b"), plain_tenant(3, "-")}, {}), Errc::invalid_argument);
    EXPECT_EQ(refused({plain_tenant(2, "b")}, {{TenantId{3}, "cxl0", 1}}), Errc::not_found);
    EXPECT_EQ(refused({plain_tenant(2, "b")}, {{TenantId{2}, "", 1}}), Errc::invalid_argument);
    EXPECT_THAT(store->read()->tenants, ElementsAre(plain_tenant(1, "a")));
    EXPECT_TRUE(store->save({plain_tenant(2, "b")}, {{TenantId{2}, "cxl0", 1}}));
}

TEST_F(Store, TheJournalOfErasures) {
    const ErasureRecord begun{TenantId{kMaxU64}, kMaxU64, "begun", kWall, {}, ""};
    const TenantRecord one = plain_tenant(1, "a");
    {
        const auto store = opened();
        ASSERT_TRUE(store->begin_erasure(extreme_tenant(), "begun", kWall));
        EXPECT_EQ(store->begin_erasure(extreme_tenant(), "begun", kWall).error().code(),
                  Errc::already_exists);
        ASSERT_TRUE(store->begin_erasure(one, "begun", Timestamp{5}));
        ASSERT_TRUE(store->advance_erasure(TenantId{1}, 0, "overwritten"));
    }
    const auto store = opened();
    const ErasureRecord advanced{TenantId{1}, 0, "overwritten", Timestamp{5}, {}, ""};
    EXPECT_THAT(*store->erasures(), ElementsAre(advanced, begun));
    EXPECT_THAT(store->read()->tenants, ElementsAre(one, extreme_tenant()))
        << "whose erasure it is is known after a crash, too";
    const TenantRecord after = after_erasure(1, "a");
    ASSERT_TRUE(store->finish_erasure(after, "done", "{\"cells\":3}", kWall));
    const ErasureRecord finished{TenantId{1}, 0, "done", Timestamp{5}, kWall, "{\"cells\":3}"};
    EXPECT_THAT(store->read()->erasures, ElementsAre(finished, begun));
    EXPECT_THAT(store->read()->tenants, ElementsAre(after, extreme_tenant()));
    EXPECT_EQ(store->advance_erasure(TenantId{1}, 0, "again").error().code(), Errc::wrong_state);
    EXPECT_EQ(store->finish_erasure(after, "done", "{}", kWall).error().code(), Errc::wrong_state);
    EXPECT_EQ(store->finish_erasure(one, "done", "{}", kWall).error().code(),
              Errc::invalid_argument);
    EXPECT_EQ(store->advance_erasure(TenantId{1}, 1, "again").error().code(), Errc::not_found);
    EXPECT_EQ(store->begin_erasure(after, "Begun", kWall).error().code(), Errc::invalid_argument);
    EXPECT_TRUE(store->begin_erasure(after, "begun", kWall));
}

TEST_F(Store, WithTheReceiptGoTheRecordsOfItsCells) {
    CellRecord erased = plain_cell(1);
    erased.owner = TenantId{1};
    CellRecord of_another = plain_cell(2);
    of_another.owner = TenantId{2};
    {
        const auto store = opened();
        ASSERT_TRUE(store->save_cells({erased, of_another}, {}));
        ASSERT_TRUE(store->begin_erasure(plain_tenant(1, "a"), "begun", kWall));
        ASSERT_TRUE(store->advance_erasure(TenantId{1}, 0, "overwritten"));
        EXPECT_THAT(*store->cells(), ElementsAre(erased, of_another))
            << "after a crash they say which bytes there are";
        ASSERT_TRUE(store->finish_erasure(after_erasure(1, "a"), "done", "{}", kWall));
    }
    EXPECT_THAT(*opened()->cells(), ElementsAre(of_another));
}

TEST_F(Store, AnErasureThatCannotFinishLeavesTheTenantAsItWas) {
    const auto store = opened();
    CellRecord cell = plain_cell(1);
    cell.owner = TenantId{1};
    ASSERT_TRUE(store->save_cells({cell}, {}));
    ASSERT_TRUE(store->save({plain_tenant(1, "a"), plain_tenant(2, "b")}));
    ASSERT_TRUE(store->begin_erasure(plain_tenant(1, "a"), "begun", kWall));
    EXPECT_EQ(store->finish_erasure(after_erasure(1, "b"), "done", "{}", kWall).error().code(),
              Errc::already_exists);
    EXPECT_THAT(store->read()->tenants, ElementsAre(plain_tenant(1, "a"), plain_tenant(2, "b")));
    EXPECT_FALSE(store->erasures()->at(0).finished);
    EXPECT_THAT(*store->cells(), ElementsAre(cell));
}

TEST_F(Store, TheFirstStartDecidesTheMode) {
    opened(TenancyMode::multi);
    const std::string before = slurp(file());
    const auto refused = open(TenancyMode::single);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::tenancy_mismatch);
    EXPECT_THAT(refused.error().message(), HasSubstr("belongs to tenancy \"multi\""));
    EXPECT_THAT(refused.error().message(), HasSubstr(file()));
    EXPECT_EQ(slurp(file()), before) << "nothing was touched";
    EXPECT_EQ(open(TenancyMode::single, OnLoss::accept_empty).error().code(),
              Errc::tenancy_mismatch);
    EXPECT_TRUE(open(TenancyMode::multi));
}

TEST_F(Store, TheStampOfOlderVersionsIsTakenOver) {
    tree_.write("state/tenancy", "single\n");
    EXPECT_EQ(open(TenancyMode::multi).error().code(), Errc::tenancy_mismatch);
    EXPECT_EQ(StateStore::check(directory(), TenancyMode::multi).error().code(),
              Errc::tenancy_mismatch);
    EXPECT_TRUE(StateStore::check(directory(), TenancyMode::single));
    EXPECT_FALSE(std::filesystem::exists(file()));
    opened(TenancyMode::single);
    EXPECT_FALSE(std::filesystem::exists(directory() + "/tenancy"));
    EXPECT_EQ(open(TenancyMode::multi).error().code(), Errc::tenancy_mismatch);
}

TEST_F(Store, ADamagedStampIsNotGuessedAt) {
    for (const char* stamp : {"mul", "", "multi-single"}) {
        tree_.write("state/tenancy", stamp);
        EXPECT_EQ(open().error().code(), Errc::malformed) << stamp;
        EXPECT_FALSE(std::filesystem::exists(file()));
    }
}

TEST_F(Store, CheckChangesNothing) {
    EXPECT_TRUE(StateStore::check(directory(), TenancyMode::multi));
    EXPECT_FALSE(std::filesystem::exists(directory()));
    EXPECT_FALSE(StateStore::check(tree_.path("absent/state"), TenancyMode::multi));
    opened(TenancyMode::multi);
    EXPECT_TRUE(StateStore::check(directory(), TenancyMode::multi));
    EXPECT_EQ(StateStore::check(directory(), TenancyMode::single).error().code(),
              Errc::tenancy_mismatch);
    const std::string bytes = slurp(file());
    spill(file(), "nonsense");
    EXPECT_EQ(StateStore::check(directory(), TenancyMode::multi).error().code(), Errc::malformed);
    EXPECT_EQ(slurp(file()), "nonsense");
    spill(file(), bytes);
    EXPECT_TRUE(open());
}

TEST_F(Store, CheckReadsBesideARunningDaemon) {
    const auto store = opened(TenancyMode::multi);
    ASSERT_TRUE(store->save({plain_tenant(1, "a")}));
    EXPECT_EQ(elsewhere([&] {
                  const auto same = StateStore::check(directory(), TenancyMode::multi);
                  const auto other = StateStore::check(directory(), TenancyMode::single);
                  return same && !other && other.error().code() == Errc::tenancy_mismatch ? 0 : 1;
              }),
              0);
    EXPECT_TRUE(store->save({plain_tenant(2, "b")}));
}

TEST_F(Store, TwoDaemonsCannotShareIt) {
    auto store = opened();
    const auto second = open();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::unavailable);
    EXPECT_THAT(second.error().message(), HasSubstr(file()));
    const auto try_it = [&] {
        const auto mine = open();
        return mine ? 0 : static_cast<int>(mine.error().code());
    };
    EXPECT_EQ(elsewhere(try_it), static_cast<int>(Errc::unavailable));
    store.reset();
    EXPECT_EQ(elsewhere(try_it), 0);
}

// Who goes around the directory's lock meets that of the file.
TEST_F(Store, OthersCannotWriteTheFileMeanwhile) {
    const auto store = opened();
    EXPECT_EQ(elsewhere([&] {
                  sqlite3* db = nullptr;
                  ::sqlite3_open(file().c_str(), &db);
                  return ::sqlite3_exec(db, "DELETE FROM tenant", nullptr, nullptr, nullptr);
              }),
              SQLITE_BUSY);
}

TEST_F(Store, ANewerFileIsRefusedAndLeftAlone) {
    opened();
    sqlite(file(), "PRAGMA user_version = 4711");
    const std::string before = slurp(file());
    const auto refused = open(TenancyMode::multi, OnLoss::accept_empty);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::unsupported_version);
    EXPECT_THAT(refused.error().message(), HasSubstr("4711"));
    EXPECT_EQ(slurp(file()), before);
}

TEST_F(Store, ALinkInThePlaceOfANewFileIsNotFollowed) {
    tree_.write("victim", "precious");
    tree_.link("state/state.db.new", tree_.path("victim"));
    opened();
    EXPECT_EQ(slurp(tree_.path("victim")), "precious");
}

TEST_F(Store, AStartThatWasCutShortIsBegunAgain) {
    tree_.write("state/state.db.new", "half a file");
    tree_.write("state/state.db.new-journal", "and its journal");
    EXPECT_TRUE(open());
}

TEST_F(Store, UnusableDirectoriesAreSaid) {
    const auto absent = StateStore::open(tree_.path("absent/state"), TenancyMode::multi, kWall);
    EXPECT_EQ(absent.error().code(), Errc::io);
    EXPECT_THAT(absent.error().message(), HasSubstr("absent/state"));
    tree_.write("plain", "");
    EXPECT_EQ(StateStore::open(tree_.path("plain"), TenancyMode::multi, kWall).error().code(),
              Errc::io);
}

TEST_F(Store, AReadOnlyDirectoryIsSaid) {
    opened();
    ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory().c_str(), 0555), 0);
    ASSERT_EQ(::chmod(file().c_str(), 0444), 0);
    const auto refused = [&] {
        const auto store = open();
        return !store && store.error().code() == Errc::io &&
                       store.error().message().find(file()) != std::string::npos
                   ? 0
                   : 1;
    };
    // Root may write what nobody may.
    EXPECT_EQ(test::can_change_user() ? run_as(kNobody, refused) : refused(), 0);
    const auto no_file = [&] {
        const auto store = open();
        return !store && store.error().code() == Errc::io ? 0 : 1;
    };
    ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
    std::filesystem::remove(file());
    ASSERT_EQ(::chmod(directory().c_str(), 0555), 0);
    EXPECT_EQ(test::can_change_user() ? run_as(kNobody, no_file) : no_file(), 0);
    ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
}

// A disk that takes nothing more, by the limit of what a process may write to a file.
TEST_F(Store, AFullDiskIsSaidAndNothingIsHalfDone) {
    const auto limited = [&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const auto store = open();
        if (!store || !(*store)->save({plain_tenant(1, "a")})) {
            return 1;
        }
        const rlimit none{0, RLIM_INFINITY};
        if (::setrlimit(RLIMIT_FSIZE, &none) != 0) {
            return 2;
        }
        const Result<void> full = (*store)->save({plain_tenant(2, "b")});
        if (full || full.error().code() != Errc::io ||
            full.error().message().find(file()) == std::string::npos) {
            return 3;
        }
        const rlimit free{RLIM_INFINITY, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &free);
        const Result<State> state = (*store)->read();
        if (!state || state->tenants.size() != 1) {
            return 4;
        }
        return (*store)->save({plain_tenant(3, "c")}) ? 0 : 5;
    };
    EXPECT_EQ(elsewhere(limited), 0);
    EXPECT_THAT(opened()->read()->tenants, ElementsAre(plain_tenant(1, "a"), plain_tenant(3, "c")));
}

}  // namespace
}  // namespace cxlpool

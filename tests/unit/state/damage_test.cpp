// A state file that a disk, a crash or a person has changed: whatever is served is what was
// written.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <random>

#include "fixture.hpp"
#include "state/database.hpp"

namespace cxlpool {
namespace {

using test::after_erasure;
using test::extreme_tenant;
using test::kWall;
using test::plain_cell;
using test::plain_tenant;
using ::testing::HasSubstr;

constexpr const char* kKept = "/state.db.damaged-20260131T235959Z";

class Damage : public test::StateTest {
  protected:
    Damage() {
        // The process ends without closing, so that there is a log to damage as well.
        const pid_t child = ::fork();
        if (child == 0) {
            auto store = open();
            ::_exit(store && fill(**store) ? 0 : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        file_ = slurp(file());
        log_ = slurp(file() + "-wal");
        EXPECT_GT(log_.size(), 4096U);
        written_ = *opened()->read();
    }

    static bool fill(StateStore& store) {
        for (std::uint64_t id = 1; id <= 40; ++id) {
            TenantRecord tenant = plain_tenant(id, "tenant-" + std::to_string(id));
            tenant.salt = id * 0x9e3779b97f4a7c15ULL;
            if (!store.save({tenant}, {{tenant.id, "cxl0", id << 30U}})) {
                return false;
            }
        }
        return store.save({extreme_tenant()}) &&
               store.begin_erasure(plain_tenant(3, "tenant-3"), "begun", kWall) &&
               store.finish_erasure(after_erasure(3, "tenant-3"), "done", std::string(6000, '7'),
                                    kWall);
    }

    void put_back(const std::string& file_bytes, const std::optional<std::string>& log_bytes) {
        std::filesystem::remove_all(directory());
        std::filesystem::create_directory(directory());
        spill(file(), file_bytes);
        if (log_bytes) {
            spill(file() + "-wal", *log_bytes);
        }
    }

    // Opens what was put back. True: it opened, and everything is as written. False: it was
    // refused, kept aside unchanged, and a second start is refused, too. Anything else fails.
    bool opens_or_is_kept(const std::string& file_bytes) {
        auto store = open();
        if (store) {
            const Result<State> state = (*store)->read();
            EXPECT_TRUE(state);
            EXPECT_EQ(state->tenants, written_.tenants);
            EXPECT_EQ(state->reservations, written_.reservations);
            EXPECT_EQ(state->erasures, written_.erasures);
            return true;
        }
        const Error& why = store.error();
        if (why.code() == Errc::unsupported_version || why.code() == Errc::io) {
            // A version of the future, or a format that may only be read: both left alone.
            EXPECT_TRUE(slurp(file()) == file_bytes);
            return false;
        }
        EXPECT_EQ(why.code(), Errc::malformed) << why.message();
        EXPECT_THAT(why.message(), HasSubstr("it is kept as '" + directory() + kKept));
        EXPECT_THAT(why.message(), HasSubstr("--accept-empty-state"));
        EXPECT_FALSE(std::filesystem::exists(file()));
        EXPECT_TRUE(slurp(directory() + kKept) == file_bytes);
        EXPECT_EQ(open().error().code(), Errc::malformed) << "an empty state came by itself";
        EXPECT_FALSE(std::filesystem::exists(file()));
        return false;
    }

    std::string file_;
    std::string log_;
    State written_;
};

TEST_F(Damage, OfGarbage) {
    std::mt19937_64 random(20260131);
    for (const std::size_t size : {1U, 15U, 16U, 100U, 4096U, 65536U}) {
        std::string garbage(size, '\0');
        for (char& byte : garbage) {
            byte = static_cast<char>(random());
        }
        put_back(garbage, std::nullopt);
        EXPECT_FALSE(opens_or_is_kept(garbage)) << size;
    }
}

TEST_F(Damage, OfTruncation) {
    for (std::size_t size = 0; size < file_.size(); size += size < 200 ? 25 : 1024) {
        put_back(file_.substr(0, size), std::nullopt);
        // Of the last page the end may be unused.
        const bool whole = opens_or_is_kept(file_.substr(0, size));
        EXPECT_TRUE(!whole || size > file_.size() - 4096) << size;
    }
    put_back(file_, std::nullopt);
    EXPECT_TRUE(opens_or_is_kept(file_));
}

TEST_F(Damage, OfTheHeader) {
    std::size_t refused = 0;
    for (std::size_t at = 0; at < 112; ++at) {
        std::string bytes = file_;
        bytes[at] = static_cast<char>(bytes[at] ^ 0x15);
        SCOPED_TRACE(at);
        put_back(bytes, std::nullopt);
        refused += opens_or_is_kept(bytes) ? 0U : 1U;
    }
    EXPECT_GT(refused, 30U);
}

TEST_F(Damage, OfAnyPage) {
    std::mt19937_64 random(4711);
    std::size_t refused = 0;
    constexpr int kFlips = 400;
    for (int i = 0; i < kFlips; ++i) {
        std::string bytes = file_;
        const std::size_t at = random() % bytes.size();
        bytes[at] =
            static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1U << (random() % 8)));
        SCOPED_TRACE(at);
        put_back(bytes, std::nullopt);
        refused += opens_or_is_kept(bytes) ? 0U : 1U;
    }
    // The rest hit what no row uses.
    EXPECT_GT(refused, 100U);
    EXPECT_LT(refused, static_cast<std::size_t>(kFlips));
}

// What a log loses to damage is in the file already.
TEST_F(Damage, OfTheLog) {
    std::mt19937_64 random(1848);
    for (int i = 0; i < 100; ++i) {
        std::string bytes = log_;
        bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
        put_back(file_, bytes);
        EXPECT_TRUE(opens_or_is_kept(file_));
    }
    put_back(file_, log_.substr(0, log_.size() / 2));
    EXPECT_TRUE(opens_or_is_kept(file_));
    put_back(file_, "");
    EXPECT_TRUE(opens_or_is_kept(file_));
}

TEST_F(Damage, OfOneValueInARowIsFound) {
    const std::string name = "tenant-7";
    const std::size_t at = file_.find(name);
    ASSERT_NE(at, std::string::npos);
    std::string bytes = file_;
    bytes[at + 1] = 'a';  // a good name still
    put_back(bytes, std::nullopt);
    EXPECT_FALSE(opens_or_is_kept(bytes));
}

TEST_F(Damage, AFileWithoutItsTablesIsNotOurs) {
    put_back("", std::nullopt);
    EXPECT_FALSE(opens_or_is_kept(""));
}

TEST_F(Damage, ALogWithoutItsFile) {
    put_back(file_, log_);
    std::filesystem::remove(file());
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::malformed);
    EXPECT_TRUE(slurp(directory() + kKept + "-wal") == log_);
    EXPECT_EQ(open().error().code(), Errc::malformed);
}

TEST_F(Damage, TheOperatorMayGoOnWithoutIt) {
    for (const bool at_once : {true, false}) {
        put_back("nonsense", log_);
        if (!at_once) {
            ASSERT_FALSE(open());
        }
        auto anew = open(TenancyMode::multi, OnLoss::accept_empty);
        ASSERT_TRUE(anew) << anew.error().message();
        EXPECT_TRUE((*anew)->read()->tenants.empty());
        EXPECT_EQ((*anew)->kept_aside().empty(), !at_once);
        EXPECT_EQ(slurp(directory() + kKept), "nonsense");
        EXPECT_TRUE(slurp(directory() + kKept + "-wal") == log_);
        anew->reset();
        EXPECT_TRUE(open()) << "said once, it holds";
    }
}

TEST_F(Damage, NothingThatWasKeptIsOverwritten) {
    put_back("first", std::nullopt);
    ASSERT_FALSE(open());
    spill(file(), "second");
    ASSERT_FALSE(open());
    EXPECT_EQ(slurp(directory() + kKept), "first");
    EXPECT_EQ(slurp(directory() + kKept + ".2"), "second");
}

TEST_F(Damage, AGoodCopyPutBackIsTaken) {
    put_back("nonsense", std::nullopt);
    ASSERT_FALSE(open());
    spill(file(), file_);
    EXPECT_TRUE(opens_or_is_kept(file_));
}

// What SQLite finds in order, the seal of the row does not.
TEST_F(Damage, ACellThatIsNotWhatWasWritten) {
    for (const char* change :
         {"UPDATE cell SET body = replace(body, '\"scope\":\"agent\"', '\"scope\":\"fleet\"')",
          "UPDATE cell SET id = 8", "UPDATE cell SET body = '{}'",
          "INSERT INTO cell SELECT 9, body, seal FROM cell"}) {
        std::filesystem::remove_all(directory());
        ASSERT_TRUE(opened()->save_cells({plain_cell(7)}, {}));
        {
            auto database = state::Database::open(file(), state::Database::Access::write);
            ASSERT_TRUE(database);
            ASSERT_TRUE(database->run(change));
        }
        const auto refused = open();
        ASSERT_FALSE(refused) << change;
        EXPECT_EQ(refused.error().code(), Errc::malformed);
        EXPECT_THAT(refused.error().message(), HasSubstr("is kept as"));
    }
}

}  // namespace
}  // namespace cxlpool

// Erasing a tenant: under load, with readers, and with a daemon that is killed at each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "cell_engine.hpp"
#include "daemon_process.hpp"
#include "domain/receipt.hpp"
#include "wire/messages.hpp"

namespace cxlpool {
namespace {

using ::testing::AllOf;
using testing::basic_config;
using testing::DaemonProcess;
using testing::Ended;
using testing::Engine;
using ::testing::HasSubstr;
using testing::span_of;
using testing::spans;
using namespace wire;  // NOLINT: every second word here is a message

constexpr int kErased = 0x5A;  // what the first tenant fills its cells with
constexpr int kOthers = 0x33;

class Forget : public ::testing::Test {
  protected:
    void start() {
        ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory()))) << daemon_.ended().err;
    }
    Ended ctl(std::vector<std::string> words) const {
        words.insert(words.begin(), testing::program("CXLPOOLCTL"));
        words.insert(words.end(), {"--socket", daemon_.admin_socket()});
        return testing::run_program(words);
    }
    Ended forget(std::vector<std::string> options = {"--now"}) const {
        options.insert(options.begin(), {"tenant", "forget", "1", "--yes", "--json"});
        return ctl(options);
    }
    void trust(std::uint64_t owner, std::uint8_t span) {
        Result<client::Connection> admin = daemon_.admin();
        ASSERT_TRUE(admin);
        const auto done =
            admin->ask<EmptyReply>(AdjudicateRequest{owner, span_of(span), 0, {}, Decision::trust});
        ASSERT_TRUE(done) << done.error().message();
    }
    // Of the first tenant 1 to 6, of which 5 and 6 are for everybody; of the second 11 to 13, of
    // which 13 is.
    void store() {
        Engine first(daemon_, 1);
        for (const std::uint8_t n : spans(1, 2, 3, 4, 5, 6)) {
            first.store(n, kErased);
        }
        Engine second(daemon_, 2);
        for (const std::uint8_t n : spans(11, 12, 13)) {
            second.store(n, kOthers);
        }
        first.share(5);
        first.share(6);
        second.share(13);
        trust(1, 5);
        trust(1, 6);
        trust(2, 13);
    }
    void expect_erased() {
        Engine first(daemon_, 1);
        for (const std::uint8_t n : spans(1, 2, 3, 4, 5, 6, 7)) {
            EXPECT_EQ(first.look_up(n), "miss/absent");
        }
        EXPECT_EQ(first.look_up(13), "hit/in_place 51");
        Engine second(daemon_, 2);
        EXPECT_EQ(second.look_up(5), "miss/absent");
        for (const std::uint8_t n : spans(11, 12, 13)) {
            EXPECT_EQ(second.look_up(n), "hit/in_place 51");
        }
        EXPECT_EQ(segments_with_erased_bytes(), 0);
    }
    // Of all memory that the daemon, or who keeps it, holds a descriptor of.
    int segments_with_erased_bytes() const {
        const std::string pattern(64, static_cast<char>(kErased));
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(
                 "/proc/" + std::to_string(daemon_.pid()) + "/fd")) {
            std::error_code gone;
            const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
            if (target.find("/memfd:cxlpool:") == 0) {
                files.push_back(entry.path().string());
            }
        }
        EXPECT_FALSE(files.empty());
        std::vector<UniqueFd> kept;
        for (const std::string& name : daemon_.stored_descriptors()) {
            kept.push_back(daemon_.stored_descriptor(name));
            files.push_back("/proc/self/fd/" + std::to_string(kept.back().get()));
        }
        int found = 0;
        for (const std::string& file : files) {
            std::ifstream in(file, std::ios::binary);
            const std::string bytes{std::istreambuf_iterator<char>(in), {}};
            found += bytes.find(pattern) != std::string::npos ? 1 : 0;
        }
        return found;
    }
    // The receipt of the first tenant's first erasure.
    std::string kept_receipt() const {
        std::string all = ctl({"tenant", "receipts", "--json"}).err;
        const std::size_t from = all.find("{\"schema\":");
        return from == std::string::npos ? all : all.substr(from, all.find('}', from) + 1 - from);
    }

    DaemonProcess daemon_;
};

TEST_F(Forget, NothingIsLeftAndTheReceiptSaysSo) {
    start();
    store();
    EXPECT_GT(segments_with_erased_bytes(), 0) << "the scan would see it";
    const Ended done = forget();
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.err,
                AllOf(HasSubstr("\"schema\":\"cxlpool-receipt/1\",\"tenant\":1,\"name\":\"alpha\","
                                "\"incarnation\":0,\"cells\":6,\"bytes\":1800000,"
                                "\"leases_drained\":0,\"leases_revoked\":0,"),
                      HasSubstr("\"bytes_withdrawn\":0"), HasSubstr("\"verified\":true"),
                      HasSubstr("\"resumed\":false")));
    EXPECT_TRUE(check_receipt("receipt", done.err));
    EXPECT_EQ(done.err, kept_receipt() + "\n");
    expect_erased();

    // The tenant is one that has never had cells.
    const Ended again = forget();
    EXPECT_THAT(again.err, HasSubstr("\"incarnation\":1,\"cells\":0,\"bytes\":0,"));
    EXPECT_EQ(ctl({"tenant", "salt", "1", "5"}).status, 0);
    EXPECT_THAT(
        ctl({"tenant", "show", "1", "--json"}).err,
        AllOf(HasSubstr("\"incarnation\":2"), HasSubstr("\"had_cells\":false,\"pools\":[]")));
    Engine(daemon_, 1).store(1, 7);
    EXPECT_EQ(Engine(daemon_, 1).look_up(1), "hit/in_place 7");
    EXPECT_THAT(daemon_.log(),
                AllOf(HasSubstr("audit event=erasure_begun uid=0 tenant=1 incarnation=0 cells=6"),
                      HasSubstr("audit event=erasure_finished tenant=1 incarnation=0 cells=6 "
                                "bytes=1800000 revoked=0 verified=true")));
}

TEST_F(Forget, ReadersMayEndAndUntilThenNothingIsFoundAnew) {
    start();
    store();
    Engine reader(daemon_, 2);
    const LeaseRef lease = reader.lease(5);
    Engine writer(daemon_, 1);
    const LeaseRef filling = writer.fill(7, kErased);
    Ended done;
    std::thread operators([&] { done = forget({"--wait", "600"}); });
    while (daemon_.log().find("erasure_begun") == std::string::npos) {
        ::usleep(10'000);
    }
    EXPECT_EQ(reader.look_up(5), "miss/absent");
    EXPECT_NE(writer.look_up(1).find("hit"), 0U);
    EXPECT_EQ(writer.connection()
                  .ask<BeginReply>(BeginRequest{writer.context(), span_of(8), 4096, 0, ""})
                  .error()
                  .code(),
              Errc::unavailable);
    EXPECT_EQ(writer.connection()
                  .ask<EmptyReply>(ShareRequest{writer.context(), span_of(1), 0, {}})
                  .error()
                  .code(),
              Errc::unavailable);
    EXPECT_EQ(writer.connection().ask<SealReply>(SealRequest{filling}).error().code(),
              Errc::revoked);
    // The lease that is given time can be renewed as any other.
    EXPECT_TRUE(reader.connection().ask<RenewReply>(RenewRequest{lease}));
    EXPECT_TRUE(reader.connection().ask<EmptyReply>(ReleaseRequest{lease}));
    operators.join();
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_THAT(done.err, HasSubstr("\"cells\":7,\"bytes\":2100000,\"leases_drained\":1,"
                                    "\"leases_revoked\":0"));
    EXPECT_EQ(writer.look_up(1), "miss/absent");
    writer.store(1, kOthers);
    EXPECT_EQ(writer.look_up(1), "hit/in_place 51") << "the connection has stayed";
    EXPECT_EQ(segments_with_erased_bytes(), 0);
}

TEST_F(Forget, WhoDoesNotEndIsEnded) {
    start();
    store();
    Engine reader(daemon_, 2);
    const LeaseRef first = reader.lease(5);
    const LeaseRef second = reader.lease(6);
    const Ended done = forget({"--wait", "1"});
    EXPECT_THAT(done.err, HasSubstr("\"leases_drained\":0,\"leases_revoked\":2"));
    for (const LeaseRef& lease : {first, second}) {
        EXPECT_EQ(reader.connection().ask<RenewReply>(RenewRequest{lease}).error().code(),
                  Errc::revoked);
    }
    expect_erased();
}

TEST_F(Forget, ASecondRequestShortensTheWaitAndHearsTheSame) {
    start();
    store();
    Engine reader(daemon_, 2);
    reader.lease(5);
    Ended patient;
    std::thread operators([&] { patient = forget({"--wait", "600"}); });
    while (daemon_.log().find("erasure_begun") == std::string::npos) {
        ::usleep(10'000);
    }
    const Ended hasty = forget({"--now"});
    operators.join();
    EXPECT_EQ(hasty.status, 0) << hasty.err;
    EXPECT_EQ(hasty.err, patient.err);
    EXPECT_THAT(hasty.err, HasSubstr("\"leases_revoked\":1"));
}

TEST_F(Forget, AnOperatorWhoLeavesChangesNothing) {
    start();
    store();
    {
        Result<client::Connection> admin = daemon_.admin();
        ASSERT_TRUE(admin);
        Engine reader(daemon_, 2);
        reader.lease(5);
        std::thread leaving([&] { static_cast<void>(admin->call(ForgetRequest{1, 1000})); });
        while (daemon_.log().find("erasure_begun") == std::string::npos) {
            ::usleep(10'000);
        }
        leaving.join();
    }
    while (daemon_.log().find("erasure_finished") == std::string::npos) {
        ::usleep(10'000);
    }
    expect_erased();
}

TEST_F(Forget, IsForOperatorsAndForTenantsThatThereAre) {
    start();
    EXPECT_THAT(ctl({"tenant", "forget", "99", "--yes"}).err, HasSubstr("not_found"));
    EXPECT_EQ(ctl({"tenant", "forget", "1", "--yes", "--now", "--wait", "3"}).status, 2);
    const Ended asked = ctl({"tenant", "forget", "1"});
    EXPECT_EQ(asked.status, 2) << "there is nobody to ask";
    EXPECT_THAT(asked.err, HasSubstr("--yes"));
    Engine engine(daemon_, 1);
    EXPECT_EQ(engine.connection().ask<ForgetReply>(ForgetRequest{2, 0}).error().code(),
              Errc::not_permitted);
    EXPECT_EQ(ctl({"tenant", "receipts"}).status, 0);
}

// The step of the journal that the daemon dies at, and whether before or after it is written.
using Crash = std::tuple<std::string, std::string>;
class ForgetCrash : public Forget, public ::testing::WithParamInterface<Crash> {};

TEST_P(ForgetCrash, TheNextStartEndsWhatWasBegun) {
    const auto& [step, when] = GetParam();
    daemon_.run_as({testing::program("CRASHING_DAEMON"), step, when});
    daemon_.keep_descriptors();
    start();
    store();
    Engine reader(daemon_, 2);
    reader.lease(5);
    Engine writer(daemon_, 1);
    writer.fill(7, kErased);
    std::atomic<bool> over = false;
    std::thread load([&] {
        Engine other(daemon_, 2);
        for (std::uint8_t n = 0; !over && other.connection().is_open(); ++n) {
            const auto span = static_cast<std::uint8_t>(100 + n % 50);
            const auto begun = other.connection().ask<BeginReply>(
                BeginRequest{other.context(), span_of(span), 4096, 0, ""});
            if (begun) {
                static_cast<void>(other.connection().ask<SealReply>(SealRequest{begun->lease}));
            }
        }
    });
    const Ended killed = forget();
    over = true;
    load.join();
    EXPECT_EQ(killed.status, 1) << killed.err;
    EXPECT_EQ(daemon_.stop(SIGKILL).status, 128 + SIGKILL);

    daemon_.run_as({});
    start();
    if (step == "begun" && when == "before") {
        // It was never promised, and did not begin.
        EXPECT_EQ(Engine(daemon_, 1).look_up(1), "hit/in_place 90");
        EXPECT_THAT(forget().err, HasSubstr("\"incarnation\":0,\"cells\":6,"));
    } else {
        for (int waited = 0;
             waited < 500 && kept_receipt().find("\"tenant\":1,") == std::string::npos; ++waited) {
            ::usleep(20'000);
        }
        const bool finished = step == "finished" && when == "after";
        EXPECT_THAT(kept_receipt(),
                    AllOf(HasSubstr("\"tenant\":1,\"name\":\"alpha\","
                                    "\"incarnation\":0,"),
                          HasSubstr("\"verified\":true"),
                          HasSubstr(finished ? "\"resumed\":false" : "\"resumed\":true")));
        EXPECT_TRUE(check_receipt("receipt", kept_receipt()));
    }
    expect_erased();
    EXPECT_THAT(forget().err, HasSubstr("\"incarnation\":1,\"cells\":0,\"bytes\":0,"));
    EXPECT_THAT(ctl({"tenant", "show", "1", "--json"}).err, HasSubstr("\"incarnation\":2"));
}
INSTANTIATE_TEST_SUITE_P(Steps, ForgetCrash,
                         ::testing::Combine(::testing::Values("begun", "overwritten", "finished"),
                                            ::testing::Values("before", "after")),
                         [](const auto& crash) {
                             return std::get<1>(crash.param) + "_" + std::get<0>(crash.param);
                         });

}  // namespace
}  // namespace cxlpool

// Cells that outlive the daemon: it is killed, and started again by a service manager that has kept
// the descriptors of its segments, or by one that has not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "cell_engine.hpp"
#include "daemon_process.hpp"
#include "domain/gate.hpp"
#include "wire/messages.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::DaemonProcess;
using ::testing::ElementsAre;
using testing::Engine;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span_of;
using testing::spans;
using namespace wire;  // NOLINT: every second word here is a message

class KeptCells : public ::testing::Test {
  protected:
    void start() {
        ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory()))) << daemon_.ended().err;
    }
    void restart(int signal = SIGKILL) {
        daemon_.stop(signal);
        start();
    }
    void judge(std::uint8_t span, Decision decision) {
        Result<client::Connection> admin = daemon_.admin();
        ASSERT_TRUE(admin);
        const auto done =
            admin->ask<EmptyReply>(AdjudicateRequest{1, span_of(span), 0, {}, decision});
        ASSERT_TRUE(done) << done.error().message();
    }
    // Private 1, offered and trusted 2, offered and not judged 3, poisoned 4, filling 5. Judging is
    // on the disk when it is answered, and all that came before it.
    void store_some() {
        Engine engine(daemon_, 1);
        for (const std::uint8_t n : spans(1, 2, 3, 4)) {
            engine.store(n, n);
        }
        engine.share(2);
        engine.share(3);
        engine.fill(5, 5);
        judge(2, Decision::trust);
        judge(4, Decision::poison);
        EXPECT_EQ(engine.look_up(4), "quarantined");
    }
    void expect_found() {
        Engine first(daemon_, 1);
        EXPECT_EQ(first.look_up(1), "hit/in_place 1");
        EXPECT_EQ(first.look_up(2), "hit/in_place 2");
        EXPECT_EQ(first.look_up(3), "hit/in_place 3");
        EXPECT_EQ(first.look_up(4), "quarantined");
        EXPECT_EQ(first.look_up(5), "miss/absent");
        Engine second(daemon_, 2);
        EXPECT_EQ(second.look_up(1), "miss/absent");
        EXPECT_EQ(second.look_up(2), "hit/in_place 2");
        EXPECT_EQ(second.look_up(3), "miss/absent");
        EXPECT_EQ(second.look_up(4), "miss/absent");
    }
    std::string counters(std::uint64_t tenant) {
        const testing::Ended ended =
            testing::run_program({testing::program("CXLPOOLCTL"), "stats", "--json", "--socket",
                                  daemon_.admin_socket()});
        const std::string start = "{\"tenant\":" + std::to_string(tenant) + ",";
        const std::size_t at = ended.err.find(start);
        return at == std::string::npos ? ended.err : ended.err.substr(at, ended.err.find('}', at));
    }

    DaemonProcess daemon_;
};

TEST_F(KeptCells, AreFoundAgainAfterAKill) {
    daemon_.keep_descriptors();
    start();
    store_some();
    for (int times = 0; times < 3; ++times) {
        restart();
        expect_found();
        // Four cells: the one that was being filled is nobody's.
        EXPECT_THAT(counters(1), HasSubstr("\"cells\":4,\"bytes\":1200000"));
    }
    // Two private segments, and one for each of the two cells that are offered.
    EXPECT_THAT(daemon_.stored_descriptors(), SizeIs(4));
}

TEST_F(KeptCells, AreFoundAgainAfterACleanStop) {
    daemon_.keep_descriptors();
    start();
    {
        Engine engine(daemon_, 1);
        engine.store(1, 1);  // not waited for until it is on the disk
    }
    restart(SIGTERM);
    EXPECT_EQ(Engine(daemon_, 1).look_up(1), "hit/in_place 1");
}

TEST_F(KeptCells, AreDroppedWithTheirMemory) {
    start();
    store_some();
    restart();
    Engine engine(daemon_, 1);
    for (const std::uint8_t n : spans(1, 2, 3, 4, 5)) {
        EXPECT_EQ(engine.look_up(n), "miss/absent");
    }
    EXPECT_THAT(counters(1), HasSubstr("\"cells\":0,\"bytes\":0"));
    EXPECT_THAT(daemon_.log(), HasSubstr("4 kept cells are dropped: its segment is gone"));
    engine.store(1, 7);
    EXPECT_EQ(engine.look_up(1), "hit/in_place 7");
}

TEST_F(KeptCells, ACellWhoseBytesAreOthersIsDropped) {
    daemon_.keep_descriptors();
    start();
    {
        Engine engine(daemon_, 1);
        engine.store(1, 1);
        engine.store(2, 2);
    }
    judge(2, Decision::taint);
    daemon_.stop(SIGKILL);
    ASSERT_THAT(daemon_.stored_descriptors(), ElementsAre("cxlpool-1-embedded"));
    const UniqueFd segment = daemon_.stored_descriptor("cxlpool-1-embedded");
    ASSERT_EQ(::pwrite(segment.get(), "x", 1, 299'999), 1);
    start();
    Engine engine(daemon_, 1);
    EXPECT_EQ(engine.look_up(1), "miss/absent");
    EXPECT_EQ(engine.look_up(2), "hit/in_place 2");
    EXPECT_THAT(daemon_.log(), HasSubstr("1 kept cells are dropped: its bytes are not"));
    // What is there is overwritten before it is anybody's again.
    engine.store(3, 3);
    EXPECT_EQ(engine.look_up(3), "hit/in_place 3");
}

TEST_F(KeptCells, WhatNoCellIsInLeavesTheStore) {
    daemon_.keep_descriptors();
    start();
    {
        Engine engine(daemon_, 1);
        engine.fill(1, 1);
        EXPECT_THAT(daemon_.stored_descriptors(), SizeIs(1));
        daemon_.stop(SIGKILL);
    }
    start();
    for (int waited = 0; waited < 100 && !daemon_.stored_descriptors().empty(); ++waited) {
        ::usleep(50'000);
    }
    EXPECT_THAT(daemon_.stored_descriptors(), IsEmpty());
}

// A share that is taken back must not come again.
TEST_F(KeptCells, WhatWasNarrowedStaysNarrow) {
    daemon_.keep_descriptors();
    start();
    {
        Engine engine(daemon_, 1);
        engine.store(1, 1);
        engine.share(1);
        judge(1, Decision::trust);
        EXPECT_EQ(Engine(daemon_, 2).look_up(1), "hit/in_place 1");
        engine.share(1, Scope::agent);
    }
    restart();
    EXPECT_EQ(Engine(daemon_, 2).look_up(1), "miss/absent");
    EXPECT_EQ(Engine(daemon_, 1).look_up(1), "hit/in_place 1");
}

TEST_F(KeptCells, ASaltStaysTheKeyOfWhatIsKept) {
    daemon_.keep_descriptors();
    start();
    const auto salted = testing::run_program({testing::program("CXLPOOLCTL"), "tenant", "salt", "1",
                                              "0x77", "--socket", daemon_.admin_socket()});
    ASSERT_EQ(salted.status, 0) << salted.err;
    Engine(daemon_, 1).store(1, 1);
    Engine(daemon_, 2).store(1, 2);
    judge(1, Decision::taint);
    restart();
    EXPECT_EQ(Engine(daemon_, 1).look_up(1), "hit/in_place 1");
    EXPECT_EQ(Engine(daemon_, 2).look_up(1), "hit/in_place 2");
}

}  // namespace
}  // namespace cxlpool

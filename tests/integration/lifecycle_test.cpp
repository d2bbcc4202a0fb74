// Start, stop, crash, and who may come in.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "client/session.hpp"
#include "daemon_process.hpp"
#include "support/wire_axes.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::DaemonProcess;
using ::testing::HasSubstr;

TEST(Lifecycle, ACleanStopLeavesNoSocketBehind) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    ASSERT_TRUE(daemon.engine(1));
    const testing::Ended ended = daemon.stop(SIGTERM);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_FALSE(std::filesystem::exists(daemon.engine_socket()));
    EXPECT_FALSE(std::filesystem::exists(daemon.admin_socket()));
}

TEST(Lifecycle, AStopWithLiveConnectionsIsClean) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    Result<client::Connection> engine = daemon.engine(1);
    ASSERT_TRUE(engine);
    EXPECT_EQ(daemon.stop(SIGINT).status, 0);
    EXPECT_EQ(engine->call(wire::ContextRegisterRequest{}).error().code(), Errc::disconnected);
}

// The holder asks nobody: it looks at its lease board, as an engine does between two reads.
void expect_no_lease_lives_after(int signal) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    Result<client::Connection> connection = daemon.engine(1);
    ASSERT_TRUE(connection);
    const auto engine = client::Session::open(std::move(*connection), system_clock());
    ASSERT_TRUE(engine) << engine.error().message();
    client::Session& session = **engine;
    const auto context = session.register_context(testing::complete_axes("m"));
    ASSERT_TRUE(context) << context.error().message();
    SpanDigest sealed_span;
    sealed_span.bytes.fill(1);
    SpanDigest filling_span;
    filling_span.bytes.fill(2);
    const auto sealed = session.begin(wire::BeginRequest{*context, sealed_span, 4096, 0, ""});
    ASSERT_TRUE(sealed) << sealed.error().message();
    ASSERT_TRUE(session.seal(sealed->grant.lease));
    const auto hits = session.lookup(*context, std::span(&sealed_span, 1));
    ASSERT_TRUE(hits) << hits.error().message();
    const auto filling = session.begin(wire::BeginRequest{*context, filling_span, 4096, 0, ""});
    ASSERT_TRUE(filling) << filling.error().message();
    ASSERT_TRUE(session.live((*hits)[0].lease));
    ASSERT_TRUE(session.live(filling->grant.lease));
    EXPECT_EQ(daemon.stop(signal).status, 0);
    EXPECT_FALSE(session.live((*hits)[0].lease));
    EXPECT_FALSE(session.live(filling->grant.lease));
    EXPECT_EQ(session.renew((*hits)[0].lease).error().code(), Errc::disconnected);
}

TEST(Lifecycle, NoLeaseLivesAfterACleanStop) {
    expect_no_lease_lives_after(SIGTERM);
    expect_no_lease_lives_after(SIGINT);
}

TEST(Lifecycle, AfterAKillTheNextOneTakesTheStaleSockets) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    EXPECT_EQ(daemon.stop(SIGKILL).status, 128 + SIGKILL);
    ASSERT_TRUE(std::filesystem::exists(daemon.engine_socket()));
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    EXPECT_TRUE(daemon.engine(1));
}

TEST(Lifecycle, ASecondDaemonDoesNotTakeTheSocketsOfALiveOne) {
    DaemonProcess first;
    ASSERT_TRUE(first.start(basic_config(first.directory()))) << first.ended().err;
    DaemonProcess second;
    ASSERT_FALSE(second.start(basic_config(first.directory())));
    EXPECT_THAT(second.ended().err, HasSubstr("state.db")) << "nor its state";
    std::string config = basic_config(first.directory());
    const std::string state = first.directory() + "/state";
    config.replace(config.find(state), state.size(), second.directory() + "/state");
    ASSERT_FALSE(second.start(config));
    EXPECT_THAT(second.ended().err, HasSubstr("engine.sock"));
    EXPECT_TRUE(first.engine(1)) << "the first one still answers";
    EXPECT_EQ(first.log().find("identity_refused"), std::string::npos)
        << "somebody only looked whether it lives";
}

TEST(Lifecycle, CheckOpensNothing) {
    const testing::TempDir dir;
    const std::string file = dir.path() + "/cxlpoold.toml";
    std::ofstream(file) << basic_config(dir.path());
    const testing::Ended ended =
        testing::run_program({testing::program("CXLPOOLD"), "--config", file, "--check"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("1 pool(s), tenancy multi"));
    EXPECT_FALSE(std::filesystem::exists(dir.path() + "/run"));
    EXPECT_FALSE(std::filesystem::exists(dir.path() + "/state"));
}

TEST(Lifecycle, PollServesAsIoUringDoes) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start("reactor = \"poll\"\n" + basic_config(daemon.directory())))
        << daemon.ended().err;
    EXPECT_THAT(daemon.log(), HasSubstr("reactor poll"));
    EXPECT_TRUE(daemon.engine(1));
    EXPECT_EQ(daemon.stop(SIGTERM).status, 0);
}

TEST(Lifecycle, ATenantIsChosenAmongTheGrantedOnes) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    EXPECT_EQ(daemon.engine(0).error().code(), Errc::invalid_argument) << "two are granted";
    EXPECT_EQ(daemon.engine(3).error().code(), Errc::not_permitted);
    EXPECT_EQ(daemon.engine(UINT64_MAX).error().code(), Errc::not_permitted);
    EXPECT_EQ(daemon.engine(2)->greeting().tenant, 2U);
}

// Connects as another user and says what became of it; runs in a child of its own.
Errc code_as(DaemonProcess& daemon, uid_t uid, std::uint64_t tenant, bool admin) {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) {
            ::_exit(1);
        }
        const auto made = admin ? daemon.admin() : daemon.engine(tenant);
        const Errc code = made ? Errc::ok : made.error().code();
        static_cast<void>(!::write(fds[1], &code, sizeof code));
        ::_exit(0);
    }
    ::close(fds[1]);
    Errc code = Errc::internal;
    EXPECT_EQ(::read(fds[0], &code, sizeof code), static_cast<ssize_t>(sizeof code));
    ::close(fds[0]);
    ::waitpid(child, nullptr, 0);
    return code;
}

TEST(Lifecycle, TheKernelSaysWhoIsThere) {
    if (::getuid() != 0) {
        GTEST_SKIP() << "needs root to become other users";
    }
    DaemonProcess daemon;
    const std::string grants =
        "[[grant]]\nuid = 61001\ntenants = [1]\nroles = [\"engine\"]\n"
        "[[grant]]\nuid = 61002\ntenants = [2]\nroles = [\"engine\"]\n"
        "[[grant]]\ngid = 61003\ntenants = [1, 2]\nroles = [\"engine\"]\n"
        "[[grant]]\nuid = 61004\nroles = [\"inspector\"]\n";
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory(), "multi", grants)))
        << daemon.ended().err;
    EXPECT_EQ(code_as(daemon, 61001, 1, false), Errc::ok);
    EXPECT_EQ(code_as(daemon, 61001, 0, false), Errc::ok) << "its only tenant";
    EXPECT_EQ(code_as(daemon, 61001, 2, false), Errc::not_permitted);
    EXPECT_EQ(code_as(daemon, 61002, 2, false), Errc::ok);
    EXPECT_EQ(code_as(daemon, 61003, 2, false), Errc::ok) << "by group";
    EXPECT_EQ(code_as(daemon, 61009, 1, false), Errc::not_permitted) << "no grant";
    EXPECT_EQ(code_as(daemon, 61004, 1, false), Errc::not_permitted) << "no engine";
    EXPECT_EQ(code_as(daemon, 65534, 1, false), Errc::disconnected)
        << "an unmapped user is hung up on";
    EXPECT_EQ(code_as(daemon, 61001, 0, true), Errc::not_permitted) << "the socket's mode";
    EXPECT_THAT(daemon.log(), HasSubstr("event=identity_refused uid=61009"));
}

}  // namespace
}  // namespace cxlpool

// A changed configuration while connections are open: taken on whole, or nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "client/session.hpp"
#include "daemon_process.hpp"
#include "support/wire_axes.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::connect_as;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kAlpha = 61'101;
constexpr uid_t kBeta = 61'102;
constexpr uid_t kOperator = 61'103;

std::string grant(uid_t uid, const std::string& rest) {
    return "[[grant]]\nuid = " + std::to_string(uid) + "\n" + rest + "\n";
}
const std::string kAlphaGrant = grant(kAlpha, "roles = [\"engine\"]\ntenants = [1]");
const std::string kBetaGrant = grant(kBeta, "roles = [\"engine\"]\ntenants = [2]");

SpanDigest span_of(std::uint8_t n) {
    SpanDigest out;
    out.bytes.fill(n);
    return out;
}

Errc code_of(const Result<client::Connection>& connection) {
    return connection ? Errc::ok : connection.error().code();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

// An engine with a sealed cell that it attends, and one that it fills.
struct Engine {
    std::unique_ptr<client::Session> session;
    std::uint32_t context = 0;
    LeaseRef sealed;
    LeaseRef filling;
};

class Reload : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::getuid() != 0) {
            GTEST_SKIP() << "needs root to become other users";
        }
    }

    std::string config(const std::string& extra) const {
        return basic_config(daemon_.directory(), "multi", extra);
    }
    void start(const std::string& extra) {
        ASSERT_TRUE(daemon_.start(config(extra))) << daemon_.ended().err;
    }

    Engine engine_as(uid_t uid) {
        Engine engine;
        auto connection = connect_as(uid, daemon_.engine_socket(), 0);
        EXPECT_TRUE(connection) << connection.error().message();
        auto session = client::Session::open(std::move(*connection), system_clock());
        EXPECT_TRUE(session) << session.error().message();
        engine.session = std::move(*session);
        engine.context = *engine.session->register_context(testing::complete_axes("m"));
        return engine;
    }
    Engine busy_engine_as(uid_t uid) {
        Engine engine = engine_as(uid);
        const auto fill = engine.session->begin({engine.context, span_of(1), 4096, 0, ""});
        EXPECT_TRUE(fill) << fill.error().message();
        EXPECT_TRUE(engine.session->seal(fill->grant.lease));
        const SpanDigest span = span_of(1);
        const auto hits = engine.session->lookup(engine.context, std::span(&span, 1));
        EXPECT_TRUE(hits) << hits.error().message();
        engine.sealed = (*hits)[0].lease;
        const auto filling = engine.session->begin({engine.context, span_of(2), 4096, 0, ""});
        EXPECT_TRUE(filling) << filling.error().message();
        engine.filling = filling->grant.lease;
        return engine;
    }

    // What `cxlpoolctl reload` says of the file.
    testing::Ended ctl_reload(const std::string& text) {
        daemon_.drain_notifications();
        daemon_.write_config(text);
        return testing::run_program(
            {testing::program("CXLPOOLCTL"), "reload", "--socket", daemon_.admin_socket()});
    }

    DaemonProcess daemon_;
};

TEST_F(Reload, ARemovedGrantEndsTheConnectionsThatRestedOnIt) {
    start(kAlphaGrant + kBetaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    const Engine beta = busy_engine_as(kBeta);
    const testing::Ended ended = ctl_reload(config(kBetaGrant));
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("reloaded; connections closed: 1"));
    EXPECT_FALSE(alpha.session->live(alpha.sealed)) << "its lease board was cleared";
    EXPECT_FALSE(alpha.session->live(alpha.filling));
    EXPECT_EQ(alpha.session->renew(alpha.sealed).error().code(), Errc::disconnected);
    EXPECT_EQ(code_of(connect_as(kAlpha, daemon_.engine_socket(), 1)), Errc::not_permitted);
    EXPECT_TRUE(beta.session->live(beta.sealed)) << "another tenant's goes on";
    EXPECT_TRUE(beta.session->live(beta.filling));
    EXPECT_TRUE(beta.session->renew(beta.sealed));
    EXPECT_TRUE(beta.session->seal(beta.filling));
    EXPECT_THAT(daemon_.log(), HasSubstr("event=connection_ended uid=61101 gid=61101"));
    EXPECT_THAT(daemon_.log(), HasSubstr("listener=engine tenant=1 why=\"no grant for uid 61101"));
    EXPECT_THAT(daemon_.log(), HasSubstr("event=reloaded by=\"uid 0\" closed=1"));

    // The grant comes back: what was sealed is there, what was being filled was rolled back.
    EXPECT_EQ(ctl_reload(config(kAlphaGrant + kBetaGrant)).status, 0);
    const Engine again = engine_as(kAlpha);
    const SpanDigest sealed = span_of(1);
    const auto hits = again.session->lookup(again.context, std::span(&sealed, 1));
    ASSERT_TRUE(hits);
    EXPECT_EQ((*hits)[0].verdict, 1U) << "hit/in_place";
    EXPECT_TRUE(again.session->begin({again.context, span_of(2), 4096, 0, ""}));
}

TEST_F(Reload, AGrantThatNamesAnotherTenantEndsThoseOfTheFirst) {
    start(kAlphaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    EXPECT_EQ(daemon_.reload(config(grant(kAlpha, "roles = [\"engine\"]\ntenants = [2]"))),
              DaemonProcess::Reloaded::taken_on);
    EXPECT_FALSE(alpha.session->live(alpha.sealed));
    EXPECT_THAT(daemon_.log(), HasSubstr("it may not act as tenant 1 any more"));
    EXPECT_EQ(connect_as(kAlpha, daemon_.engine_socket(), 0)->greeting().tenant, 2U);
}

TEST_F(Reload, AnotherGrantForTheSameTenantKeepsTheConnection) {
    start(kAlphaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    EXPECT_EQ(daemon_.reload(config("[[grant]]\ngid = 61101\nroles = [\"engine\"]\n"
                                    "tenants = [2, 1]\n")),
              DaemonProcess::Reloaded::taken_on);
    EXPECT_TRUE(alpha.session->live(alpha.sealed));
    EXPECT_TRUE(alpha.session->renew(alpha.sealed));
}

TEST_F(Reload, ABrokenFileChangesNothing) {
    const std::string good = config(kAlphaGrant);
    ASSERT_TRUE(daemon_.start(good));
    const Engine alpha = busy_engine_as(kAlpha);
    const std::size_t descriptors = daemon_.descriptor_count();
    // A grant less, a listener more, and a misspelt role at the end.
    const std::string broken =
        config("[[listener]]\npath = \"" + daemon_.directory() + "/run/new.sock\"\n" +
               "tenants = [1]\n[[grant]]\nuid = 7\nroles = [\"inspektor\"]\n");
    const testing::Ended ended = ctl_reload(broken);
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("cxlpoold.toml:26:10: unknown role 'inspektor'"));
    EXPECT_EQ(daemon_.reload(broken), DaemonProcess::Reloaded::refused);
    EXPECT_THAT(daemon_.log(), HasSubstr("event=reload_refused by=\"SIGHUP\" why=\""));
    EXPECT_THAT(daemon_.log(), HasSubstr("cxlpoold.toml:26:10: unknown role 'inspektor'"));
    for (const std::string& text : {std::string("tenancy = "), std::string()}) {
        EXPECT_EQ(ctl_reload(text).status, 2) << text;
    }
    ::unlink((daemon_.directory() + "/cxlpoold.toml").c_str());
    const testing::Ended absent = testing::run_program(
        {testing::program("CXLPOOLCTL"), "reload", "--socket", daemon_.admin_socket()});
    EXPECT_EQ(absent.status, 2) << absent.err;
    EXPECT_TRUE(alpha.session->live(alpha.sealed));
    EXPECT_TRUE(alpha.session->renew(alpha.filling));
    EXPECT_EQ(code_of(connect_as(kAlpha, daemon_.engine_socket(), 1)), Errc::ok);
    EXPECT_FALSE(std::filesystem::exists(daemon_.directory() + "/run/new.sock"));
    EXPECT_EQ(ctl_reload(good).status, 0) << "and it can be made good";
    EXPECT_LE(daemon_.descriptor_count(), descriptors);
}

TEST_F(Reload, WhatOnlyAStartCanChangeIsNamedAndRefusesAll) {
    start(kAlphaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    std::string text = config(kBetaGrant + "[limits]\nlease_ttl_ms = 1000\n");
    text = replaced(text, "\"64MiB\"", "\"65MiB\"");
    text = "worker_threads = 3\n" + replaced(text, "admin.sock", "other.sock");
    const testing::Ended ended = ctl_reload(text);
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("wrong_state: "));
    EXPECT_THAT(ended.err, HasSubstr("worker_threads, listen.admin, limits.lease_ttl_ms and pool "
                                     "'embedded' cannot change while the daemon runs; restart"));
    EXPECT_TRUE(alpha.session->renew(alpha.sealed)) << "the grants did not change either";
    EXPECT_EQ(code_of(connect_as(kBeta, daemon_.engine_socket(), 2)), Errc::not_permitted);
}

TEST_F(Reload, TenantsLimitsAndTheLogLevelChange) {
    start(kAlphaGrant);
    const auto first = connect_as(kAlpha, daemon_.engine_socket(), 1);
    const std::string more = "[[tenant]]\nid = 3\nname = \"gamma\"\n" +
                             grant(kBeta, "roles = [\"engine\"]\ntenants = [\"gamma\"]") +
                             "[limits]\nconnections_per_uid = 1\n";
    EXPECT_EQ(ctl_reload("log_level = \"debug\"\n" + config(kAlphaGrant + more)).status, 0);
    EXPECT_EQ(code_of(connect_as(kBeta, daemon_.engine_socket(), 3)), Errc::ok);
    EXPECT_EQ(code_of(connect_as(kAlpha, daemon_.engine_socket(), 1)), Errc::limit_exceeded);
    // Its grants go with it; it may come back, under another name.
    const std::string fewer = replaced(config(kAlphaGrant), "name = \"beta\"", "name = \"b2\"");
    EXPECT_EQ(ctl_reload(fewer).status, 0);
    EXPECT_EQ(code_of(connect_as(kBeta, daemon_.engine_socket(), 3)), Errc::not_permitted);
    EXPECT_EQ(
        ctl_reload(config(kAlphaGrant + replaced(more, "name = \"gamma\"", "name = \"delta\"")))
            .status,
        2)
        << "the grant names gamma";
    EXPECT_EQ(ctl_reload(config(kAlphaGrant + replaced(replaced(more, "gamma", "delta"),
                                                       "\"gamma\"", "\"delta\"")))
                  .status,
              0);
    const testing::Ended status = testing::run_program(
        {testing::program("CXLPOOLCTL"), "status", "--socket", daemon_.admin_socket()});
    EXPECT_THAT(status.err, HasSubstr("delta"));
}

TEST_F(Reload, ListenersComeChangeAndGo) {
    start("");
    const std::string path = daemon_.directory() + "/run/alpha.sock";
    const auto table = [&](const std::string& rest) {
        return config("[[listener]]\npath = \"" + path + "\"\n" + rest + "\n");
    };
    const auto mode = [&] {
        struct stat status {};
        return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : 0U;
    };
    EXPECT_EQ(ctl_reload(table("owner = 61101\ntenants = [1]")).status, 0);
    EXPECT_EQ(mode(), 0660U);
    auto alpha = connect_as(kAlpha, path, 0);
    ASSERT_TRUE(alpha) << alpha.error().message();

    // More tenants: the same socket, the same connection.
    EXPECT_EQ(ctl_reload(table("owner = 61101\ntenants = [1, 2]")).status, 0);
    EXPECT_TRUE(alpha->call(wire::ContextRegisterRequest{testing::complete_axes("m")}));
    auto beta = connect_as(kAlpha, path, 2);
    ASSERT_TRUE(beta);

    // A tenant less: its connections end, the others go on.
    EXPECT_EQ(ctl_reload(table("owner = 61101\ntenants = [1]")).status, 0);
    EXPECT_TRUE(alpha->call(wire::ContextRegisterRequest{testing::complete_axes("m")}));
    EXPECT_EQ(beta->call(wire::ContextReleaseRequest{1}).error().code(), Errc::disconnected);
    EXPECT_THAT(daemon_.log(), HasSubstr("listener=" + path + " tenant=2 why="));

    // Another owner: who is in came in by permissions that are gone.
    EXPECT_EQ(ctl_reload(table("owner = 61102\nmode = \"0600\"\ntenants = [1]")).status, 0);
    EXPECT_EQ(mode(), 0600U);
    EXPECT_EQ(alpha->call(wire::ContextReleaseRequest{1}).error().code(), Errc::disconnected);
    EXPECT_EQ(code_of(connect_as(kAlpha, path, 1)), Errc::not_permitted);
    auto other = connect_as(kBeta, path, 1);
    ASSERT_TRUE(other) << other.error().message();

    EXPECT_EQ(ctl_reload(config("")).status, 0);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(other->call(wire::ContextReleaseRequest{1}).error().code(), Errc::disconnected);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(daemon_.directory() + "/run")) {
        files += entry.path().filename().string().empty() ? 0 : 1;
    }
    EXPECT_EQ(files, 2U) << "the engine and the admin socket";
}

TEST_F(Reload, AListenerThatCannotBeMadeRefusesAll) {
    start(kAlphaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    const std::string good = daemon_.directory() + "/run/good.sock";
    const std::string taken = daemon_.directory() + "/run/file";
    std::ofstream(taken) << "no socket";
    const testing::Ended ended =
        ctl_reload(config("[[listener]]\npath = \"" + good + "\"\ntenants = [1]\n[[listener]]\n" +
                          "path = \"" + taken + "\"\ntenants = [2]\n"));
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("cxlpoold.toml:24: "));
    EXPECT_THAT(ended.err, HasSubstr("something that is not a socket is there"));
    EXPECT_FALSE(std::filesystem::exists(good));
    EXPECT_TRUE(alpha.session->live(alpha.sealed));
}

TEST_F(Reload, AnOperatorHasItsNewRolesFromItsNextRequestOn) {
    const std::string before = grant(kOperator, "roles = [\"admin\", \"adjudicator\"]");
    start(before);
    ::chmod(daemon_.admin_socket().c_str(), 0666);
    auto admin = connect_as(kOperator, daemon_.admin_socket(), 0);
    ASSERT_TRUE(admin) << admin.error().message();
    EXPECT_TRUE(admin->call(wire::DocumentRequest{}));
    EXPECT_EQ(ctl_reload(config(grant(kOperator, "roles = [\"adjudicator\"]"))).status, 0);
    EXPECT_EQ(admin->call(wire::DocumentRequest{}).error().code(), Errc::not_permitted);
    EXPECT_EQ(admin->call(wire::ReloadRequest{}).error().code(), Errc::not_permitted);
    wire::AdjudicateRequest adjudicate;
    adjudicate.owner = 1;
    adjudicate.span = span_of(1);
    EXPECT_EQ(admin->call(adjudicate).error().code(), Errc::not_found) << "it may still judge";
    EXPECT_EQ(ctl_reload(config("")).status, 0);
    EXPECT_EQ(admin->call(adjudicate).error().code(), Errc::disconnected);
}

TEST_F(Reload, WhoTakesItsOwnGrantAwayHearsTheAnswerFirst) {
    start(grant(kOperator, "roles = [\"admin\"]"));
    ::chmod(daemon_.admin_socket().c_str(), 0666);
    auto admin = connect_as(kOperator, daemon_.admin_socket(), 0);
    ASSERT_TRUE(admin);
    daemon_.write_config(config(""));
    const auto reply = admin->ask<wire::ReloadReply>(wire::ReloadRequest{});
    ASSERT_TRUE(reply) << reply.error().message();
    EXPECT_EQ(reply->connections_closed, 1U);
    EXPECT_EQ(admin->call(wire::ReloadRequest{}).error().code(), Errc::disconnected);
}

TEST_F(Reload, ManyAtOnceAreAllAnswered) {
    start("");
    daemon_.write_config(config(kAlphaGrant));
    std::vector<client::Connection> operators;
    for (int i = 0; i < 8; ++i) {
        operators.push_back(*daemon_.admin());
    }
    std::atomic<int> answered = 0;
    std::atomic<int> ended = 0;
    std::vector<std::thread> threads;
    for (client::Connection& connection : operators) {
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i) {
                answered += connection.ask<wire::ReloadReply>(wire::ReloadRequest{}) ? 1 : 0;
            }
            ++ended;
        });
    }
    for (int i = 0; i < 10; ++i) {
        ::kill(daemon_.pid(), SIGHUP);
    }
    while (ended < 8) {
        daemon_.drain_notifications(50);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(answered, 80);
    EXPECT_EQ(code_of(connect_as(kAlpha, daemon_.engine_socket(), 1)), Errc::ok);
}

TEST_F(Reload, AnEngineAtWorkSeesNothingOfIt) {
    start(kAlphaGrant);
    const Engine alpha = busy_engine_as(kAlpha);
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> answers = 0;
    std::atomic<std::uint64_t> failures = 0;
    std::thread engine([&] {
        const SpanDigest span = span_of(1);
        while (!stop) {
            const auto hits = alpha.session->lookup(alpha.context, std::span(&span, 1));
            failures += hits && (*hits)[0].verdict == 1 ? 0 : 1;
            failures += hits && alpha.session->release((*hits)[0].lease) ? 0 : 1;
            ++answers;
        }
    });
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(daemon_.reload(config(kAlphaGrant + (i % 2 == 0 ? kBetaGrant : ""))),
                  DaemonProcess::Reloaded::taken_on);
        EXPECT_EQ(ctl_reload(config(kAlphaGrant + "nonsense")).status, 2);
    }
    stop = true;
    engine.join();
    EXPECT_EQ(failures, 0U);
    EXPECT_GT(answers, 0U);
    EXPECT_TRUE(alpha.session->live(alpha.sealed));
}

}  // namespace
}  // namespace cxlpool

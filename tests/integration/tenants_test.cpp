// What operators give tenants, through cxlpoolctl and a real daemon that is killed in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "daemon_process.hpp"
#include "support/wire_axes.hpp"

namespace cxlpool {
namespace {

using ::testing::AllOf;
using testing::basic_config;
using testing::DaemonProcess;
using testing::Ended;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace wire;  // NOLINT: every second word here is a message

class Tenants : public ::testing::Test {
  protected:
    void start(const std::string& extra = "") {
        ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory(), "multi", extra)))
            << daemon_.ended().err;
    }
    void kill_and_restart(const std::string& extra = "") {
        daemon_.stop(SIGKILL);
        start(extra);
    }
    // cxlpoolctl tenant WORDS...
    Ended tenant(std::vector<std::string> words) {
        words.insert(words.begin(), {testing::program("CXLPOOLCTL"), "tenant"});
        words.insert(words.end(), {"--socket", daemon_.admin_socket()});
        return testing::run_program(words);
    }
    void expect_saved(const std::vector<std::string>& words) {
        const Ended ended = tenant(words);
        EXPECT_EQ(ended.status, 0) << ended.err;
        EXPECT_EQ(ended.err, "saved\n");
    }
    void expect_refused(const std::vector<std::string>& words, int status,
                        const std::string& says) {
        const Ended ended = tenant(words);
        EXPECT_EQ(ended.status, status) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr(says));
    }
    std::string shown(const std::string& who) { return tenant({"show", who, "--json"}).err; }

    // Tenant 1 has had a cell from now on.
    void begin_a_cell() {
        Result<client::Connection> engine = daemon_.engine(1);
        ASSERT_TRUE(engine) << engine.error().message();
        const auto context =
            engine->ask<ContextRegisterReply>(ContextRegisterRequest{testing::complete_axes("m")});
        ASSERT_TRUE(context) << context.error().message();
        SpanDigest span;
        span.bytes.fill(1);
        const auto begun =
            engine->ask<BeginReply>(BeginRequest{context->context, span, 4096, 0, ""});
        ASSERT_TRUE(begun) << begun.error().message();
    }

    DaemonProcess daemon_;
};

TEST_F(Tenants, WhatWasSavedSurvivesAKill) {
    start();
    expect_saved({"add", "7", "--name", "gamma"});
    expect_saved({"salt", "gamma", "0xffffffffffffffff"});
    expect_saved({"weight", "7", "250"});
    expect_saved({"reserve", "gamma", "embedded", "8MiB"});
    expect_saved({"weight", "alpha", "3"});
    const std::string before = shown("7");
    EXPECT_EQ(before,
              "{\"tenant\":7,\"name\":\"gamma\",\"declared\":false,"
              "\"salt\":\"0xffffffffffffffff\",\"weight\":250,\"trust_epoch\":1,"
              "\"incarnation\":0,\"had_cells\":false,\"pools\":[{\"pool\":\"embedded\","
              "\"served\":true,\"reserved_bytes\":8388608,\"resident_bytes\":0}]}\n");
    const std::string list = tenant({"list"}).err;
    kill_and_restart();
    EXPECT_EQ(shown("gamma"), before);
    EXPECT_EQ(tenant({"list"}).err, list);
    EXPECT_THAT(shown("1"), HasSubstr("\"declared\":true,\"salt\":null,\"weight\":3"));

    expect_saved({"reserve", "7", "embedded", "0"});
    expect_saved({"salt", "7", "0"});
    expect_saved({"set", "7", "--name", "delta"});
    kill_and_restart();
    EXPECT_THAT(shown("delta"), AllOf(HasSubstr("\"salt\":null"), HasSubstr("\"pools\":[]")));
    EXPECT_EQ(daemon_.stop(SIGTERM).status, 0);
}

TEST_F(Tenants, ASaltIsForTenantsWithoutCells) {
    start();
    expect_saved({"salt", "alpha", "5"});
    begin_a_cell();
    expect_refused({"salt", "alpha", "6"}, 1, "wrong_state");
    expect_saved({"salt", "alpha", "5"});
    expect_saved({"salt", "beta", "6"});
    // Saved with whatever comes next, if not before: who had cells has had them for good.
    expect_saved({"weight", "alpha", "101"});
    kill_and_restart();
    EXPECT_THAT(shown("alpha"), AllOf(HasSubstr("\"salt\":\"0x0000000000000005\""),
                                      HasSubstr("\"had_cells\":true")));
    expect_refused({"salt", "alpha", "0"}, 1, "wrong_state");
}

TEST_F(Tenants, RefusalsChangeNothing) {
    start();
    expect_saved({"add", "7", "--name", "gamma"});
    expect_saved({"reserve", "gamma", "embedded", "40MiB"});
    const std::string before = tenant({"list", "--json"}).err;
    expect_refused({"add", "7"}, 1, "already_exists: tenant 7 exists already");
    expect_refused({"add", "8", "--name", "alpha"}, 1, "tenant 1 is named 'alpha' already");
    expect_refused({"set", "gamma", "--name", "beta"}, 1, "already_exists");
    expect_refused({"set", "alpha", "--name", "omega"}, 1, "wrong_state");
    expect_refused({"weight", "9", "5"}, 1, "not_found: there is no tenant 9");
    expect_refused({"weight", "nobody", "5"}, 1, "not_found: there is no tenant 'nobody'");
    expect_refused({"reserve", "alpha", "embedded", "40MiB"}, 1, "capacity");
    expect_refused({"reserve", "alpha", "absent", "1"}, 1, "there is no pool 'absent'");
    expect_refused({"weight", "alpha", "0"}, 2, "0 is no weight");
    expect_refused({"weight", "alpha", "1000001"}, 2, "write 1 to 1000000");
    expect_refused({"add", "0"}, 2, "'0' is not the number of a tenant");
    expect_refused({"salt", "alpha", "18446744073709551616"}, 2, "is no salt");
    expect_refused({"salt", "alpha"}, 2, "TENANT SALT");
    expect_refused({"salt", "alpha", "1", "2"}, 2, "'2' is left over");
    EXPECT_EQ(tenant({"list", "--json"}).err, before);
    kill_and_restart();
    EXPECT_EQ(tenant({"list", "--json"}).err, before);
}

TEST_F(Tenants, TheFileMayDeclareWhatAnOperatorAdded) {
    start();
    expect_saved({"add", "7", "--name", "gamma"});
    expect_saved({"salt", "7", "0x77"});
    kill_and_restart("[[tenant]]\nid = 7\nname = \"renamed\"\n");
    EXPECT_THAT(shown("renamed"), AllOf(HasSubstr("\"declared\":true"),
                                        HasSubstr("\"salt\":\"0x0000000000000077\"")));
    expect_saved({"add", "8", "--name", "gamma"});
    daemon_.stop(SIGKILL);
    ASSERT_FALSE(daemon_.start(
        basic_config(daemon_.directory(), "multi", "[[tenant]]\nid = 9\nname = \"gamma\"\n")));
    EXPECT_EQ(daemon_.ended().status, 2);
    EXPECT_THAT(daemon_.ended().err, HasSubstr("an operator gave that name to tenant 8"));
}

TEST_F(Tenants, APoolThatIsNotServedKeepsItsReservations) {
    const std::string second =
        "[[pool]]\nname = \"second\"\nprovider = \"memfd\"\ncapacity = \"16MiB\"\n"
        "private_segment = \"1MiB\"\n";
    start(second);
    expect_saved({"reserve", "alpha", "second", "16MiB"});
    kill_and_restart();
    EXPECT_THAT(shown("alpha"),
                HasSubstr("{\"pool\":\"second\",\"served\":false,\"reserved_bytes\":16777216"));
    expect_refused({"reserve", "alpha", "second", "1"}, 1, "there is no pool 'second'");
    kill_and_restart(second);
    EXPECT_THAT(shown("alpha"), HasSubstr("\"served\":true,\"reserved_bytes\":16777216"));
    kill_and_restart();
    expect_saved({"reserve", "alpha", "second", "0"});
    EXPECT_THAT(shown("alpha"), Not(HasSubstr("second")));
    kill_and_restart(second);
    EXPECT_THAT(shown("alpha"), Not(HasSubstr("second")));
}

TEST_F(Tenants, ManyOperatorsAtOnce) {
    start();
    std::vector<std::thread> operators;
    for (std::uint64_t who = 0; who < 4; ++who) {
        operators.emplace_back([this, who] {
            Result<client::Connection> admin = daemon_.admin();
            ASSERT_TRUE(admin) << admin.error().message();
            for (std::uint64_t i = 1; i <= 10; ++i) {
                const auto done = admin->ask<EmptyReply>(TenantChangeRequest{
                    TenantOp::add, who * 100 + 10 + i, 0, "t" + std::to_string(who * 100 + i), ""});
                EXPECT_TRUE(done) << done.error().message();
                const auto weight = admin->ask<EmptyReply>(
                    TenantChangeRequest{TenantOp::set_weight, 1, who * 100 + i, "", ""});
                EXPECT_TRUE(weight) << weight.error().message();
            }
        });
    }
    for (std::thread& thread : operators) {
        thread.join();
    }
    const std::string before = tenant({"list", "--json"}).err;
    kill_and_restart();
    EXPECT_EQ(tenant({"list", "--json"}).err, before);
    EXPECT_THAT(shown("t310"), HasSubstr("\"tenant\":320"));
}

TEST_F(Tenants, CellsAndVerdictsAreAskedForByName) {
    start();
    begin_a_cell();  // of alpha; rolled back when its engine goes
    const std::string span(64, '1');
    const auto ask = [&](std::vector<std::string> words) {
        words.insert(words.begin(), testing::program("CXLPOOLCTL"));
        words.insert(words.end(), {"--span", span, "--socket", daemon_.admin_socket()});
        return testing::run_program(words);
    };
    const Ended verdict = ask({"verdict", "--requester", "beta", "--json", "--axis", "model=m"});
    EXPECT_EQ(verdict.status, 1) << verdict.err;
    EXPECT_THAT(verdict.err, HasSubstr("{\"requester\":2,\"requester_known\":true"));
    // Of the cell the daemon says that it is not there, so it was asked for the right tenant.
    EXPECT_THAT(ask({"cell", "trust", "--owner", "alpha"}).err, HasSubstr("not_found: "));
    const Ended nobody = ask({"cell", "poison", "--owner", "gamma"});
    EXPECT_EQ(nobody.status, 1);
    EXPECT_THAT(nobody.err, HasSubstr("there is no tenant 'gamma'"));
}

TEST_F(Tenants, ANewWindowTakesTheRoleAdminAndIsInTheAuditLog) {
    start();
    const auto stats = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {testing::program("CXLPOOLCTL"), "stats"});
        words.insert(words.end(), {"--socket", daemon_.admin_socket()});
        return testing::run_program(words);
    };
    EXPECT_THAT(stats({"--json"}).err, HasSubstr("\"window\":null"));
    EXPECT_THAT(stats({"--json", "--reset"}).err, HasSubstr("\"window\":null"));
    EXPECT_THAT(daemon_.log(), HasSubstr("audit event=window_begun uid="));
    EXPECT_THAT(stats({"--json"}).err, HasSubstr("\"window\":{\"started_at_ns\":"));
    EXPECT_THAT(stats({}).err, HasSubstr("Tenants, in the last "));
    EXPECT_EQ(stats({"--reset", "--format", "prometheus"}).status, 2);
    EXPECT_EQ(stats({"--reset", "--watch", "1"}).status, 2);
    daemon_.stop(SIGTERM);
    std::string config = basic_config(daemon_.directory());
    config.replace(config.find(", \"admin\"]"), 10, "]");
    ASSERT_TRUE(daemon_.start(config)) << daemon_.ended().err;
    EXPECT_THAT(stats({"--reset"}).err, HasSubstr("needs the role admin"));
    EXPECT_THAT(stats({"--json"}).err, HasSubstr("\"window\":null"));
}

TEST_F(Tenants, ChangesTakeTheRoleAdminAtTheAdminSocket) {
    start();
    Result<client::Connection> engine = daemon_.engine(1);
    ASSERT_TRUE(engine) << engine.error().message();
    const auto refused =
        engine->ask<EmptyReply>(TenantChangeRequest{TenantOp::set_salt, 1, 7, "", ""});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::not_permitted);
    EXPECT_THAT(daemon_.log(), Not(HasSubstr("event=tenant_changed")));
    expect_saved({"salt", "alpha", "48879"});
    EXPECT_THAT(daemon_.log(), HasSubstr("audit event=tenant_changed uid="));
    EXPECT_THAT(daemon_.log(), HasSubstr("tenant=1 op=set_salt"));
    EXPECT_THAT(daemon_.log(), AllOf(Not(HasSubstr("48879")), Not(HasSubstr("beef"))))
        << "a salt in the log";
}

}  // namespace
}  // namespace cxlpool

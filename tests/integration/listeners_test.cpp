// Sockets that are a credential: who reaches one acts as its tenants, and nobody else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon_process.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::connect_as;
using testing::DaemonProcess;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kStranger = 61'101;  // whom no grant names

std::string listener(const std::string& path, const std::string& rest) {
    return "[[listener]]\npath = \"" + path + "\"\n" + rest + "\n";
}

Errc code_of(const Result<client::Connection>& connection) {
    return connection ? Errc::ok : connection.error().code();
}

mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777U;
}

class Listeners : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::getuid() != 0) {
            GTEST_SKIP() << "needs root to become other users";
        }
    }
    std::string alpha() const { return daemon_.directory() + "/run/alpha.sock"; }
    std::string beta() const { return daemon_.directory() + "/run/beta.sock"; }

    DaemonProcess daemon_;
};

TEST_F(Listeners, TheSocketIsTheCredentialWhateverTheUid) {
    ASSERT_TRUE(
        daemon_.start(basic_config(daemon_.directory(), "multi",
                                   listener(alpha(), "owner = 61101\ntenants = [\"alpha\"]") +
                                       listener(beta(), "mode = \"0666\"\ntenants = [2, 1]"))))
        << daemon_.ended().err;
    EXPECT_EQ(mode_of(alpha()), 0660U);
    EXPECT_EQ(mode_of(beta()), 0666U);
    const auto engine = connect_as(kStranger, alpha(), 0);
    ASSERT_TRUE(engine) << engine.error().message();
    EXPECT_EQ(engine->greeting().tenant, 1U) << "its only tenant";
    EXPECT_EQ(engine->greeting().roles, 1U) << "an engine";
    EXPECT_EQ(code_of(connect_as(kStranger, alpha(), 2)), Errc::not_permitted) << "not of this one";
    EXPECT_EQ(code_of(connect_as(kStranger, daemon_.engine_socket(), 1)), Errc::not_permitted)
        << "no grant";
    EXPECT_EQ(code_of(connect_as(61'102, alpha(), 1)), Errc::not_permitted)
        << "the permissions of the file";
    EXPECT_EQ(code_of(connect_as(61'102, beta(), 0)), Errc::invalid_argument) << "two to choose of";
    EXPECT_EQ(code_of(connect_as(61'102, beta(), 2)), Errc::ok);
    EXPECT_EQ(code_of(connect_as(65'534, beta(), 2)), Errc::disconnected) << "nobody is nobody";
    EXPECT_THAT(daemon_.log(), HasSubstr("uid=61101 gid=61101"));
    EXPECT_THAT(daemon_.log(), HasSubstr("listener=" + alpha() + " why=\"tenant 2\""));
    EXPECT_THAT(daemon_.log(), HasSubstr("listener=engine why="));
    EXPECT_THAT(daemon_.log(), HasSubstr("every user of this host may act as a tenant of the "
                                         "listener '" +
                                         beta()));
    EXPECT_THAT(daemon_.log(), Not(HasSubstr("listener '" + alpha())));
}

TEST_F(Listeners, AGrantAddsNothingAtASocketOfItsOwn) {
    ASSERT_TRUE(daemon_.start(
        basic_config(daemon_.directory(), "multi", listener(alpha(), "tenants = [1]"))))
        << daemon_.ended().err;
    // basic_config grants us both tenants and every role.
    EXPECT_EQ(code_of(connect_as(0, alpha(), 2)), Errc::not_permitted);
    const auto engine = connect_as(0, alpha(), 1);
    ASSERT_TRUE(engine);
    EXPECT_EQ(engine->greeting().roles, 1U);
}

TEST_F(Listeners, ConnectionsAreCountedByUidThereToo) {
    ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory(), "multi",
                                           "[limits]\nconnections_per_uid = 2\n" +
                                               listener(alpha(), "mode = \"0666\"\ntenants = [1]") +
                                               listener(beta(), "mode = \"0666\"\ntenants = [2]"))))
        << daemon_.ended().err;
    const auto first = connect_as(kStranger, alpha(), 0);
    const auto second = connect_as(kStranger, beta(), 0);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(code_of(connect_as(kStranger, beta(), 0)), Errc::limit_exceeded);
    EXPECT_EQ(code_of(connect_as(61'102, beta(), 0)), Errc::ok) << "another user has its own";
}

TEST_F(Listeners, ACleanStopRemovesTheirFiles) {
    ASSERT_TRUE(daemon_.start(basic_config(daemon_.directory(), "multi",
                                           listener(alpha(), "owner = 61101\ntenants = [1]"))));
    EXPECT_TRUE(std::filesystem::exists(alpha()));
    EXPECT_EQ(daemon_.stop(SIGTERM).status, 0);
    EXPECT_FALSE(std::filesystem::exists(alpha()));
}

TEST_F(Listeners, CheckLooksAtTheirDirectories) {
    const std::string file = daemon_.directory() + "/checked.toml";
    std::ofstream(file) << basic_config(daemon_.directory(), "multi",
                                        listener("/dev/null/x.sock", "tenants = [1]"));
    const testing::Ended ended =
        testing::run_program({testing::program("CXLPOOLD"), "--config", file, "--check"});
    EXPECT_NE(ended.status, 0);
    EXPECT_THAT(ended.err, HasSubstr("/dev/null"));
}

}  // namespace
}  // namespace cxlpool

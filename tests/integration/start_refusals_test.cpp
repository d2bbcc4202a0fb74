// What the operator wrote is wrong: exit status 2, the line named, nothing started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "daemon_process.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::DaemonProcess;
using ::testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

void expect_refused(DaemonProcess& daemon, const std::string& config, const std::string& words,
                    int line) {
    ASSERT_FALSE(daemon.start(config)) << "it started";
    EXPECT_EQ(daemon.ended().status, 2);
    EXPECT_THAT(daemon.ended().err, HasSubstr(words));
    if (line > 0) {
        EXPECT_THAT(daemon.ended().err, HasSubstr("cxlpoold.toml:" + std::to_string(line)));
    }
    EXPECT_FALSE(std::filesystem::exists(daemon.engine_socket()));
    EXPECT_FALSE(std::filesystem::exists(daemon.admin_socket()));
    EXPECT_FALSE(std::filesystem::exists(daemon.directory() + "/state"));
}

TEST(StartRefusals, TenancyIsMandatory) {
    DaemonProcess daemon;
    expect_refused(daemon,
                   replaced(basic_config(daemon.directory()), "tenancy = \"multi\"\n", "\n"),
                   "tenancy mode not configured", 0);
}

TEST(StartRefusals, MisspeltTenancy) {
    DaemonProcess daemon;
    expect_refused(daemon, replaced(basic_config(daemon.directory()), "\"multi\"", "\"mutli\""),
                   "mutli", 1);
}

TEST(StartRefusals, MisspeltRole) {
    DaemonProcess daemon;
    expect_refused(daemon,
                   replaced(basic_config(daemon.directory()), "\"inspector\"", "\"inspektor\""),
                   "inspektor", 20);
}

TEST(StartRefusals, UnknownKey) {
    DaemonProcess daemon;
    expect_refused(daemon, replaced(basic_config(daemon.directory()), "capacity", "capasity"),
                   "capasity", 9);
}

TEST(StartRefusals, UnknownShareKind) {
    DaemonProcess daemon;
    expect_refused(daemon,
                   replaced(basic_config(daemon.directory()), "private_segment = \"1MiB\"",
                            "share_kind = \"cxl-hdm\""),
                   "cxl-hdm", 10);
}

TEST(StartRefusals, DeclarationsThatWidenAnonymousMemory) {
    DaemonProcess daemon;
    expect_refused(
        daemon,
        replaced(basic_config(daemon.directory()), "private_segment = \"1MiB\"", "hosts = 8"),
        "hosts", 6);
}

TEST(StartRefusals, ACooperativePoolInMultiNamesTheLineAndTheOverride) {
    DaemonProcess daemon;
    const std::string config = basic_config(
        daemon.directory(), "multi",
        "[[pool]]\nname = \"cxl0\"\nprovider = \"devdax\"\ndevice = \"/dev/dax9.9\"\n");
    expect_refused(daemon, config, "allow_cooperative = true", 21);
    EXPECT_THAT(daemon.ended().err, HasSubstr("cooperative"));
}

TEST(StartRefusals, AnAbsentDeviceIsTheMachinesFaultNotTheFiles) {
    DaemonProcess daemon;
    ASSERT_FALSE(daemon.start(
        basic_config(daemon.directory(), "multi",
                     "[[pool]]\nname = \"cxl0\"\nprovider = \"devdax\"\ndevice = \"/dev/dax9.9\"\n"
                     "allow_cooperative = true\n")));
    EXPECT_EQ(daemon.ended().status, 1);
    EXPECT_THAT(daemon.ended().err, HasSubstr("dax9.9"));
    EXPECT_FALSE(std::filesystem::exists(daemon.engine_socket()));
}

TEST(StartRefusals, AStateDirectoryKeepsItsMode) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory(), "multi"))) << daemon.ended().err;
    EXPECT_EQ(daemon.stop(SIGTERM).status, 0);
    ASSERT_FALSE(daemon.start(basic_config(daemon.directory(), "single")));
    EXPECT_EQ(daemon.ended().status, 2);
    EXPECT_THAT(daemon.ended().err, HasSubstr("tenancy_mismatch"));
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory(), "multi"))) << daemon.ended().err;
}

// What --check says of it, and the start too.
void expect_both_refuse(DaemonProcess& daemon, const std::string& config, int status,
                        const std::string& words) {
    const std::string file = daemon.directory() + "/checked.toml";
    std::ofstream(file) << config;
    const testing::Ended checked =
        testing::run_program({testing::program("CXLPOOLD"), "--config", file, "--check"});
    EXPECT_EQ(checked.status, status);
    EXPECT_THAT(checked.err, HasSubstr(words));
    ASSERT_FALSE(daemon.start(config)) << "it started";
    EXPECT_EQ(daemon.ended().status, status);
    EXPECT_THAT(daemon.ended().err, HasSubstr(words));
}

TEST(StartRefusals, CheckReadsTheTenancyOfTheStateDirectory) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory(), "multi"))) << daemon.ended().err;
    EXPECT_EQ(daemon.stop(SIGTERM).status, 0);
    expect_both_refuse(daemon, basic_config(daemon.directory(), "single"), 2, "tenancy_mismatch");
}

// What was kept is not guessed at: the operator says so once.
TEST(StartRefusals, ADamagedStateIsKeptAside) {
    DaemonProcess daemon;
    const std::string config = basic_config(daemon.directory());
    ASSERT_TRUE(daemon.start(config)) << daemon.ended().err;
    EXPECT_EQ(daemon.stop(SIGTERM).status, 0);
    std::ofstream(daemon.directory() + "/state/state.db") << "nonsense";
    expect_both_refuse(daemon, config, 2, "state.db' is damaged");
    EXPECT_THAT(daemon.ended().err, HasSubstr("state.db.damaged-"));
    expect_both_refuse(daemon, config, 2, "--accept-empty-state");
    EXPECT_FALSE(std::filesystem::exists(daemon.engine_socket()));
    ASSERT_TRUE(daemon.start(config, {"--accept-empty-state"})) << daemon.ended().err;
    EXPECT_EQ(daemon.stop(SIGTERM).status, 0);
    EXPECT_TRUE(daemon.start(config)) << daemon.ended().err;
}

TEST(StartRefusals, AStateDirectoryHasOneDaemon) {
    DaemonProcess daemon;
    ASSERT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
    DaemonProcess second;
    EXPECT_FALSE(
        second.start(replaced(basic_config(second.directory()), second.directory() + "/state",
                              daemon.directory() + "/state")));
    EXPECT_EQ(second.ended().status, 1);
    EXPECT_THAT(second.ended().err, HasSubstr("another cxlpoold uses"));
}

TEST(StartRefusals, CheckLooksAtTheDirectoryOfASocket) {
    DaemonProcess daemon;
    const std::string directory = daemon.directory() + "/run";
    ASSERT_EQ(::mkdir(directory.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
    expect_both_refuse(daemon, basic_config(daemon.directory()), 2, "is writable by everybody");
    ASSERT_EQ(::chmod(directory.c_str(), 01777), 0);
    EXPECT_TRUE(daemon.start(basic_config(daemon.directory()))) << daemon.ended().err;
}

TEST(StartRefusals, CheckSeesDirectoriesThatCannotBeMade) {
    DaemonProcess daemon;
    const std::string config = basic_config(daemon.directory());
    expect_both_refuse(daemon, replaced(config, "/state", "/absent/state"), 1,
                       "making the state directory");
    expect_both_refuse(daemon, replaced(config, "/run/engine", "/absent/run/engine"), 1,
                       "for the socket");
    std::ofstream(daemon.directory() + "/file") << "no directory";
    expect_both_refuse(daemon, replaced(config, "/state", "/file"), 1, "file");
}

TEST(StartRefusals, APoolOverTheMemoryOfTheMachineIsWarnedOf) {
    DaemonProcess daemon;
    const std::string config =
        replaced(basic_config(daemon.directory()), "\"64MiB\"", "\"1024TiB\"");
    const std::string file = daemon.directory() + "/checked.toml";
    std::ofstream(file) << config;
    const testing::Ended checked =
        testing::run_program({testing::program("CXLPOOLD"), "--config", file, "--check"});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_THAT(checked.err, HasSubstr("lower the capacity"));
}

TEST(StartRefusals, AMissingFileNamesItself) {
    const testing::Ended ended = testing::run_program(
        {testing::program("CXLPOOLD"), "--config", "/nonexistent/cxlpoold.toml"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("/nonexistent/cxlpoold.toml"));
    EXPECT_THAT(ended.err, HasSubstr("copy cxlpoold.toml.example there"));
}

TEST(StartRefusals, UnknownOptionsAreUsageErrors) {
    const testing::Ended ended =
        testing::run_program({testing::program("CXLPOOLD"), "--confg", "x"});
    EXPECT_EQ(ended.status, 2);
    EXPECT_THAT(ended.err, HasSubstr("confg"));
}

}  // namespace
}  // namespace cxlpool

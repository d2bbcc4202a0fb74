#include "daemon/reload.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr const char* kText =
    "tenancy = \"multi\"\n"
    "[[pool]]\n"
    "name = \"a\"\n"
    "provider = \"memfd\"\n"
    "capacity = \"64MiB\"\n"
    "[[pool]]\n"
    "name = \"b\"\n"
    "provider = \"memfd\"\n"
    "capacity = \"64MiB\"\n"
    "[[tenant]]\n"
    "id = 1\n"
    "[[grant]]\n"
    "uid = 1000\n"
    "tenants = [1]\n"
    "roles = [\"engine\"]\n";

Config parsed(const std::string& text) {
    const Result<Config> config = parse_config("F", text);
    EXPECT_TRUE(config) << config.error().message();
    return config ? *config : Config{};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
    const Result<void> allowed = check_reload(parsed(kText), parsed(text));
    if (allowed) {
        return "allowed";
    }
    EXPECT_EQ(allowed.error().code(), Errc::wrong_state);
    EXPECT_THAT(allowed.error().message(), HasSubstr("restart"));
    return allowed.error().message();
}

TEST(CheckReload, WhereATableStandsIsNoChange) {
    EXPECT_EQ(refusal(std::string("# a comment\n\n") + kText), "allowed");
}

TEST(CheckReload, GrantsTenantsListenersAndTheLogLevelMayChange) {
    EXPECT_EQ(refusal(replaced(kText, "uid = 1000", "gid = 7")), "allowed");
    EXPECT_EQ(refusal(std::string(kText) + "[[tenant]]\nid = 2\nname = \"b\"\n"), "allowed");
    EXPECT_EQ(refusal(replaced(kText, "id = 1\n", "id = 1\nname = \"a\"\n")), "allowed");
    EXPECT_EQ(refusal(std::string(kText) + "[[listener]]\npath = \"/x\"\ntenants = [1]\n"),
              "allowed");
    EXPECT_EQ(refusal(std::string("log_level = \"debug\"\n") + kText), "allowed");
}

TEST(CheckReload, WhatOnlyAStartCanChangeIsNamed) {
    const std::vector<std::pair<std::string, std::string>> rows = {
        {replaced(kText, "multi", "single"), "tenancy"},
        {std::string("state_directory = \"/x\"\n") + kText, "state_directory"},
        {std::string("reactor = \"poll\"\n") + kText, "reactor"},
        {std::string("worker_threads = 7\n") + kText, "worker_threads"},
        {std::string("eviction = \"lru\"\n") + kText, "eviction"},
        {std::string(kText) + "[listen]\nengine = \"/x\"\n", "listen.engine"},
        {std::string(kText) + "[listen]\nengine_mode = \"0660\"\n", "listen.engine_mode"},
        {std::string(kText) + "[listen]\nengine_group = 7\n", "listen.engine_group"},
        {std::string(kText) + "[listen]\nadmin = \"/x\"\n", "listen.admin"},
        {std::string(kText) + "[listen]\nadmin_mode = \"0600\"\n", "listen.admin_mode"},
        {std::string(kText) + "[listen]\nadmin_group = 7\n", "listen.admin_group"},
        {replaced(kText, "\"64MiB\"", "\"65MiB\""), "pool 'a'"},
        {replaced(kText, "name = \"b\"", "name = \"c\""), "pool 'b' and pool 'c'"},
        {replaced(replaced(kText, "\"a\"", "\"b\""),
                  "name = \"b\"\nprovider = \"memfd\"\ncapacity "
                  "= \"64MiB\"\n[[tenant]]",
                  "name = \"a\"\nprovider = \"memfd\"\ncapacity = \"64MiB\"\n[[tenant]]"),
         "the order of the pools"},
    };
    for (const auto& [text, key] : rows) {
        EXPECT_THAT(refusal(text), HasSubstr("F: " + key + " cannot change")) << text;
    }
}

TEST(CheckReload, AllOfThemAreNamedAtOnce) {
    EXPECT_THAT(refusal(std::string("worker_threads = 7\nreactor = \"poll\"\n") +
                        replaced(kText, "multi", "single")),
                HasSubstr("F: tenancy, reactor and worker_threads cannot change"));
}

// Every limit: it may change, or it is named.
TEST(CheckReload, ALimitThatHelloTellsOrThatMemoryWasSetAsideForStays) {
    const auto changed = [](const std::string& key) {
        const bool bytes = key.find("bytes") != std::string::npos;
        return refusal(std::string(kText) + "[limits]\n" + key + " = " +
                       (bytes ? "\"1MiB\"" : "1234") + "\n");
    };
    for (const char* key :
         {"connections_per_uid", "filling_bytes_per_uid", "cells", "cells_per_tenant",
          "cells_per_span_and_tenant", "pending_per_connection", "hello_timeout_ms"}) {
        EXPECT_EQ(changed(key), "allowed") << key;
    }
    for (const char* key :
         {"connections", "contexts_per_connection", "leases_per_connection", "cell_bytes",
          "lease_ttl_ms", "axis_values_per_tenant", "axis_values"}) {
        EXPECT_THAT(changed(key), HasSubstr(std::string("limits.") + key));
    }
}

class ReloaderTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "reload-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string file() const { return directory_ + "/cxlpoold.toml"; }
    void write(const std::string& text) const { std::ofstream(file()) << text; }
    std::string listener(const std::string& name) const {
        return "[[listener]]\npath = \"" + directory_ + "/" + name + "\"\ntenants = [1]\n";
    }
    bool there(const std::string& name) const {
        return std::filesystem::exists(directory_ + "/" + name);
    }

    std::string directory_;
};

TEST_F(ReloaderTest, MakesWhatIsNewAndLeavesNothingWhenItIsDropped) {
    write(kText);
    OwnedPaths owned;
    Reloader reloader(*read_config(file()), owned);
    write(kText + listener("a.sock"));
    {
        const Result<Reconfiguration> wanted = reloader.read();
        ASSERT_TRUE(wanted) << wanted.error().message();
        ASSERT_EQ(wanted->listeners.size(), 1U);
        EXPECT_TRUE(wanted->listeners[0].socket);
        EXPECT_FALSE(there("a.sock")) << "not before it is taken on";
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1)
        << "the configuration alone";
    EXPECT_TRUE(reloader.running().listeners.empty());
}

TEST_F(ReloaderTest, TakesOnAndGoesOnFromThere) {
    write(kText);
    OwnedPaths owned;
    Reloader reloader(*read_config(file()), owned);
    write(kText + listener("a.sock") + listener("b.sock"));
    std::vector<Listener> open;
    {
        Result<Reconfiguration> wanted = reloader.read();
        ASSERT_TRUE(wanted) << wanted.error().message();
        ASSERT_TRUE(wanted->publish());
        wanted->taken();
        open = std::move(wanted->listeners);
    }
    EXPECT_TRUE(there("a.sock") && there("b.sock"));
    EXPECT_EQ(reloader.running().listeners.size(), 2U);
    write(kText + listener("b.sock"));
    Result<Reconfiguration> fewer = reloader.read();
    ASSERT_TRUE(fewer) << fewer.error().message();
    ASSERT_EQ(fewer->listeners.size(), 1U);
    EXPECT_FALSE(fewer->listeners[0].socket) << "the one that is open stays";
    ASSERT_TRUE(fewer->publish());
    EXPECT_FALSE(there("a.sock"));
    EXPECT_TRUE(there("b.sock"));
}

TEST_F(ReloaderTest, AFileThatCannotBePublishedTakesTheOthersBack) {
    write(kText);
    OwnedPaths owned;
    Reloader reloader(*read_config(file()), owned);
    write(kText + listener("a.sock") + listener("b.sock"));
    Result<Reconfiguration> wanted = reloader.read();
    ASSERT_TRUE(wanted) << wanted.error().message();
    ASSERT_EQ(::mkdir((directory_ + "/b.sock").c_str(), 0700), 0) << "in its way";
    const Result<void> published = wanted->publish();
    ASSERT_FALSE(published);
    EXPECT_THAT(published.error().message(), HasSubstr("b.sock"));
    EXPECT_FALSE(there("a.sock"));
}

}  // namespace
}  // namespace cxlpool

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "golden.hpp"
#include "support/topology_generator.hpp"

namespace cxlpool {
namespace {

using test::golden;
using test::read_golden;
using test::read_texts;
using testing::HasSubstr;
using testing::StartsWith;

Error refused(const std::string& text) {
    auto topology = read_texts({text});
    if (topology) {
        ADD_FAILURE() << "accepted: " << text;
        return Error{Errc::ok, ""};
    }
    return std::move(topology).error();
}

void expect_round_trip(const Topology& topology) {
    const std::string text = write_snapshot(topology);
    const auto back = read_texts({text});
    ASSERT_TRUE(back) << back.error().message() << "\n" << text;
    Topology want = topology;
    want.origin = Topology::Origin::captured;
    EXPECT_EQ(*back, want) << text;
    EXPECT_EQ(write_snapshot(*back), text);
}

TEST(Snapshot, EveryTopologyReadsBackEqual) {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_round_trip(test::TopologyGenerator(seed).topology());
    }
}

TEST(Snapshot, ResolvingTwiceChangesNothing) {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Topology once = test::TopologyGenerator(seed).topology();
        Topology twice = once;
        resolve(twice);
        EXPECT_EQ(twice, once);
    }
}

TEST(Snapshot, EveryCaptureReadsBackEqual) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CXLPOOL_GOLDEN_DIR "/captured")) {
        const std::string name = entry.path().filename().string();
        if (name.find("-list.json") == std::string::npos) {
            continue;
        }
        SCOPED_TRACE(name);
        expect_round_trip(read_golden({name}));
        ++files;
    }
    EXPECT_GE(files, 15);
}

TEST(Snapshot, SaysItsSchemaFirst) {
    EXPECT_THAT(write_snapshot(Topology{}),
                StartsWith("{\n  \"schema\": \"cxlpool-topology/1\",\n"));
    expect_round_trip(Topology{});
}

TEST(Snapshot, AnotherVersionIsRefused) {
    for (const char* text : {R"({"schema":"cxlpool-topology/2"})", R"({"schema":1})"}) {
        const Error error = refused(text);
        EXPECT_EQ(error.code(), Errc::unsupported_version);
        EXPECT_THAT(error.message(), HasSubstr("cxlpool-topology/1"));
    }
}

TEST(Snapshot, UnknownKeysAndWordsAreRefusedWithThePlace) {
    const std::string head = "{\"schema\":\"cxlpool-topology/1\",\n";
    const Error key = refused(head + "\"memdevs\":[{\"name\":\"mem0\",\"ram_byte\":1}]}");
    EXPECT_EQ(key.code(), Errc::malformed);
    EXPECT_THAT(key.message(), StartsWith("f:2:38: unknown key 'ram_byte'"));
    EXPECT_EQ(refused(head + "\"memdev\":[]}").code(), Errc::malformed);
    const Error word = refused(head + "\"regions\":[{\"name\":\"region0\",\"state\":\"good\"}]}");
    EXPECT_EQ(word.code(), Errc::unknown_word);
    EXPECT_THAT(word.message(), StartsWith("f:2:38: "));
    EXPECT_EQ(refused(head + "\"memdevs\":[{}]}").code(), Errc::malformed);
    EXPECT_EQ(refused(head + "\"memdevs\":{}}").code(), Errc::malformed);
    EXPECT_EQ(refused(head + "\"memdevs\":[5]}").code(), Errc::malformed);
    EXPECT_EQ(refused(head + "\"nodes\":[{\"distances\":[[1]]}]}").code(), Errc::malformed);
    EXPECT_EQ(refused(head + "\"nodes\":[{\"distances\":[[1,4294967296]]}]}").code(),
              Errc::malformed);
    EXPECT_EQ(refused(head + "\"nodes\":[{\"id\":-1}]}").code(), Errc::malformed);
}

TEST(Snapshot, TheSameNameTwiceIsRefused) {
    const Error error =
        refused(R"({"schema":"cxlpool-topology/1","memdevs":[{"name":"mem0"},{"name":"mem0"}]})");
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("mem0 stands twice"));
}

TEST(Snapshot, StandsAlone) {
    const std::string snapshot = write_snapshot(Topology{});
    for (const auto& texts :
         {std::vector<std::string>{snapshot, "[]"}, std::vector<std::string>{"[]", snapshot},
          std::vector<std::string>{snapshot, snapshot}}) {
        const auto got = read_texts(texts);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error().code(), Errc::invalid_argument);
    }
}

}  // namespace
}  // namespace cxlpool

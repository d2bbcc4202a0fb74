// The bytes of every message, as they are written down in tests/golden/wire. They change only
// together with the protocol: run with CXLPOOL_UPDATE_GOLDEN=1 to write them anew.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "wire/samples.hpp"

namespace cxlpool::wire {
namespace {

const std::filesystem::path kDirectory = CXLPOOL_GOLDEN_DIR;

// Sixteen bytes a line.
std::string to_lines(const std::vector<std::byte>& bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        char digits[4];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(bytes[i]));
        text += digits;
        text += (i % 16 == 15 || i + 1 == bytes.size()) ? '\n' : ' ';
    }
    return text;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

class Golden : public testing::TestWithParam<samples::Sample> {};

TEST_P(Golden, BytesAreAsWrittenDown) {
    const auto path = kDirectory / (GetParam().name + ".hex");
    const auto bytes = samples::bytes_of(GetParam());
    ASSERT_TRUE(bytes) << bytes.error().message();
    if (std::getenv("CXLPOOL_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path) << to_lines(*bytes);
    }
    EXPECT_EQ(to_lines(*bytes), read_file(path)) << path;
}

INSTANTIATE_TEST_SUITE_P(Messages, Golden, testing::ValuesIn(samples::all()), samples::test_name);

TEST(GoldenFiles, AreExactlyThoseOfTheMessages) {
    std::set<std::string> expected;
    for (const auto& sample : samples::all()) {
        EXPECT_TRUE(expected.insert(sample.name + ".hex").second) << sample.name;
    }
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(kDirectory)) {
        found.insert(entry.path().filename().string());
    }
    EXPECT_EQ(found, expected);
}

// Everything of RequestBody and ReplyBody is among the samples.
TEST(GoldenFiles, NoMessageIsMissing) {
    std::set<std::size_t> requests;
    std::set<std::size_t> replies;
    for (const auto& sample : samples::all()) {
        if (const auto* request = std::get_if<Request>(&sample.message)) {
            requests.insert(request->body.index());
        } else {
            replies.insert(std::get<Reply>(sample.message).body.index());
        }
    }
    EXPECT_EQ(requests.size(), std::variant_size_v<RequestBody>);
    EXPECT_EQ(replies.size(), std::variant_size_v<ReplyBody>);
}

}  // namespace
}  // namespace cxlpool::wire

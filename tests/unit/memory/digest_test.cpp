#include "memory/digest.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/units.hpp"

namespace cxlpool {
namespace {

std::string digest_hex(std::string_view text) {
    const ContentDigest digest = digest_bytes(std::as_bytes(std::span(text.data(), text.size())));
    return to_hex(digest.bytes.data(), digest.bytes.size());
}

// Values of `b2sum -l 256`.
TEST(Digest, IsBlake2b256) {
    EXPECT_EQ(digest_hex(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    EXPECT_EQ(digest_hex("abc"),
              "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Digest, OfZeroBytesIsPresent) {
    const std::vector<std::byte> zeros(4096);
    EXPECT_TRUE(digest_bytes(zeros).present());
    EXPECT_TRUE(digest_bytes({}).present());
}

TEST(Digest, EveryBitCounts) {
    std::vector<std::byte> bytes(8192);
    const ContentDigest before = digest_bytes(bytes);
    for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
        bytes[at] = std::byte{1};
        EXPECT_NE(digest_bytes(bytes), before);
        bytes[at] = std::byte{0};
    }
    EXPECT_EQ(digest_bytes(bytes), before);
    bytes.push_back(std::byte{0});
    EXPECT_NE(digest_bytes(bytes), before);
}

TEST(Digest, ThreadsAgree) {
    const std::vector<std::byte> bytes(1U << 20U, std::byte{0x5a});
    ContentDigest one;
    ContentDigest other;
    std::thread first([&] { one = digest_bytes(bytes); });
    std::thread second([&] { other = digest_bytes(bytes); });
    first.join();
    second.join();
    EXPECT_EQ(one, other);
}

}  // namespace
}  // namespace cxlpool

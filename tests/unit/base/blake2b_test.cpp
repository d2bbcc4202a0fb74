#include "base/blake2b.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace cxlpool {
namespace {

Digest256 digest_of(std::span<const std::byte> bytes, std::size_t piece) {
    Blake2b256 hash;
    for (; bytes.size() > piece; bytes = bytes.subspan(piece)) {
        hash.update(bytes.first(piece));
    }
    hash.update(bytes);
    return hash.finish();
}

// Of `printf abc | b2sum -l 256`.
TEST(Blake2b256, IsBlake2b256) {
    const std::string_view abc = "abc";
    const Digest256 digest = digest_of(std::as_bytes(std::span(abc.data(), abc.size())), 3);
    EXPECT_EQ(to_hex(digest.bytes.data(), digest.bytes.size()),
              "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Blake2b256, PiecesAreTheWhole) {
    std::vector<std::byte> bytes(1000);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(i * 7);
    }
    const Digest256 whole = digest_of(bytes, bytes.size());
    for (const std::size_t piece : {1U, 127U, 128U, 129U, 256U, 999U}) {
        EXPECT_EQ(digest_of(bytes, piece), whole) << piece;
    }
}

}  // namespace
}  // namespace cxlpool

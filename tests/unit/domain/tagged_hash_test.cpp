#include "domain/tagged_hash.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace cxlpool {
namespace {

Digest256 blake2b(const std::string& message) {
    Blake2b256 hash;
    hash.update(std::as_bytes(std::span(message.data(), message.size())));
    return hash.finish();
}

TEST(TaggedHash, HashesTagAndFieldsInLittleEndian) {
    TaggedHash hash("tag");
    hash.begin_field(7, 4 + 8 + 2);
    const std::uint32_t word = 0x01020304;
    hash.u32s({&word, 1});
    hash.u64(0x1112131415161718);
    hash.text("xy");
    hash.begin_field(8, 0);
    using namespace std::string_literals;
    EXPECT_EQ(hash.finish(),
              blake2b("\x03\0\0\0\0\0\0\0"s + "tag" + "\x07" + "\x0E\0\0\0\0\0\0\0"s +
                      "\x04\x03\x02\x01" + "\x18\x17\x16\x15\x14\x13\x12\x11" + "xy" +
                      "\x08\0\0\0\0\0\0\0\0"s));
}

// Pieces of every size at every place of the buffer inside.
TEST(TaggedHash, IsTheSameHoweverThePayloadComes) {
    const std::uint32_t seed = 20261130;
    std::mt19937 random(seed);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> words(random() % 1500);
        for (std::uint32_t& word : words) {
            word = static_cast<std::uint32_t>(random());
        }
        const std::string odd(random() % 5, 'x');  // words need not begin at a multiple of four
        const std::uint64_t length = odd.size() + 4 * words.size();
        TaggedHash whole("t");
        whole.begin_field(1, length);
        whole.text(odd);
        whole.u32s(words);
        TaggedHash pieces("t");
        pieces.begin_field(1, length);
        pieces.text(odd);
        for (std::span<const std::uint32_t> rest(words); !rest.empty();) {
            const std::size_t count = std::min<std::size_t>(rest.size(), 1 + random() % 300);
            pieces.u32s(rest.first(count));
            rest = rest.subspan(count);
        }
        TaggedHash bytes("t");
        bytes.begin_field(1, length);
        bytes.text(odd);
        for (const std::uint32_t word : words) {
            for (unsigned shift = 0; shift < 32; shift += 8) {
                const auto byte = static_cast<std::uint8_t>(word >> shift);
                bytes.bytes({&byte, 1});
            }
        }
        const Digest256 digest = whole.finish();
        ASSERT_EQ(pieces.finish(), digest) << "seed " << seed << " round " << round;
        ASSERT_EQ(bytes.finish(), digest) << "seed " << seed << " round " << round;
    }
}

TEST(TaggedHashDeathTest, APayloadThatIsNotAsLongAsItsFieldSaidAborts) {
    EXPECT_DEATH(
        {
            TaggedHash hash("t");
            hash.begin_field(1, 3);
            hash.text("four");
        },
        "open_bytes_");
    EXPECT_DEATH(
        {
            TaggedHash hash("t");
            hash.begin_field(1, 3);
            hash.text("tw");
            hash.finish();
        },
        "open_bytes_");
    EXPECT_DEATH(
        {
            TaggedHash hash("t");
            hash.begin_field(1, 3);
            hash.begin_field(2, 0);
        },
        "open_bytes_");
}

}  // namespace
}  // namespace cxlpool

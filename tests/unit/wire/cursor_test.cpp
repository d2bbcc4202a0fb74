#include "wire/cursor.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cxlpool::wire {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> out;
    for (const int v : values) {
        out.push_back(static_cast<std::byte>(v));
    }
    return out;
}

TEST(Reader, ReadsLittleEndian) {
    const auto data = bytes({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255});
    Reader reader(data);
    EXPECT_EQ(reader.u8(), 0x01U);
    EXPECT_EQ(reader.u16(), 0x0302U);
    EXPECT_EQ(reader.u32(), 0x07060504U);
    EXPECT_EQ(reader.remaining(), 8U);
    EXPECT_FALSE(reader.done());
    EXPECT_EQ(reader.u64(), 0xFF0E0D0C0B0A0908U);
    EXPECT_TRUE(reader.done());
}

TEST(Reader, AnOverrunSticks) {
    const auto data = bytes({1, 2, 3, 4, 5});
    Reader reader(data);
    EXPECT_EQ(reader.u64(), 0U);
    EXPECT_TRUE(reader.failed());
    EXPECT_EQ(reader.u8(), 0U) << "there are bytes, but nothing after an overrun is believed";
    EXPECT_TRUE(reader.take(0).empty());
    EXPECT_FALSE(reader.done());
}

TEST(Reader, AnOverrunOfCopyGivesZeros) {
    const auto data = bytes({1, 2});
    Reader reader(data);
    std::array<std::uint8_t, 4> out{9, 9, 9, 9};
    reader.copy(out.data(), out.size());
    EXPECT_EQ(out, (std::array<std::uint8_t, 4>{0, 0, 0, 0}));
    EXPECT_TRUE(reader.failed());
}

TEST(Reader, ReadsText) {
    const auto data = bytes({2, 0, 'h', 'i', 0, 0});
    Reader reader(data);
    EXPECT_EQ(reader.text16(), "hi");
    EXPECT_EQ(reader.text16(), "");
    EXPECT_TRUE(reader.done());
}

TEST(Reader, ATextLongerThanTheRestIsAnOverrun) {
    const auto data = bytes({0xFF, 0xFF, 'h', 'i'});
    Reader reader(data);
    EXPECT_EQ(reader.text16(), "");
    EXPECT_TRUE(reader.failed());
}

TEST(Reader, AnEmptyMessageIsDoneAtOnce) {
    Reader reader({});
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.u8(), 0U);
    EXPECT_FALSE(reader.done());
}

TEST(Writer, WritesWhatReaderReads) {
    std::vector<std::byte> out;
    Writer writer(out, 64);
    writer.u32(0);
    writer.u8(0x11);
    writer.u16(0x2233);
    writer.u64(0x445566778899AABB);
    writer.text16("text");
    writer.patch_u32(0, 0xDDCCBBAA);
    ASSERT_FALSE(writer.failed());
    EXPECT_EQ(writer.size(), 21U);
    EXPECT_EQ(out[0], std::byte{0xAA});
    Reader reader(out);
    EXPECT_EQ(reader.u32(), 0xDDCCBBAAU);
    EXPECT_EQ(reader.u8(), 0x11U);
    EXPECT_EQ(reader.u16(), 0x2233U);
    EXPECT_EQ(reader.u64(), 0x445566778899AABBU);
    EXPECT_EQ(reader.text16(), "text");
    EXPECT_TRUE(reader.done());
}

TEST(Writer, StopsAtItsMaximum) {
    std::vector<std::byte> out;
    Writer writer(out, 6);
    writer.u32(1);
    writer.u32(2);
    EXPECT_TRUE(writer.failed());
    EXPECT_EQ(out.size(), 4U) << "nothing of a field that does not fit";
    writer.u8(3);
    EXPECT_TRUE(writer.failed());
    EXPECT_EQ(out.size(), 4U) << "and nothing after it";
}

TEST(Writer, RefusesATextThatItsLengthFieldCannotSay) {
    std::vector<std::byte> out;
    Writer writer(out, 1U << 20U);
    writer.text16(std::string(65535, 'x'));
    EXPECT_FALSE(writer.failed());
    writer.text16(std::string(65536, 'x'));
    EXPECT_TRUE(writer.failed());
}

TEST(WriterDeathTest, PatchingWhatWasNotWrittenIsABrokenInvariant) {
    std::vector<std::byte> out(3);
    Writer writer(out, 64);
    EXPECT_DEATH(writer.patch_u32(0, 1), "broken invariant");
}

}  // namespace
}  // namespace cxlpool::wire

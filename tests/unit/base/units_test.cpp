#include "base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cxlpool {
namespace {

TEST(ParseBytes, ReadsPlainNumbersAndUnits) {
    EXPECT_EQ(*parse_bytes("0"), 0U);
    EXPECT_EQ(*parse_bytes("64MiB"), 67108864U);
    EXPECT_EQ(*parse_bytes("2 GiB"), 2147483648U);
    EXPECT_EQ(*parse_bytes("512kB"), 512000U);
    EXPECT_EQ(*parse_bytes("3TB"), 3000000000000U);
    EXPECT_EQ(*parse_bytes("7B"), 7U);
    EXPECT_EQ(*parse_bytes("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseBytes, RefusesWhatIsNotExact) {
    for (const char* bad :
         {"", "MiB", "-1", "1.5MiB", "1M", "1G", "64mib", "1 2", "0x10MiB", "NaN"}) {
        const auto got = parse_bytes(bad);
        ASSERT_FALSE(got) << bad;
        EXPECT_EQ(got.error().code(), Errc::malformed) << bad;
    }
    EXPECT_EQ(parse_bytes("18446744073709551616").error().code(), Errc::overflow);
    EXPECT_EQ(parse_bytes("16777216TiB").error().code(), Errc::overflow);
}

TEST(ParseBytes, MessageNamesTheValueAndTheUnits) {
    const auto got = parse_bytes("12Q\x01");
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message().find("'12Q?'"), std::string::npos) << got.error().message();
    EXPECT_NE(got.error().message().find("64MiB"), std::string::npos);
}

TEST(ParseU64, TakesBothFormsThatSysfsPrints) {
    EXPECT_EQ(*parse_u64("268435456\n"), 268435456U);
    EXPECT_EQ(*parse_u64("0x5d0000000\n"), 0x5d0000000U);
    EXPECT_EQ(*parse_u64(std::string_view("7\n\0", 3)), 7U);
    EXPECT_EQ(*parse_u64("0xffffffffffffffff"), std::numeric_limits<std::uint64_t>::max());
    for (const char* bad : {"", "-1", "+1", "0x", "0x-1", "1x", "12 13"}) {
        EXPECT_FALSE(parse_u64(bad)) << bad;
    }
    EXPECT_EQ(parse_u64("0x10000000000000000").error().code(), Errc::overflow);
}

TEST(ParseI64, TakesTheSign) {
    EXPECT_EQ(*parse_i64("-1\n"), -1);
    EXPECT_EQ(*parse_i64("-139586437121"), -139586437121);
}

TEST(FormatBytes, PrintsTheLargestBinaryUnit) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(67108864), "64 MiB");
    EXPECT_EQ(format_bytes(1572864), "1.50 MiB");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::uint64_t>::max()), "16.00 EiB");
}

TEST(Hex, GoesBothWaysAndRefusesTheRest) {
    const unsigned char bytes[] = {0x00, 0xab, 0xff};
    EXPECT_EQ(to_hex(bytes, 3), "00abff");
    unsigned char back[3] = {1, 2, 3};
    EXPECT_TRUE(from_hex("00ABff", back, 3));
    EXPECT_EQ(to_hex(back, 3), "00abff");
    EXPECT_FALSE(from_hex("00abf", back, 3));
    EXPECT_FALSE(from_hex("00abfg", back, 3));
    EXPECT_EQ(to_hex(back, 3), "00abff");
}

TEST(Checked, SaysNothingInsteadOfWrapping) {
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(checked_mul(kMax, 1), kMax);
    EXPECT_FALSE(checked_mul(kMax, 2));
    EXPECT_EQ(checked_add(kMax, 0), kMax);
    EXPECT_FALSE(checked_add(kMax, 1));
}

}  // namespace
}  // namespace cxlpool

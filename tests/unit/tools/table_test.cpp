#include "cxlpoolctl/table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>

namespace cxlpool::ctl {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
    Table table({{"NAME"}, {"CAPACITY", Table::Align::right}, {"MODE"}});
    table.add({"dax0.0", "502 MiB", "devdax"});
    table.add({"dax10.12", "1 GiB", ""});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(),
              "  NAME      CAPACITY  MODE\n"
              "  dax0.0     502 MiB  devdax\n"
              "  dax10.12     1 GiB\n");
}

TEST(Table, CountsCharactersNotBytes) {
    Table table({{"A"}, {"B"}});
    table.add({"\xC3\xA4\xC3\xA4", "x"});
    table.add({"abc", "y"});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(), "  A    B\n  \xC3\xA4\xC3\xA4   x\n  abc  y\n");
}

TEST(Table, KeepsControlCharactersFromTheTerminal) {
    Table table({{"NAME"}});
    table.add({"dax\x1b[31m0\n.0"});
    std::ostringstream out;
    table.print(out);
    EXPECT_EQ(out.str(), "  NAME\n  dax?[31m0?.0\n");
}

TEST(Table, KnowsWhenItHasNoRows) {
    Table table({{"NAME"}});
    EXPECT_TRUE(table.empty());
    table.add({"x"});
    EXPECT_FALSE(table.empty());
}

TEST(TableDeathTest, AbortsOnARowOfAnotherWidth) {
    Table table({{"A"}, {"B"}});
    EXPECT_DEATH(table.add({"only one"}), "cells.size");
}

TEST(FormatNs, TakesTheLargestUnitAndIsExactWhereItCanBe) {
    EXPECT_EQ(format_ns(0), "0 ns");
    EXPECT_EQ(format_ns(300), "300 ns");
    EXPECT_EQ(format_ns(1'000), "1 us");
    EXPECT_EQ(format_ns(1'500), "1.50 us");
    EXPECT_EQ(format_ns(5'692'405), "5.69 ms");
    EXPECT_EQ(format_ns(8'000'000'000), "8 s");
    EXPECT_EQ(format_ns(UINT64_MAX), "18446744073.71 s");
}

TEST(FormatNs, ExactlyKeepsEveryDecimal) {
    EXPECT_EQ(format_ns_exactly(0), "0 ns");
    EXPECT_EQ(format_ns_exactly(300), "300 ns");
    EXPECT_EQ(format_ns_exactly(1'000), "1 us");
    EXPECT_EQ(format_ns_exactly(5'692'405), "5.692405 ms");
    EXPECT_EQ(format_ns_exactly(9'596'980), "9.59698 ms");
    EXPECT_EQ(format_ns_exactly(8'000'000'001), "8.000000001 s");
    EXPECT_EQ(format_ns_exactly(UINT64_MAX), "18446744073.709551615 s");
}

}  // namespace
}  // namespace cxlpool::ctl

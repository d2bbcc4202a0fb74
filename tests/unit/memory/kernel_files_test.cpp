#include "memory/kernel_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_tree.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

TEST(KernelFiles, ReadsNumbersAndSaysWhichFileIsWrong) {
    const test::ScratchTree tree;
    tree.write("size", "268435456\n");
    tree.write("hex", "0x10000000\n");
    tree.write("word", "online\n");
    EXPECT_EQ(*read_kernel_u64(tree.path("size")), 268435456U);
    EXPECT_EQ(*read_kernel_u64(tree.path("hex")), 268435456U);
    const Result<std::uint64_t> word = read_kernel_u64(tree.path("word"));
    ASSERT_FALSE(word);
    EXPECT_EQ(word.error().code(), Errc::malformed);
    EXPECT_THAT(word.error().message(), HasSubstr(tree.path("word")));
}

TEST(KernelFiles, RefusesWhatIsMissingOrEndless) {
    const test::ScratchTree tree;
    EXPECT_EQ(read_kernel_file(tree.path("none")).error().code(), Errc::not_found);
    EXPECT_EQ(read_kernel_file("/dev/zero").error().code(), Errc::too_large);
    EXPECT_EQ(read_kernel_file(tree.root()).error().code(), Errc::io);
    tree.write("whole", std::string(64U << 10U, 'x'));
    EXPECT_EQ(read_kernel_file(tree.path("whole"))->size(), 64U << 10U);
    tree.write("longer", std::string((64U << 10U) + 1, 'x'));
    EXPECT_EQ(read_kernel_file(tree.path("longer")).error().code(), Errc::too_large);
}

TEST(KernelFiles, ListContains) {
    EXPECT_TRUE(list_contains("0", 0));
    EXPECT_TRUE(list_contains("0-1,3\n", 1));
    EXPECT_TRUE(list_contains("0-1,3\n", 3));
    EXPECT_FALSE(list_contains("0-1,3\n", 2));
    for (const char* bad : {"", "\n", "x", "0-", "-3", "0;1", "0,,1", "0-4294967296"}) {
        EXPECT_FALSE(list_contains(bad, 0)) << bad;
    }
}

TEST(KernelFiles, LineValue) {
    const char* text = "Mems_allowed:\t00000001\nMems_allowed_list:\t0-1 \nLast: 7";
    EXPECT_EQ(line_value(text, "Mems_allowed_list"), "0-1");
    EXPECT_EQ(line_value(text, "Mems_allowed"), "00000001");
    EXPECT_EQ(line_value(text, "Last"), "7");
    EXPECT_EQ(line_value(text, "Mems"), std::nullopt);
    EXPECT_EQ(line_value("", "Mems"), std::nullopt);
}

}  // namespace
}  // namespace cxlpool

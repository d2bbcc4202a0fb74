#include "topology/live/sysfs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/sysfs_tree.hpp"

namespace cxlpool::live {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SysfsTest : public ::testing::Test {
  protected:
    void put(const std::string& path, const std::string& text) { tree_.file(path, text); }
    void link(const std::string& path, const std::string& target) { tree_.link(path, target); }
    // The tree as put so far; once per test.
    Sysfs& sysfs() {
        test::materialise(tree_, directory_.path());
        return sysfs_;
    }

    test::SysfsTree tree_;
    test::ScratchDirectory directory_;
    FindingLog log_;
    Sysfs sysfs_{directory_.path().string(), log_};
};

TEST_F(SysfsTest, DropsWhiteSpaceAndNulAtTheEnd) {
    put("sys/a", std::string("0-1 \n\0", 6));
    EXPECT_EQ(sysfs().text("/sys/a"), "0-1");
    EXPECT_THAT(log_.take(), IsEmpty());
}

TEST_F(SysfsTest, ReadsDecimalAndHexadecimalExactly) {
    put("sys/decimal", "18446744073709551615\n");
    put("sys/hexadecimal", "0x8a0c1f2e3d4b5a69\n");
    const Sysfs& tree = sysfs();
    EXPECT_EQ(tree.u64("/sys/decimal"), 18446744073709551615ULL);
    EXPECT_EQ(tree.u64("/sys/hexadecimal"), 0x8a0c1f2e3d4b5a69ULL);
}

TEST_F(SysfsTest, LogsANumberThatIsNone) {
    put("sys/size", "many\n");
    EXPECT_EQ(sysfs().u64("/sys/size"), std::nullopt);
    const std::vector<Finding> findings = log_.take();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "malformed_attribute");
    EXPECT_EQ(findings[0].subject, "/sys/size");
    EXPECT_NE(findings[0].message.find("'many'"), std::string::npos);
}

TEST_F(SysfsTest, LeavesOutANumberThatDoesNotFit) {
    put("sys/ways", "4294967296\n");
    EXPECT_EQ(sysfs().u32("/sys/ways"), std::nullopt);
}

TEST_F(SysfsTest, TakesMinusOneAndItsUnsignedFormForNoNode) {
    put("sys/none", "-1\n");
    put("sys/unsigned", "4294967295\n");
    put("sys/two", "2\n");
    put("sys/zero", "0\n");
    const Sysfs& tree = sysfs();
    EXPECT_EQ(tree.node("/sys/none"), std::nullopt);
    EXPECT_EQ(tree.node("/sys/unsigned"), std::nullopt);
    EXPECT_EQ(tree.node("/sys/two"), 2U);
    EXPECT_EQ(tree.node("/sys/zero"), 0U);
    EXPECT_THAT(log_.take(), IsEmpty());
}

TEST_F(SysfsTest, TakesZeroForNotGivenOnlyWhereAsked) {
    put("sys/zero", "0x0\n");
    const Sysfs& tree = sysfs();
    EXPECT_EQ(tree.u64("/sys/zero"), 0U);
    EXPECT_EQ(tree.nonzero("/sys/zero"), std::nullopt);
    EXPECT_EQ(tree.flag("/sys/zero"), false);
}

TEST_F(SysfsTest, IsSilentAboutWhatIsNotThere) {
    put("sys/file", "1\n");
    const Sysfs& tree = sysfs();
    EXPECT_EQ(tree.text("/sys/missing"), std::nullopt);
    EXPECT_EQ(tree.text("/sys/file/below_a_file"), std::nullopt);
    EXPECT_THAT(tree.list("/sys/missing"), IsEmpty());
    EXPECT_FALSE(tree.exists("/sys/missing"));
    EXPECT_EQ(tree.link_name("/sys/file"), std::nullopt);
    EXPECT_THAT(log_.take(), IsEmpty());
}

TEST_F(SysfsTest, ReportsAReadThatFails) {
    put("sys/file", "1\n");
    const Sysfs& tree = sysfs();
    std::filesystem::create_symlink("loop", directory_.path() / "sys/loop");
    EXPECT_EQ(tree.text("/sys/loop"), std::nullopt);
    const std::vector<Finding> findings = log_.take();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "read_failed");
    EXPECT_NE(findings[0].message.find("(ELOOP)"), std::string::npos);
}

TEST_F(SysfsTest, ReportsWhatThisUserMayNotRead) {
    put("sys/resource", "0x100\n");
    const Sysfs& tree = sysfs();
    std::filesystem::permissions(directory_.path() / "sys/resource", std::filesystem::perms::none);
    const bool as_root = ::geteuid() == 0;
    ASSERT_TRUE(!as_root || ::seteuid(65534) == 0);
    const std::optional<std::uint64_t> resource = tree.u64("/sys/resource");
    ASSERT_TRUE(!as_root || ::seteuid(0) == 0);
    EXPECT_EQ(resource, std::nullopt);
    const std::vector<Finding> findings = log_.take();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].code, "attributes_hidden");
}

TEST_F(SysfsTest, ListsNumbersInNumericOrder) {
    for (const char* const name : {"mem10", "mem2", "mem1"}) {
        put(std::string("sys/") + name, "");
    }
    EXPECT_THAT(sysfs().list("/sys"), ElementsAre("mem1", "mem2", "mem10"));
}

TEST_F(SysfsTest, ResolvesLinksToPathsOfTheRecordedMachine) {
    put("sys/devices/mem0/serial", "1\n");
    link("sys/bus/mem0", "../devices/mem0");
    const Sysfs& tree = sysfs();
    EXPECT_EQ(tree.resolve("/sys/bus/mem0"), "/sys/devices/mem0");
    EXPECT_EQ(tree.link_name("/sys/bus/mem0"), "mem0");
}

TEST_F(SysfsTest, ResolvesNothingOutsideItsRoot) {
    put("sys/file", "1\n");
    const Sysfs& tree = sysfs();
    std::filesystem::create_symlink("/", directory_.path() / "sys/out");
    std::filesystem::create_symlink("nowhere", directory_.path() / "sys/dangling");
    EXPECT_EQ(tree.resolve("/sys/out"), std::nullopt);
    EXPECT_EQ(tree.resolve("/sys/dangling"), std::nullopt);
    EXPECT_EQ(tree.link_name("/sys/dangling"), "nowhere");
}

TEST(SysfsNames, AreNumberedOnlyWithDigitsToTheEnd) {
    EXPECT_EQ(numbered("mem0", "mem"), 0U);
    EXPECT_EQ(numbered("mem12", "mem"), 12U);
    EXPECT_EQ(numbered("mem", "mem"), std::nullopt);
    EXPECT_EQ(numbered("mem1x", "mem"), std::nullopt);
    EXPECT_EQ(numbered("mem-1", "mem"), std::nullopt);
    EXPECT_EQ(numbered("memory1", "mem"), std::nullopt);
    EXPECT_EQ(numbered("mem4294967296", "mem"), std::nullopt);
}

TEST(SysfsNames, LieWithinWholeComponents) {
    EXPECT_TRUE(is_within("/sys/region1/dax0.0", "/sys/region1"));
    EXPECT_TRUE(is_within("/sys/region1", "/sys/region1"));
    EXPECT_FALSE(is_within("/sys/region10/dax0.0", "/sys/region1"));
    EXPECT_FALSE(is_within("/sys", "/sys/region1"));
}

TEST(SysfsNames, SplitAtTheLastSlash) {
    EXPECT_EQ(parent_of("/sys/bus/cxl"), "/sys/bus");
    EXPECT_EQ(base_name("/sys/bus/cxl"), "cxl");
    EXPECT_EQ(parent_of("cxl"), "");
    EXPECT_EQ(base_name("cxl"), "cxl");
}

TEST(NodeList, ReadsRangesAndSingles) {
    EXPECT_THAT(parse_node_list("0-2,4,6,8-9").value(), ElementsAre(0, 1, 2, 4, 6, 8, 9));
    EXPECT_THAT(parse_node_list("3").value(), ElementsAre(3));
    EXPECT_THAT(parse_node_list("").value(), IsEmpty());
}

TEST(NodeList, RefusesWhatAKernelDoesNotPrint) {
    for (const char* const text : {"a", "1-", "-1", "2-1", "1,,2", "0-4294967295", "70000"}) {
        EXPECT_EQ(parse_node_list(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace cxlpool::live

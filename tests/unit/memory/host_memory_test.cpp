#include "memory/host_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_tree.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

class HostMemory : public ::testing::Test {
  protected:
    void SetUp() override {
        tree_.write("sys/devices/system/node/online", "0-2\n");
        tree_.write("sys/devices/system/node/has_memory", "0-1\n");
        for (const char* node : {"node0", "node1", "node2"}) {
            std::string directory = "sys/devices/system/node/";
            tree_.write(directory.append(node).append("/cpulist"), "0\n");
        }
        tree_.write("sys/devices/system/node/node1/meminfo",
                    "\nNode 1 MemTotal:       4096 kB\nNode 1 MemFree:        1000 kB\n"
                    "Node 1 Active(file):     20 kB\nNode 1 Inactive(file):    4 kB\n");
        tree_.write("proc/meminfo",
                    "MemTotal:    9000 kB\nMemFree:   10 kB\nMemAvailable:   5000 kB\n");
        tree_.write("proc/self/status", "Name:\tx\nMems_allowed_list:\t0,2\n");
        pages("sys/kernel/mm/hugepages/hugepages-2048kB/", "nr_hugepages", "8");
        pages("sys/kernel/mm/hugepages/hugepages-2048kB/", "nr_overcommit_hugepages", "2");
        pages("sys/kernel/mm/hugepages/hugepages-2048kB/", "free_hugepages", "6");
        pages("sys/kernel/mm/hugepages/hugepages-2048kB/", "resv_hugepages", "1");
        pages("sys/devices/system/node/node1/hugepages/hugepages-2048kB/", "nr_hugepages", "3");
        pages("sys/devices/system/node/node1/hugepages/hugepages-2048kB/", "free_hugepages", "3");
    }
    void pages(std::string directory, const char* name, const std::string& count) {
        tree_.write(directory.append(name), count + "\n");
    }

    test::ScratchTree tree_;
    HostPaths paths_{tree_.path("sys"), tree_.path("proc")};
};

TEST_F(HostMemory, CountsHugePagesThatNobodyReserved) {
    const HugePageCounts host = huge_page_counts(paths_, std::nullopt);
    EXPECT_EQ(host.configured, 10U);
    EXPECT_EQ(host.free, 5U);
    const HugePageCounts node = huge_page_counts(paths_, 1);
    EXPECT_EQ(node.configured, 3U);
    EXPECT_EQ(node.free, 2U);
    pages("sys/kernel/mm/hugepages/hugepages-2048kB/", "resv_hugepages", "99");
    EXPECT_EQ(huge_page_counts(paths_, std::nullopt).free, 0U);
}

TEST_F(HostMemory, NoHugePagesInTheKernelIsZero) {
    tree_.remove("sys/kernel");
    EXPECT_EQ(huge_page_counts(paths_, std::nullopt).configured, 0U);
    EXPECT_EQ(huge_page_counts(paths_, 0).free, 0U);
}

TEST_F(HostMemory, NodeMustExistHaveMemoryAndBeAllowed) {
    EXPECT_TRUE(check_numa_node(paths_, 0));

    const Result<void> absent = check_numa_node(paths_, 7);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code(), Errc::unavailable);
    EXPECT_EQ(absent.error().message(), "NUMA node 7 does not exist; nodes online: 0-2");

    const Result<void> empty = check_numa_node(paths_, 2);
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().message(), "NUMA node 2 has no memory; nodes with memory: 0-1");

    const Result<void> forbidden = check_numa_node(paths_, 1);
    ASSERT_FALSE(forbidden);
    EXPECT_EQ(forbidden.error().code(), Errc::unavailable);
    EXPECT_THAT(forbidden.error().message(), HasSubstr("Mems_allowed_list: 0,2"));
}

TEST_F(HostMemory, AvailableBytesOfHostAndNode) {
    EXPECT_EQ(available_bytes(paths_, std::nullopt), 5000U * 1024);
    EXPECT_EQ(available_bytes(paths_, 1), 1024U * 1024);
    EXPECT_EQ(available_bytes(paths_, 0), std::nullopt);
    tree_.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: lots\n");
    EXPECT_EQ(available_bytes(paths_, std::nullopt), std::nullopt);
    tree_.remove("proc/meminfo");
    EXPECT_EQ(available_bytes(paths_, std::nullopt), std::nullopt);
}

TEST_F(HostMemory, TotalBytesOfHostAndNode) {
    tree_.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 1 kB\n");
    tree_.write("sys/devices/system/node/node1/meminfo",
                "Node 1 MemTotal:       3000 kB\nNode 1 MemFree:         512 kB\n");
    EXPECT_EQ(total_bytes(paths_, std::nullopt), 9000U * 1024);
    EXPECT_EQ(total_bytes(paths_, 1), 3000U * 1024);
    EXPECT_EQ(total_bytes(paths_, 7), std::nullopt);
}

TEST(HostMemoryOfThisMachine, CanBeRead) {
    EXPECT_GT(available_bytes({}, std::nullopt).value_or(0), 0U);
}

}  // namespace
}  // namespace cxlpool

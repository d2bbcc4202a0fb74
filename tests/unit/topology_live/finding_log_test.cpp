#include "topology/live/finding_log.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace cxlpool::live {
namespace {

Finding finding(const std::string& subject) {
    return {Finding::Severity::warning, "code", subject, "message", ""};
}

TEST(FindingLog, KeepsEachFindingOnce) {
    FindingLog log;
    log.add(finding("mem0"));
    log.add(finding("mem0"));
    log.add(finding("mem1"));
    const std::vector<Finding> taken = log.take();
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_EQ(taken[0].subject, "mem0");
    EXPECT_EQ(taken[1].subject, "mem1");
}

TEST(FindingLog, IsEmptyAfterTaking) {
    FindingLog log;
    log.add(finding("mem0"));
    log.denied("/sys/a");
    log.failed("/sys/b", EIO);
    EXPECT_EQ(log.take().size(), 3U);
    EXPECT_TRUE(log.take().empty());
}

TEST(FindingLog, SaysHowManyWereDroppedAtItsBound) {
    FindingLog log;
    for (std::size_t i = 0; i < kMaxFindings + 5; ++i) {
        log.add(finding("mem" + std::to_string(i)));
    }
    const std::vector<Finding> taken = log.take();
    ASSERT_EQ(taken.size(), kMaxFindings + 1);
    EXPECT_EQ(taken.back().code, "findings_dropped");
    EXPECT_EQ(taken.back().message, "5 further findings were not kept");
}

TEST(FindingLog, FoldsHiddenAttributesIntoOneFinding) {
    FindingLog log;
    log.denied("/sys/first");
    log.denied("/sys/second");
    const std::vector<Finding> taken = log.take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].code, "attributes_hidden");
    EXPECT_EQ(taken[0].severity, Finding::Severity::info);
    EXPECT_EQ(taken[0].subject, "/sys/first");
    EXPECT_EQ(taken[0].message,
              "this user may not read /sys/first, and 1 more; the values count as unknown");
}

TEST(FindingLog, KeepsTheFirstErrno) {
    FindingLog log;
    log.failed("/sys/first", EIO);
    log.failed("/sys/second", ELOOP);
    log.failed("/sys/third", ELOOP);
    const std::vector<Finding> taken = log.take();
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_EQ(taken[0].code, "read_failed");
    EXPECT_EQ(taken[0].message, "reading /sys/first: Input/output error (EIO), and 2 more");
}

}  // namespace
}  // namespace cxlpool::live

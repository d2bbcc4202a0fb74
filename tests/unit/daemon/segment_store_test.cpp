#include "daemon/segment_store.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include "support/service_manager.hpp"

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SegmentStoreTest : public ::testing::Test {
  protected:
    void SetUp() override {
        store_ = SegmentStore::of_service_manager();
        ASSERT_TRUE(store_);
    }
    std::vector<std::string> told() {
        std::vector<std::string> out;
        char text[512];
        for (ssize_t size = 0; (size = ::recv(manager_.socket(), text, sizeof text, 0)) >= 0;) {
            out.emplace_back(text, static_cast<std::size_t>(size));
        }
        return out;
    }
    static std::pair<std::string, UniqueFd> stored(const std::string& name) {
        return {name, UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))};
    }
    std::shared_ptr<SegmentStore> store_;

  private:
    test::ServiceManager manager_;
};

TEST_F(SegmentStoreTest, NamesSayPoolAndSegment) {
    EXPECT_EQ(stored_name("a-b.c", SegmentId{12}), "cxlpool-12-a-b.c");
    std::vector<std::pair<std::string, UniqueFd>> passed;
    passed.push_back(stored("cxlpool-12-a-b.c"));
    passed.push_back(stored("cxlpool-18446744073709551615-x"));
    const auto taken = store_->take(std::move(passed));
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_TRUE(taken.at({"a-b.c", 12}));
    EXPECT_TRUE(taken.at({"x", UINT64_MAX}));
    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SegmentStoreTest, WhatNobodyClaimsLeavesTheStore) {
    std::vector<std::pair<std::string, UniqueFd>> passed;
    passed.push_back(stored("cxlpool-1-p"));
    passed.push_back(stored("cxlpool-2-p"));
    auto taken = store_->take(std::move(passed));
    store_->keep("p", SegmentId{2}, taken.at({"p", 2}).get());
    store_->drop_unclaimed();
    store_->drop_unclaimed();
    EXPECT_THAT(told(), ElementsAre("FDSTORE=1\nFDNAME=cxlpool-2-p",
                                    "FDSTOREREMOVE=1\nFDNAME=cxlpool-1-p"));
}

TEST_F(SegmentStoreTest, NamesThatNoPoolHasAreRemoved) {
    for (const std::string name : {"cxlpool-", "cxlpool-1", "cxlpool-1-", "cxlpool-0-p",
                                   "cxlpool--p", "cxlpool-x-p", "cxlpool-18446744073709551616-p"}) {
        std::vector<std::pair<std::string, UniqueFd>> passed;
        passed.push_back(stored(name));
        EXPECT_TRUE(store_->take(std::move(passed)).empty()) << name;
        EXPECT_THAT(told(), ElementsAre("FDSTOREREMOVE=1\nFDNAME=" + name));
    }
}

TEST_F(SegmentStoreTest, ARemovalThatWasNotHeardIsSaidAgain) {
    for (int i = 0; i < 5000; ++i) {  // more than its queue holds
        store_->give_up("p", SegmentId{1});
    }
    store_->give_up("p", SegmentId{2});
    EXPECT_THAT(told(), ::testing::Not(::testing::Contains("FDSTOREREMOVE=1\nFDNAME=cxlpool-2-p")));
    store_->retry();
    EXPECT_THAT(told(), ElementsAre("FDSTOREREMOVE=1\nFDNAME=cxlpool-1-p",
                                    "FDSTOREREMOVE=1\nFDNAME=cxlpool-2-p"));
    store_->retry();
    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SegmentStoreTest, ASegmentThatWasNotTakenIsOfferedAgainUnlessItIsGone) {
    const UniqueFd segment(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (int i = 0; i < 5000; ++i) {
        store_->keep("full", SegmentId{1}, segment.get());
    }
    store_->keep("p", SegmentId{2}, segment.get());
    store_->keep("p", SegmentId{3}, segment.get());
    store_->give_up("p", SegmentId{2});
    EXPECT_THAT(told(), ::testing::Each("FDSTORE=1\nFDNAME=cxlpool-1-full"));
    store_->retry();
    EXPECT_THAT(told(),
                ElementsAre("FDSTORE=1\nFDNAME=cxlpool-1-full", "FDSTORE=1\nFDNAME=cxlpool-3-p"));
    store_->retry();
    EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SegmentStoreTest, WithoutAServiceManagerThereIsNone) {
    ::unsetenv("NOTIFY_SOCKET");
    EXPECT_FALSE(SegmentStore::of_service_manager());
}

}  // namespace
}  // namespace cxlpool

#include "memory/guarded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "memory/digest.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPage = 4096;

// Two pages of which the file holds only the first: a touch of the second is SIGBUS.
class HalfGone : public ::testing::Test {
  protected:
    void SetUp() override {
        const UniqueFd fd(::memfd_create("half-gone", MFD_CLOEXEC));
        ASSERT_TRUE(fd);
        ASSERT_EQ(::ftruncate(fd.get(), kPage), 0);
        void* at = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        ASSERT_NE(at, MAP_FAILED);
        bytes_ = {static_cast<std::byte*>(at), 2 * kPage};
        std::fill(bytes_.begin(), bytes_.begin() + kPage, std::byte{7});
    }
    void TearDown() override { ::munmap(bytes_.data(), bytes_.size()); }

    std::span<std::byte> bytes_;
};

TEST(GuardedCheckZero, FindsTheFirstByteThatIsNotZero) {
    std::vector<std::byte> bytes(5000);
    EXPECT_TRUE(guarded_check_zero(bytes));
    EXPECT_TRUE(guarded_check_zero({}));
    bytes[4999] = std::byte{1};
    const Result<void> dirty = guarded_check_zero(bytes);
    ASSERT_FALSE(dirty);
    EXPECT_EQ(dirty.error().message(), "byte 4999 of 5000 is not zero");
}

TEST_F(HalfGone, ZeroStopsAtTheHole) {
    const Result<void> zeroed = guarded_zero(bytes_);
    ASSERT_FALSE(zeroed);
    EXPECT_EQ(zeroed.error().code(), Errc::io);
    EXPECT_THAT(zeroed.error().message(), HasSubstr("at offset 4096 of 8192 bytes is gone"));
}

TEST_F(HalfGone, ZeroOverwritesWhatIsThere) {
    ASSERT_TRUE(guarded_zero(bytes_.first(kPage)));
    EXPECT_TRUE(std::all_of(bytes_.begin(), bytes_.begin() + kPage,
                            [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(HalfGone, CopySaysWhichSideIsGone) {
    std::vector<std::byte> other(2 * kPage);
    EXPECT_EQ(guarded_copy(other, bytes_).error().code(), Errc::io);
    EXPECT_EQ(guarded_copy(bytes_, other).error().code(), Errc::io);
    std::vector<std::byte> page(kPage);
    ASSERT_TRUE(guarded_copy(page, std::span<const std::byte>(bytes_.first(kPage))));
}

TEST_F(HalfGone, DigestFailsOrAgrees) {
    EXPECT_EQ(guarded_digest(bytes_).error().code(), Errc::io);
    const Result<ContentDigest> digest = guarded_digest(bytes_.first(kPage));
    ASSERT_TRUE(digest);
    EXPECT_EQ(*digest, digest_bytes(bytes_.first(kPage)));
}

TEST_F(HalfGone, WorksAgainAfterAFaultAndOnSeveralThreads) {
    const auto many = [&] {
        for (int i = 0; i < 200; ++i) {
            EXPECT_FALSE(guarded_zero(bytes_));
            EXPECT_TRUE(guarded_zero(bytes_.first(kPage)));
        }
    };
    std::thread one(many);
    std::thread two(many);
    one.join();
    two.join();
}

// A blocked SIGBUS would end the process without ever reaching the handler.
TEST_F(HalfGone, AThreadThatBlocksSignalsIsGuardedAndKeepsItsMask) {
    std::thread blocking([&] {
        sigset_t all;
        ::sigfillset(&all);
        ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &all, nullptr), 0);
        for (const bool fails : {true, false}) {
            EXPECT_EQ(guarded_zero(fails ? bytes_ : bytes_.first(kPage)).has_value(), !fails);
            sigset_t after;
            ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &after), 0);
            EXPECT_EQ(::sigismember(&after, SIGBUS), 1);
            EXPECT_EQ(::sigismember(&after, SIGTERM), 1);
        }
    });
    blocking.join();
}

using HalfGoneDeathTest = HalfGone;

TEST_F(HalfGoneDeathTest, AFaultElsewhereKeepsItsMeaning) {
    EXPECT_EXIT(
        {
            static_cast<void>(guarded_zero(bytes_.first(kPage)));
            *reinterpret_cast<volatile char*>(bytes_.data() + kPage) = 1;
        },
        ::testing::KilledBySignal(SIGBUS), "");
    EXPECT_EXIT(
        {
            static_cast<void>(guarded_zero(bytes_.first(kPage)));
            ::raise(SIGBUS);
        },
        ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace cxlpool

// A writer that is killed at any moment: what it was told is durable is there, and nothing is torn.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "base/unique_fd.hpp"
#include "fixture.hpp"

namespace cxlpool {
namespace {

using test::kWall;
using test::plain_tenant;

class Crash : public test::StateTest {
  protected:
    // Writes number after number, each as one change of three rows, and acknowledges it.
    [[noreturn]] void write_until_killed(std::uint64_t from, int acknowledge) const {
        auto store = open();
        if (!store) {
            ::_exit(1);
        }
        for (std::uint64_t number = from;; ++number) {
            TenantRecord first = plain_tenant(1, "first");
            first.salt = number;
            TenantRecord second = plain_tenant(2, "second");
            second.salt = number;
            if (!(*store)->save({first, second}, {{first.id, "cxl0", number}}) ||
                ::write(acknowledge, &number, sizeof number) != sizeof number) {
                ::_exit(2);
            }
        }
    }

    // What a writer that was killed after about `acknowledgements` had acknowledged last.
    std::uint64_t run_and_kill(std::uint64_t from, int acknowledgements, std::uint64_t spin) const {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        UniqueFd in(ends[0]);
        UniqueFd out(ends[1]);
        const pid_t child = ::fork();
        if (child == 0) {
            in.reset();
            write_until_killed(from, out.get());
        }
        out.reset();
        std::uint64_t last = from - 1;
        std::uint64_t number = 0;
        for (int i = 0; i < acknowledgements; ++i) {
            EXPECT_EQ(::read(in.get(), &number, sizeof number), ssize_t{sizeof number});
            last = number;
        }
        // Somewhere within the next write; a step of the kernel, not a time.
        for (std::uint64_t i = 0; i < spin; ++i) {
            ::getppid();
        }
        ::kill(child, SIGKILL);
        while (::read(in.get(), &number, sizeof number) == ssize_t{sizeof number}) {
            last = number;
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself: " << status;
        return last;
    }
};

TEST_F(Crash, WhatWasAcknowledgedIsThere) {
    std::mt19937_64 random(1969);
    std::uint64_t acknowledged = 0;
    for (int round = 0; round < 60; ++round) {
        const int acknowledgements = 1 + static_cast<int>(random() % 5);
        acknowledged = run_and_kill(acknowledged + 1, acknowledgements, random() % 4000);
        // Opening checks the whole file.
        const auto store = opened();
        ASSERT_TRUE(store);
        const Result<State> state = store->read();
        ASSERT_TRUE(state) << state.error().message();
        ASSERT_EQ(state->tenants.size(), 2U);
        ASSERT_EQ(state->reservations.size(), 1U);
        const std::uint64_t found = state->tenants[0].salt;
        // At most the one that was on its way is there besides.
        EXPECT_GE(found, acknowledged);
        EXPECT_LE(found, acknowledged + 1);
        EXPECT_EQ(state->tenants[1].salt, found) << "a change was torn";
        EXPECT_EQ(state->reservations[0].bytes, found) << "a change was torn";
        acknowledged = found;
    }
}

TEST_F(Crash, AFirstStartIsWholeOrNothing) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 60; ++round) {
        const test::ScratchTree fresh;
        const std::string place = fresh.path("state");
        const pid_t child = ::fork();
        if (child == 0) {
            static_cast<void>(StateStore::open(place, TenancyMode::multi, kWall));
            ::_exit(0);
        }
        for (std::uint64_t i = random() % 40'000; i > 0; --i) {
            ::getppid();
        }
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        const auto store = StateStore::open(place, TenancyMode::multi, kWall);
        EXPECT_TRUE(store) << store.error().message();
    }
}

}  // namespace
}  // namespace cxlpool

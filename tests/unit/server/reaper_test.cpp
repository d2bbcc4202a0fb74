#include "server/reaper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/lingering_socket.hpp"

namespace cxlpool {
namespace {

using Seconds = std::chrono::duration<double>;

double seconds_of(const std::chrono::steady_clock::time_point& start) {
    return Seconds(std::chrono::steady_clock::now() - start).count();
}

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

Pipe make_pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Whether the other end of the pipe has been closed, at the latest within `timeout_ms`.
bool hung_up(const Pipe& pipe, int timeout_ms) {
    pollfd entry{pipe.read.get(), POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLHUP) != 0;
}

void wait_until_empty(const DescriptorReaper& reaper) {
    const auto start = std::chrono::steady_clock::now();
    while (reaper.backlog() > 0 && seconds_of(start) < 30) {
        std::this_thread::yield();
    }
    EXPECT_EQ(reaper.backlog(), 0U);
}

TEST(DescriptorReaper, ClosesWhatIsBuried) {
    DescriptorReaper reaper;
    Pipe one = make_pipe();
    Pipe two = make_pipe();
    Pipe three = make_pipe();
    reaper.bury(std::move(one.write));
    std::vector<UniqueFd> more;
    more.push_back(std::move(two.write));
    more.emplace_back();
    more.push_back(std::move(three.write));
    reaper.bury(std::move(more));
    reaper.bury(UniqueFd());
    EXPECT_TRUE(hung_up(one, 30'000));
    EXPECT_TRUE(hung_up(two, 30'000));
    EXPECT_TRUE(hung_up(three, 30'000));
    wait_until_empty(reaper);
}

TEST(DescriptorReaper, ACloseThatBlocksBlocksNoCallerAndTheOthersAreClosedAfterIt) {
    DescriptorReaper reaper;
    testing::LingeringSocket blocking = testing::make_lingering_socket();
    Pipe next = make_pipe();
    const auto start = std::chrono::steady_clock::now();
    reaper.bury(std::move(blocking.socket));
    reaper.bury(std::move(next.write));
    reaper.bury(UniqueFd());
    EXPECT_LT(seconds_of(start), 30) << "half of what the close takes";
    EXPECT_EQ(reaper.backlog(), 2U) << "the one that is being closed counts";
    EXPECT_FALSE(hung_up(next, 50)) << "in order";
    blocking.peer.reset();
    EXPECT_TRUE(hung_up(next, 30'000));
    wait_until_empty(reaper);
}

TEST(DescriptorReaper, TheDestructorClosesWhatWaits) {
    Pipe pipe = make_pipe();
    {
        DescriptorReaper reaper;
        reaper.bury(std::move(pipe.write));
    }
    EXPECT_TRUE(hung_up(pipe, 0));
}

TEST(DescriptorReaper, TheDestructorDoesNotWaitForACloseThatBlocks) {
    testing::LingeringSocket blocking = testing::make_lingering_socket();
    Pipe next = make_pipe();
    const auto start = std::chrono::steady_clock::now();
    {
        DescriptorReaper reaper;
        reaper.bury(std::move(blocking.socket));
        reaper.bury(std::move(next.write));
    }
    EXPECT_LT(seconds_of(start), 30) << "half of what the close takes";
    EXPECT_FALSE(hung_up(next, 0));
    blocking.peer.reset();
    EXPECT_TRUE(hung_up(next, 30'000)) << "the thread that was left behind goes on";
}

}  // namespace
}  // namespace cxlpool

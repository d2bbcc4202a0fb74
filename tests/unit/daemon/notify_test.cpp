#include "daemon/notify.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "support/service_manager.hpp"

namespace cxlpool::notify {
namespace {

class NotifyTest : public ::testing::Test {
  protected:
    void TearDown() override {
        for (const char* variable : {"WATCHDOG_USEC", "WATCHDOG_PID"}) {
            ::unsetenv(variable);
        }
    }

    std::string received(UniqueFd* descriptor = nullptr) {
        char text[4096];
        iovec part{text, sizeof text};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t size = ::recvmsg(manager_.socket(), &message, MSG_CMSG_CLOEXEC);
        if (size >= 0 && descriptor != nullptr && message.msg_controllen != 0) {
            int came = -1;
            std::memcpy(&came, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof came);
            descriptor->reset(came);
        }
        return size < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(size));
    }

  private:
    test::ServiceManager manager_;
};

TEST_F(NotifyTest, Ready) {
    ready("serving 1 pool");
    EXPECT_EQ(received(), "READY=1\nSTATUS=serving 1 pool");
    EXPECT_EQ(received(), "nothing");
}

TEST_F(NotifyTest, ReloadingSaysWhenOnTheMonotonicClock) {
    const auto usec = [] {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
    };
    const std::int64_t before = usec();
    reloading();
    const std::int64_t after = usec();
    const std::string text = received();
    const std::string start = "RELOADING=1\nMONOTONIC_USEC=";
    ASSERT_EQ(text.substr(0, start.size()), start);
    const std::int64_t told = std::stoll(text.substr(start.size()));
    EXPECT_GE(told, before);
    EXPECT_LE(told, after);
}

TEST_F(NotifyTest, Status) {
    status("scrubbing 3 of 7 segments");
    EXPECT_EQ(received(), "STATUS=scrubbing 3 of 7 segments");
}

TEST_F(NotifyTest, AStatusIsOneAssignmentWhateverIsInIt) {
    status("a\nREADY=1\nMAINPID=1");
    EXPECT_EQ(received(), "STATUS=a READY=1 MAINPID=1");
    ready("b\nWATCHDOG=trigger");
    EXPECT_EQ(received(), "READY=1\nSTATUS=b WATCHDOG=trigger");
}

TEST_F(NotifyTest, Stopping) {
    stopping();
    EXPECT_EQ(received(), "STOPPING=1\nSTATUS=stopping");
}

TEST_F(NotifyTest, Watchdog) {
    watchdog();
    EXPECT_EQ(received(), "WATCHDOG=1");
}

TEST_F(NotifyTest, ExtendTimeout) {
    extend_timeout(std::chrono::seconds(30));
    EXPECT_EQ(received(), "EXTEND_TIMEOUT_USEC=30000000");
    extend_timeout(std::chrono::milliseconds(-5));
    EXPECT_EQ(received(), "EXTEND_TIMEOUT_USEC=0");
}

TEST_F(NotifyTest, WithoutAServiceManagerNothingHappens) {
    ::unsetenv("NOTIFY_SOCKET");
    ready("x");
    status("x");
    stopping();
    watchdog();
    extend_timeout(std::chrono::seconds(1));
    EXPECT_EQ(received(), "nothing");
}

TEST_F(NotifyTest, AServiceManagerThatDoesNotReadHoldsNobodyUp) {
    int taken = 0;
    while (remove("cxlpool-1-p") && taken < 100'000) {
        ++taken;
    }
    EXPECT_LT(taken, 100'000) << "its queue never fills";
    watchdog();
    EXPECT_FALSE(remove("cxlpool-2-p"));
    EXPECT_EQ(received(), "FDSTOREREMOVE=1\nFDNAME=cxlpool-1-p");
    EXPECT_TRUE(remove("cxlpool-2-p"));
}

TEST_F(NotifyTest, ADescriptorGoesWithItsName) {
    int ends[2] = {};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    ASSERT_TRUE(store("cxlpool-7-cxl0", write_end.get()));
    write_end.reset();
    UniqueFd got;
    EXPECT_EQ(received(&got), "FDSTORE=1\nFDNAME=cxlpool-7-cxl0");
    ASSERT_TRUE(got);
    ASSERT_EQ(::write(got.get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
}

TEST_F(NotifyTest, AServiceManagerThatIsGoneDoesNoHarm) {
    ::setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
    ready("x");
    EXPECT_EQ(received(), "nothing");
}

TEST_F(NotifyTest, TheWatchdogIntervalIsTheServiceManagers) {
    EXPECT_FALSE(watchdog_interval());
    ::setenv("WATCHDOG_USEC", "20000000", 1);
    EXPECT_EQ(watchdog_interval(), std::chrono::seconds(20));
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    EXPECT_EQ(watchdog_interval(), std::chrono::seconds(20));
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_FALSE(watchdog_interval()) << "meant for another process";
    ::unsetenv("WATCHDOG_PID");
    ::setenv("WATCHDOG_USEC", "nonsense", 1);
    EXPECT_FALSE(watchdog_interval());
    ::setenv("WATCHDOG_USEC", "1000", 1);
    EXPECT_FALSE(watchdog_interval()) << "too often to ping twice as often";
    ::setenv("WATCHDOG_USEC", "18446744073709551000", 1);
    EXPECT_EQ(watchdog_interval(), std::chrono::hours(24));
}

}  // namespace
}  // namespace cxlpool::notify

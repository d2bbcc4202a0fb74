#include "wire/socket.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "wire/messages.hpp"

namespace cxlpool::wire {
namespace {

struct Pair {
    UniqueFd ours;
    UniqueFd theirs;
};

Pair make_pair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()),
              0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* directory = ::opendir("/proc/self/fd");
    while (::readdir(directory) != nullptr) {
        ++count;
    }
    ::closedir(directory);
    return count;
}

UniqueFd some_file() {
    return UniqueFd(::memfd_create("descriptor", MFD_CLOEXEC));
}

std::vector<std::byte> text(std::string_view s) {
    const auto* data = reinterpret_cast<const std::byte*>(s.data());
    return {data, data + s.size()};
}

// What a hostile peer may send: any number of descriptors, with or without credentials.
void send_raw(int socket, std::size_t descriptors, bool credentials, std::size_t size = 1) {
    const UniqueFd file = some_file();
    const std::vector<int> fds(descriptors, file.get());
    std::vector<std::byte> control(CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(253 * sizeof(int)));
    std::vector<std::byte> payload(size, std::byte{'x'});
    iovec piece{payload.data(), payload.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    std::size_t used = 0;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    const auto add = [&](int type, const void* data, std::size_t bytes) {
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = type;
        header->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(header), data, bytes);
        used += CMSG_SPACE(bytes);
        header = CMSG_NXTHDR(&message, header);
    };
    if (descriptors > 0) {
        add(SCM_RIGHTS, fds.data(), descriptors * sizeof(int));
    }
    if (credentials) {
        const ucred mine{::getpid(), ::getuid(), ::getgid()};
        add(SCM_CREDENTIALS, &mine, sizeof mine);
    }
    message.msg_controllen = used;
    if (used == 0) {
        message.msg_control = nullptr;
    }
    ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(size))
        << std::strerror(errno);
}

class Socket : public testing::Test {
  protected:
    Received must_receive(std::size_t max_descriptors) {
        auto received = receive(pair.ours.get(), buffer, max_descriptors);
        EXPECT_TRUE(received) << received.error().message();
        return received ? std::move(received).value() : Received{};
    }
    Pair pair = make_pair();
    std::array<std::byte, 256> buffer{};
};

TEST_F(Socket, OneMessageACall) {
    ASSERT_EQ(*send(pair.theirs.get(), text("first")), Io::done);
    ASSERT_EQ(*send(pair.theirs.get(), text("second")), Io::done);
    const auto first = must_receive(0);
    EXPECT_EQ(first.io, Io::done);
    EXPECT_EQ(first.size, 5U);
    EXPECT_FALSE(first.truncated || first.descriptors_came || first.descriptors_lost);
    EXPECT_EQ(must_receive(0).size, 6U);
    EXPECT_EQ(std::memcmp(buffer.data(), "second", 6), 0);
    EXPECT_EQ(must_receive(0).io, Io::would_block);
}

TEST_F(Socket, ADescriptorComesWithCloexec) {
    const UniqueFd file = some_file();
    ASSERT_EQ(*send(pair.theirs.get(), text("take"), file.get()), Io::done);
    const auto received = must_receive(1);
    EXPECT_TRUE(received.descriptors_came);
    EXPECT_FALSE(received.descriptors_lost);
    ASSERT_EQ(received.descriptors.size(), 1U);
    const int fd = received.descriptors[0].get();
    EXPECT_EQ(::fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    struct stat sent {};
    struct stat got {};
    ASSERT_EQ(::fstat(file.get(), &sent), 0);
    ASSERT_EQ(::fstat(fd, &got), 0);
    EXPECT_EQ(sent.st_ino, got.st_ino);
}

TEST_F(Socket, ADescriptorThatNobodyAskedForIsTheCallersToClose) {
    const std::size_t before = open_descriptors();
    send_raw(pair.theirs.get(), 1, false);
    auto received = must_receive(0);
    EXPECT_EQ(received.io, Io::done);
    EXPECT_EQ(received.size, 1U);
    EXPECT_TRUE(received.descriptors_came);
    EXPECT_TRUE(received.descriptors_lost);
    EXPECT_EQ(received.descriptors.size(), 1U);
    EXPECT_EQ(open_descriptors(), before + 1);
    received.descriptors.clear();
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Socket, MoreDescriptorsThanWantedAllCome) {
    const std::size_t before = open_descriptors();
    send_raw(pair.theirs.get(), 2, false);
    auto received = must_receive(1);
    EXPECT_TRUE(received.descriptors_came);
    EXPECT_TRUE(received.descriptors_lost);
    EXPECT_EQ(received.descriptors.size(), 2U);
    received.descriptors.clear();
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Socket, AsManyAsTheKernelLetsThroughAllCome) {
    const std::size_t before = open_descriptors();
    send_raw(pair.theirs.get(), 253, false);
    auto received = must_receive(1);
    EXPECT_EQ(received.io, Io::done);
    EXPECT_TRUE(received.descriptors_came);
    EXPECT_TRUE(received.descriptors_lost);
    EXPECT_EQ(received.descriptors.size(), 253U) << "none was closed on the way";
    EXPECT_EQ(open_descriptors(), before + 253);
    received.descriptors.clear();
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Socket, CredentialsMayComeInAnyOrder) {
    const int on = 1;
    ASSERT_EQ(::setsockopt(pair.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    send_raw(pair.theirs.get(), 1, true);
    auto received = must_receive(1);
    EXPECT_EQ(received.descriptors.size(), 1U);
    EXPECT_FALSE(received.descriptors_lost);

    send_raw(pair.theirs.get(), 0, true);
    received = must_receive(1);
    EXPECT_FALSE(received.descriptors_came) << "credentials are no descriptors";
    EXPECT_TRUE(received.descriptors.empty());

    const std::size_t before = open_descriptors();
    send_raw(pair.theirs.get(), 253, true);
    received = must_receive(1);
    EXPECT_TRUE(received.descriptors_lost);
    EXPECT_EQ(received.descriptors.size(), 253U);
    received.descriptors.clear();
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Socket, WhatThisProcessHasNoRoomForIsReportedAsLost) {
    const std::size_t before = open_descriptors();
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    send_raw(pair.theirs.get(), 2, false);
    const UniqueFd lowest_free(::dup(pair.ours.get()));
    const rlimit tight{static_cast<rlim_t>(lowest_free.get()) + 2, limit.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    auto received = must_receive(2);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_TRUE(received.descriptors_came);
    EXPECT_TRUE(received.descriptors_lost);
    EXPECT_EQ(received.descriptors.size(), 1U);
    received.descriptors.clear();
    EXPECT_EQ(open_descriptors(), before + 1) << "lowest_free";
}

TEST_F(Socket, ALongerDatagramIsReported) {
    send_raw(pair.theirs.get(), 0, false, 257);
    const auto received = must_receive(0);
    EXPECT_EQ(received.io, Io::done);
    EXPECT_EQ(received.size, 256U);
    EXPECT_TRUE(received.truncated);
    send_raw(pair.theirs.get(), 0, false, 256);
    EXPECT_FALSE(must_receive(0).truncated);
}

TEST_F(Socket, APeerThatIsGone) {
    ASSERT_EQ(*send(pair.theirs.get(), text("last words")), Io::done);
    pair.theirs.reset();
    EXPECT_EQ(must_receive(0).io, Io::done);
    EXPECT_EQ(must_receive(0).io, Io::closed);
    EXPECT_EQ(*send(pair.ours.get(), text("anybody?")), Io::closed) << "and no SIGPIPE";
}

TEST_F(Socket, APeerThatWentWithOurMessageUnread) {
    ASSERT_EQ(*send(pair.ours.get(), text("unread")), Io::done);
    pair.theirs.reset();
    EXPECT_EQ(must_receive(0).io, Io::closed);
}

TEST_F(Socket, APeerThatDoesNotRead) {
    const std::vector<std::byte> message(60'000);
    Io io = Io::done;
    int sent = 0;
    while (io == Io::done && sent < 1000) {
        io = *send(pair.theirs.get(), message);
        ++sent;
    }
    EXPECT_EQ(io, Io::would_block);
    EXPECT_GT(sent, 1);
}

TEST_F(Socket, AnOversizedMessageIsAnError) {
    const std::vector<std::byte> message(64U << 20U);
    const auto sent = send(pair.theirs.get(), message);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().os_errno(), EMSGSIZE);
    EXPECT_EQ(sent.error().code(), Errc::io);
}

TEST_F(Socket, NotASocketIsAnError) {
    const UniqueFd file = some_file();
    const auto received = receive(file.get(), buffer, 0);
    ASSERT_FALSE(received);
    EXPECT_EQ(received.error().code(), Errc::io);
    EXPECT_EQ(received.error().os_errno(), ENOTSOCK);
}

TEST_F(Socket, TenThousandHostileMessagesLeaveNothingOpen) {
    const std::size_t before = open_descriptors();
    std::mt19937 random(20);  // NOLINT: the same messages every run
    constexpr std::array<std::size_t, 6> kCounts{0, 1, 2, 8, 9, 253};
    for (int i = 0; i < 10'000; ++i) {
        const std::size_t descriptors = kCounts[random() % kCounts.size()];
        send_raw(pair.theirs.get(), descriptors, false, 1 + random() % 300);
        const auto received = must_receive(random() % 2);
        ASSERT_EQ(received.io, Io::done);
        ASSERT_EQ(received.descriptors_came, descriptors > 0);
        ASSERT_FALSE(decode_request(std::span(buffer).first(received.size)));
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace cxlpool::wire

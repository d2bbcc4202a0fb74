// Garbage, truncated, oversized, descriptor-carrying and flooding peers: the daemon answers others
// throughout, and afterwards holds no more descriptors and no more memory than before.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>

#include "daemon_process.hpp"
#include "domain/gate.hpp"
#include "support/lingering_socket.hpp"
#include "support/wire_axes.hpp"
#include "wire/messages.hpp"
#include "wire/socket.hpp"

namespace cxlpool {
namespace {

using testing::basic_config;
using testing::DaemonProcess;

UniqueFd connect_raw(const std::string& path) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return UniqueFd();
    }
    return socket;
}

bool send_raw(int socket, const void* data, std::size_t size) {
    return ::send(socket, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

// The next datagram; empty when the daemon hung up.
std::vector<std::byte> receive_raw(int socket) {
    std::vector<std::byte> buffer(wire::kMaxMessageBytes);
    pollfd ready{socket, POLLIN, 0};
    if (::poll(&ready, 1, 10'000) <= 0) {
        ADD_FAILURE() << "no answer within 10 s";
        return {};
    }
    const ssize_t size = ::recv(socket, buffer.data(), buffer.size(), 0);
    buffer.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return buffer;
}

std::vector<std::byte> hello_bytes(std::uint64_t tenant = 1) {
    wire::HelloRequest hello;
    hello.tenant = tenant;
    hello.engine_name = "hostile";
    return *wire::encode(wire::Request{7, hello});
}

class HostilePeers : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(daemon_.start(
            basic_config(daemon_.directory(), "multi",
                         "[limits]\nconnections_per_uid = 40\nhello_timeout_ms = 300\n"
                         "filling_bytes_per_uid = \"30MiB\"\n")))
            << daemon_.ended().err;
        Result<client::Connection> good = daemon_.engine(1);
        ASSERT_TRUE(good) << good.error().message();
        good_ = std::make_unique<client::Connection>(std::move(*good));
        const auto context = good_->ask<wire::ContextRegisterReply>(wire::ContextRegisterRequest{});
        ASSERT_TRUE(context) << context.error().message();
        context_ = context->context;
        descriptors_ = daemon_.descriptor_count();
        // Warm up, so that what is measured is not the first use of anything.
        greet_and_leave();
        others_are_answered();
        resident_ = daemon_.resident_bytes();
    }

    void others_are_answered() {
        wire::LookupRequest lookup;
        lookup.context = context_;
        SpanDigest span;
        span.bytes[0] = 9;
        lookup.spans.push_back(span);
        const auto found = good_->ask<wire::LookupReply>(lookup);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->items[0].verdict, static_cast<std::uint16_t>(Verdict::miss_absent));
    }

    void greet_and_leave() {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        const std::vector<std::byte> hello = hello_bytes();
        ASSERT_TRUE(send_raw(socket.get(), hello.data(), hello.size()));
        ASSERT_FALSE(receive_raw(socket.get()).empty());
    }

    // A round trip on a fresh connection: everything closed before it has been noticed by then.
    void expect_nothing_kept() {
        others_are_answered();
        for (int tries = 0; tries < 100 && daemon_.descriptor_count() > descriptors_; ++tries) {
            ::usleep(20'000);
            others_are_answered();
        }
        EXPECT_EQ(daemon_.descriptor_count(), descriptors_);
        // Allocators keep some pages; what hostile peers sent is far more than this.
        EXPECT_LT(daemon_.resident_bytes(), resident_ + (8U << 20U));
    }

    DaemonProcess daemon_;
    std::unique_ptr<client::Connection> good_;
    std::uint32_t context_ = 0;
    std::size_t descriptors_ = 0;
    std::uint64_t resident_ = 0;
};

TEST_F(HostilePeers, Garbage) {
    std::mt19937 random(20260301);
    for (int i = 0; i < 2000; ++i) {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        std::vector<unsigned char> bytes(1 + random() % 4096);
        for (unsigned char& byte : bytes) {
            byte = static_cast<unsigned char>(random());
        }
        // The daemon may have hung up already; that is an answer, too.
        static_cast<void>(send_raw(socket.get(), bytes.data(), bytes.size()));
        if (i % 100 == 0) {
            others_are_answered();
        }
    }
    expect_nothing_kept();
}

TEST_F(HostilePeers, EveryTruncationOfAHelloIsRefused) {
    const std::vector<std::byte> hello = hello_bytes();
    for (std::size_t size = 1; size < hello.size(); ++size) {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        ASSERT_TRUE(send_raw(socket.get(), hello.data(), size));
        const std::vector<std::byte> answer = receive_raw(socket.get());
        if (!answer.empty()) {
            const Result<wire::Reply> reply = wire::decode_reply(answer);
            ASSERT_TRUE(reply) << reply.error().message();
            EXPECT_NE(reply->status, Errc::ok) << "after " << size << " bytes";
            EXPECT_TRUE(receive_raw(socket.get()).empty()) << "it must hang up";
        }
    }
    expect_nothing_kept();
}

TEST_F(HostilePeers, MutatedRequestsAfterAGoodHello) {
    std::mt19937 random(20260302);
    wire::LookupRequest lookup;
    lookup.context = 1;
    lookup.spans.resize(3);
    wire::ShareRequest share;
    share.allow_list = {1, 2, 3};
    wire::ContextRegisterRequest context;
    context.axes = {{0, "model"}, {3, "x"}};
    wire::BeginRequest begin;
    begin.context = 1;
    begin.length_bytes = 4096;
    begin.pool = "embedded";
    const std::vector<wire::RequestBody> bodies{lookup,
                                                share,
                                                context,
                                                begin,
                                                wire::SealRequest{},
                                                wire::MapRequest{},
                                                wire::AdjudicateRequest{}};
    for (int round = 0; round < 200; ++round) {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        const std::vector<std::byte> hello = hello_bytes();
        ASSERT_TRUE(send_raw(socket.get(), hello.data(), hello.size()));
        ASSERT_FALSE(receive_raw(socket.get()).empty());
        for (int i = 0; i < 20; ++i) {
            std::vector<std::byte> bytes =
                *wire::encode(wire::Request{random(), bodies[random() % bodies.size()]});
            for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
                bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
            }
            if (!send_raw(socket.get(), bytes.data(), bytes.size()) ||
                receive_raw(socket.get()).empty()) {
                break;
            }
        }
    }
    expect_nothing_kept();
}

TEST_F(HostilePeers, OversizedMessages) {
    const std::vector<std::byte> big(wire::kMaxMessageBytes + 1000);
    for (int i = 0; i < 200; ++i) {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        if (send_raw(socket.get(), big.data(), big.size())) {
            EXPECT_TRUE(receive_raw(socket.get()).empty()) << "it must hang up";
        }
    }
    expect_nothing_kept();
}

TEST_F(HostilePeers, DescriptorsAreClosedAndTheirSenderIsDropped) {
    const std::vector<std::byte> hello = hello_bytes();
    for (int i = 0; i < 500; ++i) {
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        const std::size_t count = i % 2 == 0 ? 1 : 200;
        const std::vector<int> fds(count, STDIN_FILENO);
        std::vector<char> control(CMSG_SPACE(count * sizeof(int)));
        iovec part{const_cast<std::byte*>(hello.data()), hello.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        std::memcpy(CMSG_DATA(header), fds.data(), count * sizeof(int));
        ASSERT_GT(::sendmsg(socket.get(), &message, MSG_NOSIGNAL), 0);
        EXPECT_TRUE(receive_raw(socket.get()).empty()) << "it must hang up";
    }
    expect_nothing_kept();
}

TEST_F(HostilePeers, ADescriptorThatDoesNotCloseStopsNobody) {
    // An empty message reads as the end of the stream, and carries descriptors all the same.
    for (const std::vector<std::byte>& message : {hello_bytes(), std::vector<std::byte>()}) {
        testing::LingeringSocket lingering = testing::make_lingering_socket();
        const UniqueFd socket = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(socket);
        ASSERT_EQ(*wire::send(socket.get(), message, lingering.socket.get()), wire::Io::done);
        lingering.socket.reset();
        EXPECT_TRUE(receive_raw(socket.get()).empty()) << "it must hang up";
        others_are_answered();
        greet_and_leave();
        others_are_answered();
        lingering.peer.reset();
        expect_nothing_kept();
    }
}

TEST_F(HostilePeers, ADescriptorThatDoesNotCloseAndNobodyReadStopsNobody) {
    testing::LingeringSocket lingering = testing::make_lingering_socket();
    UniqueFd socket = connect_raw(daemon_.engine_socket());
    ASSERT_TRUE(socket);
    // The daemon hangs up at the first message and never reads the second.
    ::kill(daemon_.pid(), SIGSTOP);
    ASSERT_TRUE(send_raw(socket.get(), "?", 1));
    ASSERT_EQ(*wire::send(socket.get(), hello_bytes(), lingering.socket.get()), wire::Io::done);
    lingering.socket.reset();
    ::kill(daemon_.pid(), SIGCONT);
    EXPECT_TRUE(receive_raw(socket.get()).empty()) << "it must hang up";
    others_are_answered();
    greet_and_leave();
    lingering.peer.reset();
    expect_nothing_kept();
}

TEST_F(HostilePeers, EnginesWaitAtTheDoorWhileTooManyDescriptorsDoNotClose) {
    testing::LingeringSocket lingering = testing::make_lingering_socket();
    const UniqueFd first = connect_raw(daemon_.engine_socket());
    ASSERT_EQ(*wire::send(first.get(), hello_bytes(), lingering.socket.get()), wire::Io::done);
    lingering.socket.reset();
    EXPECT_TRUE(receive_raw(first.get()).empty());
    // What comes now waits behind it.
    for (int i = 0; i < 300; ++i) {
        const UniqueFd next = connect_raw(daemon_.engine_socket());
        ASSERT_TRUE(next);
    }
    others_are_answered();
    const UniqueFd waiting = connect_raw(daemon_.engine_socket());
    ASSERT_TRUE(waiting);
    const std::vector<std::byte> hello = hello_bytes();
    ASSERT_TRUE(send_raw(waiting.get(), hello.data(), hello.size()));
    others_are_answered();
    Result<client::Connection> admin = daemon_.admin();
    EXPECT_TRUE(admin) << "operators are let in: " << admin.error().message();
    pollfd answer{waiting.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&answer, 1, 200), 0) << "it has no answer yet";
    lingering.peer.reset();
    EXPECT_FALSE(receive_raw(waiting.get()).empty()) << "let in once they are closed";
}

TEST_F(HostilePeers, AFloodThatNeverReadsItsAnswersStopsNobody) {
    std::vector<UniqueFd> flooders;
    wire::LookupRequest lookup;
    lookup.context = 1;
    lookup.spans.resize(wire::kMaxLookupSpans);
    const std::vector<std::byte> hello = hello_bytes();
    const std::vector<std::byte> request = *wire::encode(wire::Request{1, lookup});
    const std::vector<std::byte> context =
        *wire::encode(wire::Request{2, wire::ContextRegisterRequest{}});
    for (int i = 0; i < 16; ++i) {
        flooders.push_back(connect_raw(daemon_.engine_socket()));
        ASSERT_TRUE(flooders.back());
        ASSERT_TRUE(send_raw(flooders.back().get(), hello.data(), hello.size()));
        ASSERT_TRUE(send_raw(flooders.back().get(), context.data(), context.size()));
    }
    std::size_t sent = 0;
    for (int round = 0; round < 300; ++round) {
        for (const UniqueFd& flooder : flooders) {
            sent += ::send(flooder.get(), request.data(), request.size(),
                           MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
        }
        if (round % 20 == 0) {
            others_are_answered();
        }
    }
    EXPECT_GT(sent, 16U);
    others_are_answered();
    // What is queued for each flooder is bounded; their own socket buffers are the kernel's.
    EXPECT_LT(daemon_.resident_bytes(), resident_ + (16U << 20U));
    flooders.clear();
    expect_nothing_kept();
}

TEST_F(HostilePeers, ConnectionsOfOneUserAreBoundedAndAnOperatorStillGetsIn) {
    std::vector<UniqueFd> idle;
    bool refused = false;
    for (int i = 0; i < 120; ++i) {
        UniqueFd socket = connect_raw(daemon_.engine_socket());
        if (!socket) {
            break;
        }
        const std::vector<std::byte> hello = hello_bytes();
        if (send_raw(socket.get(), hello.data(), hello.size())) {
            const std::vector<std::byte> answer = receive_raw(socket.get());
            if (!answer.empty()) {
                const Result<wire::Reply> reply = wire::decode_reply(answer);
                ASSERT_TRUE(reply);
                refused |= reply->status == Errc::limit_exceeded;
            }
        }
        idle.push_back(std::move(socket));
    }
    EXPECT_TRUE(refused) << "over the limit is a typed answer";
    others_are_answered();
    EXPECT_TRUE(daemon_.admin()) << "an operator always gets in";
    idle.clear();
    expect_nothing_kept();
}

// The first cell is so long that a worker has to make its bytes ready; what it will take is charged
// from the moment that it was asked for. All messages wait in the socket before any is read, so
// that nothing hangs on who is quicker.
TEST_F(HostilePeers, BytesThatAreBeingMadeReadyAreCharged) {
    const UniqueFd socket = connect_raw(daemon_.engine_socket());
    ASSERT_TRUE(socket);
    wire::ContextRegisterRequest context;
    context.axes = testing::complete_axes("m");
    wire::BeginRequest first;
    first.context = 1;
    first.span.bytes.fill(1);
    first.length_bytes = 20U << 20U;
    wire::BeginRequest second = first;
    second.span.bytes.fill(2);
    ASSERT_EQ(::kill(daemon_.pid(), SIGSTOP), 0);
    for (const wire::Request& request :
         {wire::Request{1,
                        wire::HelloRequest{wire::kMagic, wire::kVersion, wire::kVersion, 1, "e"}},
          wire::Request{2, context}, wire::Request{3, first}, wire::Request{4, second}}) {
        const std::vector<std::byte> bytes = *wire::encode(request);
        ASSERT_TRUE(send_raw(socket.get(), bytes.data(), bytes.size()));
    }
    ASSERT_EQ(::kill(daemon_.pid(), SIGCONT), 0);
    std::vector<std::pair<std::uint64_t, Errc>> answers;
    for (int i = 0; i < 4; ++i) {
        const Result<wire::Reply> reply = wire::decode_reply(receive_raw(socket.get()));
        ASSERT_TRUE(reply) << reply.error().message();
        answers.emplace_back(reply->cookie, reply->status);
    }
    const std::vector<std::pair<std::uint64_t, Errc>> expected{
        {1, Errc::ok}, {2, Errc::ok}, {4, Errc::limit_exceeded}, {3, Errc::ok}};
    EXPECT_EQ(answers, expected) << "the second is refused before the first is ready";
}

TEST_F(HostilePeers, ASilentPeerIsClosedAfterTheHelloTimeout) {
    const UniqueFd socket = connect_raw(daemon_.engine_socket());
    ASSERT_TRUE(socket);
    EXPECT_TRUE(receive_raw(socket.get()).empty());
    expect_nothing_kept();
}

TEST_F(HostilePeers, TheFirstMessageMustBeHello) {
    const UniqueFd socket = connect_raw(daemon_.engine_socket());
    ASSERT_TRUE(socket);
    const std::vector<std::byte> bytes =
        *wire::encode(wire::Request{3, wire::ContextRegisterRequest{}});
    ASSERT_TRUE(send_raw(socket.get(), bytes.data(), bytes.size()));
    const Result<wire::Reply> reply = wire::decode_reply(receive_raw(socket.get()));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, Errc::wrong_state);
    EXPECT_EQ(reply->cookie, 3U);
    EXPECT_TRUE(receive_raw(socket.get()).empty());
}

TEST_F(HostilePeers, OperatorsRequestsAreNotHeardAtTheEngineSocket) {
    Result<client::Connection> engine = daemon_.engine(1);
    ASSERT_TRUE(engine);
    EXPECT_EQ(engine->call(wire::DocumentRequest{}).error().code(), Errc::not_permitted);
    EXPECT_EQ(engine->call(wire::AdjudicateRequest{}).error().code(), Errc::not_permitted);
    Result<client::Connection> admin = daemon_.admin();
    ASSERT_TRUE(admin);
    EXPECT_EQ(admin->call(wire::ContextRegisterRequest{}).error().code(), Errc::not_permitted);
}

}  // namespace
}  // namespace cxlpool

#include "client/connection.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "support/fake_daemon.hpp"

namespace cxlpool::client {
namespace {

using test::Answer;
using test::FakeDaemon;
using testing::HasSubstr;

// Long enough for a busy machine, short enough to wait for where silence is what is tested.
constexpr std::uint32_t kSilenceMs = 200;

wire::HelloRequest hello() {
    wire::HelloRequest request;
    request.tenant = 1;
    request.engine_name = "test";
    return request;
}

void expect_error(const auto& result, Errc code, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(text));
}

class ConnectionTest : public testing::Test {
  protected:
    Connection must_connect(std::uint32_t timeout_ms = kDefaultTimeoutMs) {
        auto connection = Connection::connect(daemon.path(), hello(), timeout_ms);
        EXPECT_TRUE(connection) << connection.error().message();
        return std::move(connection).value();
    }
    // `message` comes back instead of the answer to any `type`.
    void answer_with(wire::Type type, std::vector<std::byte> message) {
        daemon.on(type, [message](const wire::Request&) { return Answer{{message}}; });
    }
    FakeDaemon daemon;
};

TEST_F(ConnectionTest, SaysHelloAndKeepsTheGreeting) {
    daemon.greeting.lease_ttl_ms = 1234;
    Connection connection = must_connect();
    EXPECT_EQ(connection.greeting(), daemon.greeting);
    const auto requests = daemon.take_requests();
    ASSERT_EQ(requests.size(), 1U);
    EXPECT_EQ(std::get<wire::HelloRequest>(requests[0].body), hello());
    const UniqueFd board = connection.take_lease_board();
    EXPECT_TRUE(board);
    EXPECT_EQ(::fcntl(board.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_FALSE(connection.take_lease_board());
}

TEST_F(ConnectionTest, NoSocketNoListenerNoRight) {
    const std::string missing = daemon.path() + ".missing";
    expect_error(Connection::connect(missing, hello()), Errc::unavailable, "is cxlpoold running");
    expect_error(Connection::connect(missing, hello()), Errc::unavailable, missing);
    expect_error(Connection::connect("", hello()), Errc::invalid_argument, "1 to 107 bytes");
    expect_error(Connection::connect(std::string(108, 'x'), hello()), Errc::invalid_argument,
                 "1 to 107 bytes");
    if (::geteuid() == 0) {
        // Root passes every mode; a child that gives its identity up does not.
        ASSERT_EQ(::chmod(daemon.path().c_str(), 0600), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            static_cast<void>(::setuid(12345));
            const auto refused = Connection::connect(daemon.path(), hello());
            ::_exit(!refused && refused.error().code() == Errc::not_permitted ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    } else {
        ASSERT_EQ(::chmod(daemon.path().c_str(), 0), 0);
        expect_error(Connection::connect(daemon.path(), hello()), Errc::not_permitted, "mode");
    }
}

TEST_F(ConnectionTest, AListenerThatAcceptsNobodyTimesOut) {
    // A queue of length zero is full with one connection, which nobody accepts.
    std::string directory = "/tmp/cxlpool-full-XXXXXX";
    ASSERT_NE(::mkdtemp(directory.data()), nullptr);
    const std::string path = directory + "/s";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 0), 0);
    expect_error(Connection::connect(path, hello(), kSilenceMs), Errc::timeout, "hello");
    expect_error(Connection::connect(path, hello(), kSilenceMs), Errc::timeout, "accepts no");
    ::unlink(path.c_str());
    ::rmdir(directory.c_str());
}

TEST_F(ConnectionTest, ARefusedHelloKeepsTheDaemonsWords) {
    daemon.refuse(wire::Type::hello, Errc::not_permitted, "uid 1001 has no grant");
    const auto refused = Connection::connect(daemon.path(), hello());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::not_permitted);
    EXPECT_EQ(refused.error().message(), "uid 1001 has no grant");
}

TEST_F(ConnectionTest, AVersionThatWasNotOfferedIsRefused) {
    daemon.greeting.version = 2;
    expect_error(Connection::connect(daemon.path(), hello()), Errc::protocol, "version 2");
}

TEST_F(ConnectionTest, AHelloThatCannotBeSaidIsNotSent) {
    wire::HelloRequest request = hello();
    request.engine_name = std::string(65, 'x');
    expect_error(Connection::connect(daemon.path(), request), Errc::too_large, "engine name");
    EXPECT_TRUE(daemon.take_requests().empty());
}

TEST_F(ConnectionTest, CallsReturnBodiesOrErrors) {
    Connection connection = must_connect();
    const auto context = connection.ask<wire::ContextRegisterReply>(wire::ContextRegisterRequest{});
    ASSERT_TRUE(context);
    EXPECT_EQ(context->context, 1U);

    daemon.refuse(wire::Type::seal, Errc::stale_lease, "lease 3 ended");
    const auto refused = connection.call(wire::SealRequest{{3, 1}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::stale_lease);
    EXPECT_EQ(refused.error().message(), "lease 3 ended");
    EXPECT_TRUE(connection.call(wire::PlanFleetRequest{1, 1, 1, 1, 1, ""}))
        << "a refusal leaves the connection usable";
}

TEST_F(ConnectionTest, ADescriptorComesWhereItWasAskedFor) {
    Connection connection = must_connect();
    UniqueFd descriptor;
    const auto map =
        connection.ask<wire::MapReply>(wire::MapRequest{test::kFakeSegment}, &descriptor);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->size_bytes, test::kFakeSegmentBytes);
    ASSERT_TRUE(descriptor);
    struct stat found {};
    ASSERT_EQ(::fstat(descriptor.get(), &found), 0);
    EXPECT_EQ(static_cast<std::uint64_t>(found.st_size), test::kFakeSegmentBytes);
}

TEST_F(ConnectionTest, ADescriptorThatWasNotAskedForEndsIt) {
    Connection connection = must_connect();
    expect_error(connection.call(wire::MapRequest{test::kFakeSegment}), Errc::protocol,
                 "not asked for");
    expect_error(connection.call(wire::MapRequest{test::kFakeSegment}), Errc::disconnected,
                 "connect again");
}

TEST_F(ConnectionTest, ARefusalWithADescriptorEndsIt) {
    daemon.on(wire::Type::map, [this](const wire::Request& request) {
        return Answer{{FakeDaemon::encode_refusal(wire::Type::map, request.cookie, Errc::io, "no")},
                      std::make_shared<UniqueFd>(daemon.open_segment(false))};
    });
    Connection connection = must_connect();
    UniqueFd descriptor;
    expect_error(connection.call(wire::MapRequest{1}, &descriptor), Errc::protocol,
                 "not asked for");
    EXPECT_FALSE(descriptor);
}

TEST_F(ConnectionTest, NonsenseEndsIt) {
    const std::vector<std::vector<std::byte>> nonsense = {
        std::vector<std::byte>(3),
        std::vector<std::byte>(64, std::byte{0xFF}),
        FakeDaemon::encode(wire::Type::renew, 99, wire::RenewReply{1}),  // not asked yet
        FakeDaemon::encode(wire::Type::seal, 2, wire::SealReply{}),      // another type
        std::vector<std::byte>(wire::kMaxMessageBytes + 1),
    };
    for (const auto& message : nonsense) {
        answer_with(wire::Type::renew, message);
        Connection connection = must_connect();
        expect_error(connection.call(wire::RenewRequest{{1, 1}}), Errc::protocol,
                     "broke the protocol");
        expect_error(connection.call(wire::RenewRequest{{1, 1}}), Errc::disconnected, "closed");
    }
}

TEST_F(ConnectionTest, AClosedConnectionIsReportedAndStays) {
    daemon.on(wire::Type::renew, [](const wire::Request&) { return Answer{{}, {}, true}; });
    Connection connection = must_connect();
    expect_error(connection.call(wire::RenewRequest{{1, 1}}), Errc::disconnected,
                 "closed the connection");
    expect_error(connection.call(wire::RenewRequest{{1, 1}}), Errc::disconnected, "connect again");
}

TEST_F(ConnectionTest, ALateAnswerIsThrownAway) {
    Connection connection = must_connect(kSilenceMs);
    std::uint64_t late = 0;
    daemon.on(wire::Type::map, [&late](const wire::Request& request) {
        late = request.cookie;
        return Answer{};
    });
    UniqueFd descriptor;
    expect_error(connection.call(wire::MapRequest{1}, &descriptor), Errc::timeout,
                 "map: no answer within 200 ms");
    // The answer to the map arrives with its descriptor before the answer to the next question.
    daemon.on(wire::Type::renew, [&late](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(wire::Type::map, late, wire::MapReply{1, 1}),
                       FakeDaemon::encode(wire::Type::renew, request.cookie, wire::RenewReply{77})},
                      {}};
    });
    const auto renewed = connection.ask<wire::RenewReply>(wire::RenewRequest{{1, 1}});
    ASSERT_TRUE(renewed) << renewed.error().message();
    EXPECT_EQ(renewed->ttl_ms, 77U);
    EXPECT_FALSE(descriptor);
}

TEST_F(ConnectionTest, ADaemonThatDoesNotReadTimesOut) {
    std::array<int, 2> fds{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()), 0);
    const UniqueFd peer(fds[1]);
    // The peer's queue is full already, so that not even the hello can be sent.
    const std::vector<std::byte> filler(4096);
    while (::send(fds[0], filler.data(), filler.size(), MSG_DONTWAIT) > 0) {
    }
    expect_error(Connection::adopt(UniqueFd(fds[0]), hello(), kSilenceMs), Errc::timeout,
                 "hello: no answer");
}

TEST_F(ConnectionTest, AForkedChildIsRefused) {
    Connection connection = must_connect();
    const pid_t child = ::fork();
    if (child == 0) {
        const auto refused = connection.call(wire::RenewRequest{{1, 1}});
        ::_exit(!refused && refused.error().code() == Errc::wrong_state ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(connection.call(wire::PlanFleetRequest{1, 1, 1, 1, 1, ""}))
        << "the parent's connection is untouched";
}

class DocumentTest : public ConnectionTest {
  protected:
    // Serves `text` in chunks of `chunk_bytes`, saying that it has `total` bytes.
    void serve(const std::string& text, std::size_t chunk_bytes, std::uint64_t total) {
        const auto part = [=](const wire::Request& request, std::size_t offset) {
            return Answer{{FakeDaemon::encode(
                wire::type_of(request.body), request.cookie,
                wire::DocumentReply{total, offset, text.substr(offset, chunk_bytes)})}};
        };
        daemon.on(wire::Type::document,
                  [=](const wire::Request& request) { return part(request, 0); });
        daemon.on(wire::Type::document_more, [=](const wire::Request& request) {
            return part(request, std::get<wire::DocumentMoreRequest>(request.body).offset_bytes);
        });
    }
};

TEST_F(DocumentTest, AllChunksArePutTogether) {
    std::string text;
    for (int i = 0; i < 40'000; ++i) {
        text += std::to_string(i);
    }
    ASSERT_GT(text.size(), 3 * wire::kMaxChunkBytes);
    serve(text, wire::kMaxChunkBytes, text.size());
    Connection connection = must_connect();
    const auto document = connection.fetch_document({wire::Document::topology, 0, {}, {}});
    ASSERT_TRUE(document) << document.error().message();
    EXPECT_EQ(*document, text);
}

TEST_F(DocumentTest, AnEmptyOneIsEmpty) {
    serve("", 10, 0);
    Connection connection = must_connect();
    const auto document = connection.fetch_document({});
    ASSERT_TRUE(document);
    EXPECT_EQ(*document, "");
}

TEST_F(DocumentTest, ChunksThatDoNotFitTogetherAreRefused) {
    serve("abc", 3, 2);  // more than announced
    expect_error(must_connect().fetch_document({}), Errc::protocol, "do not fit together");
    serve("abc", 3, 4);  // and then nothing more comes
    expect_error(must_connect().fetch_document({}), Errc::protocol, "do not fit together");
    serve("abc", 3, wire::kMaxDocumentBytes + 1);
    expect_error(must_connect().fetch_document({}), Errc::protocol, "at most 4194304");
    serve("abcdef", 3, 6);
    daemon.on(wire::Type::document_more, [](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(wire::Type::document_more, request.cookie,
                                          wire::DocumentReply{6, 2, "cde"})}};
    });
    expect_error(must_connect().fetch_document({}), Errc::protocol, "do not fit together");
}

TEST_F(DocumentTest, ARefusalIsTheDaemons) {
    daemon.refuse(wire::Type::document, Errc::not_permitted, "inspectors only");
    expect_error(must_connect().fetch_document({}), Errc::not_permitted, "inspectors only");
}

}  // namespace
}  // namespace cxlpool::client

#include "client/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>

#include "wire/socket.hpp"

namespace cxlpool::client {
namespace {

Timestamp deadline_after(std::uint32_t timeout_ms) {
    return Timestamp{system_clock().monotonic().ns + std::uint64_t{timeout_ms} * 1'000'000ULL};
}

Error connect_error(const std::string& path, int os_errno) {
    const std::string doing = "connecting to '" + path + "'";
    switch (os_errno) {
        case ENOENT:
        case ECONNREFUSED:
        case EPROTOTYPE:
            return os_error(doing + " (is cxlpoold running, and is this its socket?)", os_errno,
                            Errc::unavailable);
        case EACCES:
        case EPERM:
            return os_error(doing + " (see the mode and the group of the socket)", os_errno,
                            Errc::not_permitted);
        case EAGAIN:
        case EINTR:
            return os_error(doing + " (the daemon accepts no connection)", os_errno, Errc::timeout);
        default:
            return os_error(doing, os_errno);
    }
}

// A full queue of the listener makes a non-blocking connect fail at once, so the socket blocks
// while it connects, and SO_SNDTIMEO bounds that.
Result<UniqueFd> connect_socket(const std::string& path, std::uint32_t timeout_ms) {
    sockaddr_un address{};
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        return Error{Errc::invalid_argument, "socket path '" + path + "': 1 to " +
                                                 std::to_string(sizeof address.sun_path - 1) +
                                                 " bytes are possible"};
    }
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), std::begin(address.sun_path));
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket) {
        return os_error("making a socket", errno);
    }
    timeval bound{};
    bound.tv_sec = timeout_ms / 1000;
    bound.tv_usec = static_cast<suseconds_t>(timeout_ms % 1000) * 1000;
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) != 0) {
        return os_error("bounding the time to connect", errno);
    }
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return connect_error(path, errno);
    }
    return socket;
}

}  // namespace

Connection::Connection(UniqueFd socket, std::uint32_t timeout_ms)
    : socket_(std::move(socket)),
      owner_(::getpid()),
      timeout_ms_(timeout_ms),
      buffer_(wire::kMaxMessageBytes) {}

Result<Connection> Connection::connect(const std::string& path, const wire::HelloRequest& hello,
                                       std::uint32_t timeout_ms) {
    auto socket = connect_socket(path, timeout_ms);
    if (!socket) {
        return std::move(socket).error();
    }
    return adopt(std::move(socket).value(), hello, timeout_ms);
}

Result<Connection> Connection::adopt(UniqueFd socket, const wire::HelloRequest& hello,
                                     std::uint32_t timeout_ms) {
    const int flags = ::fcntl(socket.get(), F_GETFL);
    if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
        return os_error("setting the socket to non-blocking", errno);
    }
    Connection connection(std::move(socket), timeout_ms);
    auto greeted = connection.say_hello(hello);
    if (!greeted) {
        return std::move(greeted).error();
    }
    return connection;
}

Result<void> Connection::say_hello(const wire::HelloRequest& hello) {
    auto greeting = ask<wire::HelloReply>(hello, &lease_board_);
    if (!greeting) {
        return std::move(greeting).error();
    }
    greeting_ = *greeting;
    if (greeting_.version < hello.version_min || greeting_.version > hello.version_max) {
        return hang_up("version " + std::to_string(greeting_.version) + ", which was not offered");
    }
    return {};
}

bool Connection::is_ours() const noexcept {
    return ::getpid() == owner_;
}

Error Connection::hang_up(std::string why) {
    socket_.reset();
    return Error{Errc::protocol, "the daemon broke the protocol: " + std::move(why)};
}

Error Connection::closed_by_peer() {
    socket_.reset();
    return Error{Errc::disconnected, "the daemon closed the connection; connect again"};
}

Result<wire::Reply> Connection::call(wire::RequestBody request, UniqueFd* descriptor) {
    if (!is_ours()) {
        return Error{Errc::wrong_state,
                     "the connection belongs to the process that opened it; connect again after a "
                     "fork"};
    }
    if (!socket_) {
        return Error{Errc::disconnected, "the connection is closed; connect again"};
    }
    const wire::Type type = wire::type_of(request);
    const std::uint64_t cookie = ++last_cookie_;
    const auto message = wire::encode(wire::Request{cookie, std::move(request)});
    if (!message) {
        return message.error();
    }
    const Timestamp deadline = deadline_after(timeout_ms_);
    auto sent = send_before(*message, deadline);
    if (!sent) {
        return std::move(sent).error().with_context(wire::to_word(type));
    }
    auto reply = receive_before(cookie, descriptor, deadline);
    if (!reply) {
        return std::move(reply).error().with_context(wire::to_word(type));
    }
    if (reply->type != type) {
        return hang_up("an answer of another type than its question");
    }
    if (reply->status != Errc::ok) {
        return Error{reply->status, std::get<wire::ErrorText>(std::move(reply->body)).text};
    }
    return reply;
}

Result<void> Connection::send_before(std::span<const std::byte> message, Timestamp deadline) {
    while (true) {
        auto sent = wire::send(socket_.get(), message);
        if (!sent) {
            return std::move(sent).error();
        }
        if (*sent == wire::Io::done) {
            return {};
        }
        if (*sent == wire::Io::closed) {
            return closed_by_peer();
        }
        CXLPOOL_TRY(wait_for(POLLOUT, deadline));
    }
}

Result<wire::Reply> Connection::receive_before(std::uint64_t cookie, UniqueFd* descriptor,
                                               Timestamp deadline) {
    while (true) {
        auto received = wire::receive(socket_.get(), buffer_, 1);
        if (!received) {
            return std::move(received).error();
        }
        if (received->io == wire::Io::closed) {
            return closed_by_peer();
        }
        if (received->io == wire::Io::would_block) {
            CXLPOOL_TRY(wait_for(POLLIN, deadline));
            continue;
        }
        if (received->truncated || received->descriptors_lost) {
            return hang_up("a message that is too long, or with too many descriptors");
        }
        auto reply = wire::decode_reply(std::span(buffer_).first(received->size));
        if (!reply) {
            return hang_up(reply.error().message());
        }
        if (reply->cookie < cookie) {
            continue;  // to a question whose time was up; its descriptor is closed here
        }
        if (reply->cookie > cookie) {
            return hang_up("an answer to a question that was not asked");
        }
        if (received->descriptors_came) {
            if (descriptor == nullptr || reply->status != Errc::ok) {
                return hang_up("a descriptor that was not asked for");
            }
            *descriptor = std::move(received->descriptors.front());
        }
        return reply;
    }
}

Result<void> Connection::wait_for(short events, Timestamp deadline) {
    while (true) {
        const Timestamp now = system_clock().monotonic();
        const std::uint64_t left_ns = deadline > now ? deadline.ns - now.ns : 0;
        // Rounded up: a wait that ends early would spin.
        const std::uint64_t left_ms = std::min<std::uint64_t>((left_ns + 999'999) / 1'000'000,
                                                              std::numeric_limits<int>::max());
        pollfd entry{socket_.get(), events, 0};
        const int ready = ::poll(&entry, 1, static_cast<int>(left_ms));
        if (ready > 0) {
            return {};  // also for a hang-up, which the next call on the socket reports
        }
        if (ready < 0 && errno != EINTR) {
            return os_error("waiting for the daemon", errno);
        }
        if (ready == 0 && left_ns == 0) {
            return Error{Errc::timeout, "no answer within " + std::to_string(timeout_ms_) + " ms"};
        }
    }
}

Result<std::string> Connection::fetch_document(const wire::DocumentRequest& request) {
    auto part = ask<wire::DocumentReply>(request);
    if (!part) {
        return std::move(part).error();
    }
    const std::uint64_t total = part->total_bytes;
    if (total > wire::kMaxDocumentBytes) {
        return hang_up("a document of " + std::to_string(total) + " bytes, at most " +
                       std::to_string(wire::kMaxDocumentBytes));
    }
    std::string text;
    while (true) {
        const bool stuck = part->chunk.empty() && text.size() < total;
        if (part->offset_bytes != text.size() || part->total_bytes != total || stuck ||
            part->chunk.size() > total - text.size()) {
            return hang_up("chunks of a document that do not fit together");
        }
        text += part->chunk;
        if (text.size() == total) {
            return text;
        }
        part = ask<wire::DocumentReply>(wire::DocumentMoreRequest{text.size()});
        if (!part) {
            return std::move(part).error();
        }
    }
}

}  // namespace cxlpool::client

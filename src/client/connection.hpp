// One connection to the daemon: hello, then one question and its answer at a time.
//
// Responsible for: finding the daemon, waiting no longer than was asked, matching answers to
// questions, and turning a refusal of the daemon into an Error with its code and its sentence.
// Refuses to know: what the questions mean. Invariants: a peer that breaks the protocol is hung up
// on, and every later call says disconnected; a descriptor that was not asked for is closed; an
// answer that comes after its timeout is thrown away, with its descriptor.
//
// Not for several threads at once: the caller brings the lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "wire/messages.hpp"

namespace cxlpool::client {

inline constexpr std::uint32_t kDefaultTimeoutMs = 10'000;

class Connection {
  public:
    // Connects to the socket at `path` and says hello. The timeout is for the whole of it, and for
    // each later call. Errors: invalid_argument (path empty or too long, a field of the hello),
    // unavailable (no socket there, nobody listens: the message says what to look at),
    // not_permitted (the socket's mode; or the daemon's answer: no grant), unsupported_version,
    // and those of call.
    static Result<Connection> connect(const std::string& path, const wire::HelloRequest& hello,
                                      std::uint32_t timeout_ms = kDefaultTimeoutMs);

    // The same over a socket that is connected already.
    static Result<Connection> adopt(UniqueFd socket, const wire::HelloRequest& hello,
                                    std::uint32_t timeout_ms = kDefaultTimeoutMs);

    const wire::HelloReply& greeting() const noexcept { return greeting_; }
    // The lease board; empty when the daemon gave none, and after the first call.
    UniqueFd take_lease_board() noexcept { return std::move(lease_board_); }

    // False once it was closed, by the peer or by hang_up; it stays so.
    bool is_open() const noexcept { return static_cast<bool>(socket_); }

    // False in a fork of the process that connected, which must not use it.
    bool is_ours() const noexcept;

    // Asks, and waits for the answer, which is never one of failure: that becomes the Error.
    // `descriptor`: where one that comes along goes; null: none may come.
    // Errors: the daemon's; too_large, invalid_argument, malformed (the request cannot be
    // encoded; nothing was sent); wrong_state (another process than the one that connected);
    // timeout (the connection stays; the answer may still have had its effect); disconnected;
    // protocol; io.
    Result<wire::Reply> call(wire::RequestBody request, UniqueFd* descriptor = nullptr);

    // The body of the answer, of the type that the request must have.
    template <typename Body>
    Result<Body> ask(wire::RequestBody request, UniqueFd* descriptor = nullptr) {
        auto reply = call(std::move(request), descriptor);
        if (!reply) {
            return std::move(reply).error();
        }
        if (Body* body = std::get_if<Body>(&reply->body)) {
            return std::move(*body);
        }
        return hang_up("an answer of another type than its question");
    }

    // A whole document, all chunks put together. Errors: those of call; protocol when the chunks
    // do not fit together or the document is over its maximum.
    Result<std::string> fetch_document(const wire::DocumentRequest& request);

    // Closes the socket because an answer, though well-formed, cannot be true. The Error is of code
    // protocol and says why.
    Error hang_up(std::string why);

  private:
    Connection(UniqueFd socket, std::uint32_t timeout_ms);

    Result<void> say_hello(const wire::HelloRequest& hello);
    Result<void> send_before(std::span<const std::byte> message, Timestamp deadline);
    Result<wire::Reply> receive_before(std::uint64_t cookie, UniqueFd* descriptor,
                                       Timestamp deadline);
    Result<void> wait_for(short events, Timestamp deadline);
    Error closed_by_peer();

    UniqueFd socket_;
    UniqueFd lease_board_;
    pid_t owner_;
    std::uint32_t timeout_ms_;
    std::uint64_t last_cookie_ = 0;
    wire::HelloReply greeting_;
    std::vector<std::byte> buffer_;
};

}  // namespace cxlpool::client

// A daemon of a few lines, in the test's own process, that speaks the real protocol.
//
// It keeps cells of one tenant in one private segment and answers as the real one would when all
// is well. A test replaces single answers: a refusal, nonsense, silence, a closed connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "wire/messages.hpp"

namespace cxlpool::test {

inline constexpr std::uint32_t kFakeLeases = 64;
inline constexpr std::uint64_t kFakeSegmentBytes = 1U << 20U;
inline constexpr std::uint32_t kFakeSegment = 11;

// What goes back instead of the usual answer, in this order.
struct Answer {
    std::vector<std::vector<std::byte>> messages;
    std::shared_ptr<UniqueFd> descriptor{};  // goes with the last message
    bool close = false;                      // and then the connection is closed
};

class FakeDaemon {
  public:
    FakeDaemon();
    ~FakeDaemon();
    FakeDaemon(const FakeDaemon&) = delete;
    FakeDaemon& operator=(const FakeDaemon&) = delete;

    const std::string& path() const { return path_; }

    // From now on `make` answers this type; one that returns nothing leaves it to the usual answer.
    using Override = std::function<std::optional<Answer>(const wire::Request&)>;
    void on(wire::Type type, Override make);
    void refuse(wire::Type type, Errc code, std::string text = "because");
    void as_usual(wire::Type type);

    // The requests that came since the last call, hello included.
    std::vector<wire::Request> take_requests();

    // The lease is live no more, on its connection's board.
    void revoke(LeaseRef lease);
    std::size_t live_leases() const;
    wire::HelloReply greeting;  // set before a client connects

    // A descriptor of its own for the segment that all cells are in.
    UniqueFd open_segment(bool writable) const;

    static std::vector<std::byte> encode(wire::Type type, std::uint64_t cookie,
                                         wire::ReplyBody body);
    static std::vector<std::byte> encode_refusal(wire::Type type, std::uint64_t cookie, Errc code,
                                                 std::string text);

  private:
    struct Cell {
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
        bool sealed = false;
    };

    void accept_all();
    void serve(int socket);
    Answer answer(const wire::Request& request);
    Answer usual_answer(const wire::Request& request);
    wire::ReplyBody reply_to(const wire::Request& request, UniqueFd& descriptor);
    LeaseRef grant();
    bool is_live(LeaseRef lease) const;

    std::string directory_;
    std::string path_;
    UniqueFd listener_;
    UniqueFd segment_;
    UniqueFd board_;
    std::uint32_t* board_entries_ = nullptr;

    mutable std::mutex mutex_;
    std::map<wire::Type, Override> overrides_;
    std::vector<wire::Request> requests_;
    std::map<SpanDigest, Cell> cells_;
    std::map<std::uint32_t, SpanDigest> fillings_;  // by lease index
    std::uint64_t next_offset_ = 0;
    std::uint32_t next_generation_ = 1;
    std::uint32_t next_context_ = 1;

    std::vector<std::thread> threads_;
    std::vector<UniqueFd> sockets_;
    std::thread acceptor_;
};

}  // namespace cxlpool::test

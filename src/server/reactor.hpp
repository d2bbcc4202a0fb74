// The event loop: readiness, timers, and work that came back from other threads.
//
// Responsible for: waiting. Refuses to know: sockets, messages, peers. Two implementations behind
// one contract test: io_uring (poll requests, one system call a turn) and poll(2), used where
// io_uring is switched off. Invariants: one thread runs it; callbacks run on that thread, never
// inside a call of this interface; after remove() returns no callback of that descriptor runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool {

class Reactor {
  public:
    enum Events : std::uint32_t { readable = 1, writable = 2 };
    using FdCallback = std::function<void()>;
    using Task = std::function<void()>;

    virtual ~Reactor() = default;
    virtual std::string_view kind() const noexcept = 0;  // "io_uring", "poll"

    // Level-triggered: called on every turn in which one of `events` (or an error or hang-up) is
    // there. The descriptor stays the caller's; it must be removed before it is closed.
    // Errors: already_exists, invalid_argument (no open descriptor, no callback).
    virtual Result<void> add(int fd, std::uint32_t events, FdCallback callback) = 0;
    // Other events for the same descriptor; 0 pauses it (hang-ups are not reported then).
    // Readiness found under the old events is dropped. Errors: not_found.
    virtual Result<void> modify(int fd, std::uint32_t events) = 0;
    virtual void remove(int fd) noexcept = 0;

    // Calls `task` about every `period` until the reactor ends. A late call is not made up for.
    // Errors: invalid_argument (a period below 1 ms, no task).
    virtual Result<void> every(std::chrono::milliseconds period, Task task) = 0;

    // Runs `task` on the reactor's thread, soon. The only call that other threads may make.
    virtual void post(Task task) = 0;

    // Turns until stop(). Errors: io.
    virtual Result<void> run() = 0;
    // Ends run() after the current turn. From the reactor's thread or a posted task.
    virtual void stop() noexcept = 0;
};

enum class ReactorKind : std::uint8_t { automatic, io_uring, poll };
Result<ReactorKind> parse_reactor_kind(std::string_view word);  // "auto", "io_uring", "poll"

// `automatic` takes io_uring and falls back to poll; `why_not` then says what was missing and
// names the sysctl (kernel.io_uring_disabled). Errors: unavailable (io_uring asked for and off),
// io.
Result<std::unique_ptr<Reactor>> make_reactor(ReactorKind kind, std::string* why_not = nullptr);

}  // namespace cxlpool

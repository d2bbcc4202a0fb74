// What the two reactors have in common: registrations, timers, the mailbox, the turn.
//
// Responsible for: everything but the waiting itself, which a backend adds. Invariants: readiness
// is delivered to the registration that it was found for, or dropped: every registration and every
// change of one has an id of its own that is never used again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.hpp"
#include "server/reactor.hpp"

namespace cxlpool {

class ReactorLoop : public Reactor {
  public:
    Result<void> add(int fd, std::uint32_t events, FdCallback callback) override;
    Result<void> modify(int fd, std::uint32_t events) override;
    void remove(int fd) noexcept override;
    Result<void> every(std::chrono::milliseconds period, Task task) override;
    void post(Task task) override;
    Result<void> run() override;
    void stop() noexcept override { stopping_ = true; }

  protected:
    struct Interest {
        std::uint64_t id = 0;
        std::uint32_t events = 0;
        std::uint64_t armed = 0;  // the backend's own mark; 0 when it waits for nothing
        std::shared_ptr<const FdCallback> callback;
    };
    struct Ready {
        int fd = -1;
        std::uint64_t id = 0;
    };
    using Interests = std::unordered_map<int, Interest>;

    // The first registration is the mailbox. Called by the backends' factories.
    Result<void> open_mailbox();

    Interests& interests() noexcept { return interests_; }

    // `fd` is registered anew, or with other events or a new id.
    virtual void changed(int fd, Interest& interest) = 0;
    // `fd` is about to be forgotten.
    virtual void gone(int fd, const Interest& interest) noexcept = 0;
    // Called outside of run(): whatever the backend holds of gone descriptors is let go now, since
    // no turn follows that would do it.
    virtual void settle() noexcept {}
    // Waits until something is ready or the time is over (no value: for ever) and appends it. An
    // interruption by a signal is a turn with nothing ready.
    virtual Result<void> wait(std::optional<std::chrono::nanoseconds> timeout,
                              std::vector<Ready>& ready) = 0;

  private:
    using Instant = std::chrono::steady_clock::time_point;
    struct Timer {
        Instant next;
        std::chrono::milliseconds period;
        Task task;
    };

    Result<void> turn();
    void run_posted();
    void run_timers();
    std::optional<std::chrono::nanoseconds> time_to_next_timer() const;

    Interests interests_;
    std::uint64_t last_id_ = 0;
    std::vector<Ready> ready_;
    std::deque<Timer> timers_;  // a deque: references stay valid while a task adds a timer
    bool running_ = false;
    bool stopping_ = false;

    UniqueFd mailbox_;
    std::mutex mutex_;
    std::vector<Task> posted_;  // under mutex_
};

// How the io_uring backend sets itself up; tests make it small, or make it fail.
struct UringOptions {
    // Requests that one system call submits. More are submitted in several calls.
    unsigned entries = 256;
    int fail_setup_with = 0;  // an errno that io_uring_setup is made to give
};

// Errors: unavailable (switched off or too old; the message names the sysctl), io.
Result<std::unique_ptr<Reactor>> make_uring_reactor(const UringOptions& options);
// Errors: io.
Result<std::unique_ptr<Reactor>> make_poll_reactor();
// make_reactor with those options.
Result<std::unique_ptr<Reactor>> make_reactor_with(ReactorKind kind, std::string* why_not,
                                                   const UringOptions& options);

}  // namespace cxlpool

#include "server/reactor_loop.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace cxlpool {

Result<void> ReactorLoop::open_mailbox() {
    mailbox_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!mailbox_) {
        return os_error("creating the event descriptor of the reactor", errno);
    }
    return add(mailbox_.get(), readable, [this] { run_posted(); });
}

Result<void> ReactorLoop::add(int fd, std::uint32_t events, FdCallback callback) {
    if (!callback) {
        return Error{Errc::invalid_argument,
                     "descriptor " + std::to_string(fd) + " has no callback"};
    }
    if (::fcntl(fd, F_GETFD) < 0) {
        return os_error("adding descriptor " + std::to_string(fd) + " to the reactor", errno,
                        Errc::invalid_argument);
    }
    const auto [it, inserted] = interests_.try_emplace(fd);
    if (!inserted) {
        return Error{Errc::already_exists,
                     "descriptor " + std::to_string(fd) + " is in the reactor already"};
    }
    it->second.id = ++last_id_;
    it->second.events = events;
    it->second.callback = std::make_shared<const FdCallback>(std::move(callback));
    changed(fd, it->second);
    return {};
}

Result<void> ReactorLoop::modify(int fd, std::uint32_t events) {
    const auto it = interests_.find(fd);
    if (it == interests_.end()) {
        return Error{Errc::not_found,
                     "descriptor " + std::to_string(fd) + " is not in the reactor"};
    }
    if (it->second.events != events) {
        it->second.id = ++last_id_;
        it->second.events = events;
        changed(fd, it->second);
    }
    return {};
}

void ReactorLoop::remove(int fd) noexcept {
    const auto it = interests_.find(fd);
    if (it != interests_.end()) {
        const Interest interest = std::move(it->second);
        interests_.erase(it);
        gone(fd, interest);
        settle();
    }
}

Result<void> ReactorLoop::every(std::chrono::milliseconds period, Task task) {
    if (period < std::chrono::milliseconds(1) || !task) {
        return Error{Errc::invalid_argument, "a timer needs a task and a period of 1 ms or more"};
    }
    timers_.push_back({std::chrono::steady_clock::now() + period, period, std::move(task)});
    return {};
}

void ReactorLoop::post(Task task) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = posted_.empty();
        posted_.push_back(std::move(task));
    }
    // Whoever found the queue empty wakes the loop; it takes all that is there by then.
    if (first) {
        CXLPOOL_CHECK(::eventfd_write(mailbox_.get(), 1) == 0);
    }
}

void ReactorLoop::run_posted() {
    eventfd_t ignored = 0;
    ::eventfd_read(mailbox_.get(), &ignored);
    std::vector<Task> tasks;
    {
        const std::lock_guard lock(mutex_);
        tasks.swap(posted_);
    }
    for (const Task& task : tasks) {
        task();
    }
}

std::optional<std::chrono::nanoseconds> ReactorLoop::time_to_next_timer() const {
    if (timers_.empty()) {
        return std::nullopt;
    }
    const auto soonest =
        std::min_element(timers_.begin(), timers_.end(),
                         [](const Timer& a, const Timer& b) { return a.next < b.next; });
    return std::max<std::chrono::nanoseconds>(soonest->next - std::chrono::steady_clock::now(),
                                              std::chrono::nanoseconds(0));
}

void ReactorLoop::run_timers() {
    const std::size_t count = timers_.size();  // those that a task adds wait for their period
    for (std::size_t i = 0; i < count; ++i) {
        Timer& timer = timers_[i];
        const Instant now = std::chrono::steady_clock::now();
        if (timer.next <= now) {
            timer.next += timer.period;
            if (timer.next <= now) {
                timer.next = now + timer.period;
            }
            timer.task();
        }
    }
}

Result<void> ReactorLoop::turn() {
    ready_.clear();
    CXLPOOL_TRY(wait(time_to_next_timer(), ready_));
    for (const Ready& ready : ready_) {
        const auto it = interests_.find(ready.fd);
        // An earlier callback of this turn may have removed, changed or replaced it.
        if (it != interests_.end() && it->second.id == ready.id) {
            const std::shared_ptr<const FdCallback> callback = it->second.callback;
            (*callback)();
        }
    }
    run_timers();
    return {};
}

Result<void> ReactorLoop::run() {
    CXLPOOL_CHECK(!running_);
    running_ = true;
    Result<void> result;
    while (!stopping_ && result) {
        result = turn();
    }
    running_ = false;
    stopping_ = false;
    settle();
    return result;
}

}  // namespace cxlpool

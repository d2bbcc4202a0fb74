// The reactor over io_uring: one-shot poll requests, armed again on the turn after they fired.
//
// A one-shot request on a descriptor that is still ready completes at once, which makes the
// behaviour level-triggered; a multishot request would report edges. Arming, cancelling and
// waiting share one system call a turn. Every request has a token that is never used again, so
// the late completion of a cancelled request finds nobody.
#include <liburing.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <fstream>

#include "server/reactor_loop.hpp"

namespace cxlpool {
namespace {

constexpr std::uint64_t kNoToken = 0;  // cancellations and the probe; tokens start at 1

class UringReactor final : public ReactorLoop {
  public:
    UringReactor() = default;
    ~UringReactor() override {
        if (open_) {
            ::io_uring_queue_exit(&ring_);
        }
    }
    UringReactor(const UringReactor&) = delete;
    UringReactor& operator=(const UringReactor&) = delete;

    std::string_view kind() const noexcept override { return "io_uring"; }
    Result<void> open(const UringOptions& options);

  protected:
    void changed(int fd, Interest& interest) override;
    void gone(int fd, const Interest& interest) noexcept override;
    void settle() noexcept override;
    Result<void> wait(std::optional<std::chrono::nanoseconds> timeout,
                      std::vector<Ready>& ready) override;

  private:
    struct Armed {
        int fd = -1;
        std::uint64_t id = 0;
    };

    Result<void> probe();
    void forget(std::uint64_t token) noexcept;
    Result<io_uring_sqe*> next_request(std::vector<Ready>& ready);
    Result<void> submit(std::vector<Ready>& ready);
    Result<void> queue_requests(std::vector<Ready>& ready);
    void reap(std::vector<Ready>& ready);

    io_uring ring_{};
    bool open_ = false;
    std::uint64_t last_token_ = kNoToken;
    std::unordered_map<std::uint64_t, Armed> armed_;  // by token
    std::vector<int> to_arm_;                         // may name a descriptor twice, or a gone one
    std::vector<std::uint64_t> to_cancel_;
    std::vector<Ready> early_;  // found while there was no room to submit
};

// What an administrator can do about `error` from io_uring_setup or io_uring_enter.
Error unavailable(int error) {
    std::string what = "io_uring is not available";
    if (error == ENOSYS) {
        what += ": the kernel has none, or a sandbox hides it";
    } else if (error == ENOMEM) {
        what += ": locked memory is used up (raise LimitMEMLOCK=)";
    } else {
        std::ifstream sysctl("/proc/sys/kernel/io_uring_disabled");
        int value = 0;
        if (sysctl >> value && value != 0) {
            what +=
                ": sysctl kernel.io_uring_disabled is " + std::to_string(value) + " (0 allows it)";
        } else {
            what +=
                ": see sysctl kernel.io_uring_disabled (0 allows it) and the system call filter "
                "of the service";
        }
    }
    return os_error(std::move(what), error, Errc::unavailable);
}

Result<void> UringReactor::open(const UringOptions& options) {
    io_uring_params params{};
    const int rc = options.fail_setup_with != 0
                       ? -options.fail_setup_with
                       : ::io_uring_queue_init_params(options.entries, &ring_, &params);
    if (rc == -EMFILE || rc == -ENFILE) {
        return os_error("setting up io_uring", -rc);
    }
    if (rc < 0) {
        return unavailable(-rc);
    }
    open_ = true;
    // NODROP: completions over the size of the ring are kept. EXT_ARG: a wait takes a timeout.
    constexpr unsigned kNeeded = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
    if ((params.features & kNeeded) != kNeeded) {
        return Error{Errc::unavailable, "io_uring of this kernel is too old: Linux 5.11 is needed"};
    }
    CXLPOOL_TRY(probe());
    return open_mailbox();
}

// A system call filter may allow the set-up and refuse the use.
Result<void> UringReactor::probe() {
    io_uring_sqe* request = ::io_uring_get_sqe(&ring_);
    CXLPOOL_CHECK(request != nullptr);
    ::io_uring_prep_nop(request);
    ::io_uring_sqe_set_data64(request, kNoToken);
    const int rc = ::io_uring_submit_and_wait(&ring_, 1);
    if (rc < 0) {
        return unavailable(-rc);
    }
    std::vector<Ready> none;
    reap(none);
    return {};
}

void UringReactor::forget(std::uint64_t token) noexcept {
    if (token != kNoToken) {
        armed_.erase(token);
        to_cancel_.push_back(token);
    }
}

void UringReactor::changed(int fd, Interest& interest) {
    forget(std::exchange(interest.armed, kNoToken));
    to_arm_.push_back(fd);
}

void UringReactor::gone(int /*fd*/, const Interest& interest) noexcept {
    forget(interest.armed);
}

// A request holds its file open: until it is cancelled, a socket that the caller closed does not
// hang up, and its last close would happen on this thread, however long it blocks.
void UringReactor::settle() noexcept {
    if (to_cancel_.empty() || !queue_requests(early_)) {
        return;
    }
    // What fails here is tried again by the next wait, which reports it.
    (void)submit(early_);
}

// Completions that wait for room in the ring can hold up a submission (EBUSY): make room.
Result<void> UringReactor::submit(std::vector<Ready>& ready) {
    int rc = 0;
    for (int attempt = 0; attempt < 100; ++attempt) {
        rc = ::io_uring_submit(&ring_);
        if (rc >= 0) {
            return {};
        }
        if (rc == -EBUSY || rc == -EAGAIN) {
            reap(ready);
        } else if (rc != -EINTR) {
            break;
        }
    }
    return os_error("submitting to io_uring", -rc);
}

Result<io_uring_sqe*> UringReactor::next_request(std::vector<Ready>& ready) {
    io_uring_sqe* request = ::io_uring_get_sqe(&ring_);
    if (request == nullptr) {  // the queue is full of requests of this turn
        CXLPOOL_TRY(submit(ready));
        request = ::io_uring_get_sqe(&ring_);
    }
    if (request == nullptr) {
        return Error{Errc::io, "io_uring takes no more requests"};
    }
    return request;
}

Result<void> UringReactor::queue_requests(std::vector<Ready>& ready) {
    while (!to_cancel_.empty()) {
        Result<io_uring_sqe*> request = next_request(ready);
        if (!request) {
            return std::move(request).error();
        }
        ::io_uring_prep_poll_remove(*request, to_cancel_.back());
        ::io_uring_sqe_set_data64(*request, kNoToken);
        to_cancel_.pop_back();
    }
    while (!to_arm_.empty()) {
        const int fd = to_arm_.back();
        to_arm_.pop_back();
        const auto it = interests().find(fd);
        if (it == interests().end() || it->second.events == 0 || it->second.armed != kNoToken) {
            continue;
        }
        Result<io_uring_sqe*> request = next_request(ready);
        if (!request) {
            to_arm_.push_back(fd);
            return std::move(request).error();
        }
        const unsigned mask = ((it->second.events & readable) != 0 ? POLLIN : 0U) |
                              ((it->second.events & writable) != 0 ? POLLOUT : 0U);
        const std::uint64_t token = ++last_token_;
        ::io_uring_prep_poll_add(*request, fd, mask);
        ::io_uring_sqe_set_data64(*request, token);
        it->second.armed = token;
        armed_.emplace(token, Armed{fd, it->second.id});
    }
    return {};
}

void UringReactor::reap(std::vector<Ready>& ready) {
    std::array<io_uring_cqe*, 64> batch{};
    while (true) {
        // Also fetches completions that overflowed the ring.
        const unsigned count =
            ::io_uring_peek_batch_cqe(&ring_, batch.data(), static_cast<unsigned>(batch.size()));
        if (count == 0) {
            return;
        }
        for (unsigned i = 0; i < count; ++i) {
            const auto armed = armed_.find(::io_uring_cqe_get_data64(batch[i]));
            if (armed == armed_.end()) {
                continue;  // a cancellation, or the last word of what was cancelled
            }
            // A failed request is reported as ready: the caller's next call on the descriptor
            // gets the error itself.
            const Armed fired = armed->second;
            armed_.erase(armed);
            const auto it = interests().find(fired.fd);
            CXLPOOL_CHECK(it != interests().end() && it->second.id == fired.id);
            it->second.armed = kNoToken;
            to_arm_.push_back(fired.fd);
            ready.push_back({fired.fd, fired.id});
        }
        ::io_uring_cq_advance(&ring_, count);
    }
}

Result<void> UringReactor::wait(std::optional<std::chrono::nanoseconds> timeout,
                                std::vector<Ready>& ready) {
    ready.swap(early_);
    early_.clear();
    CXLPOOL_TRY(queue_requests(ready));
    int rc = 0;
    if (!ready.empty()) {
        CXLPOOL_TRY(submit(ready));
    } else if (timeout) {
        __kernel_timespec limit{};
        limit.tv_sec = timeout->count() / 1'000'000'000;
        limit.tv_nsec = timeout->count() % 1'000'000'000;
        io_uring_cqe* first = nullptr;
        rc = ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &limit, nullptr);
    } else {
        rc = ::io_uring_submit_and_wait(&ring_, 1);
    }
    // Not failures: a signal, the timeout, and completions that wait for room, reaped here.
    if (rc < 0 && rc != -EINTR && rc != -ETIME && rc != -EBUSY && rc != -EAGAIN) {
        return os_error("waiting in io_uring", -rc);
    }
    reap(ready);
    return {};
}

}  // namespace

Result<std::unique_ptr<Reactor>> make_uring_reactor(const UringOptions& options) {
    auto reactor = std::make_unique<UringReactor>();
    CXLPOOL_TRY(reactor->open(options));
    return std::unique_ptr<Reactor>(std::move(reactor));
}

}  // namespace cxlpool

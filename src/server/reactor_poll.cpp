// The reactor over ppoll(2): works everywhere, costs a walk over all descriptors a turn.
#include <poll.h>

#include <cerrno>
#include <ctime>

#include "server/reactor_loop.hpp"

namespace cxlpool {
namespace {

class PollReactor final : public ReactorLoop {
  public:
    std::string_view kind() const noexcept override { return "poll"; }
    Result<void> open() { return open_mailbox(); }

  protected:
    void changed(int /*fd*/, Interest& /*interest*/) override { stale_ = true; }
    void gone(int /*fd*/, const Interest& /*interest*/) noexcept override { stale_ = true; }
    Result<void> wait(std::optional<std::chrono::nanoseconds> timeout,
                      std::vector<Ready>& ready) override;

  private:
    void rebuild();

    bool stale_ = true;
    std::vector<pollfd> polled_;
    std::vector<std::uint64_t> ids_;  // of the same index
};

void PollReactor::rebuild() {
    polled_.clear();
    ids_.clear();
    for (const auto& [fd, interest] : interests()) {
        if (interest.events == 0) {
            continue;  // poll(2) reports a hang-up even if nothing is asked for
        }
        short events = 0;
        if ((interest.events & readable) != 0) {
            events = static_cast<short>(events | POLLIN);
        }
        if ((interest.events & writable) != 0) {
            events = static_cast<short>(events | POLLOUT);
        }
        polled_.push_back({fd, events, 0});
        ids_.push_back(interest.id);
    }
    stale_ = false;
}

Result<void> PollReactor::wait(std::optional<std::chrono::nanoseconds> timeout,
                               std::vector<Ready>& ready) {
    if (stale_) {
        rebuild();
    }
    timespec limit{};
    if (timeout) {
        limit.tv_sec = static_cast<time_t>(timeout->count() / 1'000'000'000);
        limit.tv_nsec = static_cast<long>(timeout->count() % 1'000'000'000);
    }
    const int count = ::ppoll(polled_.data(), polled_.size(), timeout ? &limit : nullptr, nullptr);
    if (count < 0) {
        if (errno == EINTR) {
            return {};
        }
        return os_error("waiting in poll for " + std::to_string(polled_.size()) + " descriptors",
                        errno);
    }
    for (std::size_t i = 0; count > 0 && i < polled_.size(); ++i) {
        if (polled_[i].revents != 0) {
            ready.push_back({polled_[i].fd, ids_[i]});
        }
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<Reactor>> make_poll_reactor() {
    auto reactor = std::make_unique<PollReactor>();
    CXLPOOL_TRY(reactor->open());
    return std::unique_ptr<Reactor>(std::move(reactor));
}

}  // namespace cxlpool

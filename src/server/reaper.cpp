#include "server/reaper.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "base/check.hpp"
#include "server/thread_signals.hpp"

namespace cxlpool {
namespace {

// What closes at all closes in microseconds; this is for a machine that is busy.
constexpr std::chrono::milliseconds kFarewell{500};

}  // namespace

struct DescriptorReaper::Shared {
    mutable std::mutex mutex;
    std::condition_variable wake;
    std::condition_variable done;
    std::deque<UniqueFd> waiting;
    bool closing = false;
    bool ending = false;
    bool ended = false;
};

DescriptorReaper::DescriptorReaper() : shared_(std::make_shared<Shared>()) {
    const SignalsForTheMainThread mask;
    try {
        thread_ = std::thread([shared = shared_] { work(*shared); });
        ::pthread_setname_np(thread_.native_handle(), "reaper");
    } catch (const std::system_error&) {
        // Caught below: without the thread nothing is ever closed.
    }
    CXLPOOL_CHECK(thread_.joinable());
}

DescriptorReaper::~DescriptorReaper() {
    bool ended = false;
    {
        std::unique_lock lock(shared_->mutex);
        shared_->ending = true;
        shared_->wake.notify_one();
        ended = shared_->done.wait_for(lock, kFarewell, [this] { return shared_->ended; });
    }
    if (ended) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

void DescriptorReaper::bury(UniqueFd descriptor) {
    if (!descriptor) {
        return;
    }
    const std::lock_guard lock(shared_->mutex);
    shared_->waiting.push_back(std::move(descriptor));
    shared_->wake.notify_one();
}

void DescriptorReaper::bury(std::vector<UniqueFd> descriptors) {
    for (UniqueFd& descriptor : descriptors) {
        bury(std::move(descriptor));
    }
}

std::size_t DescriptorReaper::backlog() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->waiting.size() + (shared_->closing ? 1 : 0);
}

void DescriptorReaper::work(Shared& shared) {
    std::unique_lock lock(shared.mutex);
    while (true) {
        shared.wake.wait(lock, [&shared] { return shared.ending || !shared.waiting.empty(); });
        if (shared.waiting.empty()) {
            shared.ended = true;
            shared.done.notify_one();
            return;
        }
        UniqueFd next = std::move(shared.waiting.front());
        shared.waiting.pop_front();
        shared.closing = true;
        lock.unlock();
        next.reset();
        lock.lock();
        shared.closing = false;
    }
}

}  // namespace cxlpool

#include "server/worker_pool.hpp"

#include <pthread.h>

#include <string>
#include <system_error>
#include <utility>

#include "server/thread_signals.hpp"

namespace cxlpool {

WorkerPool::WorkerPool(Reactor& reactor, std::size_t threads, std::size_t max_waiting)
    : reactor_(reactor), max_waiting_(max_waiting) {
    CXLPOOL_CHECK(threads > 0);
    const SignalsForTheMainThread mask;
    threads_.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        try {
            threads_.emplace_back([this] { work(); });
            ::pthread_setname_np(threads_.back().native_handle(),
                                 ("worker" + std::to_string(i)).c_str());
        } catch (const std::system_error&) {
            break;  // fewer threads are slower, not wrong; none at all is caught below
        }
    }
    CXLPOOL_CHECK(!threads_.empty());
}

WorkerPool::~WorkerPool() {
    std::deque<Entry> dropped;
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        dropped.swap(waiting_);
    }
    dropped.clear();  // without the lock: what the jobs captured may do anything as it ends
    wake_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

Result<void> WorkerPool::submit(std::function<void()> job, std::function<void()> completion) {
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= max_waiting_) {
            return Error{Errc::limit_exceeded,
                         std::to_string(waiting_.size()) + " jobs wait for a worker already"};
        }
        waiting_.push_back({std::move(job), std::move(completion)});
    }
    wake_.notify_one();
    return {};
}

void WorkerPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
        if (ending_) {
            return;
        }
        Entry entry = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        entry.job();
        entry.job = nullptr;  // what it captured ends before its completion can run
        if (entry.completion) {
            reactor_.post(std::move(entry.completion));
        }
        lock.lock();
    }
}

}  // namespace cxlpool

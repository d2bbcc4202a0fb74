// Threads for long copies and digests, so that the reactor never waits for memory.
//
// Responsible for: running jobs in order of arrival on a fixed number of threads, and handing the
// completion back to the reactor's thread. Invariants: a bounded queue; the completion of every
// accepted job is posted exactly once; the destructor finishes the running jobs and drops the
// waiting ones without running them or their completions.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "server/reactor.hpp"

namespace cxlpool {

class WorkerPool {
  public:
    WorkerPool(Reactor& reactor, std::size_t threads, std::size_t max_waiting);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    // `job` runs on a worker and must not throw; then `completion` runs on the reactor's thread.
    // Errors: limit_exceeded when max_waiting jobs wait already.
    Result<void> submit(std::function<void()> job, std::function<void()> completion);

  private:
    void work();

    struct Entry {
        std::function<void()> job;
        std::function<void()> completion;
    };
    Reactor& reactor_;
    std::size_t max_waiting_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Entry> waiting_;
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cxlpool

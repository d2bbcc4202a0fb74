#include "server/worker_pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "memory/guarded.hpp"

namespace cxlpool {
namespace {

class WorkerPoolTest : public ::testing::Test {
  protected:
    void SetUp() override {
        Result<std::unique_ptr<Reactor>> made = make_reactor(ReactorKind::poll);
        ASSERT_TRUE(made);
        reactor_ = std::move(*made);
    }
    Reactor& reactor() { return *reactor_; }

    // Runs everything that is posted by now.
    void settle() {
        reactor_->post([this] { reactor_->stop(); });
        ASSERT_TRUE(reactor_->run());
    }

  private:
    std::unique_ptr<Reactor> reactor_;
};

TEST_F(WorkerPoolTest, TheJobRunsOnAWorkerAndTheCompletionOnTheLoop) {
    WorkerPool pool(reactor(), 1, 4);
    const std::thread::id loop = std::this_thread::get_id();
    std::thread::id worker = loop;
    ASSERT_TRUE(pool.submit([&] { worker = std::this_thread::get_id(); },
                            [&] {
                                EXPECT_EQ(std::this_thread::get_id(), loop);
                                reactor().stop();
                            }));
    ASSERT_TRUE(reactor().run());
    EXPECT_NE(worker, loop);
}

TEST_F(WorkerPoolTest, EveryAcceptedJobIsCompletedExactlyOnce) {
    constexpr int kJobs = 2000;
    WorkerPool pool(reactor(), 4, kJobs);
    std::vector<int> jobs(kJobs, 0);
    std::vector<int> completions(kJobs, 0);
    int done = 0;
    for (std::size_t i = 0; i < kJobs; ++i) {
        // The completion sees what the job wrote: nothing but the pool synchronises them.
        ASSERT_TRUE(pool.submit([&jobs, i] { ++jobs[i]; },
                                [&, i] {
                                    completions[i] += jobs[i];
                                    if (++done == kJobs) {
                                        reactor().stop();
                                    }
                                }));
    }
    ASSERT_TRUE(reactor().run());
    settle();
    EXPECT_EQ(done, kJobs);
    EXPECT_EQ(completions, std::vector<int>(kJobs, 1));
}

TEST_F(WorkerPoolTest, OneWorkerKeepsTheOrderOfArrival) {
    WorkerPool pool(reactor(), 1, 100);
    std::string order;
    for (char c = 'a'; c <= 'j'; ++c) {
        ASSERT_TRUE(pool.submit([&order, c] { order += c; },
                                [this, c] {
                                    if (c == 'j') {
                                        reactor().stop();
                                    }
                                }));
    }
    ASSERT_TRUE(reactor().run());
    EXPECT_EQ(order, "abcdefghij");
}

TEST_F(WorkerPoolTest, AFullQueueRefusesAndTakesAgainLater) {
    WorkerPool pool(reactor(), 1, 2);
    std::promise<void> started;
    std::promise<void> go;
    std::shared_future<void> gate = go.get_future().share();
    int completed = 0;
    const auto complete = [&] {
        if (++completed == 3) {
            reactor().stop();
        }
    };
    ASSERT_TRUE(pool.submit(
        [&started, gate] {
            started.set_value();
            gate.wait();
        },
        complete));
    started.get_future().wait();  // it runs, so it does not wait
    ASSERT_TRUE(pool.submit([] {}, complete));
    ASSERT_TRUE(pool.submit([] {}, complete));
    bool ran = false;
    const Result<void> refused = pool.submit([&ran] { ran = true; }, [&ran] { ran = true; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::limit_exceeded);
    go.set_value();
    ASSERT_TRUE(reactor().run());
    ASSERT_TRUE(pool.submit([] {}, [this] { reactor().stop(); }));
    ASSERT_TRUE(reactor().run());
    EXPECT_FALSE(ran);
}

TEST_F(WorkerPoolTest, TheDestructorFinishesWhatRunsAndDropsWhatWaits) {
    auto held = std::make_shared<int>(0);
    std::string log;
    std::promise<void> go;
    std::thread opener;
    {
        WorkerPool pool(reactor(), 1, 10);
        std::promise<void> started;
        std::shared_future<void> gate = go.get_future().share();
        ASSERT_TRUE(pool.submit(
            [&log, &started, gate] {
                started.set_value();
                gate.wait();
                log += "job ";
            },
            [&log] { log += "completion "; }));
        started.get_future().wait();
        ASSERT_TRUE(pool.submit([&log, held] { log += "dropped job "; },
                                [&log, held] { log += "dropped completion "; }));
        // Opens the gate once the waiting job was dropped, that is, from inside the destructor.
        opener = std::thread([&go, watch = std::weak_ptr<int>(held), &held] {
            held.reset();
            while (!watch.expired()) {
                std::this_thread::yield();
            }
            go.set_value();
        });
    }
    opener.join();
    settle();
    EXPECT_EQ(log, "job completion ");
}

TEST_F(WorkerPoolTest, AJobWithoutCompletionIsFine) {
    WorkerPool pool(reactor(), 1, 4);
    ASSERT_TRUE(pool.submit([] {}, nullptr));
    ASSERT_TRUE(pool.submit([] {}, [this] { reactor().stop(); }));
    ASSERT_TRUE(reactor().run());
}

TEST_F(WorkerPoolTest, WorkersLeaveSignalsToTheMainThread) {
    WorkerPool pool(reactor(), 1, 4);
    sigset_t mask;
    ::sigemptyset(&mask);
    ASSERT_TRUE(pool.submit([&mask] { ::pthread_sigmask(SIG_SETMASK, nullptr, &mask); },
                            [this] { reactor().stop(); }));
    ASSERT_TRUE(reactor().run());
    EXPECT_EQ(::sigismember(&mask, SIGTERM), 1);
    EXPECT_EQ(::sigismember(&mask, SIGHUP), 1);
    EXPECT_EQ(::sigismember(&mask, SIGCHLD), 1);
    // A fault belongs to the thread that caused it; blocked, it ends the process unhandled.
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
        EXPECT_EQ(::sigismember(&mask, fault), 0) << "signal " << fault;
    }
    sigset_t ours;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &ours);
    EXPECT_EQ(::sigismember(&ours, SIGTERM), 0);
}

TEST_F(WorkerPoolTest, MemoryThatIsTakenAwayUnderAJobIsAnErrorOfTheJob) {
    constexpr std::size_t kBytes = 65536;
    const UniqueFd fd(::memfd_create("taken", MFD_CLOEXEC));
    ASSERT_TRUE(fd);
    ASSERT_EQ(::ftruncate(fd.get(), kBytes), 0);
    void* const at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_NE(at, MAP_FAILED);
    ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
    WorkerPool pool(reactor(), 1, 4);
    std::optional<Result<ContentDigest>> digest;
    ASSERT_TRUE(pool.submit(
        [&digest, at] {
            digest = guarded_digest({static_cast<const std::byte*>(at), kBytes});
        },
        [this] { reactor().stop(); }));
    ASSERT_TRUE(reactor().run());
    ASSERT_TRUE(digest);
    ASSERT_FALSE(*digest);
    EXPECT_EQ(digest->error().code(), Errc::io);
    ::munmap(at, kBytes);
}

}  // namespace
}  // namespace cxlpool

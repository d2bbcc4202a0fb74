#include "server/reactor.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "server/reactor_loop.hpp"

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Pair {
    UniqueFd ours;
    UniqueFd peer;
};

Pair make_pair_of_sockets() {
    int fds[2] = {-1, -1};
    CXLPOOL_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) ==
                  0);
    return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void send_byte(const UniqueFd& socket, char byte = 'x') {
    ASSERT_EQ(::send(socket.get(), &byte, 1, MSG_NOSIGNAL), 1);
}

char receive_byte(int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_DONTWAIT) == 1 ? byte : '\0';
}

struct Backend {
    const char* name;
    ReactorKind kind;
    unsigned entries;
};

// The contract of the interface, run against every implementation.
class ReactorContract : public ::testing::TestWithParam<Backend> {
  protected:
    void SetUp() override {
        UringOptions options;
        options.entries = GetParam().entries;
        Result<std::unique_ptr<Reactor>> made =
            make_reactor_with(GetParam().kind, nullptr, options);
        if (!made && made.error().code() == Errc::unavailable) {
            GTEST_SKIP() << made.error().message();
        }
        ASSERT_TRUE(made) << made.error().message();
        reactor_ = std::move(*made);
    }

    // One whole turn at least: what is ready by now has been called when this returns.
    void settle() {
        reactor_->post([this] { reactor_->post([this] { reactor_->stop(); }); });
        const Result<void> ran = reactor_->run();
        ASSERT_TRUE(ran) << ran.error().message();
    }

    Reactor& reactor() { return *reactor_; }

  private:
    std::unique_ptr<Reactor> reactor_;
};

TEST_P(ReactorContract, KindIsWhatWasAskedFor) {
    EXPECT_EQ(reactor().kind(), GetParam().kind == ReactorKind::poll ? "poll" : "io_uring");
}

TEST_P(ReactorContract, ReadableIsCalledOnEveryTurnWhileTheByteIsThere) {
    Pair pair = make_pair_of_sockets();
    int calls = 0;
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [&] {
        if (++calls == 3) {
            EXPECT_EQ(receive_byte(pair.ours.get()), 'x');
            reactor().stop();
        }
    }));
    send_byte(pair.peer);
    ASSERT_TRUE(reactor().run());
    EXPECT_EQ(calls, 3);
    settle();
    EXPECT_EQ(calls, 3) << "nothing is there to read any more";
    send_byte(pair.peer);
    settle();
    EXPECT_GT(calls, 3);
    reactor().remove(pair.ours.get());
}

TEST_P(ReactorContract, WritableIsCalledWhileThereIsRoom) {
    Pair pair = make_pair_of_sockets();
    int calls = 0;
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::writable, [&] {
        if (++calls == 2) {
            reactor().stop();
        }
    }));
    ASSERT_TRUE(reactor().run());
    EXPECT_EQ(calls, 2);
    const std::vector<char> packet(1024, 'p');
    while (::send(pair.ours.get(), packet.data(), packet.size(), MSG_NOSIGNAL) > 0) {
    }
    settle();  // takes readiness that was found before the buffer was full
    const int full = calls;
    settle();
    EXPECT_EQ(calls, full);
    reactor().remove(pair.ours.get());
}

TEST_P(ReactorContract, HangUpIsCalledForReadableAndForWritable) {
    for (const std::uint32_t events : {Reactor::readable, Reactor::writable}) {
        Pair pair = make_pair_of_sockets();
        int calls = 0;
        ASSERT_TRUE(reactor().add(pair.ours.get(), events, [&] {
            ++calls;
            reactor().remove(pair.ours.get());
        }));
        pair.peer.reset();
        settle();
        EXPECT_EQ(calls, 1) << "events " << events;
    }
}

TEST_P(ReactorContract, ModifyToZeroPausesAlsoAHangUp) {
    Pair pair = make_pair_of_sockets();
    int calls = 0;
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [&] {
        ++calls;
        ASSERT_TRUE(reactor().modify(pair.ours.get(), 0));
    }));
    send_byte(pair.peer);
    settle();
    EXPECT_EQ(calls, 1);
    pair.peer.reset();
    settle();
    EXPECT_EQ(calls, 1);
    ASSERT_TRUE(reactor().modify(pair.ours.get(), Reactor::readable));
    settle();
    EXPECT_EQ(calls, 2);
    reactor().remove(pair.ours.get());
}

TEST_P(ReactorContract, ModifyChangesWhatIsWaitedFor) {
    Pair pair = make_pair_of_sockets();
    int calls = 0;
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [&] { ++calls; }));
    settle();
    EXPECT_EQ(calls, 0);
    ASSERT_TRUE(reactor().modify(pair.ours.get(), Reactor::readable | Reactor::writable));
    settle();
    EXPECT_GT(calls, 0);
    ASSERT_TRUE(reactor().modify(pair.ours.get(), Reactor::readable));
    calls = 0;
    settle();
    EXPECT_EQ(calls, 0);
    reactor().remove(pair.ours.get());
}

TEST_P(ReactorContract, RemoveInsideItsOwnCallback) {
    Pair pair = make_pair_of_sockets();
    // Owned by the callback alone: it has to live until the callback has returned.
    auto seen = std::make_shared<std::string>();
    int calls = 0;
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [&, seen] {
        reactor().remove(pair.ours.get());
        seen->append("called");
        ++calls;
    }));
    send_byte(pair.peer);
    settle();
    settle();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(*seen, "called");
    EXPECT_EQ(seen.use_count(), 1) << "the callback is gone";
}

TEST_P(ReactorContract, WhatIsRemovedInsideACallbackIsHeldNoLonger) {
    Pair pair = make_pair_of_sockets();
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [] {}));
    settle();  // it waits in the kernel now
    Pair other = make_pair_of_sockets();
    bool hung_up = false;
    ASSERT_TRUE(reactor().add(other.ours.get(), Reactor::readable, [&] {
        reactor().remove(other.ours.get());
        reactor().remove(pair.ours.get());
        pair.ours.reset();
        char byte = 0;
        hung_up = ::recv(pair.peer.get(), &byte, 1, MSG_DONTWAIT) == 0;
    }));
    send_byte(other.peer);
    settle();
    EXPECT_TRUE(hung_up) << "closing it was the last close, on the thread that closed it";
}

TEST_P(ReactorContract, RemovingAnotherReadyDescriptorKeepsItFromBeingCalled) {
    Pair a = make_pair_of_sockets();
    Pair b = make_pair_of_sockets();
    int calls = 0;
    ASSERT_TRUE(reactor().add(a.ours.get(), Reactor::readable, [&] {
        ++calls;
        reactor().remove(a.ours.get());
        reactor().remove(b.ours.get());
    }));
    ASSERT_TRUE(reactor().add(b.ours.get(), Reactor::readable, [&] {
        ++calls;
        reactor().remove(a.ours.get());
        reactor().remove(b.ours.get());
    }));
    send_byte(a.peer);
    send_byte(b.peer);
    settle();
    EXPECT_EQ(calls, 1) << "both were ready in one turn; whoever came first removed both";
}

TEST_P(ReactorContract, ModifyOfAnotherReadyDescriptorDropsItsReadiness) {
    Pair a = make_pair_of_sockets();
    Pair b = make_pair_of_sockets();
    int calls = 0;
    const auto pause_both = [&] {
        ++calls;
        ASSERT_TRUE(reactor().modify(a.ours.get(), 0));
        ASSERT_TRUE(reactor().modify(b.ours.get(), 0));
    };
    ASSERT_TRUE(reactor().add(a.ours.get(), Reactor::readable, pause_both));
    ASSERT_TRUE(reactor().add(b.ours.get(), Reactor::readable, pause_both));
    send_byte(a.peer);
    send_byte(b.peer);
    settle();
    EXPECT_EQ(calls, 1);
    reactor().remove(a.ours.get());
    reactor().remove(b.ours.get());
}

TEST_P(ReactorContract, AddInsideACallback) {
    Pair a = make_pair_of_sockets();
    Pair b = make_pair_of_sockets();
    std::vector<char> order;
    ASSERT_TRUE(reactor().add(a.ours.get(), Reactor::readable, [&] {
        order.push_back(receive_byte(a.ours.get()));
        ASSERT_TRUE(reactor().add(b.ours.get(), Reactor::readable, [&] {
            order.push_back(receive_byte(b.ours.get()));
            reactor().stop();
        }));
    }));
    send_byte(b.peer, 'b');
    send_byte(a.peer, 'a');
    ASSERT_TRUE(reactor().run());
    EXPECT_THAT(order, ElementsAre('a', 'b'));
    reactor().remove(a.ours.get());
    reactor().remove(b.ours.get());
}

TEST_P(ReactorContract, AReusedDescriptorNumberIsANewRegistration) {
    Pair old_pair = make_pair_of_sockets();
    Pair other = make_pair_of_sockets();
    Pair new_pair = make_pair_of_sockets();
    const int number = old_pair.ours.get();
    int old_calls = 0;
    int new_calls = 0;
    // Both ready in one turn; whoever is called first replaces what `number` means.
    const auto replace = [&] {
        ++old_calls;
        reactor().remove(number);
        ASSERT_EQ(::dup3(new_pair.ours.get(), number, O_CLOEXEC), number);
        reactor().remove(other.ours.get());
        ASSERT_TRUE(reactor().add(number, Reactor::readable, [&] {
            EXPECT_EQ(receive_byte(number), 'n');
            ++new_calls;
        }));
    };
    ASSERT_TRUE(reactor().add(number, Reactor::readable, replace));
    ASSERT_TRUE(reactor().add(other.ours.get(), Reactor::readable, replace));
    send_byte(old_pair.peer);
    send_byte(other.peer);
    settle();
    EXPECT_EQ(old_calls, 1);
    EXPECT_EQ(new_calls, 0) << "the old socket's byte is not the new one's";
    send_byte(new_pair.peer, 'n');
    settle();
    EXPECT_EQ(new_calls, 1);
    reactor().remove(number);
}

TEST_P(ReactorContract, AClosedSocketHangsUpOnceItIsRemoved) {
    for (const bool inside : {true, false}) {
        Pair pair = make_pair_of_sockets();
        ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [] {}));
        settle();
        const auto end = [&] {
            reactor().remove(pair.ours.get());
            pair.ours.reset();
        };
        if (inside) {
            reactor().post([&] {
                end();
                reactor().stop();
            });
            ASSERT_TRUE(reactor().run());
        } else {
            end();
        }
        char byte = 0;
        EXPECT_EQ(::recv(pair.peer.get(), &byte, 1, MSG_DONTWAIT), 0)
            << "inside a turn: " << inside;
    }
}

TEST_P(ReactorContract, AddErrors) {
    Pair pair = make_pair_of_sockets();
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [] {}));
    const Result<void> twice = reactor().add(pair.ours.get(), Reactor::writable, [] {});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code(), Errc::already_exists);
    reactor().remove(pair.ours.get());

    const Result<void> closed = reactor().add(100'000, Reactor::readable, [] {});
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code(), Errc::invalid_argument);
    EXPECT_EQ(closed.error().os_errno(), EBADF);

    const Result<void> silent = reactor().add(pair.peer.get(), Reactor::readable, nullptr);
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().code(), Errc::invalid_argument);

    const Result<void> absent = reactor().modify(pair.ours.get(), Reactor::readable);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code(), Errc::not_found);
    reactor().remove(pair.ours.get());  // no harm
}

TEST_P(ReactorContract, PostFromOtherThreadsRunsEachTaskOnceOnTheLoopsThread) {
    constexpr int kThreads = 4;
    constexpr int kEach = 500;
    std::map<int, int> last_of;  // written by tasks alone, so on one thread
    int ran = 0;
    const std::thread::id here = std::this_thread::get_id();
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 1; i <= kEach; ++i) {
                reactor().post([&, t, i] {
                    EXPECT_EQ(std::this_thread::get_id(), here);
                    EXPECT_EQ(++last_of[t], i) << "in order per thread";
                    if (++ran == kThreads * kEach) {
                        reactor().stop();
                    }
                });
            }
        });
    }
    ASSERT_TRUE(reactor().run());
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(ran, kThreads * kEach);
}

TEST_P(ReactorContract, ATaskPostedByATaskRunsOnALaterTurn) {
    std::string order;
    reactor().post([&] {
        order += 'a';
        reactor().post([&] {
            order += 'c';
            reactor().stop();
        });
    });
    reactor().post([&] { order += 'b'; });
    ASSERT_TRUE(reactor().run());
    EXPECT_EQ(order, "abc");
}

TEST_P(ReactorContract, StopBeforeRunEndsItAtOnceAndOnlyOnce) {
    bool ran = false;
    reactor().stop();
    reactor().post([&] { ran = true; });
    ASSERT_TRUE(reactor().run());
    EXPECT_FALSE(ran);
    settle();
    EXPECT_TRUE(ran) << "a task that was posted waits for the next run";
}

TEST_P(ReactorContract, TimersCallAboutEveryPeriod) {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    int slow = 0;
    int fast = 0;
    ASSERT_TRUE(reactor().every(20ms, [&] {
        if (++slow == 2) {
            reactor().stop();
        }
    }));
    ASSERT_TRUE(reactor().every(1ms, [&] { ++fast; }));
    ASSERT_TRUE(reactor().run());
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_GE(took, 40ms) << "never early";
    EXPECT_GE(fast, 2);
    EXPECT_LE(fast, std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

TEST_P(ReactorContract, ATimerCanAddATimer) {
    using namespace std::chrono_literals;
    int inner = 0;
    bool added = false;
    ASSERT_TRUE(reactor().every(1ms, [&] {
        if (!std::exchange(added, true)) {
            for (int i = 0; i < 50; ++i) {
                ASSERT_TRUE(reactor().every(1ms, [&] {
                    if (++inner == 50) {
                        reactor().stop();
                    }
                }));
            }
        }
    }));
    ASSERT_TRUE(reactor().run());
    EXPECT_GE(inner, 50);
}

TEST_P(ReactorContract, TimerErrors) {
    const Result<void> none = reactor().every(std::chrono::milliseconds(1), nullptr);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code(), Errc::invalid_argument);
    const Result<void> zero = reactor().every(std::chrono::milliseconds(0), [] {});
    ASSERT_FALSE(zero);
    EXPECT_EQ(zero.error().code(), Errc::invalid_argument);
}

TEST_P(ReactorContract, DescriptorsAreServedWhileATimerIsDueOnEveryTurn) {
    Pair pair = make_pair_of_sockets();
    int ticks = 0;
    ASSERT_TRUE(reactor().every(std::chrono::milliseconds(1), [&] {
        if (++ticks == 3) {
            send_byte(pair.peer);
        }
    }));
    ASSERT_TRUE(reactor().add(pair.ours.get(), Reactor::readable, [&] { reactor().stop(); }));
    ASSERT_TRUE(reactor().run());
    EXPECT_GE(ticks, 3);
    reactor().remove(pair.ours.get());
}

// Far more descriptors than either ring of the small io_uring holds: the submission queue fills
// up while arming, and the completions overflow when all become ready at once.
TEST_P(ReactorContract, FiveHundredDescriptorsAtOnce) {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 1100) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1100);
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    constexpr int kPairs = 500;
    std::vector<Pair> pairs;
    std::vector<int> calls(kPairs, 0);
    int called = 0;
    for (int i = 0; i < kPairs; ++i) {
        pairs.push_back(make_pair_of_sockets());
        const int fd = pairs.back().ours.get();
        ASSERT_TRUE(reactor().add(fd, Reactor::readable, [&, i, fd] {
            if (receive_byte(fd) == 'x') {
                ++calls[static_cast<std::size_t>(i)];
                if (++called % kPairs == 0) {
                    reactor().stop();
                }
            }
        }));
    }
    for (int round = 1; round <= 3; ++round) {
        for (const Pair& pair : pairs) {
            send_byte(pair.peer);
        }
        ASSERT_TRUE(reactor().run());
        EXPECT_EQ(calls, std::vector<int>(kPairs, round));
    }
    // Every second one goes; the others still work, and the gone ones are not called.
    for (std::size_t i = 0; i < kPairs; i += 2) {
        reactor().remove(pairs[i].ours.get());
    }
    for (const Pair& pair : pairs) {
        send_byte(pair.peer);
    }
    settle();
    settle();
    EXPECT_EQ(called, 3 * kPairs + kPairs / 2);
    for (std::size_t i = 0; i < kPairs; ++i) {
        EXPECT_EQ(calls[i], i % 2 == 0 ? 3 : 4) << i;
        reactor().remove(pairs[i].ours.get());
    }
}

TEST_P(ReactorContract, ASignalIsNoFailure) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    std::atomic<bool> ended = false;
    const pthread_t loop = ::pthread_self();
    std::thread pest([&] {
        while (!ended) {
            ::pthread_kill(loop, SIGUSR1);
            std::this_thread::yield();
        }
    });
    int ticks = 0;
    ASSERT_TRUE(reactor().every(std::chrono::milliseconds(1), [&] {
        if (++ticks == 20) {
            reactor().stop();
        }
    }));
    const Result<void> ran = reactor().run();
    ended = true;
    pest.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_TRUE(ran) << ran.error().message();
    EXPECT_GE(ticks, 20);
}

TEST_P(ReactorContract, DestructionDropsWhatWaits) {
    Pair pair = make_pair_of_sockets();
    auto token = std::make_shared<int>(0);
    UringOptions options;
    options.entries = GetParam().entries;
    Result<std::unique_ptr<Reactor>> made = make_reactor_with(GetParam().kind, nullptr, options);
    ASSERT_TRUE(made);
    ASSERT_TRUE((*made)->add(pair.ours.get(), Reactor::readable, [token] { ++*token; }));
    (*made)->post([token] { ++*token; });
    send_byte(pair.peer);
    made->reset();
    EXPECT_EQ(*token, 0);
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(receive_byte(pair.ours.get()), 'x') << "the descriptor is still the caller's";
}

INSTANTIATE_TEST_SUITE_P(All, ReactorContract,
                         ::testing::Values(Backend{"io_uring", ReactorKind::io_uring, 256},
                                           Backend{"io_uring_small", ReactorKind::io_uring, 2},
                                           Backend{"poll", ReactorKind::poll, 0}),
                         [](const ::testing::TestParamInfo<Backend>& backend) {
                             return std::string(backend.param.name);
                         });

TEST(ReactorKindWord, IsExact) {
    EXPECT_EQ(*parse_reactor_kind("auto"), ReactorKind::automatic);
    EXPECT_EQ(*parse_reactor_kind("io_uring"), ReactorKind::io_uring);
    EXPECT_EQ(*parse_reactor_kind("poll"), ReactorKind::poll);
    const Result<ReactorKind> wrong = parse_reactor_kind("epoll");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Errc::unknown_word);
    EXPECT_THAT(wrong.error().message(), HasSubstr("'epoll'"));
    EXPECT_THAT(wrong.error().message(), HasSubstr("auto, io_uring, poll"));
}

class UringOff : public ::testing::TestWithParam<int> {};

TEST_P(UringOff, AutomaticFallsBackAndSaysWhy) {
    UringOptions options;
    options.fail_setup_with = GetParam();
    std::string why_not = "stale";
    const auto reactor = make_reactor_with(ReactorKind::automatic, &why_not, options);
    ASSERT_TRUE(reactor) << reactor.error().message();
    EXPECT_EQ((*reactor)->kind(), "poll");
    if (GetParam() == EPERM) {
        EXPECT_THAT(why_not, HasSubstr("kernel.io_uring_disabled"));
        EXPECT_THAT(why_not, HasSubstr("EPERM"));
    } else {
        EXPECT_THAT(why_not, HasSubstr("ENOSYS"));
    }
}

TEST_P(UringOff, AskedForIsUnavailable) {
    UringOptions options;
    options.fail_setup_with = GetParam();
    const auto reactor = make_reactor_with(ReactorKind::io_uring, nullptr, options);
    ASSERT_FALSE(reactor);
    EXPECT_EQ(reactor.error().code(), Errc::unavailable);
    EXPECT_EQ(reactor.error().os_errno(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Errno, UringOff, ::testing::Values(EPERM, ENOSYS));

TEST(MakeReactor, AFullDescriptorTableIsNoReasonToFallBack) {
    UringOptions options;
    options.fail_setup_with = EMFILE;
    const auto reactor = make_reactor_with(ReactorKind::automatic, nullptr, options);
    ASSERT_FALSE(reactor);
    EXPECT_EQ(reactor.error().code(), Errc::io);
}

TEST(MakeReactor, WhyNotIsEmptyWhenNothingIsMissing) {
    std::string why_not = "stale";
    ASSERT_TRUE(make_reactor(ReactorKind::poll, &why_not));
    EXPECT_EQ(why_not, "");
}

// A child under a real system call filter that refuses `number` with EPERM, as container runtimes
// do. The child says on its standard output what it got.
std::string reactor_under_filter(unsigned number) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return "no pipe";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        const auto load_number = static_cast<unsigned>(offsetof(seccomp_data, nr));
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, load_number),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        sock_fprog program{4, code};
        std::string said = "no filter";
        if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) {
            std::string why_not;
            const auto reactor = make_reactor(ReactorKind::automatic, &why_not);
            said = reactor ? std::string((*reactor)->kind()) + ": " + why_not
                           : reactor.error().message();
        }
        const ssize_t written = ::write(ends[1], said.data(), said.size());
        ::_exit(written < 0 ? 1 : 0);
    }
    ::close(ends[1]);
    std::string said(4096, '\0');
    const ssize_t size = ::read(ends[0], said.data(), said.size());
    said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return said;
}

TEST(MakeReactor, FallsBackUnderASystemCallFilterOnSetUp) {
    const std::string said = reactor_under_filter(SYS_io_uring_setup);
    EXPECT_THAT(said, HasSubstr("poll: io_uring is not available"));
    EXPECT_THAT(said, HasSubstr("kernel.io_uring_disabled"));
    EXPECT_THAT(said, HasSubstr("EPERM"));
}

TEST(MakeReactor, FallsBackUnderASystemCallFilterOnUse) {
    const std::string said = reactor_under_filter(SYS_io_uring_enter);
    EXPECT_THAT(said, HasSubstr("poll: io_uring is not available"));
}

}  // namespace
}  // namespace cxlpool

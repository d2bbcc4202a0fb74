// Which signals a thread beside the main one takes.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace cxlpool {

// Threads that are started while it lives inherit a mask with every signal blocked, so that signals
// reach the main thread; except those that a thread raises by what it does itself. The kernel ends
// the process when it finds one of them blocked, and no handler (memory/guarded.hpp has one) is
// ever asked.
class SignalsForTheMainThread {
  public:
    SignalsForTheMainThread() noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
            ::sigdelset(&blocked, own);
        }
        ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~SignalsForTheMainThread() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsForTheMainThread(const SignalsForTheMainThread&) = delete;
    SignalsForTheMainThread& operator=(const SignalsForTheMainThread&) = delete;

  private:
    sigset_t before_;
};

}  // namespace cxlpool

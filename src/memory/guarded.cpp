#include "memory/guarded.hpp"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>

#include "memory/digest.hpp"

namespace cxlpool {
namespace {

struct Guard {
    sigjmp_buf landing;
    std::span<const std::byte> one;
    std::span<const std::byte> other;
    const std::byte* volatile fault = nullptr;
    volatile int fault_code = 0;
};

// Initial-exec, so that the handler never allocates.
thread_local Guard* volatile current __attribute__((tls_model("initial-exec"))) = nullptr;

bool covers(std::span<const std::byte> bytes, const void* at) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return address >= begin && address - begin < bytes.size();
}

void on_bus_error(int signal, siginfo_t* info, void*) {
    Guard* const guard = current;
    if (guard != nullptr && info->si_code > 0 &&
        (covers(guard->one, info->si_addr) || covers(guard->other, info->si_addr))) {
        guard->fault = static_cast<const std::byte*>(info->si_addr);
        guard->fault_code = info->si_code;
        siglongjmp(guard->landing, 1);
    }
    // Not ours. A fault comes again when we return and then ends the process, with its core dump;
    // a signal that somebody sent has to be sent again.
    std::signal(signal, SIG_DFL);
    if (info->si_code <= 0) {
        std::raise(signal);
    }
}

void install_handler() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        CXLPOOL_CHECK(::sigaction(SIGBUS, &action, nullptr) == 0);
    });
}

Error fault_error(const Guard& guard) {
    const std::span<const std::byte> range =
        covers(guard.one, guard.fault) ? guard.one : guard.other;
    const auto offset = guard.fault - range.data();
    return Error{Errc::io,
                 "the memory at offset " + std::to_string(offset) + " of " +
                     std::to_string(range.size()) + " bytes is gone: " +
                     (guard.fault_code == BUS_MCEERR_AR || guard.fault_code == BUS_MCEERR_AO
                          ? "a memory failure"
                          : "a hole was punched in it or its device was removed")};
}

}  // namespace

Result<void> run_guarded(std::span<const std::byte> one, std::span<const std::byte> other,
                         void (*work)(void*), void* argument) {
    install_handler();
    CXLPOOL_CHECK(current == nullptr);
    // A thread that blocks SIGBUS would be killed by a fault instead of reaching the handler.
    sigset_t bus_error;
    sigset_t before;
    ::sigemptyset(&bus_error);
    ::sigaddset(&bus_error, SIGBUS);
    CXLPOOL_CHECK(::pthread_sigmask(SIG_UNBLOCK, &bus_error, &before) == 0);
    Guard guard;
    guard.one = one;
    guard.other = other;
    // No mask is saved by the jump: the one from before is put back on both ways out.
    if (sigsetjmp(guard.landing, 0) == 0) {
        current = &guard;
        work(argument);
    }
    current = nullptr;
    CXLPOOL_CHECK(::pthread_sigmask(SIG_SETMASK, &before, nullptr) == 0);
    if (guard.fault != nullptr) {
        return fault_error(guard);
    }
    return {};
}

Result<void> guarded_zero(std::span<std::byte> bytes) {
    return run_guarded(
        bytes, {},
        [](void* argument) {
            const auto& all = *static_cast<std::span<std::byte>*>(argument);
            std::memset(all.data(), 0, all.size());
        },
        &bytes);
}

Result<void> guarded_check_zero(std::span<const std::byte> bytes) {
    struct Job {
        std::span<const std::byte> bytes;
        std::size_t first = 0;  // that is not zero
    } job{bytes, bytes.size()};
    CXLPOOL_TRY(run_guarded(
        bytes, {},
        [](void* argument) {
            Job& all = *static_cast<Job*>(argument);
            const auto other = std::find_if(all.bytes.begin(), all.bytes.end(),
                                            [](std::byte byte) { return byte != std::byte{0}; });
            all.first = static_cast<std::size_t>(other - all.bytes.begin());
        },
        &job));
    if (job.first != bytes.size()) {
        return Error{Errc::malformed, "byte " + std::to_string(job.first) + " of " +
                                          std::to_string(bytes.size()) + " is not zero"};
    }
    return {};
}

Result<void> guarded_copy(std::span<std::byte> to, std::span<const std::byte> from) {
    CXLPOOL_CHECK(to.size() == from.size());
    struct Copy {
        std::span<std::byte> to;
        std::span<const std::byte> from;
    } copy{to, from};
    return run_guarded(
        to, from,
        [](void* argument) {
            const Copy& job = *static_cast<Copy*>(argument);
            std::memcpy(job.to.data(), job.from.data(), job.from.size());
        },
        &copy);
}

Result<ContentDigest> guarded_digest(std::span<const std::byte> bytes) {
    struct Job {
        std::span<const std::byte> bytes;
        ContentDigest digest;
    } job{bytes, {}};
    digest_bytes({});  // So that nothing is initialised for the first time under the guard.
    CXLPOOL_TRY(run_guarded(
        bytes, {},
        [](void* argument) {
            Job& all = *static_cast<Job*>(argument);
            all.digest = digest_bytes(all.bytes);
        },
        &job));
    return job.digest;
}

}  // namespace cxlpool

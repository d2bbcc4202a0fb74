// What a test asks the kernel about this process, and code run as another user.
#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iterator>

namespace cxlpool::test {

// Descriptors that are open in this process.
inline std::size_t open_descriptors() {
    // One of them belongs to the listing.
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;
}

inline bool can_change_user() {
    return ::geteuid() == 0;
}

// The result of `code` in a child that runs as this user, without groups or capabilities; -1 when
// the child could not become that user. `code` returns 0 to 100.
template <typename Code>
int run_as(uid_t user, Code code) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
            ::setresuid(user, user, user) != 0) {
            ::_exit(125);
        }
        ::_exit(code());
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) <= 100 ? WEXITSTATUS(status) : -1;
}

}  // namespace cxlpool::test

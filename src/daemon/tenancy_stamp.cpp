#include "daemon/tenancy_stamp.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/directory.hpp"
#include "base/unique_fd.hpp"

namespace cxlpool {
namespace {

Result<void> check_stamp(const std::string& path, int fd, TenancyMode mode) {
    std::array<char, 32> text{};
    const ssize_t size = ::read(fd, text.data(), text.size() - 1);
    if (size < 0) {
        return os_error("reading '" + path + "'", errno);
    }
    std::string_view word(text.data(), static_cast<std::size_t>(size));
    word = word.substr(0, word.find('\n'));
    const std::optional<TenancyMode> stamped = parse_tenancy_mode(word);
    if (!stamped) {
        return Error{Errc::malformed, "'" + path +
                                          "' names no tenancy mode; restore it, or start "
                                          "with an empty state directory"};
    }
    if (*stamped != mode) {
        return Error{Errc::tenancy_mismatch,
                     "tenancy_mismatch: this state directory belongs to tenancy \"" +
                         std::string(word) + "\" ('" + path + "'), the configuration says \"" +
                         std::string(to_word(mode)) + "\"; use another state directory"};
    }
    return {};
}

std::string stamp_of(const std::string& state_directory) {
    return state_directory + "/tenancy";
}

}  // namespace

Result<void> check_tenancy(const std::string& state_directory, TenancyMode mode) {
    const std::string path = stamp_of(state_directory);
    const UniqueFd existing(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (existing) {
        return check_stamp(path, existing.get(), mode);
    }
    if (errno == EACCES) {
        return {};
    }
    if (errno != ENOENT) {
        return os_error("opening '" + path + "'", errno);
    }
    // The last directory is made at the start, and no other.
    return check_makeable(state_directory, "making the state directory '" + state_directory + "'");
}

Result<void> stamp_tenancy(const std::string& state_directory, TenancyMode mode) {
    if (::mkdir(state_directory.c_str(), 0700) != 0 && errno != EEXIST) {
        return os_error("making the state directory '" + state_directory + "'", errno);
    }
    const std::string path = stamp_of(state_directory);
    const UniqueFd existing(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (existing) {
        return check_stamp(path, existing.get(), mode);
    }
    if (errno != ENOENT) {
        return os_error("opening '" + path + "'", errno);
    }
    // Written aside and moved into place, so that a crash leaves the whole word or nothing.
    const std::string temporary = path + ".new";
    UniqueFd fresh(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fresh) {
        return os_error("writing '" + temporary + "'", errno);
    }
    const std::string word = std::string(to_word(mode)) + "\n";
    if (::write(fresh.get(), word.data(), word.size()) != static_cast<ssize_t>(word.size()) ||
        ::fsync(fresh.get()) != 0 || ::rename(temporary.c_str(), path.c_str()) != 0) {
        return os_error("writing '" + path + "'", errno);
    }
    return {};
}

}  // namespace cxlpool

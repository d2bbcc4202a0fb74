#include "state/state_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <string_view>

namespace cxlpool::state {
namespace {

constexpr std::string_view kDamaged = "state.db.damaged-";
// What SQLite may keep beside a file.
constexpr std::array<const char*, 3> kBeside{"-wal", "-shm", "-journal"};
// Starts within one second that each found a damaged file.
constexpr int kMaxSameSecond = 100;

std::string utc(Timestamp wall) {
    const auto seconds = static_cast<std::time_t>(wall.ns / 1'000'000'000ULL);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
    return {text.data(), size};
}

Result<void> sync_directory_above(const std::string& path) {
    const std::size_t slash = path.rfind('/', path.find_last_not_of('/'));
    const std::string above = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const UniqueFd fd(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) {
        return os_error("making '" + path + "' durable", errno);
    }
    return {};
}

}  // namespace

StateDirectory::StateDirectory(std::string path, UniqueFd fd)
    : path_(std::move(path)), fd_(std::move(fd)) {}

Result<StateDirectory> StateDirectory::hold(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) == 0) {
        CXLPOOL_TRY(sync_directory_above(path));
    } else if (errno != EEXIST) {
        return os_error("making the state directory '" + path + "'", errno);
    }
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) {
        return os_error("opening the state directory '" + path + "'", errno);
    }
    StateDirectory directory(path, std::move(fd));
    if (::flock(directory.fd_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return Error{Errc::unavailable,
                         "another cxlpoold uses '" + directory.file() +
                             "'; stop it, or give this one a state_directory of its own"};
        }
        return os_error("locking the state directory '" + path + "'", errno);
    }
    return directory;
}

StateDirectory StateDirectory::look(const std::string& path) {
    return {path, UniqueFd()};
}

Result<bool> StateDirectory::exists(const std::string& path) const {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        return true;
    }
    if (errno != ENOENT) {
        return os_error("looking for '" + path + "'", errno);
    }
    return false;
}

Result<bool> StateDirectory::has_file() const {
    return exists(file());
}

Result<bool> StateDirectory::has_leftovers() const {
    for (const char* ending : kBeside) {
        const Result<bool> there = exists(file() + ending);
        if (!there || *there) {
            return there;
        }
    }
    return false;
}

Result<std::vector<std::string>> StateDirectory::kept() const {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(path_.c_str()), &::closedir);
    if (!listing) {
        return os_error("listing the state directory '" + path_ + "'", errno);
    }
    std::vector<std::string> out;
    errno = 0;
    while (const dirent* entry = ::readdir(listing.get())) {
        const std::string_view name(entry->d_name);
        if (name.starts_with(kDamaged)) {
            out.emplace_back(name);
        }
    }
    if (errno != 0) {
        return os_error("listing the state directory '" + path_ + "'", errno);
    }
    std::sort(out.begin(), out.end());
    return out;
}

Result<std::string> StateDirectory::keep_aside(Timestamp wall) const {
    const std::string stem = path_ + "/" + std::string(kDamaged) + utc(wall);
    // Free with every ending, so that what belongs together keeps one name.
    std::string name;
    for (int attempt = 1; name.empty(); ++attempt) {
        const std::string candidate = attempt == 1 ? stem : stem + "." + std::to_string(attempt);
        bool taken = false;
        for (const char* ending : {"", kBeside[0], kBeside[1], kBeside[2]}) {
            const Result<bool> there = exists(candidate + ending);
            if (!there) {
                return there.error();
            }
            taken = taken || *there;
        }
        if (!taken) {
            name = candidate;
        } else if (attempt == kMaxSameSecond) {
            return Error{Errc::io, "no name is left for keeping '" + file() + "' aside"};
        }
    }
    // The file first: whatever comes between, the next start finds something that was kept.
    for (const char* ending : {"", kBeside[0], kBeside[1], kBeside[2]}) {
        if (::rename((file() + ending).c_str(), (name + ending).c_str()) != 0 && errno != ENOENT) {
            return os_error("keeping '" + file() + ending + "' aside", errno);
        }
    }
    CXLPOOL_TRY(sync());
    return name;
}

Result<void> StateDirectory::begin_file() const {
    for (const char* ending : {"", kBeside[0], kBeside[1], kBeside[2]}) {
        if (::unlink((unfinished_file() + ending).c_str()) != 0 && errno != ENOENT) {
            return os_error("removing '" + unfinished_file() + ending + "'", errno);
        }
    }
    const UniqueFd fd(::open(unfinished_file().c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) {
        return os_error("making '" + unfinished_file() + "'", errno);
    }
    return {};
}

Result<void> StateDirectory::finish_file() const {
    const Result<bool> there = has_file();
    if (!there) {
        return there.error();
    }
    if (*there) {
        return Error{Errc::io, "'" + file() + "' came into being meanwhile; start again"};
    }
    if (::rename(unfinished_file().c_str(), file().c_str()) != 0) {
        return os_error("putting '" + file() + "' in place", errno);
    }
    return sync();
}

Result<void> StateDirectory::remove(const std::string& name) const {
    const std::string path = path_ + "/" + name;
    if (::unlink(path.c_str()) != 0) {
        return errno == ENOENT ? Result<void>() : os_error("removing '" + path + "'", errno);
    }
    return sync();
}

Result<void> StateDirectory::sync() const {
    return ::fsync(fd_.get()) == 0 ? Result<void>()
                                   : os_error("making '" + path_ + "' durable", errno);
}

}  // namespace cxlpool::state

#include "cxlpoolctl/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <istream>
#include <memory>

#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::size_t kStepBytes = 256U << 10U;

Error too_large(const std::string& name, std::size_t max_bytes) {
    return Error{Errc::too_large, name + ": larger than " + format_bytes(max_bytes) +
                                      ", which is the most that is read"};
}

Result<std::string> read_stream(std::istream& in, std::size_t max_bytes) {
    std::string content;
    std::string step(kStepBytes, '\0');
    while (in) {
        in.read(step.data(), static_cast<std::streamsize>(step.size()));
        content.append(step.data(), static_cast<std::size_t>(in.gcount()));
        if (content.size() > max_bytes) {
            return too_large("standard input", max_bytes);
        }
    }
    if (in.bad()) {
        return Error{Errc::io, "standard input: cannot be read"};
    }
    return content;
}

// Goes away with the object, unless the rename took it.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::string& beside) : path_(beside + ".XXXXXX") {
        fd_ = UniqueFd(::mkostemp(path_.data(), O_CLOEXEC));
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        if (fd_) {
            ::unlink(path_.c_str());
        }
    }

    int fd() const noexcept { return fd_.get(); }
    bool rename_to(const std::string& path) noexcept {
        if (::rename(path_.c_str(), path.c_str()) != 0) {
            return false;
        }
        fd_.reset();
        return true;
    }

  private:
    std::string path_;
    UniqueFd fd_;
};

// What a rename may replace: nothing yet, or a regular file, behind symbolic links too. Replacing a
// device node would take it away from the whole machine.
Result<std::string> regular_target(const std::string& path) {
    struct stat existing {};
    if (::stat(path.c_str(), &existing) != 0) {
        return path;
    }
    if (!S_ISREG(existing.st_mode)) {
        return Error{Errc::io, path + ": is no regular file, and only such a file is replaced"};
    }
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real ? std::string(real.get()) : path;
}

mode_t mode_for(const std::string& path) {
    struct stat existing {};
    if (::stat(path.c_str(), &existing) == 0) {
        return existing.st_mode & 0777U;
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666U & ~mask;
}

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno != EINTR) {
            return false;
        }
        content.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return true;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::istream& standard_input,
                              std::size_t max_bytes) {
    if (path == "-") {
        return read_stream(standard_input, max_bytes);
    }
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd) {
        return os_error(path + ": cannot be opened", errno);
    }
    std::string content;
    std::size_t filled = 0;
    while (true) {
        content.resize(filled + kStepBytes);
        const ssize_t got = ::read(fd.get(), content.data() + filled, kStepBytes);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return os_error(path + ": cannot be read", errno);
        }
        filled += static_cast<std::size_t>(got);
        content.resize(filled);
        if (got == 0) {
            return content;
        }
        if (filled > max_bytes) {
            return too_large(path, max_bytes);
        }
    }
}

Result<void> write_file_atomically(const std::string& given_path, std::string_view content) {
    const Result<std::string> target = regular_target(given_path);
    if (!target) {
        return target.error();
    }
    const std::string& path = *target;
    TemporaryFile file(path);
    if (file.fd() < 0) {
        return os_error(path + ": no file can be made beside it", errno);
    }
    if (!write_all(file.fd(), content) || ::fchmod(file.fd(), mode_for(path)) != 0 ||
        ::fsync(file.fd()) != 0 || !file.rename_to(path)) {
        return os_error(path + ": cannot be written", errno);
    }
    return {};
}

}  // namespace cxlpool::ctl

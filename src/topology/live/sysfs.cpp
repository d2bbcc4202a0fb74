#include "topology/live/sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace cxlpool::live {
namespace {

constexpr std::size_t kMaxAttributeBytes = 64U << 10U;
constexpr std::uint32_t kMaxNodes = 1U << 16U;

// How the kernel answers for a device that is not there, or is just going away.
bool means_gone(int os_errno) {
    return os_errno == ENOENT || os_errno == ENODEV || os_errno == ENXIO || os_errno == ENOTDIR;
}

std::string trimmed(std::string text) {
    const std::size_t last = text.find_last_not_of(std::string_view(" \t\r\n\0", 5));
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text;
}

// The whole file, or the errno that ended the reading.
int read_all(const std::string& path, std::string& out) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        return errno;
    }
    std::array<char, 4096> chunk{};
    while (out.size() < kMaxAttributeBytes) {
        const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : 0;
        }
        out.append(chunk.data(), static_cast<std::size_t>(got));
    }
    return 0;
}

void log_malformed(FindingLog& log, const std::string& path, const Error& error) {
    log.add({Finding::Severity::warning, "malformed_attribute", path,
             path + ": " + error.message() + "; it counts as unknown",
             "a newer kernel, if this one is old; if it stays, report it with the file's content"});
}

}  // namespace

std::optional<std::string> Sysfs::text(const std::string& path) const {
    std::string content;
    const int failure = read_all(root_ + path, content);
    if (failure == 0) {
        return trimmed(std::move(content));
    }
    if (failure == EACCES || failure == EPERM) {
        log_.denied(path);
    } else if (!means_gone(failure) && failure != EISDIR) {
        log_.failed(path, failure);
    }
    return std::nullopt;
}

std::optional<std::uint64_t> Sysfs::u64(const std::string& path) const {
    const std::optional<std::string> content = text(path);
    if (!content) {
        return std::nullopt;
    }
    const Result<std::uint64_t> number = parse_u64(*content);
    if (!number) {
        log_malformed(log_, path, number.error());
        return std::nullopt;
    }
    return *number;
}

std::optional<std::uint32_t> Sysfs::u32(const std::string& path) const {
    const std::optional<std::uint64_t> number = u64(path);
    if (!number || *number > UINT32_MAX) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint64_t> Sysfs::nonzero(const std::string& path) const {
    const std::optional<std::uint64_t> number = u64(path);
    return number && *number != 0 ? number : std::nullopt;
}

std::optional<bool> Sysfs::flag(const std::string& path) const {
    const std::optional<std::uint64_t> number = u64(path);
    return number ? std::optional<bool>(*number != 0) : std::nullopt;
}

std::optional<std::uint32_t> Sysfs::node(const std::string& path) const {
    const std::optional<std::string> content = text(path);
    if (!content) {
        return std::nullopt;
    }
    const Result<std::int64_t> number = parse_i64(*content);
    if (!number) {
        log_malformed(log_, path, number.error());
        return std::nullopt;
    }
    // The kernel writes -1 for "no node", and some writers that of an unsigned.
    if (*number < 0 || *number >= static_cast<std::int64_t>(kMaxNodes)) {
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(*number);
}

std::vector<std::string> Sysfs::list(const std::string& path) const {
    struct Closer {
        void operator()(DIR* dir) const noexcept { ::closedir(dir); }
    };
    const std::unique_ptr<DIR, Closer> dir(::opendir((root_ + path).c_str()));
    if (!dir) {
        if (errno == EACCES || errno == EPERM) {
            log_.denied(path);
        } else if (!means_gone(errno)) {
            log_.failed(path, errno);
        }
        return {};
    }
    std::vector<std::string> names;
    for (;;) {
        errno = 0;
        const dirent* const entry = ::readdir(dir.get());
        if (entry == nullptr) {
            if (errno != 0 && !means_gone(errno)) {
                log_.failed(path, errno);
            }
            break;
        }
        const std::string_view name(entry->d_name);
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    std::sort(names.begin(), names.end(), natural_less);
    return names;
}

bool Sysfs::exists(const std::string& path) const {
    struct stat status {};
    return ::lstat((root_ + path).c_str(), &status) == 0;
}

std::optional<std::string> Sysfs::resolve(const std::string& path) const {
    const std::unique_ptr<char, decltype(&std::free)> real(
        ::realpath((root_ + path).c_str(), nullptr), &std::free);
    if (!real) {
        return std::nullopt;
    }
    std::string_view found(real.get());
    if (root_.empty()) {
        return std::string(found);
    }
    // The root itself may stand behind a link (/tmp often does).
    const std::unique_ptr<char, decltype(&std::free)> root(::realpath(root_.c_str(), nullptr),
                                                           &std::free);
    if (!root || !is_within(found, root.get())) {
        return std::nullopt;
    }
    found.remove_prefix(std::strlen(root.get()));
    return std::string(found);
}

std::optional<std::string> Sysfs::link_name(const std::string& path) const {
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink((root_ + path).c_str(), target.data(), target.size());
    if (size <= 0) {
        return std::nullopt;
    }
    return base_name(std::string_view(target.data(), static_cast<std::size_t>(size)));
}

std::string parent_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? std::string_view{}
                                                       : path.substr(0, slash));
}

std::string base_name(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::optional<std::uint32_t> numbered(std::string_view name, std::string_view prefix) {
    if (name.substr(0, prefix.size()) != prefix || name.size() == prefix.size()) {
        return std::nullopt;
    }
    const char* const first = name.data() + prefix.size();
    const char* const last = name.data() + name.size();
    std::uint32_t number = 0;
    const auto [end, ec] = std::from_chars(first, last, number);
    if (ec != std::errc{} || end != last) {
        return std::nullopt;
    }
    return number;
}

bool is_within(std::string_view path, std::string_view ancestor) {
    return path.substr(0, ancestor.size()) == ancestor &&
           (path.size() == ancestor.size() || path[ancestor.size()] == '/');
}

bool natural_less(const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) < 0;
}

std::optional<std::vector<std::uint32_t>> parse_node_list(std::string_view text) {
    std::vector<std::uint32_t> nodes;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t dash = std::min(part.find('-'), part.size());
        const std::optional<std::uint32_t> first = numbered(part.substr(0, dash), "");
        const std::optional<std::uint32_t> last =
            dash == part.size() ? first : numbered(part.substr(dash + 1), "");
        if (!first || !last || *last < *first || *last >= kMaxNodes) {
            return std::nullopt;
        }
        for (std::uint32_t node = *first; node <= *last; ++node) {
            nodes.push_back(node);
        }
        if (nodes.size() > kMaxNodes) {
            return std::nullopt;
        }
    }
    return nodes;
}

}  // namespace cxlpool::live

// The configuration as a file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/unique_fd.hpp"
#include "daemon/config.hpp"
#include "daemon/config_document.hpp"

namespace cxlpool {
namespace {

Result<std::string> read_whole(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file && errno == ENOENT) {
        return Error{Errc::invalid_argument,
                     "there is no configuration '" + path +
                         "'; copy cxlpoold.toml.example there and write who may do what"};
    }
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return os_error("reading the configuration '" + path + "'", errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return Error{Errc::io, "the configuration '" + path + "' is not a regular file"};
    }
    // It says who has which rights: whoever may write it has them all.
    if ((status.st_mode & S_IWOTH) != 0) {
        return Error{Errc::invalid_argument, path +
                                                 ":1:1: everybody may write this file, and it "
                                                 "gives rights; chmod o-w it"};
    }
    std::string text;
    std::array<char, 65'536> buffer{};
    while (text.size() <= config::kMaxDocumentBytes) {
        const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
        if (size == 0) {
            return text;
        }
        if (size > 0) {
            text.append(buffer.data(), static_cast<std::size_t>(size));
        } else if (errno != EINTR) {
            return os_error("reading the configuration '" + path + "'", errno);
        }
    }
    return text;  // too long, which the parser says
}

}  // namespace

Result<Config> read_config(const std::string& path) {
    const Result<std::string> text = read_whole(path);
    if (!text) {
        return text.error();
    }
    return parse_config(path, *text);
}

}  // namespace cxlpool

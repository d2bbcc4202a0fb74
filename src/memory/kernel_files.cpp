#include "memory/kernel_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace cxlpool {
namespace {

constexpr std::size_t kMaxBytes = 64U << 10U;

Errc code_of(int os_errno) noexcept {
    switch (os_errno) {
        case ENOENT:
        case ENODEV:
            return Errc::not_found;
        case EACCES:
        case EPERM:
            return Errc::not_permitted;
        default:
            return Errc::io;
    }
}

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view kBlank = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::uint32_t> number_in(std::string_view text) noexcept {
    std::uint32_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

}  // namespace

Result<std::string> read_kernel_file(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
        return os_error("reading '" + path + "'", errno, code_of(errno));
    }
    std::string text;
    std::array<char, 4096> buffer{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return os_error("reading '" + path + "'", errno, code_of(errno));
        }
        if (got == 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kMaxBytes) {
            return Error{Errc::too_large, "'" + path + "' is longer than 64 KiB"};
        }
    }
}

Result<std::uint64_t> read_kernel_u64(const std::string& path) {
    const Result<std::string> text = read_kernel_file(path);
    if (!text) {
        return Error(text.error());
    }
    Result<std::uint64_t> number = parse_u64(*text);
    if (!number) {
        return std::move(number).error().with_context("'" + path + "'");
    }
    return number;
}

bool list_contains(std::string_view list, std::uint32_t number) noexcept {
    std::string_view rest = trimmed(list);
    bool found = false;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view range = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
        const std::size_t dash = range.find('-');
        const std::optional<std::uint32_t> first = number_in(range.substr(0, dash));
        const std::optional<std::uint32_t> last =
            dash == std::string_view::npos ? first : number_in(range.substr(dash + 1));
        if (!first || !last) {
            return false;
        }
        found = found || (number >= *first && number <= *last);
    }
    return found;
}

std::optional<std::string_view> line_value(std::string_view text, std::string_view key) noexcept {
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        if (line.size() > key.size() && line.substr(0, key.size()) == key &&
            line[key.size()] == ':') {
            return trimmed(line.substr(key.size() + 1));
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return std::nullopt;
}

}  // namespace cxlpool

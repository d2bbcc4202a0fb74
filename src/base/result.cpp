#include "base/result.hpp"

#include <cstdio>
#include <cstring>

namespace cxlpool {

void check_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "cxlpool: broken invariant: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

Error os_error(std::string message, int os_errno, Errc code) {
    const char* name = ::strerrorname_np(os_errno);
    const char* text = ::strerrordesc_np(os_errno);
    message.append(": ").append(text != nullptr ? text : "unknown error");
    message.append(" (").append(name != nullptr ? name : std::to_string(os_errno)).append(")");
    return Error{code, std::move(message), os_errno};
}

}  // namespace cxlpool

// Invariants that hold whatever a peer or the environment does.
#pragma once

namespace cxlpool {

// Prints the broken invariant to stderr and aborts; in release builds too.
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace cxlpool

#define CXLPOOL_CHECK(expression)                                     \
    do {                                                              \
        if (!(expression)) {                                          \
            ::cxlpool::check_failed(#expression, __FILE__, __LINE__); \
        }                                                             \
    } while (false)

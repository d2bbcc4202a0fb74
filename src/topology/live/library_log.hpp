// Turns what libcxl and libdaxctl would print to stderr into findings.
#pragma once

#include <cstdarg>

#include "topology/live/finding_log.hpp"

namespace cxlpool::live {

// One line of `library` ("libcxl"), given as printf arguments.
void log_library_line(FindingLog& log, const char* library, const char* format, va_list args)
    __attribute__((format(printf, 3, 0)));

}  // namespace cxlpool::live

#include "topology/live/library_log.hpp"

#include <array>
#include <cstdio>
#include <string>

namespace cxlpool::live {

void log_library_line(FindingLog& log, const char* library, const char* format, va_list args) {
    std::array<char, 512> text{};
    if (std::vsnprintf(text.data(), text.size(), format, args) < 0) {
        return;
    }
    std::string line(text.data());
    for (char& c : line) {
        c = c >= ' ' && c <= '~' ? c : ' ';
    }
    line.resize(line.find_last_not_of(' ') + 1);
    log.add({Finding::Severity::warning, "library_message", library,
             std::string(library) + " says: " + line,
             "read the other findings first: they say what is not usable"});
}

}  // namespace cxlpool::live

// Files that a user names on the command line.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool::ctl {

// The whole file, or all of `standard_input` for "-". Errors: io (with the file's name and why),
// too_large.
Result<std::string> read_file(const std::string& path, std::istream& standard_input,
                              std::size_t max_bytes);

// Readers see the old content or all of the new one: a temporary file beside it, then a rename.
// The mode of a file that is replaced stays; a new one gets 0666 less the umask. Errors: io.
Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace cxlpool::ctl

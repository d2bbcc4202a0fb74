// Log lines on stderr: with priorities that journald reads when it listens, else with a time.
#pragma once

#include <string>

namespace cxlpool {

// `level` is a word that parse_config accepted.
void start_logging(const std::string& level);

// From now on, whatever threads log.
void set_log_level(const std::string& level);

}  // namespace cxlpool

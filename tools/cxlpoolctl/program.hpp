// The command line as a whole: help, version, choice of the verb.
#pragma once

#include <span>
#include <string>

#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {

// `arguments` without the program's own name. Returns the exit status.
int run_program(std::span<const std::string> arguments, Streams& streams);

}  // namespace cxlpool::ctl

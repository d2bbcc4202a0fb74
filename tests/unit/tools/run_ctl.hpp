// Runs a command line of cxlpoolctl inside the test.
#pragma once

#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "cxlpoolctl/program.hpp"

namespace cxlpool::ctl {

struct Outcome {
    int status = -1;
    std::string out;
    std::string err;
};

inline Outcome run_ctl(const std::vector<std::string>& arguments, const std::string& input = {}) {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Streams streams{in, out, err};
    Outcome outcome;
    outcome.status = run_program(arguments, streams);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
}

}  // namespace cxlpool::ctl

#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cxlpoolctl/program.hpp"

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    cxlpool::ctl::Streams streams{std::cin, std::cout, std::cerr};
    int status = cxlpool::ctl::kExitNo;
    try {
        const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
        status = cxlpool::ctl::run_program(arguments, streams);
    } catch (const std::exception& problem) {  // no memory; nothing else is left to throw
        std::cerr << "cxlpoolctl: " << problem.what() << '\n';
    }
    // A reader that went away ends the program by SIGPIPE; a full disk has to be said.
    errno = 0;
    if (!std::cout.flush()) {
        std::cerr << "cxlpoolctl: standard output: "
                  << (errno != 0 ? std::strerror(errno) : "cannot be written") << '\n';
        return cxlpool::ctl::kExitNo;
    }
    return status;
}

// cxlpoold that kills itself at one write of the journal of erasures: before it, or after it.
//
// crashing_daemon STEP before|after [cxlpoold's arguments...]
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "daemon/daemon.hpp"

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: crashing_daemon STEP before|after [ARGUMENT...]\n";
        return 2;
    }
    const std::string wanted = argv[1];
    const bool after = std::string(argv[2]) == "after";
    return cxlpool::run_daemon(argc - 2, argv + 2, [&](std::string_view step, bool written) {
        if (step == wanted && written == after) {
            ::kill(::getpid(), SIGKILL);
        }
    });
}

#include "daemon/daemon.hpp"

int main(int argc, char** argv) {
    return cxlpool::run_daemon(argc, argv);
}

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>

#include "support/umockdev_testbed.hpp"

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    // A testbed is hundreds of small files, for which memory is much faster than most disks.
    if (::access("/dev/shm", W_OK) == 0) {
        ::setenv("TMPDIR", "/dev/shm", 1);
    }
    // umockdev knows whether its library is preloaded only while a testbed stands.
    cxlpool::test::UmockdevHandle probe(umockdev_testbed_new());
    if (umockdev_in_mock_environment() == FALSE) {
        std::puts("skipped: run it as `umockdev-wrapper PROGRAM`");
        return 77;
    }
    probe.reset();
    return RUN_ALL_TESTS();
}

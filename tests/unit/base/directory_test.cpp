#include "base/directory.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace cxlpool {
namespace {

TEST(CheckMakeable, AsksForTheDirectoryAbove) {
    for (const char* good : {"/new", "/", "/tmp/new", "/tmp/new/", "/tmp/new//", "new", "new/"}) {
        EXPECT_TRUE(check_makeable(good, "making")) << good;
    }
    for (const char* bad : {"/nonexistent/new", "/nonexistent/new/", "nonexistent/new"}) {
        const Result<void> checked = check_makeable(bad, "making it");
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().os_errno(), ENOENT);
        EXPECT_EQ(checked.error().message().substr(0, 9), "making it");
    }
}

}  // namespace
}  // namespace cxlpool

#include "cxlpoolctl/suggest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace cxlpool::ctl {
namespace {

constexpr std::array<std::string_view, 3> kWords{"topology", "profile", "status"};

TEST(DidYouMean, NamesTheNearestWord) {
    EXPECT_EQ(did_you_mean("toplogy", kWords), "; did you mean 'topology'?");
    EXPECT_EQ(did_you_mean("profiles", kWords), "; did you mean 'profile'?");
    EXPECT_EQ(did_you_mean("sttus", kWords), "; did you mean 'status'?");
}

TEST(DidYouMean, SaysNothingWhenNoWordIsNear) {
    EXPECT_EQ(did_you_mean("format", kWords), "");
    EXPECT_EQ(did_you_mean("x", kWords), "");
    EXPECT_EQ(did_you_mean("", kWords), "");
    EXPECT_EQ(did_you_mean("status", {}), "");
}

TEST(DidYouMean, RefusesToMeasureVeryLongWords) {
    EXPECT_EQ(did_you_mean(std::string(65, 's'), kWords), "");
}

}  // namespace
}  // namespace cxlpool::ctl

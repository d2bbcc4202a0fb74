#include "cxlpoolctl/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cxlpoolctl/sweep_plot.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Sweep must(std::string_view text) {
    Result<Sweep> sweep = parse_sweep(text);
    EXPECT_TRUE(sweep) << sweep.error().message();
    return std::move(sweep).value();
}

TEST(Sweep, GoesInStepsOrByAFactor) {
    EXPECT_EQ(must("tenants=1..1024").points.size(), 1024U);
    EXPECT_EQ(must("tenants=1..1024").points.back(), 1024U);
    EXPECT_FALSE(must("tenants=1..1024").geometric);
    EXPECT_THAT(must("hosts=1..10+4").points, ElementsAre(1, 5, 9));
    EXPECT_THAT(must("tokens=3..50*4").points, ElementsAre(3, 12, 48));
    EXPECT_TRUE(must("tokens=3..50*4").geometric);
    EXPECT_THAT(must("bytes=1MiB..4MiB*2").points, ElementsAre(1 << 20, 2 << 20, 4 << 20));
    EXPECT_THAT(must("bytes=1KiB..3KiB+1KiB").points, ElementsAre(1024, 2048, 3072));
    EXPECT_THAT(must("hosts=7..7").points, ElementsAre(7));
    EXPECT_EQ(must("tenants=1..10000").points.size(), kMaxSweepPoints);
}

TEST(Sweep, StopsWhereTheNumbersEnd) {
    EXPECT_THAT(must("tokens=18446744073709551614..18446744073709551615+5").points,
                ElementsAre(18446744073709551614U));
    EXPECT_EQ(must("tokens=1..18446744073709551615*2").points.size(), 64U);
}

TEST(Sweep, RefusesWhatIsNoSweep) {
    for (const char* text : {"",
                             "tenants",
                             "tenants=",
                             "tenants=5",
                             "tenants=1..",
                             "tenants=..5",
                             "tenants=0..5",
                             "tenants=5..4",
                             "tenants=1..5+",
                             "tenants=1..5*",
                             "tenants=1..5+0",
                             "tenants=1..5*1",
                             "tenants=1..5*0",
                             "tenants=-1..5",
                             "tenants=1...5",
                             "tenants=1..5+1*2",
                             "recompute=1..5",
                             "tenants=1MiB..2MiB",
                             "bytes=1..2furlongs",
                             "tenants=1..18446744073709551616",
                             "tenants=1..10001",
                             "bytes=1MiB..1GiB"}) {
        const Result<Sweep> sweep = parse_sweep(text);
        ASSERT_FALSE(sweep) << text;
        EXPECT_EQ(sweep.error().code(), Errc::invalid_argument);
        EXPECT_THAT(sweep.error().message(), HasSubstr("--sweep: '" + std::string(text) + "': "));
        EXPECT_THAT(sweep.error().message(), HasSubstr("tenants=1..1024*2"));
    }
    EXPECT_THAT(parse_sweep("bytes=1MiB..1GiB").error().message(),
                HasSubstr("more than 10000 points"));
}

SweepPlot example() {
    SweepPlot plot;
    plot.variable = "tenants";
    plot.title = "Fleet plan over cxl";
    plot.holds = Regime::coherent;
    plot.points = {{1, {4000, 4000, 4000}, {1U << 26U, 1U << 26U, 1U << 26U}},
                   {256, {1024000, 4000, 4000}, {1ULL << 34U, 1ULL << 34U, 1U << 26U}}};
    return plot;
}

TEST(SweepPlot, LabelsAxesWithUnitsAndDrawsThreeRegimes) {
    const std::string script = gnuplot_script(example());
    EXPECT_THAT(script, HasSubstr("set xlabel 'tenants'\n"));
    EXPECT_THAT(script, HasSubstr("set ylabel 'prefill tokens, millions'\n"));
    EXPECT_THAT(script, HasSubstr("set ylabel 'resident, GiB'\n"));
    EXPECT_THAT(script, HasSubstr("title 'private'"));
    EXPECT_THAT(script, HasSubstr("title 'copy_only'"));
    EXPECT_THAT(script, HasSubstr("title 'coherent (holds)'"));
    EXPECT_THAT(script, HasSubstr("\n 256 1.024 0.004 0.004 16 16 0.0625\n"));
    EXPECT_THAT(script, Not(HasSubstr("logscale")));
}

TEST(SweepPlot, ASweepByAFactorHasLogarithmicAxes) {
    SweepPlot plot = example();
    plot.geometric = true;
    plot.variable = "bytes";
    EXPECT_THAT(gnuplot_script(plot), HasSubstr("set logscale x 2\nset logscale y 10\n"));
    EXPECT_THAT(gnuplot_script(plot), HasSubstr("set xlabel 'size of the prefix, bytes'\n"));
}

TEST(SweepPlot, NoNameBecomesACommand) {
    SweepPlot plot = example();
    plot.title = "a'b`id`\n!touch x\n\"";
    EXPECT_THAT(gnuplot_script(plot), HasSubstr("title 'a''b`id`?!touch x?\"' font"));
}

}  // namespace
}  // namespace cxlpool::ctl

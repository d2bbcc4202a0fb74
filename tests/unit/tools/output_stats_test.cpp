#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cxlpoolctl/output.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

json::Value parsed(std::string_view text) {
    Result<json::Value> value = json::parse("test", text);
    EXPECT_TRUE(value) << (value ? "" : value.error().message());
    return value ? std::move(value).value() : json::Value{};
}

constexpr std::string_view kStats = R"({"uptime_s":90,
    "pools":[{"pool":"cxl0","tier":"cxl","capacity_bytes":1073741824,"used_bytes":268435456,
              "reserved_bytes":536870912}],
    "tenants":[
      {"tenant":1,"name":"al\"pha","weight":100,"hits":900,"misses":100,"evictions_caused":7,
       "evictions_suffered":5,"cells_materialised":40,"bytes_materialised":4096,"cells":30,
       "bytes":2048,"bytes_resident":{"cxl":268435456},"bytes_reserved":{"cxl0":536870912},
       "live_leases":2,"refused":{"capacity":3,"not_found":1}},
      {"tenant":2,"name":"beta","weight":300,"hits":0,"misses":0,"evictions_caused":0,
       "evictions_suffered":2,"cells_materialised":2,"bytes_materialised":64,"cells":0,"bytes":0,
       "bytes_resident":{},"bytes_reserved":{},"live_leases":0,"refused":{}}],
    "evictions":[{"causer":1,"victim":1,"cells":5,"bytes":500},
                 {"causer":1,"victim":2,"cells":2,"bytes":200}]})";

TEST(PrintStats, ATableOfEachTenantAndOfWhoPushedOutWhom) {
    std::ostringstream out;
    print_stats(out, parsed(kStats), nullptr);
    EXPECT_THAT(out.str(), ContainsRegex("cxl0 +cxl +1 GiB +256 MiB +512 MiB"));
    EXPECT_THAT(out.str(), ContainsRegex("1 +al\"pha +900 +100 +90.0 % +40 +5 +7 +4 +30 +256 MiB "
                                         "+512 MiB +2"));
    EXPECT_THAT(out.str(), ContainsRegex("2 +beta +0 +0 +- +2 +2 +0 +0 +0 +0 B +0 B +0"));
    EXPECT_THAT(out.str(), ContainsRegex("1 +2 +2 +200 B"));
}

TEST(PrintStats, AnIntervalShowsWhatHasGrown) {
    std::string later(kStats);
    const auto change = [&later](std::string_view from, std::string_view to) {
        const std::size_t at = later.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        later.replace(at, from.size(), to);
    };
    change("\"hits\":900", "\"hits\":901");
    change("\"misses\":100", "\"misses\":103");
    change("\"capacity\":3", "\"capacity\":5");
    change("\"cells\":2,\"bytes\":200", "\"cells\":3,\"bytes\":300");
    std::ostringstream out;
    const json::Value before = parsed(kStats);
    print_stats(out, parsed(later), &before);
    EXPECT_THAT(out.str(), ContainsRegex("1 +al\"pha +1 +3 +25.0 % +0 +0 +0 +2 +30 +256 MiB"));
    EXPECT_THAT(out.str(), ContainsRegex("1 +2 +1 +100 B"));
    EXPECT_THAT(out.str(), Not(ContainsRegex("1 +1 +0"))) << "no row for what did not change";
    // A daemon that was started anew counts from 0 again.
    std::ostringstream anew;
    const json::Value after = parsed(later);
    print_stats(anew, before, &after);
    EXPECT_THAT(anew.str(), ContainsRegex("1 +al\"pha +900 +100 "));
}

TEST(PrintStats, AWindowThatAnOperatorHasBegunStandsForTheWholeTime) {
    std::string begun(kStats);
    begun.pop_back();
    begun += R"(,"window":{"started_at_ns":7,"seconds":30,
        "tenants":[{"tenant":1,"hits":1,"misses":3,"evictions_caused":6,"evictions_suffered":4,
                    "cells_materialised":8,"bytes_materialised":64,"refused":{"capacity":2}}],
        "evictions":[{"causer":1,"victim":2,"cells":1,"bytes":100}]}})";
    const json::Value stats = parsed(begun);
    std::ostringstream out;
    print_stats(out, stats, nullptr);
    EXPECT_THAT(out.str(), HasSubstr("Tenants, in the last 30 s\n"));
    EXPECT_THAT(out.str(), ContainsRegex("1 +al\"pha +1 +3 +25.0 % +8 +4 +6 +2 +30 +256 MiB"));
    EXPECT_THAT(out.str(), ContainsRegex("1 +2 +1 +100 B"));
    EXPECT_THAT(out.str(), Not(HasSubstr("500 B"))) << "before the window";
    // Intervals are of all that was counted, whoever begins windows meanwhile.
    std::ostringstream interval;
    const json::Value before = parsed(kStats);
    print_stats(interval, stats, &before);
    EXPECT_THAT(interval.str(), ContainsRegex("1 +al\"pha +0 +0 +- "));
    std::ostringstream scraped;
    print_prometheus(scraped, stats);
    EXPECT_THAT(scraped.str(), HasSubstr("result=\"hit\"} 900\n"));
}

TEST(PrintPrometheus, FamiliesWithHelpTypeAndEscapedLabels) {
    std::ostringstream out;
    print_prometheus(out, parsed(kStats));
    for (
        const char* line :
        {"# TYPE cxlpool_tenant_lookups_total counter\n",
         "cxlpool_tenant_lookups_total{tenant=\"1\",name=\"al\\\"pha\",result=\"hit\"} 900\n",
         "cxlpool_tenant_lookups_total{tenant=\"2\",name=\"beta\",result=\"miss\"} 0\n",
         "cxlpool_tenant_resident_bytes{tenant=\"1\",name=\"al\\\"pha\",tier=\"cxl\"} 268435456\n",
         "cxlpool_tenant_reserved_bytes{tenant=\"1\",name=\"al\\\"pha\",pool=\"cxl0\"} 536870912\n",
         "cxlpool_tenant_refused_requests_total{tenant=\"1\",name=\"al\\\"pha\",code=\"capacity\"} "
         "3\n",
         "cxlpool_evicted_cells_total{causer=\"1\",victim=\"2\"} 2\n",
         "cxlpool_pool_capacity_bytes{pool=\"cxl0\",tier=\"cxl\"} 1073741824\n",
         "cxlpool_uptime_seconds 90\n"}) {
        EXPECT_THAT(out.str(), HasSubstr(line));
    }
    // Every sample belongs to the family that was announced last.
    std::istringstream lines(out.str());
    std::string line;
    std::string family;
    while (std::getline(lines, line)) {
        if (line.rfind("# TYPE ", 0) == 0) {
            family = line.substr(7, line.find(' ', 7) - 7);
        } else if (line[0] != '#') {
            EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), family) << line;
        }
    }
}

}  // namespace
}  // namespace cxlpool::ctl

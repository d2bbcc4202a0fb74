#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cxlpoolctl/output.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

json::Value parsed(std::string_view text) {
    Result<json::Value> value = json::parse("test", text);
    EXPECT_TRUE(value) << (value ? "" : value.error().message());
    return value ? std::move(value).value() : json::Value{};
}

template <typename Print>
std::string shown(Print print, std::string_view text) {
    std::ostringstream out;
    print(out, parsed(text));
    return out.str();
}

TEST(PrintExplain, StartsWithTheVerdictAndShowsTheDivergence) {
    const std::string document = R"({"requester":2,"requester_known":true,"span":"ab",
        "verdict":"model_mismatch","outward":"miss/absent",
        "cells":[{"cell":7,"owner":1,"verdict":"model_mismatch","code":64,"axis":"model",
        "wanted":"llama-8b","found":"llama-70b",
        "written_by":{"tenant":1,"uid":61001,"engine":"example","begun_at_ns":1,
        "sealed_at_ns":1772366400000000000},
        "adjudicated":{"judgement":"trust","uid":0,"at_ns":1772366401000000000,"epoch":1}},
        {"cell":8,"owner":3,"verdict":"untrusted","code":39,"axis":null,"wanted":null,
        "found":null,"written_by":{"tenant":3,"uid":9,"engine":"","sealed_at_ns":null},
        "adjudicated":null}]})";
    EXPECT_EQ(best_verdict(parsed(document)), "model_mismatch");
    const std::string text = shown(print_explain, document);
    EXPECT_THAT(text, StartsWith("model_mismatch\nTenant 2 is told: miss/absent\n"));
    EXPECT_THAT(text, ContainsRegex("7 +1 +model_mismatch +64 +model +llama-8b +llama-70b"));
    EXPECT_THAT(text, ContainsRegex("8 +3 +untrusted +39 +- +- +-\n"));
    EXPECT_THAT(text, HasSubstr("cell 7: written by tenant 1, uid 61001, engine example, sealed "
                                "2026-03-01 12:00:00 UTC; trust by uid 0 at 2026-03-01 12:00:01 "
                                "UTC\n"));
    EXPECT_THAT(text, HasSubstr("cell 8: written by tenant 3, uid 9, engine -, sealed -; not "
                                "adjudicated\n"));
}

TEST(PrintExplain, SaysThatTheTenantIsNotConfigured) {
    EXPECT_THAT(shown(print_explain, R"({"requester":9,"requester_known":false,
        "verdict":"not_permitted","outward":"miss/absent","cells":[{"cell":1}]})"),
                HasSubstr("No such tenant is configured."));
}

TEST(PrintExplain, SaysThatNoCellHoldsTheSpan) {
    EXPECT_EQ(
        shown(print_explain,
              R"({"requester":2,"verdict":"miss/absent","outward":"miss/absent","cells":[]})"),
        "miss/absent\nNo cell holds this span.\n");
}

TEST(PrintCells, ShowsTheStateAndTheWholeSpan) {
    const std::string text = shown(print_cells, R"({"cells":[{"cell":3,"owner":1,
        "span":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "lifecycle":"sealed","taint":"trusted","scope":"fleet","admission":"allow",
        "length_bytes":8388608,"digest":"ff","pool":"main","adjudicated":null}]})");
    EXPECT_THAT(text, ContainsRegex("3 +1 +sealed +trusted +fleet +allow +8 MiB +main +"
                                    "00112233445566778899aabbccddeeff"
                                    "00112233445566778899aabbccddeeff\n"));
    EXPECT_THAT(text, Not(HasSubstr("Not shown")));
    EXPECT_THAT(shown(print_cells, R"({"omitted":12,"cells":[{"cell":1}]})"),
                HasSubstr("Not shown: 12 older cells.\n"));
    EXPECT_EQ(shown(print_cells, R"({"cells":[]})"), "No cells.\n");
}

TEST(PrintStatus, ShowsModePoolsAndCounts) {
    const std::string text = shown(print_status, R"({"mode":"multi","uptime_s":3725,"connections":2,
        "pools":[{"name":"main","provider":"memfd","isolation":"kernel","capacity_bytes":268435456,
        "segment_bytes":67108864,"placed_bytes":8388608,"segments":1}],
        "tenants":[{"tenant":1,"name":"alpha","cells":2,"bytes":8388608,"hits":5,"misses":7,
        "live_leases":1,"trust_epoch":1}]})");
    EXPECT_THAT(text, HasSubstr("Tenancy mode: multi\n"));
    EXPECT_THAT(text, HasSubstr("1 h 2 min"));
    EXPECT_THAT(text, HasSubstr("Connections:  2\n"));
    EXPECT_THAT(text, ContainsRegex("main +memfd +kernel +256 MiB +1 +64 MiB +8 MiB"));
    EXPECT_THAT(text, ContainsRegex("1 +alpha +2 +8 MiB +5 +7 +1\n"));
}

TEST(Documents, NeverShowAnUnknownNumberAsZero) {
    const std::string text = shown(print_status, R"({"mode":"multi","pools":[{"name":"main",
        "capacity_bytes":null}]})");
    EXPECT_THAT(text, ContainsRegex("main +- +- +- +- +- +-\n"));
    EXPECT_THAT(text, Not(HasSubstr("0")));
}

TEST(Documents, KeepControlCharactersFromTheTerminal) {
    EXPECT_THAT(shown(print_explain, "{\"requester\":2,\"verdict\":\"\\u001b[2J\",\"cells\":[]}"),
                StartsWith("?[2J\n"));
}

TEST(PrintJson, EndsWithExactlyOneNewline) {
    std::ostringstream out;
    print_json(out, "{}");
    print_json(out, "[]\n");
    EXPECT_EQ(out.str(), "{}\n[]\n");
}

}  // namespace
}  // namespace cxlpool::ctl

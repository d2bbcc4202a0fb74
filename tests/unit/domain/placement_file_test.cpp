#include "domain/placement_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cxlpool {
namespace {

const std::string kTier =
    R"("dram": {"profile": {"capacity_bytes": 1000}, "used_bytes": 600, "ttl_ns": 90})";
const std::string kCell = R"({"state": "sealed", "tier": "dram", "bytes": 10, "entered_at_ns": 5)";

std::string with(const std::string& tiers, const std::string& cells,
                 const std::string& head = "\"now_ns\": 100,") {
    return R"({"schema": "cxlpool-placement/1", )" + head + "\n \"tiers\": {" + tiers +
           "},\n \"cells\": [" + cells + "]}";
}
std::string with_cell(const std::string& more) {
    return with(kTier, kCell + more + "}");
}

PlacementFile must(const std::string& text) {
    Result<PlacementFile> file = parse_placement_file("p.json", text);
    EXPECT_TRUE(file) << file.error().message();
    return file ? *std::move(file) : PlacementFile{};
}

TEST(PlacementFile, ReadsEveryField) {
    const PlacementFile file = must(R"({
  "schema": "cxlpool-placement/1", "now_ns": 7200, "representative": false,
  "tiers": {
    "dram": {"profile": {"capacity_bytes": 1000,
                         "read_mbps": {"value": 31000, "source": "measured", "detail": "run 12"}},
             "used_bytes": 640, "ttl_ns": 3600, "demote_expired": false,
             "promote_touches_per_hour": 60},
    "remote": {"profile": {"capacity_bytes": 0}, "used_bytes": 18446744073709551615}
  },
  "cells": [
    {"name": "prompt 7", "state": "expiring", "tier": "dram", "bytes": 64, "entered_at_ns": 54,
     "last_touch_ns": 70, "revived_at_ns": 69, "touches": 12, "leased": true,
     "recompute_ns": 8, "recompute_source": "measured"},
    {"state": "spilled", "tier": "remote", "bytes": 18446744073709551615, "entered_at_ns": 0,
     "recompute_ns": 0}
  ]
})");
    EXPECT_EQ(file.now, Timestamp{7200});
    const PlacementTier* const dram = file.ladder.find(Tier::dram);
    ASSERT_NE(dram, nullptr);
    EXPECT_EQ(dram->used_bytes, 640U);
    EXPECT_EQ(dram->policy, (TierPolicy{3600, false, 60}));
    EXPECT_EQ(dram->profile.capacity_bytes.evidence.detail, "p.json:4:44");
    EXPECT_EQ(dram->profile.read_mbps.value, 31000U);
    EXPECT_EQ(dram->profile.read_mbps.evidence.source, Source::measured);
    EXPECT_FALSE(dram->profile.read_latency_ns.value) << "nothing is made up";
    EXPECT_EQ(file.ladder.find(Tier::remote)->policy, TierPolicy{});
    EXPECT_EQ(file.ladder.find(Tier::cxl), nullptr);

    ASSERT_EQ(file.cells.size(), 2U);
    EXPECT_EQ(file.cells[0].name, "prompt 7");
    const PlacementCell& cell = file.cells[0].cell;
    EXPECT_EQ(cell.life, (CellLife{Lifecycle::expiring, Timestamp{54}, Timestamp{69}, Timestamp{70},
                                   12, false}));
    EXPECT_EQ(cell.tier, Tier::dram);
    EXPECT_EQ(cell.bytes, 64U);
    EXPECT_TRUE(cell.leased);
    EXPECT_EQ(cell.recompute, (Cost{8, Source::measured}));
    EXPECT_EQ(file.cells[1].name, "cell 2");
    EXPECT_EQ(file.cells[1].cell.recompute, (Cost{0, Source::declared}));
}

TEST(PlacementFile, WhatACellLeavesOutIsNotKnown) {
    const PlacementFile file = must(with_cell(""));
    const PlacementCell& cell = file.cells[0].cell;
    EXPECT_EQ(cell.life, (CellLife{Lifecycle::sealed, Timestamp{5}, {}, {}, 0, false}));
    EXPECT_FALSE(cell.leased);
    EXPECT_EQ(cell.recompute, Cost{});
}

TEST(PlacementFile, RepresentativeFiguresOnlyWhereTheFileSaysSo) {
    const std::string tiers =
        R"("cxl": {"profile": {"read_latency_ns": 250}, "used_bytes": 0}, "disk": {"used_bytes": 0})";
    const Result<PlacementFile> without = parse_placement_file("p.json", with(tiers, ""));
    ASSERT_FALSE(without);
    EXPECT_NE(without.error().message().find("capacity_bytes"), std::string::npos);

    const PlacementFile file = must(with(tiers, "", R"("now_ns": 100, "representative": true,)"));
    const Profile& cxl = file.ladder.find(Tier::cxl)->profile;
    Profile wanted = representative_profile(Tier::cxl);
    wanted.read_latency_ns = Known<std::uint64_t>::of(250, Source::declared, "p.json:2:51");
    EXPECT_EQ(cxl, wanted);
    EXPECT_EQ(file.ladder.find(Tier::disk)->profile, representative_profile(Tier::disk));
    EXPECT_EQ(file.ladder.find(Tier::dram), nullptr) << "a tier that is not named is not there";
}

struct Refused {
    std::string text;
    Errc code;
    std::string start;  // of the message, after "p.json:"
};

TEST(PlacementFile, RefusesWithThePlaceAndTheReason) {
    const std::string ns = std::to_string(UINT64_MAX);
    const std::vector<Refused> all{
        {"", Errc::malformed, "1:1: "},
        {"[]", Errc::malformed, "1:1: the file is an array"},
        {R"({"now_ns": 1})", Errc::malformed, "1:1: no \"schema\""},
        {R"({"schema": 1})", Errc::malformed, "1:12: schema is a whole number"},
        {R"({"schema": "cxlpool-placement/2"})", Errc::unsupported_version, "1:12: schema is"},
        {with(kTier, "", ""), Errc::malformed, "1:1: no \"now_ns\""},
        {with(kTier, "", "\"now_ns\": -1,"), Errc::invalid_argument, "1:45: now_ns is -1"},
        {with(kTier, "", "\"now_ns\": 1.5,"), Errc::invalid_argument, "1:45: now_ns is written"},
        {with(kTier, "", "\"now_ns\": NaN,"), Errc::malformed, "1:45: "},
        {with(kTier, "", "\"now_ns\": 99999999999999999999,"), Errc::malformed, "1:45: "},
        {with(kTier, "", "\"now_ns\": 1, \"now_ns\": 1,"), Errc::malformed, "1:48: the key"},
        {with(kTier, "", "\"now\": 1,"), Errc::unknown_word, "1:42: unknown key 'now'"},
        {with(kTier, "", "\"now_ns\": 1, \"representative\": 1,"), Errc::malformed,
         "1:66: representative is a whole number: true or false"},
        {R"({"schema": "cxlpool-placement/1", "now_ns": 1, "cells": []})", Errc::malformed,
         "1:1: no \"tiers\""},
        {R"({"schema": "cxlpool-placement/1", "now_ns": 1, "tiers": {}})", Errc::malformed,
         "1:1: no \"cells\""},
        {R"({"schema": "cxlpool-placement/1", "now_ns": 1, "tiers": {}, "cells": {}})",
         Errc::malformed, "1:70: cells is an object"},
        {R"({"schema": "cxlpool-placement/1", "now_ns": 1, "tiers": [], "cells": []})",
         Errc::malformed, "1:57: tiers is an array"},
        {with("\"ssd\": {}", ""), Errc::unknown_word, "2:19: unknown tier 'ssd'"},
        {with("\"dram\": 1", ""), Errc::malformed, "2:20: dram is a whole number"},
        {with(R"("dram": {"used_bytes": 1})", ""), Errc::malformed,
         "2:20: tier dram has no capacity_bytes"},
        {with(R"("dram": {"profile": {"capacity_bytes": 1}})", ""), Errc::malformed,
         "2:20: no \"used_bytes\""},
        {with(R"("dram": {"profile": {"capacity_bytes": "1GiB"}, "used_bytes": 0})", ""),
         Errc::malformed, "2:51: capacity_bytes is"},
        {with(R"("dram": {"profile": {"used_bytes": 1}, "used_bytes": 0})", ""), Errc::unknown_word,
         "2:47: unknown key 'used_bytes'"},
        {with(R"("dram": {"profile": {"capacity_bytes": 1}, "used_bytes": -3})", ""),
         Errc::invalid_argument, "2:69: used_bytes is -3"},
        {with(R"("dram": {"profile": {"capacity_bytes": 1}, "used_bytes": 0, "ttl_ns": 0})", ""),
         Errc::invalid_argument, "2:82: ttl_ns is 0"},
        {with(R"("dram": {"profile": {"capacity_bytes": 1}, "used_bytes": 0, "ttl": 0})", ""),
         Errc::unknown_word, "2:79: unknown key 'ttl'"},
        {with(kTier, "7"), Errc::malformed, "3:12: a cell is a whole number"},
        {with(kTier, R"({"state": "sealed", "tier": "dram", "bytes": 1})"), Errc::malformed,
         "3:12: no \"entered_at_ns\""},
        {with(kTier, R"({"state": "hot", "tier": "dram", "bytes": 1, "entered_at_ns": 1})"),
         Errc::unknown_word, "3:22: unknown state 'hot': known are filling sealed"},
        {with(kTier, R"({"state": "sealed", "tier": "cxl", "bytes": 1, "entered_at_ns": 1})"),
         Errc::invalid_argument, "3:12: the cell lies in cxl"},
        {with(kTier, R"({"state": "sealed", "tier": "dram", "bytes": 0, "entered_at_ns": 1})"),
         Errc::invalid_argument, "3:57: bytes is 0"},
        {with(kTier, R"({"state": "sealed", "tier": "dram", "bytes": 1, "entered_at_ns": 101})"),
         Errc::invalid_argument, "3:77: entered_at_ns is 101: a whole number from 0 to 100"},
        {with_cell(", \"touches\": 1"), Errc::invalid_argument, "3:12: the cell's touches"},
        {with_cell(", \"last_touch_ns\": 50"), Errc::invalid_argument, "3:12: the cell's touches"},
        {with_cell(", \"revived_at_ns\": 4"), Errc::invalid_argument, "3:12: the cell's touches"},
        {with_cell(", \"touches\": 5, \"leased\": true"), Errc::invalid_argument,
         "3:12: the cell's touches"},
        {with_cell(", \"leased\": 0"), Errc::malformed, "3:91: leased is a whole number"},
        {with_cell(", \"name\": \"\""), Errc::invalid_argument, "3:89: name: 1 to 64"},
        {with_cell(", \"name\": \"\\u001b[2J\""), Errc::invalid_argument, "3:89: name"},
        {with_cell(", \"recompute_source\": \"measured\""), Errc::invalid_argument,
         "3:101: recompute_source says"},
        {with_cell(", \"recompute_ns\": 1, \"recompute_source\": \"unknown\""),
         Errc::invalid_argument, "3:120: recompute_source says"},
        {with_cell(", \"recompute_ns\": 1, \"recompute_source\": \"guessed\""), Errc::unknown_word,
         "3:120: unknown source 'guessed'"},
        {with_cell(", \"touch\": 1"), Errc::unknown_word, "3:90: unknown key 'touch'"},
        {with_cell(", \"bytes\": 1"), Errc::malformed, "3:81: the key \"bytes\" stands twice"},
        {with(kTier, R"({"state": "sealed", "tier": "dram", "bytes": 601, "entered_at_ns": 1})"),
         Errc::invalid_argument, "3:12: with this cell, the cells in dram have more bytes"},
        {with(kTier, kCell + R"(}, {"state": "sealed", "tier": "dram", "bytes": )" + ns +
                         R"(, "entered_at_ns": 1})"),
         Errc::invalid_argument, "3:82: with this cell"},
        {with(kTier, std::string(20, '[')), Errc::too_large, "3:18: nested deeper"},
    };
    for (const Refused& refused : all) {
        const Result<PlacementFile> file = parse_placement_file("p.json", refused.text);
        ASSERT_FALSE(file) << refused.text;
        EXPECT_EQ(file.error().code(), refused.code) << refused.text;
        const std::string start = "p.json:" + refused.start;
        EXPECT_EQ(file.error().message().substr(0, start.size()), start) << refused.text;
    }
}

TEST(PlacementFile, CellsWithoutBytesDoNotCount) {
    const std::string gone =
        R"({"state": "lost", "tier": "dram", "bytes": 600, "entered_at_ns": 1})";
    const std::string full =
        R"({"state": "filling", "tier": "dram", "bytes": 600, "entered_at_ns": 1})";
    EXPECT_EQ(must(with(kTier, gone + "," + full)).cells.size(), 2U);
    EXPECT_FALSE(parse_placement_file("p.json", with(kTier, full + "," + full)));
}

TEST(PlacementFile, IsBounded) {
    const Result<PlacementFile> long_text =
        parse_placement_file("p.json", std::string(kPlacementFileMaxBytes + 1, ' '));
    ASSERT_FALSE(long_text);
    EXPECT_EQ(long_text.error().code(), Errc::too_large);
}

}  // namespace
}  // namespace cxlpool

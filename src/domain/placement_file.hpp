// Placement files: cells and tiers as somebody exported or made them up, to be planned on paper.
//
// Responsible for: reading schema "cxlpool-placement/1" from text. Refuses to know: where the file
// lies, and what the plan will be. Invariants: a file is taken whole or not at all; every refusal
// names file, line and column; what the file does not say is not known.
//
//   {"schema": "cxlpool-placement/1", "now_ns": 7200000000000,
//    "tiers": {"dram": {"profile": {"capacity_bytes": 137438953472},
//                       "used_bytes": 137438953472,
//                       "ttl_ns": 3600000000000, "demote_expired": true,
//                       "promote_touches_per_hour": 60}},
//    "cells": [{"name": "prompt-7", "state": "sealed", "tier": "dram", "bytes": 67108864,
//               "entered_at_ns": 5400000000000, "last_touch_ns": 7000000000000, "touches": 12,
//               "recompute_ns": 8000000000, "recompute_source": "measured"}]}
//
// All times are ns of one clock, whichever. The ladder has the tiers that the file names, and no
// others. `profile` is what a profile file says of a tier; of what it leaves out nothing is known,
// unless the file says "representative": true, which puts the planning figures under every tier
// that it names. `used_bytes` must be there, and so must the capacity (0: unbounded): room that is
// not known would be none. The used bytes hold at least the cells that lie in the tier. Without
// ttl_ns cells live for ever, without promote_touches_per_hour none is promoted, without
// demote_expired an expired one may be demoted.
//
// A cell must have state, tier, bytes and entered_at_ns. Left out: touches 0, never touched, never
// revived (revived_at_ns), not leased, recompute cost not known; the source of one that is given is
// `declared`. A cell without a name is called by its place, "cell 1" being the first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "domain/placement.hpp"

namespace cxlpool {

inline constexpr std::string_view kPlacementSchema = "cxlpool-placement/1";
// A document of this size can take two gigabytes while it is read; nobody plans more at a sitting.
inline constexpr std::size_t kPlacementFileMaxBytes = 64U << 20U;
inline constexpr std::size_t kPlacementFileMaxCells = 300'000;

struct NamedCell {
    std::string name;
    PlacementCell cell;
};

struct PlacementFile {
    Timestamp now;
    PlacementLadder ladder;
    std::vector<NamedCell> cells;
};

// `name` is the file's name in messages and evidence. Errors, each "NAME:LINE:COLUMN: what":
// malformed (not JSON, a key twice, a wrong type, something missing), unsupported_version (another
// schema), unknown_word (key, tier, state, source), invalid_argument (not a whole number, out of
// range, a cell whose tier is not described, times after now or that contradict each other, more
// bytes in cells than are used), too_large (over one of the two bounds).
Result<PlacementFile> parse_placement_file(std::string_view name, std::string_view text);

}  // namespace cxlpool

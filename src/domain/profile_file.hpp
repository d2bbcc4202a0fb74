// Profile files: what a person declares, or a calibration run measured, about tiers and pools.
//
// Responsible for: reading schema "cxlpool-profile/1" from text, and laying it field by field over
// profiles that are known already. Refuses to know: where the file lies and who may name one.
// Invariants: a file is taken whole or not at all; every refusal names file, line and column; a
// field that the file does not name keeps its value and its evidence.
//
//   {"schema": "cxlpool-profile/1",
//    "label": "rack 7", "host": "node-a", "time": "2025-03-01T12:00:00Z",
//    "tiers": {"cxl": {"read_latency_ns": 250, "hosts": 4, "cross_host_coherence": "managed",
//                      "read_mbps": {"value": 31000, "source": "measured", "detail": "run 12"}}},
//    "pools": {"cxl0": {"tier": "cxl", "capacity_bytes": 137438953472}}}
//
// label, host, time, tiers and pools may be left out. The fields of a tier or pool are those of
// profile_fields.hpp. What is unknown is left out. A bare value is `declared`, and its detail is
// "FILE:LINE:COLUMN"; the object form may name source, detail and time itself. A pool names its
// tier. A time is UTC, to the second; that of the file stands for fields without one of their own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "domain/profile.hpp"

namespace cxlpool {

inline constexpr std::string_view kProfileSchema = "cxlpool-profile/1";
inline constexpr std::size_t kProfileMaxBytes = 1U << 20U;
inline constexpr std::size_t kProfileMaxTextBytes = 256;  // label, host, detail: one line
inline constexpr std::size_t kProfileMaxPoolNameBytes = 64;

struct ProfileFile {
    std::string label;  // empty: not given
    std::string host;   // empty: not given
    Timestamp time;     // wall clock; 0: not given
    // Only the fields that the file names have a value. Named by the tier's word, or the pool.
    std::vector<Profile> tiers;
    std::vector<Profile> pools;
};

// `name` is the file's name in messages and evidence. Errors, each "NAME:LINE:COLUMN: what":
// malformed (not JSON, a key twice, a wrong type, no schema, a pool without its tier, not a time),
// unsupported_version (another schema), unknown_word (key, tier, share kind, coherence, source),
// invalid_argument (not a whole number, zero where that is no figure, out of range, a measured
// figure that nothing can have measured, a text or pool name that cannot stand in output),
// too_large (over 1 MiB).
Result<ProfileFile> parse_profile_file(std::string_view name, std::string_view text);

// One tier out of another file of ours: `value` holds what a profile file says of the tier `word`.
// Errors: those of a tier in parse_profile_file.
Result<Profile> read_tier_profile(std::string_view name, std::string_view word,
                                  const json::Value& value);

// Lays the file over `base`. Entries are matched by the profile's name; one that `base` lacks is
// added with nothing known but what the file says. A pool takes the tier that the file names.
std::vector<Profile> merge(std::vector<Profile> base, const ProfileFile& file);

}  // namespace cxlpool

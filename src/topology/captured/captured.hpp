// Reads a Topology from text that was captured elsewhere.
//
// Responsible for: every shape that `cxl list` and `daxctl list` print (flat arrays, arrays of
// one-key objects, nesting with suffixed keys, one-element objects), and our own snapshot.
// Refuses to know: where the text came from. Invariants: a text that does not parse is refused
// whole, with line and column; sizes, depth and counts are bounded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "topology/topology.hpp"

namespace cxlpool {

// A captured file of a large machine (1,000 memdevs with decoders) is about 2 MiB.
inline constexpr std::size_t kCapturedMaxBytes = 64U << 20U;

struct CapturedText {
    std::string name;  // for messages: the file name
    std::string_view text;
};

// All texts together describe one machine: typically one of `cxl list -vvv` and one of
// `daxctl list -RD`, in any order, or one snapshot alone. The kind of each is told from its keys.
// Errors: malformed ("FILE:LINE:COLUMN: what"), too_large, invalid_argument (nothing of ours in
// it, a snapshot mixed with others, the same device twice with different values).
Result<Topology> read_captured(std::span<const CapturedText> texts);

// The snapshot: schema "cxlpool-topology/1", pretty-printed, stable order. read_captured reads it
// back to the equal value, with origin `captured`.
std::string write_snapshot(const Topology& topology);

}  // namespace cxlpool

// Our own snapshot of a Topology: schema "cxlpool-topology/1". Internal to captured.
#pragma once

#include <string_view>

#include "topology/captured/fields.hpp"
#include "topology/topology.hpp"

namespace cxlpool::captured {

inline constexpr std::string_view kSnapshotSchema = "cxlpool-topology/1";

// True when the document says that it is a snapshot, of any version.
bool is_snapshot(const json::Value& root);

// Unknown keys and words are errors: the schema is ours, so they are a newer version or a slip.
// What a key leaves out is unknown.
Topology read_snapshot(Source& source, const json::Value& root);

}  // namespace cxlpool::captured

// Where a topology comes from: this machine, captured files, or the daemon.
#pragma once

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/verb.hpp"
#include "domain/profile_file.hpp"
#include "topology/rules.hpp"
#include "topology/topology.hpp"

namespace cxlpool::ctl {

struct TopologySource {
    Topology topology;
    Assessment assessment;
};

void add_source_options(OptionSet& set);

// Live, or captured when --from is given. `exit_status` is what a failure is worth: a file that
// cannot be read or parsed is the user's, a machine that cannot be read is not.
Result<TopologySource> read_source(const OptionValues& values, Streams& streams, int& exit_status);

// The tiers of the host and then the pools, as `cxlpoolctl profile` lists them.
std::vector<Profile> profiles_of(const Assessment& assessment);

// What the file is called in messages: its path, or "standard input".
std::string profile_file_name(const std::string& path);

// A profile file that the user names. Errors: io, those of parse_profile_file.
Result<ProfileFile> read_profile_file(const std::string& path, Streams& streams);

// A document that this program or the daemon wrote.
Result<json::Value> parse_document(std::string_view name, std::string_view text);

}  // namespace cxlpool::ctl

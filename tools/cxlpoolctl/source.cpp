#include "cxlpoolctl/source.hpp"

#include "cxlpoolctl/files.hpp"
#include "topology/captured/captured.hpp"
#include "topology/live/live.hpp"

namespace cxlpool::ctl {

void add_source_options(OptionSet& set) {
    set.values("from", "FILE...",
               "read what was captured instead of this machine: the output of\n"
               "'cxl list -vvv' and of 'daxctl list -RD', or a snapshot; all files\n"
               "together are one machine ('-': standard input)",
               true);
}

Result<TopologySource> read_source(const OptionValues& values, Streams& streams, int& exit_status) {
    const std::vector<std::string> files = values.values("from");
    exit_status = files.empty() ? kExitNo : kExitUsage;
    std::vector<std::string> contents;
    std::vector<CapturedText> texts;
    contents.reserve(files.size());
    for (const std::string& file : files) {
        Result<std::string> content = read_file(file, streams.in, kCapturedMaxBytes);
        if (!content) {
            return std::move(content).error();
        }
        contents.push_back(std::move(content).value());
        texts.push_back({file == "-" ? "standard input" : file, contents.back()});
    }
    Result<Topology> topology = files.empty() ? read_live() : read_captured(texts);
    if (!topology) {
        return std::move(topology).error();
    }
    Assessment assessment = assess(*topology);
    return TopologySource{std::move(topology).value(), std::move(assessment)};
}

std::vector<Profile> profiles_of(const Assessment& assessment) {
    std::vector<Profile> profiles = assessment.tiers;
    for (const PoolCandidate& pool : assessment.pools) {
        profiles.push_back(pool.profile);
    }
    return profiles;
}

std::string profile_file_name(const std::string& path) {
    return path == "-" ? "standard input" : path;
}

Result<ProfileFile> read_profile_file(const std::string& path, Streams& streams) {
    const Result<std::string> text = read_file(path, streams.in, kProfileMaxBytes);
    if (!text) {
        return text.error();
    }
    return parse_profile_file(profile_file_name(path), *text);
}

Result<json::Value> parse_document(std::string_view name, std::string_view text) {
    return json::parse(name, text);
}

}  // namespace cxlpool::ctl

// cxlpoolctl profile
#include <ostream>

#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/verb.hpp"
#include "domain/profile_schema.hpp"
#include "topology/report.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "profile";

int show(const std::string& document, const OptionValues& values, Streams& streams) {
    if (values.has("json")) {
        print_json(streams.out, document);
        return kExitOk;
    }
    const Result<json::Value> profiles = parse_document("profiles", document);
    if (!profiles) {
        return fail(streams, profiles.error());
    }
    print_profiles(streams.out, *profiles);
    return kExitOk;
}

}  // namespace

OptionSet profile_options() {
    OptionSet set("profile [OPTION...]",
                  "What each memory tier and each pool is worth: every figure with where it comes\n"
                  "from. What is not known is shown as \"-\" and never widens a right.");
    add_source_options(set);
    set.value("with", "FILE",
              "lay this profile file over what was found: a figure that it gives stands\n"
              "instead of the one found, with the file as its evidence")
        .flag("daemon", "ask the running daemon for its pools' profiles")
        .flag("schema", "print the JSON Schema of profile files, and nothing else")
        .flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_profile(const OptionValues& values, Streams& streams) {
    int exit_status = kExitNo;
    if (values.has("schema")) {
        for (const char* other : {"from", "with", "daemon", "socket"}) {
            if (values.has(other)) {
                return fail_usage(
                    streams, kVerb,
                    std::string("--schema shows no profile: it goes without --") + other);
            }
        }
        print_json(streams.out, profile_file_schema());
        return kExitOk;
    }
    if (values.has("daemon")) {
        if (values.has("from") || values.has("with")) {
            return fail_usage(streams, kVerb,
                              "--daemon asks for the daemon's profiles: it goes with neither "
                              "--from nor --with");
        }
        const Result<std::string> document = fetch_document(values, wire::Document::profiles);
        return document ? show(*document, values, streams)
                        : daemon_failure(streams, document.error());
    }
    const Result<TopologySource> source = read_source(values, streams, exit_status);
    if (!source) {
        return fail(streams, source.error(), exit_status);
    }
    std::vector<Profile> profiles = profiles_of(source->assessment);
    if (const std::optional<std::string> file = values.value("with")) {
        const Result<ProfileFile> over = read_profile_file(*file, streams);
        if (!over) {
            return fail(streams, over.error(), kExitUsage);
        }
        profiles = merge(std::move(profiles), *over);
    }
    return show(profiles_json(profiles), values, streams);
}

}  // namespace cxlpool::ctl

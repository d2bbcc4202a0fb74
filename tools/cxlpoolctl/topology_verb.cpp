// cxlpoolctl topology
#include <ostream>

#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/files.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/verb.hpp"
#include "topology/captured/captured.hpp"
#include "topology/report.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "topology";

struct Report {
    std::string topology;
    std::string profiles;
};

int show(const Report& report, const OptionValues& values, Streams& streams) {
    const Result<json::Value> topology = parse_document("topology", report.topology);
    if (!topology) {
        return fail(streams, topology.error());
    }
    if (values.has("json")) {
        print_json(streams.out, report.topology);
    } else {
        const Result<json::Value> profiles = parse_document("profiles", report.profiles);
        if (!profiles) {
            return fail(streams, profiles.error());
        }
        print_topology(streams.out, *topology, *profiles);
    }
    return values.has("strict") && has_serious_finding(*topology) ? kExitNo : kExitOk;
}

int show_daemon(const OptionValues& values, Streams& streams) {
    const Result<std::string> topology = fetch_document(values, wire::Document::topology);
    if (!topology) {
        return daemon_failure(streams, topology.error());
    }
    const Result<std::string> profiles = fetch_document(values, wire::Document::profiles);
    if (!profiles) {
        return daemon_failure(streams, profiles.error());
    }
    return show({*topology, *profiles}, values, streams);
}

}  // namespace

OptionSet topology_options() {
    OptionSet set("topology [OPTION...]",
                  "What CXL and dax memory is there, which of it can be a pool, and what to do\n"
                  "about the rest. Reads this machine unless told otherwise; changes nothing.");
    add_source_options(set);
    set.flag("daemon", "ask the running daemon what it found")
        .flag("strict", "exit status 1 when there is a finding of severity warning or error")
        .value("save", "FILE", "write a snapshot that --from reads ('-': standard output, alone)")
        .flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_topology(const OptionValues& values, Streams& streams) {
    int exit_status = kExitNo;
    if (values.has("daemon")) {
        if (values.has("from") || values.has("save")) {
            return fail_usage(streams, kVerb,
                              "--daemon asks for the daemon's report: it goes with neither --from "
                              "nor --save");
        }
        return show_daemon(values, streams);
    }
    const Result<TopologySource> source = read_source(values, streams, exit_status);
    if (!source) {
        return fail(streams, source.error(), exit_status);
    }
    if (const std::optional<std::string> path = values.value("save")) {
        const std::string snapshot = write_snapshot(source->topology);
        if (*path == "-") {
            print_json(streams.out, snapshot);
            return kExitOk;
        }
        const Result<void> written = write_file_atomically(*path, snapshot);
        if (!written) {
            return fail(streams, written.error());
        }
    }
    return show({topology_json(source->topology, source->assessment),
                 profiles_json(profiles_of(source->assessment))},
                values, streams);
}

}  // namespace cxlpool::ctl

// cxlpoolctl plan placement
#include <ostream>

#include "cxlpoolctl/files.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/verb.hpp"
#include "domain/placement_file.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "plan placement";

PlacementPlanView plan(PlacementFile file) {
    PlacementPlanView view;
    view.now = file.now;
    view.rows.reserve(file.cells.size());
    for (NamedCell& named : file.cells) {
        Result<PlacementDirective> directive = plan_placement(named.cell, file.ladder, file.now);
        if (directive) {
            file.ladder.carry_out(*directive);
        }
        view.rows.push_back({std::move(named.name), std::move(directive)});
    }
    return view;
}

}  // namespace

OptionSet plan_placement_options() {
    OptionSet set(
        "plan placement --from FILE [--json]",
        "Where each cell of FILE should lie on the ladder of tiers: keep, promote, demote, "
        "spill or\n"
        "evict, with the reason and what it costs to come back. The file, schema\n"
        "cxlpool-placement/1, is explained in docs/placement.md. Nothing is moved.\n"
        "The cells are planned in the order of the file, each as if the directives before "
        "it had\n"
        "been carried out.");
    set.value("from", "FILE", "cells and tiers ('-': standard input)")
        .flag("json", "JSON instead of a table");
    return set;
}

int run_plan_placement(const OptionValues& values, Streams& streams) {
    const std::optional<std::string> path = values.value("from");
    if (!path) {
        return fail_usage(streams, kVerb, "missing: --from");
    }
    const Result<std::string> text = read_file(*path, streams.in, kPlacementFileMaxBytes);
    if (!text) {
        return fail(streams, text.error(), kExitUsage);
    }
    Result<PlacementFile> file =
        parse_placement_file(*path == "-" ? "standard input" : *path, *text);
    if (!file) {
        return fail(streams, file.error(), kExitUsage);
    }
    const PlacementPlanView view = plan(*std::move(file));
    if (values.has("json")) {
        print_placement_plan_json(streams.out, view);
    } else {
        print_placement_plan(streams.out, view);
    }
    return kExitOk;
}

}  // namespace cxlpool::ctl

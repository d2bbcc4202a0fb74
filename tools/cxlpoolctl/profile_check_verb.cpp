// cxlpoolctl profile check
#include <algorithm>
#include <ostream>

#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "profile check";

void print_text(const std::vector<CheckedProfileFile>& checked, std::ostream& out) {
    bool first = true;
    for (const CheckedProfileFile& one : checked) {
        if (one.file) {
            out << (first ? "" : "\n");
            print_checked_file(out, one);
            first = false;
        }
    }
}

}  // namespace

OptionSet profile_check_options() {
    OptionSet set(
        "profile check FILE... [OPTION...]",
        "Reads profile files and says what each names, field by field, with its evidence.\n"
        "A file that is refused is named with line and column, and the exit status is 2.\n"
        "'-' is standard input.");
    set.operands().flag("json", "JSON instead of tables");
    return set;
}

int run_profile_check(const OptionValues& values, Streams& streams) {
    const std::vector<std::string>& names = values.operands();
    if (names.empty()) {
        return fail_usage(streams, kVerb, "no file to check");
    }
    if (std::count(names.begin(), names.end(), "-") > 1) {
        return fail_usage(streams, kVerb, "standard input can be read once: '-' is given twice");
    }
    std::vector<CheckedProfileFile> checked;
    for (const std::string& name : names) {
        checked.push_back({profile_file_name(name), read_profile_file(name, streams)});
    }
    if (values.has("json")) {
        print_json(streams.out, checked_files_json(checked));
    } else {
        print_text(checked, streams.out);
    }
    int exit_status = kExitOk;
    for (const CheckedProfileFile& one : checked) {
        if (!one.file) {
            exit_status = fail(streams, one.file.error(), kExitUsage);
        }
    }
    return exit_status;
}

}  // namespace cxlpool::ctl

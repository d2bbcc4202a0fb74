// cxlpoolctl stats
#include <chrono>
#include <ostream>
#include <thread>

#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/verb.hpp"

namespace cxlpool::ctl {
namespace {

enum class Format { table, json, prometheus };

Result<Format> format_of(const OptionValues& values) {
    const std::string word = values.value("format").value_or(values.has("json") ? "json" : "table");
    if (word == "table") {
        return Format::table;
    }
    if (word == "json") {
        return Format::json;
    }
    if (word == "prometheus") {
        return Format::prometheus;
    }
    return Error{Errc::invalid_argument,
                 "--format: '" + word + "' is none of table, json, prometheus"};
}

struct Watch {
    std::uint64_t seconds = 0;  // 0: once
    std::uint64_t times = 0;    // 0: until interrupted
};

Result<Watch> watch_of(const OptionValues& values) {
    Watch watch;
    for (const auto& [option, target] :
         {std::pair{"watch", &watch.seconds}, std::pair{"count", &watch.times}}) {
        const Result<std::optional<std::uint64_t>> number = values.number(option);
        if (!number) {
            return number.error();
        }
        if (*number && (**number == 0 || **number > 86'400)) {
            return Error{Errc::invalid_argument,
                         "--" + std::string(option) + " is from 1 to 86400"};
        }
        *target = number->value_or(0);
    }
    if (watch.times != 0 && watch.seconds == 0) {
        return Error{Errc::invalid_argument, "--count goes with --watch"};
    }
    return watch;
}

Result<json::Value> show(const OptionValues& values, Format format, const json::Value* before,
                         std::ostream& out) {
    const Result<std::string> document = fetch_document(
        values, values.has("reset") ? wire::Document::stats_ended : wire::Document::stats);
    if (!document) {
        return document.error();
    }
    Result<json::Value> stats = parse_document("the daemon's answer", *document);
    if (!stats) {
        return stats;
    }
    switch (format) {
        case Format::table:
            print_stats(out, *stats, before);
            break;
        case Format::json:
            print_json(out, *document);
            break;
        case Format::prometheus:
            print_prometheus(out, *stats);
            break;
    }
    out.flush();
    return stats;
}

}  // namespace

OptionSet stats_options() {
    OptionSet set(
        "stats [OPTION...]",
        "What each tenant did and holds, and whose cells went for whom. Counters are since\n"
        "the daemon's start, or since the last --reset; with --watch, tables after the first are\n"
        "of each interval.");
    set.flag("json", "JSON instead of tables");
    set.value("format", "WORD", "table, json, or prometheus: the text format for a scraper");
    set.value("watch", "SECONDS", "again and again");
    set.value("count", "N", "with --watch: N times, then end");
    set.flag("reset",
             "shows the window that ends here, and begins another one; needs the role admin");
    add_socket_option(set);
    return set;
}

int run_stats(const OptionValues& values, Streams& streams) {
    const Result<Format> format = format_of(values);
    if (!format) {
        return fail_usage(streams, "stats", format.error().message());
    }
    const Result<Watch> watch = watch_of(values);
    if (!watch) {
        return fail_usage(streams, "stats", watch.error().message());
    }
    if (values.has("reset") && (*format == Format::prometheus || watch->seconds != 0)) {
        return fail_usage(
            streams, "stats",
            "--reset goes neither with --watch, which takes intervals of its own, nor "
            "with prometheus, whose counters only grow");
    }
    std::optional<json::Value> before;
    for (std::uint64_t turn = 1;; ++turn) {
        Result<json::Value> stats = show(values, *format, before ? &*before : nullptr, streams.out);
        if (!stats) {
            return daemon_failure(streams, stats.error());
        }
        if (watch->seconds == 0 || turn == watch->times) {
            return kExitOk;
        }
        before = std::move(*stats);
        std::this_thread::sleep_for(std::chrono::seconds(watch->seconds));
        if (*format == Format::table) {
            streams.out << '\n';
        }
    }
}

}  // namespace cxlpool::ctl

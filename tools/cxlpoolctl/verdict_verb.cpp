// cxlpoolctl verdict
#include <algorithm>
#include <ostream>

#include "base/units.hpp"
#include "cxlpoolctl/daemon.hpp"
#include "cxlpoolctl/files.hpp"
#include "cxlpoolctl/options.hpp"
#include "cxlpoolctl/output.hpp"
#include "cxlpoolctl/source.hpp"
#include "cxlpoolctl/tenant_lookup.hpp"
#include "cxlpoolctl/verb.hpp"
#include "domain/context_file.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::string_view kVerb = "verdict";

Result<ContextFields> read_context(const OptionValues& values, Streams& streams) {
    ContextFields fields;
    if (const std::optional<std::string> file = values.value("context")) {
        const Result<std::string> text = read_file(*file, streams.in, kContextFileMaxBytes);
        if (!text) {
            return text.error();
        }
        Result<ContextFields> read = parse_context_file(*file, *text);
        if (!read) {
            return read.error();
        }
        fields = *std::move(read);
    }
    for (const std::string& pair : values.values("axis")) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos) {
            return Error{Errc::invalid_argument,
                         "--axis '" + pair + "' is not NAME=VALUE, as in --axis model=llama-70b"};
        }
        CXLPOOL_TRY(set_axis(fields, pair.substr(0, equals), pair.substr(equals + 1)));
    }
    CXLPOOL_TRY(validate(fields));
    return fields;
}

Result<wire::DocumentRequest> read_request(const OptionValues& values, Streams& streams) {
    wire::DocumentRequest request;
    request.kind = wire::Document::explain;
    CXLPOOL_TRY(read_digest(values, "span", request.span));
    const Result<ContextFields> fields = read_context(values, streams);
    if (!fields) {
        return fields.error();
    }
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (fields->axes[i]) {
            request.axes.push_back({static_cast<std::uint8_t>(i), *fields->axes[i]});
        }
    }
    return request;
}

bool is_hit_word(std::string_view word) {
    return word.substr(0, 4) == "hit/";
}

}  // namespace

OptionSet verdict_options() {
    OptionSet set(
        "verdict --requester TENANT --span HEX [OPTION...]",
        "What the trust gate says when this tenant wants this span under this context, for every\n"
        "cell that holds the span. The first line is the verdict of the cell that came nearest to\n"
        "a hit. Asks the running daemon; grants nothing. Exit status 0: hit, 1: refused or "
        "absent.");
    set.value("requester", "TENANT", "the tenant whose question it is: its number or its name")
        .value("span", "HEX", "the digest of the span: 64 hexadecimal digits")
        .value("context", "FILE",
               "the wanted context: a JSON object of axis and value, all texts\n"
               "('-': standard input)")
        .values("axis", "NAME=VALUE",
                "one axis of the context, instead of what the file says; the axes are\n"
                "model, tokenizer, serializer, position, policy, admitter, weights,\n"
                "adapter, dtype, kv_quant, rope, page_tokens, layers, shard, layout")
        .flag("json", "JSON instead of tables");
    add_socket_option(set);
    return set;
}

int run_verdict(const OptionValues& values, Streams& streams) {
    constexpr std::string_view kRequired[]{"requester", "span"};
    const std::string absent = missing(values, kRequired);
    if (!absent.empty()) {
        return fail_usage(streams, kVerb, "missing: " + absent);
    }
    Result<wire::DocumentRequest> request = read_request(values, streams);
    if (!request) {
        return fail(streams, request.error(), kExitUsage);
    }
    const Result<std::uint64_t> requester = tenant_option(values, "requester");
    if (!requester) {
        return daemon_failure(streams, requester.error());
    }
    request->requester = *requester;
    const Result<std::string> document = fetch_document(values, *request);
    if (!document) {
        return daemon_failure(streams, document.error());
    }
    const Result<json::Value> explain = parse_document("explain", *document);
    if (!explain) {
        return fail(streams, explain.error());
    }
    if (values.has("json")) {
        print_json(streams.out, *document);
    } else {
        print_explain(streams.out, *explain);
    }
    if (request->axes.empty()) {
        streams.err << "cxlpoolctl verdict: no context was given, and under none everything is "
                       "key_incomplete: say the engine's with --context FILE or --axis "
                       "NAME=VALUE\n";
    }
    return is_hit_word(best_verdict(*explain)) ? kExitOk : kExitNo;
}

}  // namespace cxlpool::ctl

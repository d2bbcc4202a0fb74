// Any bytes as a trace of requests: they are refused with an error that names the place, or give
// requests in the order of their times, which a registry takes under every regime.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "base/check.hpp"
#include "replay/replay.hpp"
#include "replay/trace_reader.hpp"

namespace {

using namespace cxlpool;
using namespace cxlpool::replay;

void use(const Trace& trace) {
    std::uint64_t last_ns = 0;
    for (const Trace::Request& request : trace.requests()) {
        CXLPOOL_CHECK(request.time_ns >= last_ns);
        last_ns = request.time_ns;
        CXLPOOL_CHECK(request.tenant < trace.tenants().size());
        for (std::size_t i = 0; i < request.span_count; ++i) {
            const std::uint64_t tokens = trace.tokens_of(request, i);
            CXLPOOL_CHECK(tokens > 0 && tokens <= trace.block_tokens());
            CXLPOOL_CHECK(trace.spans_of(request)[i] < trace.distinct_spans());
        }
    }
    for (const Regime regime : {Regime::private_copies, Regime::copy_only, Regime::coherent}) {
        ReplayOptions options;
        options.regime = regime;
        options.pool_bytes = 1U << 16U;
        options.bytes_per_token = 64;
        const auto report = replay::replay(trace, options);
        CXLPOOL_CHECK(report.has_value());
        CXLPOOL_CHECK(report->total.requests == trace.requests().size());
        CXLPOOL_CHECK(report->total.hits <= report->total.spans);
        CXLPOOL_CHECK(report->total.prefill_tokens_saved <= report->total.prefill_tokens);
        CXLPOOL_CHECK(report->total.bytes_resident <= report->pools * options.pool_bytes);
        CXLPOOL_CHECK(report->total.evictions_caused == report->total.evictions_suffered);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
    TraceOptions options;
    options.limits.line_bytes = 4096;
    options.limits.tenants = 64;
    const auto trace = read_trace("fuzz", in, options);
    if (trace) {
        use(*trace);
    } else {
        CXLPOOL_CHECK(trace.error().message().rfind("fuzz:", 0) == 0);
    }
    return 0;
}

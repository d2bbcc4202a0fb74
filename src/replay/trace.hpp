// A trace of requests, in memory.
//
// Responsible for: keeping what a replay needs of millions of requests, each span by a small number
// that stands for its digest. Refuses to know: files. Invariants: two spans have the same number
// exactly when their digests are equal; numbers count from 0 in the order of first use.
//
// It takes 48 bytes a request, 4 bytes a span of a request, and about 48 bytes a distinct span.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "registry/span_hash.hpp"

namespace cxlpool::replay {

// One request as a reader gives it.
struct TraceRequest {
    std::uint64_t time_ns = 0;  // from the trace's own start; never before the request in front
    std::uint32_t tenant = 0;   // index into the tenants of the trace
    std::uint64_t tokens = 0;   // of the prompt
    std::uint64_t output_tokens = 0;
    std::uint64_t bytes_per_span = 0;  // 0: not said
    // Of the prompt, from its beginning. All but the last are whole blocks.
    std::vector<SpanDigest> spans;
};

class Trace {
  public:
    struct Request {
        std::uint64_t time_ns = 0;
        std::uint64_t first_span = 0;
        std::uint64_t tokens = 0;
        std::uint64_t output_tokens = 0;
        std::uint64_t bytes_per_span = 0;
        std::uint32_t tenant = 0;
        std::uint32_t span_count = 0;
    };

    // The spans of a trace are fewer than 2^32.
    void add(const TraceRequest& request);
    void set_tenants(std::vector<std::string> names) { tenants_ = std::move(names); }
    void set_block_tokens(std::uint64_t tokens) { block_tokens_ = tokens; }

    const std::vector<Request>& requests() const noexcept { return requests_; }
    // Their names, by index.
    const std::vector<std::string>& tenants() const noexcept { return tenants_; }
    std::uint64_t block_tokens() const noexcept { return block_tokens_; }
    // The numbers of the request's spans.
    std::span<const std::uint32_t> spans_of(const Request& request) const noexcept {
        return std::span(spans_).subspan(request.first_span, request.span_count);
    }
    // How many tokens the span at `index` of the request holds: the last one may hold fewer.
    std::uint64_t tokens_of(const Request& request, std::size_t index) const noexcept {
        const std::uint64_t before = index * block_tokens_;
        return request.tokens - before < block_tokens_ ? request.tokens - before : block_tokens_;
    }
    const SpanDigest& digest(std::uint32_t span) const noexcept { return digests_[span]; }

    std::uint64_t span_count() const noexcept { return spans_.size(); }
    std::uint64_t distinct_spans() const noexcept { return digests_.size(); }

  private:
    std::uint32_t number_of(const SpanDigest& digest);
    void grow();

    std::uint64_t block_tokens_ = 0;
    std::vector<std::string> tenants_;
    std::vector<Request> requests_;
    std::vector<std::uint32_t> spans_;
    std::vector<SpanDigest> digests_;
    // Open addressing: 1 + the number of the span that hashes here or before; 0: free. At most half
    // full, a power of two long. A table of nodes would take three times the memory.
    std::vector<std::uint32_t> slots_;
    SpanHash hash_;
};

}  // namespace cxlpool::replay

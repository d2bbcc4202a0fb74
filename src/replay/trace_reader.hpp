// Traces of requests as files: JSON, one object a line, in one of two layouts.
//
// Responsible for: reading either layout strictly and fast, tenants for the requests of a layout
// that has none, and the bounds of all that a file can ask for. docs/simulate.md describes both
// layouts. Invariants: every message names file, line and column; a number is read exactly or
// refused; the requests come in the order of their times.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "replay/line_scanner.hpp"
#include "replay/trace.hpp"

namespace cxlpool::replay {

// Which tenant a request is of, when the trace does not say.
enum class AssignRule : std::uint8_t {
    single,          // all are of one tenant
    request_modulo,  // the number of the request, from 0, modulo the tenants
    first_block,     // the first hash id modulo the tenants: equal beginnings, equal tenant
};
std::string_view to_word(AssignRule rule) noexcept;  // "single", "request-modulo", "first-block"
Result<AssignRule> parse_assign_rule(std::string_view word);

struct Assignment {
    AssignRule rule = AssignRule::single;
    std::uint32_t tenants = 1;
};

// What a trace may ask of memory. The defaults bound it to about 6 GB, most of it for spans that
// are all distinct.
struct TraceLimits {
    std::size_t line_bytes = 4U << 20U;  // room for as many spans as below, as hexadecimal digests
    std::uint32_t spans_per_request = 1U << 15U;  // 16 million tokens in blocks of 512
    std::uint64_t requests = 20'000'000;
    std::uint64_t spans = 100'000'000;
    std::uint32_t tenants = 1024;  // a simulation may make a pool for each
};

inline constexpr std::uint64_t kMaxTraceTokens = 1ULL << 32U;   // of a request
inline constexpr std::uint64_t kMaxBytesPerSpan = 1ULL << 32U;  // sums stay far below 2^64
inline constexpr std::uint64_t kMaxTraceTimeNs = 1ULL << 62U;   // 146 years; leases add to it
inline constexpr std::uint64_t kMaxBlockTokens = 1ULL << 20U;

struct TraceOptions {
    std::uint64_t block_tokens = 512;  // 1..kMaxBlockTokens
    // For traces without tenants; they have one when nothing is assigned.
    std::optional<Assignment> assignment;
    TraceLimits limits;
};

class TraceReader {
  public:
    // `name` goes in front of messages. Both outlive the reader.
    TraceReader(std::string_view name, std::istream& in, const TraceOptions& options);

    // The next request, or false at the end. After an error nothing more can be read.
    // Errors: malformed, unknown_word, overflow, too_large, limit_exceeded, invalid_argument, io.
    Result<bool> next(TraceRequest& out);

    // Of the requests read so far, in the order of first use; all that were assigned.
    const std::vector<std::string>& tenants() const noexcept { return tenants_; }

  private:
    enum class Layout : std::uint8_t { own, published };
    struct Field;
    static const Field kFields[];
    // What one line said, with the places of what is checked when all of it is known.
    struct Line;

    Result<bool> next_line(std::string_view& line);
    Result<void> parse(std::string_view text, TraceRequest& out);
    void read_field(LineScanner& scanner, Line& line, TraceRequest& out);
    void read_spans(LineScanner& scanner, Layout layout, Line& line, TraceRequest& out);
    void check(LineScanner& scanner, const Line& line, const TraceRequest& out);
    void take_tenant(LineScanner& scanner, const Line& line, TraceRequest& out);
    Error limit(Errc code, std::string_view what) const;

    std::string_view name_;
    std::istream& in_;
    TraceOptions options_;
    std::string buffer_;
    std::size_t begin_ = 0;  // of the bytes in `buffer_` that no line was made of
    std::size_t end_ = 0;
    std::uint64_t line_number_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t spans_ = 0;
    std::uint64_t last_time_ns_ = 0;
    std::optional<Layout> layout_;
    std::vector<std::string> tenants_;
    std::map<std::string, std::uint32_t, std::less<>> tenant_index_;
};

// All of a trace. `progress`, when there is one, is told now and then how many requests were read.
// Errors: as above; malformed, too, when there is no request.
Result<Trace> read_trace(std::string_view name, std::istream& in, const TraceOptions& options,
                         const std::function<void(std::uint64_t)>& progress = {});

}  // namespace cxlpool::replay

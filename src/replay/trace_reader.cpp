#include "replay/trace_reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool::replay {
namespace {

constexpr std::size_t kStepBytes = 256U << 10U;
constexpr std::uint64_t kProgressEvery = 1U << 14U;  // requests
constexpr std::size_t kMaxTenantNameBytes = 64;      // it is shown in tables
constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

constexpr std::array kAssignRules{
    words::Word<AssignRule>{AssignRule::single, "single"},
    words::Word<AssignRule>{AssignRule::request_modulo, "request-modulo"},
    words::Word<AssignRule>{AssignRule::first_block, "first-block"},
};

// A number that names a span becomes a digest that no hash gives.
SpanDigest digest_of(std::uint64_t id) {
    static constexpr std::string_view kPrefix = "cxlpool trace hash id: ";
    SpanDigest digest;
    std::memcpy(digest.bytes.data(), kPrefix.data(), kPrefix.size());
    std::memcpy(digest.bytes.data() + digest.bytes.size() - sizeof id, &id, sizeof id);
    return digest;
}

bool is_printable_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string_view to_word(AssignRule rule) noexcept {
    return words::text_of(kAssignRules, rule);
}

Result<AssignRule> parse_assign_rule(std::string_view word) {
    return words::parse(kAssignRules, "rule of assignment", word);
}

struct TraceReader::Field {
    enum class Key : std::uint8_t { time, tenant, spans, tokens, output_tokens, bytes_per_span };
    std::string_view name;
    Layout layout;
    Key key;
    bool required;
};

const TraceReader::Field TraceReader::kFields[] = {
    {"timestamp", Layout::published, Field::Key::time, true},
    {"input_length", Layout::published, Field::Key::tokens, true},
    {"output_length", Layout::published, Field::Key::output_tokens, true},
    {"hash_ids", Layout::published, Field::Key::spans, true},
    {"time_ms", Layout::own, Field::Key::time, true},
    {"tenant", Layout::own, Field::Key::tenant, true},
    {"spans", Layout::own, Field::Key::spans, true},
    {"tokens", Layout::own, Field::Key::tokens, true},
    {"output_tokens", Layout::own, Field::Key::output_tokens, false},
    {"bytes_per_span", Layout::own, Field::Key::bytes_per_span, false},
};

struct TraceReader::Line {
    std::uint32_t seen = 0;  // a bit for each row of kFields
    std::optional<Layout> layout;
    std::size_t unknown_at = 0;
    std::string_view unknown;  // the first key that no layout has
    bool has_unknown = false;
    std::size_t time_at = 0;
    std::size_t spans_at = 0;
    std::size_t tenant_at = 0;
    std::uint64_t first_id = 0;
    std::string tenant;
};

TraceReader::TraceReader(std::string_view name, std::istream& in, const TraceOptions& options)
    : name_(name), in_(in), options_(options) {
    CXLPOOL_CHECK(options_.block_tokens > 0 && options_.block_tokens <= kMaxBlockTokens);
    if (options_.assignment) {
        CXLPOOL_CHECK(options_.assignment->tenants > 0 &&
                      options_.assignment->tenants <= options_.limits.tenants);
    }
}

Error TraceReader::limit(Errc code, std::string_view what) const {
    return Error{
        code, std::string(name_) + ':' + std::to_string(line_number_) + ":1: " + std::string(what)};
}

Result<bool> TraceReader::next_line(std::string_view& line) {
    std::size_t searched = begin_;
    while (true) {
        const void* const newline = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
        const std::size_t end =
            newline == nullptr
                ? end_
                : static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data());
        if (end - begin_ > options_.limits.line_bytes) {
            ++line_number_;
            return limit(Errc::too_large, "the line is longer than " +
                                              format_bytes(options_.limits.line_bytes) +
                                              ", which is the most that is read");
        }
        if (newline != nullptr || (in_.eof() && end > begin_)) {
            ++line_number_;
            line = std::string_view(buffer_).substr(begin_, end - begin_);
            begin_ = newline != nullptr ? end + 1 : end;
            return true;
        }
        if (in_.bad() || (in_.fail() && !in_.eof())) {
            return Error{Errc::io, std::string(name_) + ": cannot be read"};
        }
        if (in_.eof()) {
            return false;
        }
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        searched = end_;
        if (buffer_.size() - end_ < kStepBytes) {
            buffer_.resize(std::max(buffer_.size() * 2, end_ + kStepBytes));
        }
        in_.read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
        end_ += static_cast<std::size_t>(in_.gcount());
    }
}

Result<bool> TraceReader::next(TraceRequest& out) {
    std::string_view line;
    do {
        const Result<bool> got = next_line(line);
        if (!got || !*got) {
            return got;
        }
    } while (line.find_first_not_of(" \t\r") == line.npos);
    if (++requests_ > options_.limits.requests) {
        return limit(Errc::limit_exceeded, "at most " + std::to_string(options_.limits.requests) +
                                               " requests are read: cut the trace");
    }
    CXLPOOL_TRY(parse(line, out));
    return true;
}

Result<void> TraceReader::parse(std::string_view text, TraceRequest& out) {
    LineScanner scanner(name_, line_number_, text);
    Line line;
    out.spans.clear();
    out.output_tokens = 0;
    out.bytes_per_span = 0;
    scanner.expect('{');
    if (!scanner.accept('}')) {
        do {
            read_field(scanner, line, out);
        } while (scanner.accept(','));
        scanner.expect('}');
    }
    scanner.expect_end();
    if (scanner.ok()) {
        check(scanner, line, out);
    }
    if (scanner.ok()) {
        take_tenant(scanner, line, out);
    }
    if (!scanner.ok()) {
        return scanner.error();
    }
    last_time_ns_ = out.time_ns;
    spans_ += out.spans.size();
    return {};
}

void TraceReader::read_field(LineScanner& scanner, Line& line, TraceRequest& out) {
    const std::size_t key_at = scanner.position();
    const std::string_view key = scanner.plain_string("a key");
    scanner.expect(':');
    const Field* const field = std::find_if(std::begin(kFields), std::end(kFields),
                                            [&](const Field& f) { return f.name == key; });
    if (!scanner.ok()) {
        return;
    }
    if (field == std::end(kFields)) {
        if (!line.has_unknown) {
            line.has_unknown = true;
            line.unknown = key;
            line.unknown_at = key_at;
        }
        scanner.skip_value();
        return;
    }
    const std::uint32_t bit = 1U << static_cast<unsigned>(field - std::begin(kFields));
    if ((line.seen & bit) != 0) {
        scanner.fail(Errc::malformed, key_at, "key " + words::quoted(key) + " twice");
        return;
    }
    line.seen |= bit;
    const Layout wanted = layout_.value_or(line.layout.value_or(field->layout));
    if (field->layout != wanted) {
        scanner.fail(Errc::malformed, key_at,
                     "key " + words::quoted(key) +
                         " is of the other layout than what stands "
                         "before it: a trace has one layout");
        return;
    }
    line.layout = field->layout;
    const std::size_t value_at = scanner.position();
    switch (field->key) {
        case Field::Key::time:
            line.time_at = value_at;
            out.time_ns = scanner.milliseconds(key, kMaxTraceTimeNs);
            break;
        case Field::Key::tenant:
            line.tenant_at = value_at;
            line.tenant = scanner.peek() == '"' ? std::string(scanner.plain_string(key))
                                                : std::to_string(scanner.whole(key, kAnyNumber));
            break;
        case Field::Key::spans:
            line.spans_at = value_at;
            read_spans(scanner, field->layout, line, out);
            break;
        case Field::Key::tokens:
            out.tokens = scanner.whole(key, kMaxTraceTokens);
            break;
        case Field::Key::output_tokens:
            out.output_tokens = scanner.whole(key, kMaxTraceTokens);
            break;
        case Field::Key::bytes_per_span:
            out.bytes_per_span = scanner.whole(key, kMaxBytesPerSpan);
            if (out.bytes_per_span == 0) {
                scanner.fail(Errc::invalid_argument, value_at,
                             "bytes_per_span is 0: leave it out where it is not known");
            }
            break;
    }
}

void TraceReader::read_spans(LineScanner& scanner, Layout layout, Line& line, TraceRequest& out) {
    scanner.expect('[');
    if (scanner.accept(']')) {
        return;
    }
    do {
        const std::size_t at = scanner.position();
        if (out.spans.size() == options_.limits.spans_per_request) {
            scanner.fail(Errc::limit_exceeded, at,
                         "more than " + std::to_string(options_.limits.spans_per_request) +
                             " spans in a request");
            return;
        }
        if (layout == Layout::own && scanner.peek() == '"') {
            SpanDigest digest;
            const std::string_view text = scanner.plain_string("a span");
            if (scanner.ok() &&
                (!from_hex(text, digest.bytes.data(), digest.bytes.size()) || !digest.present())) {
                scanner.fail(Errc::malformed, at,
                             "span " + words::quoted(text) +
                                 ": 64 hexadecimal digits, not all zero, or a number are wanted");
                return;
            }
            out.spans.push_back(digest);
        } else {
            const std::uint64_t id = scanner.whole("a span", kAnyNumber);
            line.first_id = out.spans.empty() ? id : line.first_id;
            out.spans.push_back(digest_of(id));
        }
    } while (scanner.accept(','));
    scanner.expect(']');
}

// What only the whole line shows.
void TraceReader::check(LineScanner& scanner, const Line& line, const TraceRequest& out) {
    if (line.has_unknown && line.layout != Layout::published) {
        scanner.fail(Errc::unknown_word, line.unknown_at,
                     "unknown key " + words::quoted(line.unknown) +
                         ": known are time_ms, tenant, spans, tokens, output_tokens and "
                         "bytes_per_span");
        return;
    }
    for (std::size_t i = 0; i < std::size(kFields); ++i) {
        const bool of_this = kFields[i].layout == line.layout.value_or(Layout::own);
        if (of_this && kFields[i].required && (line.seen & (1U << i)) == 0) {
            scanner.fail(Errc::malformed, 0,
                         "no \"" + std::string(kFields[i].name) + "\" in this request");
            return;
        }
    }
    layout_ = line.layout;
    const std::uint64_t count = out.spans.size();
    if (out.time_ns < last_time_ns_) {
        scanner.fail(Errc::invalid_argument, line.time_at,
                     "the request is earlier than the one before it: sort the trace by time");
    } else if (count > 0 && out.tokens <= (count - 1) * options_.block_tokens) {
        scanner.fail(Errc::invalid_argument, line.spans_at,
                     std::to_string(count) + " spans of " + std::to_string(options_.block_tokens) +
                         " tokens are more than the " + std::to_string(out.tokens) +
                         " tokens of the request: give the right size of a block");
    } else if (spans_ + count > options_.limits.spans) {
        scanner.fail(
            Errc::limit_exceeded, line.spans_at,
            "at most " + std::to_string(options_.limits.spans) + " spans are read: cut the trace");
    }
}

void TraceReader::take_tenant(LineScanner& scanner, const Line& line, TraceRequest& out) {
    if (*layout_ == Layout::published) {
        const Assignment rule = options_.assignment.value_or(Assignment{});
        for (std::uint32_t i = static_cast<std::uint32_t>(tenants_.size()); i < rule.tenants; ++i) {
            tenants_.push_back(std::to_string(i + 1));
        }
        const std::uint64_t number = rule.rule == AssignRule::request_modulo ? requests_ - 1
                                     : rule.rule == AssignRule::first_block  ? line.first_id
                                                                             : 0;
        out.tenant = static_cast<std::uint32_t>(number % rule.tenants);
        return;
    }
    if (options_.assignment) {
        scanner.fail(Errc::invalid_argument, line.tenant_at,
                     "the requests of this trace name their tenants: leave --tenants and --assign "
                     "out");
        return;
    }
    if (line.tenant.empty() || line.tenant.size() > kMaxTenantNameBytes ||
        !is_printable_ascii(line.tenant)) {
        scanner.fail(Errc::invalid_argument, line.tenant_at,
                     "tenant is " + words::quoted(line.tenant) + ": a number, or a name of 1 to " +
                         std::to_string(kMaxTenantNameBytes) +
                         " printable ASCII characters is wanted");
        return;
    }
    const auto known = tenant_index_.find(line.tenant);
    if (known != tenant_index_.end()) {
        out.tenant = known->second;
        return;
    }
    if (tenants_.size() == options_.limits.tenants) {
        scanner.fail(Errc::limit_exceeded, line.tenant_at,
                     "more than " + std::to_string(options_.limits.tenants) + " tenants");
        return;
    }
    out.tenant = static_cast<std::uint32_t>(tenants_.size());
    tenant_index_.emplace(line.tenant, out.tenant);
    tenants_.push_back(line.tenant);
}

Result<Trace> read_trace(std::string_view name, std::istream& in, const TraceOptions& options,
                         const std::function<void(std::uint64_t)>& progress) {
    TraceReader reader(name, in, options);
    Trace trace;
    trace.set_block_tokens(options.block_tokens);
    TraceRequest request;
    while (true) {
        const Result<bool> more = reader.next(request);
        if (!more) {
            return more.error();
        }
        if (!*more) {
            break;
        }
        trace.add(request);
        if (progress && trace.requests().size() % kProgressEvery == 0) {
            progress(trace.requests().size());
        }
    }
    if (trace.requests().empty()) {
        return Error{Errc::malformed, std::string(name) + ":1:1: no request in this trace"};
    }
    trace.set_tenants(reader.tenants());
    return trace;
}

}  // namespace cxlpool::replay

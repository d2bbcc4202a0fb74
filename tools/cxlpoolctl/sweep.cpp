#include "cxlpoolctl/sweep.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/units.hpp"

namespace cxlpool::ctl {
namespace {

constexpr std::array<std::string_view, 4> kVariables{"tenants", "hosts", "tokens", "bytes"};

Error wrong(std::string_view text, const std::string& why) {
    return Error{Errc::invalid_argument,
                 "--sweep: '" + std::string(text) + "': " + why +
                     "; write NAME=FROM..TO, with +STEP or *FACTOR behind it, as in "
                     "tenants=1..1024*2"};
}

struct Range {
    std::string_view from;
    std::string_view to;
    std::string_view step;  // empty: none given
    bool geometric = false;
};

std::optional<Range> split(std::string_view text) {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) {
        return std::nullopt;
    }
    Range range;
    range.from = text.substr(0, dots);
    range.to = text.substr(dots + 2);
    if (const std::size_t sign = range.to.find_first_of("+*"); sign != std::string_view::npos) {
        range.geometric = range.to[sign] == '*';
        range.step = range.to.substr(sign + 1);
        range.to = range.to.substr(0, sign);
        if (range.step.empty()) {
            return std::nullopt;
        }
    }
    return range;
}

// From `from` to `to`; stops one point after the limit, so that the caller sees that it was passed.
std::vector<std::uint64_t> points_of(std::uint64_t from, std::uint64_t to, std::uint64_t step,
                                     bool geometric) {
    std::vector<std::uint64_t> points;
    std::optional<std::uint64_t> value = from;
    while (value && *value <= to && points.size() <= kMaxSweepPoints) {
        points.push_back(*value);
        value = geometric ? checked_mul(*value, step) : checked_add(*value, step);
    }
    return points;
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, std::min(equals, text.size()));
    if (std::find(kVariables.begin(), kVariables.end(), name) == kVariables.end()) {
        return wrong(text, "no input of this name varies: tenants, hosts, tokens and bytes do");
    }
    const std::optional<Range> range =
        equals == std::string_view::npos ? std::nullopt : split(text.substr(equals + 1));
    if (!range) {
        return wrong(text, "this is no range");
    }
    const auto parse = [&](std::string_view number) {
        return name == "bytes" ? parse_bytes(number) : parse_u64(number);
    };
    const Result<std::uint64_t> from = parse(range->from);
    const Result<std::uint64_t> to = parse(range->to);
    const Result<std::uint64_t> step = range->step.empty() ? Result<std::uint64_t>(1)
                                       : range->geometric  ? parse_u64(range->step)
                                                           : parse(range->step);
    for (const Result<std::uint64_t>* number : {&from, &to, &step}) {
        if (!*number) {
            return wrong(text, number->error().message());
        }
    }
    if (*from == 0 || *to < *from) {
        return wrong(text, "a range goes up, from 1 or more");
    }
    if (*step < (range->geometric ? 2U : 1U)) {
        return wrong(text, "a step is at least 1, a factor at least 2");
    }
    Sweep sweep{std::string(name), points_of(*from, *to, *step, range->geometric),
                range->geometric};
    if (sweep.points.size() > kMaxSweepPoints) {
        return wrong(text, "that is more than " + std::to_string(kMaxSweepPoints) + " points");
    }
    return sweep;
}

}  // namespace cxlpool::ctl

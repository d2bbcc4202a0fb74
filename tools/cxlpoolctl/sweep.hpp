// A series of values that one input of a plan takes.
//
// Responsible for: reading "tenants=1..1024", "bytes=1MiB..1GiB*2", "hosts=1..64+4" and the points
// that they mean. Invariants: at least one point and at most kMaxSweepPoints, rising, from 1 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cxlpool::ctl {

// More points than a screen or a picture can show.
inline constexpr std::size_t kMaxSweepPoints = 10'000;

struct Sweep {
    std::string variable;  // tenants, hosts, tokens, bytes
    std::vector<std::uint64_t> points;
    bool geometric = false;  // each point is a multiple of the one before
};

// The first value is always a point, the last one when the steps meet it; the step is 1 when none
// is given. Bytes may have units. Error: invalid_argument, with the form that is wanted.
Result<Sweep> parse_sweep(std::string_view text);

}  // namespace cxlpool::ctl

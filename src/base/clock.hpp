// Time as a value. Decisions take a Timestamp; only edges ask a Clock.
#pragma once

#include <compare>
#include <cstdint>

namespace cxlpool {

// Nanoseconds since the Unix epoch for records that people read, since an arbitrary start for
// leases and timeouts; which one is said where it is used.
struct Timestamp {
    std::uint64_t ns = 0;
    auto operator<=>(const Timestamp&) const = default;
};

constexpr Timestamp after_ms(Timestamp start, std::uint64_t ms) noexcept {
    return Timestamp{start.ns + ms * 1'000'000};
}

class Clock {
  public:
    virtual ~Clock() = default;
    virtual Timestamp monotonic() const = 0;  // CLOCK_BOOTTIME
    virtual Timestamp wall() const = 0;       // CLOCK_REALTIME
};

// The machine's clocks.
const Clock& system_clock();

}  // namespace cxlpool

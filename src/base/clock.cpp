#include "base/clock.hpp"

#include <ctime>

namespace cxlpool {
namespace {

Timestamp read_clock(clockid_t id) {
    timespec now{};
    ::clock_gettime(id, &now);
    return Timestamp{static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL +
                     static_cast<std::uint64_t>(now.tv_nsec)};
}

class SystemClock final : public Clock {
  public:
    Timestamp monotonic() const override { return read_clock(CLOCK_BOOTTIME); }
    Timestamp wall() const override { return read_clock(CLOCK_REALTIME); }
};

}  // namespace

const Clock& system_clock() {
    static const SystemClock clock;
    return clock;
}

}  // namespace cxlpool

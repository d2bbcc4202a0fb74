#include "replay/trace.hpp"

#include "base/check.hpp"

namespace cxlpool::replay {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

void Trace::grow() {
    std::vector<std::uint32_t> slots(slots_.empty() ? kFirstSlots : slots_.size() * 2);
    const std::size_t mask = slots.size() - 1;
    for (std::uint32_t number = 0; number < digests_.size(); ++number) {
        std::size_t at = hash_(digests_[number]) & mask;
        while (slots[at] != 0) {
            at = (at + 1) & mask;
        }
        slots[at] = number + 1;
    }
    slots_ = std::move(slots);
}

std::uint32_t Trace::number_of(const SpanDigest& digest) {
    if (digests_.size() >= slots_.size() / 2) {
        grow();
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_(digest) & mask;
    while (slots_[at] != 0) {
        if (digests_[slots_[at] - 1] == digest) {
            return slots_[at] - 1;
        }
        at = (at + 1) & mask;
    }
    digests_.push_back(digest);
    CXLPOOL_CHECK(digests_.size() < UINT32_MAX);
    slots_[at] = static_cast<std::uint32_t>(digests_.size());
    return slots_[at] - 1;
}

void Trace::add(const TraceRequest& request) {
    requests_.push_back({request.time_ns, spans_.size(), request.tokens, request.output_tokens,
                         request.bytes_per_span, request.tenant,
                         static_cast<std::uint32_t>(request.spans.size())});
    for (const SpanDigest& span : request.spans) {
        spans_.push_back(number_of(span));
    }
}

}  // namespace cxlpool::replay

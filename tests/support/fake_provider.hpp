// A segment provider of ordinary memory that fails when it is told to.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory/provider.hpp"

namespace cxlpool::test {

// What the test sees and steers while the pool owns the provider.
struct FakeProviderState {
    std::uint64_t creates = 0;      // attempts so far
    std::uint64_t fail_create = 0;  // this attempt fails, counted from 1; 0: none
    Errc fail_code = Errc::out_of_memory;
    bool populated = true;       // what segments say of themselves
    std::uint64_t segments = 0;  // alive
    std::uint64_t bytes = 0;     // in them
    std::vector<std::pair<std::uint64_t, SegmentUse>> made;
};

class FakeSegment final : public Segment {
  public:
    FakeSegment(std::uint64_t size_bytes, SegmentUse use, std::byte fill, FakeProviderState& state)
        : memory_(size_bytes, fill), use_(use), state_(state) {
        ++state_.segments;
        state_.bytes += size_bytes;
    }
    FakeSegment(const FakeSegment&) = delete;
    FakeSegment& operator=(const FakeSegment&) = delete;
    ~FakeSegment() override {
        --state_.segments;
        state_.bytes -= memory_.size();
    }
    std::uint64_t size_bytes() const noexcept override { return memory_.size(); }
    bool populated() const noexcept override { return state_.populated; }
    std::span<std::byte> bytes() noexcept override { return memory_; }
    Result<UniqueFd> open_writable() override {
        if (use_ == SegmentUse::shared_read_only) {
            return Error{Errc::not_permitted, "read only"};
        }
        return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    Result<UniqueFd> open_readable() override {
        return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    }

  private:
    std::vector<std::byte> memory_;
    SegmentUse use_;
    FakeProviderState& state_;
};

class FakeProvider final : public SegmentProvider {
  public:
    // `state` outlives the provider and its segments.
    FakeProvider(ProviderTraits traits, FakeProviderState& state)
        : traits_(std::move(traits)), state_(state) {}

    const ProviderTraits& traits() const noexcept override { return traits_; }

    Result<std::unique_ptr<Segment>> create_segment(std::uint64_t size_bytes,
                                                    SegmentUse use) override {
        if (++state_.creates == state_.fail_create) {
            return Error{state_.fail_code, "told to fail"};
        }
        state_.made.emplace_back(size_bytes, use);
        // What a device carries is not zero.
        const std::byte fill = traits_.single_segment ? std::byte{0xee} : std::byte{0};
        return std::unique_ptr<Segment>(
            std::make_unique<FakeSegment>(size_bytes, use, fill, state_));
    }

  private:
    ProviderTraits traits_;
    FakeProviderState& state_;
};

inline ProviderTraits fake_traits(std::uint64_t capacity_bytes) {
    ProviderTraits traits;
    traits.kind = "fake";
    traits.capacity_bytes = capacity_bytes;
    traits.largest_segment_bytes = capacity_bytes;
    return traits;
}

inline ProviderTraits fake_device_traits(std::uint64_t capacity_bytes) {
    ProviderTraits traits = fake_traits(capacity_bytes);
    traits.isolation = Isolation::cooperative;
    traits.single_segment = true;
    traits.alignment_bytes = 2U << 20U;
    return traits;
}

}  // namespace cxlpool::test

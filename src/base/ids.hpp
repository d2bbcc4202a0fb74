// Identifiers and digests that several modules speak of. Each is a type of its own, so that a cell
// can never be passed where a segment is meant.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>

namespace cxlpool {

// Who owns bytes and is trusted or not. Zero is nobody.
struct TenantId {
    std::uint64_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    auto operator<=>(const TenantId&) const = default;
};

struct CellId {
    std::uint64_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    auto operator<=>(const CellId&) const = default;
};

// A lease on one connection: an index into its lease board and the generation of that entry.
// Meaningful on that connection only, so that its numbers say nothing about anybody else.
struct LeaseRef {
    std::uint32_t index = 0;
    std::uint32_t generation = 0;  // never 0 for a real lease
    bool operator==(const LeaseRef&) const = default;
};

// A 256-bit digest; all zeros means "absent".
struct Digest256 {
    std::array<std::uint8_t, 32> bytes{};
    bool present() const noexcept {
        for (const std::uint8_t b : bytes) {
            if (b != 0) {
                return true;
            }
        }
        return false;
    }
    auto operator<=>(const Digest256&) const = default;
};

// Names the tokens of a span (and, by chaining, all before them). Computed by the engine.
struct SpanDigest : Digest256 {
    auto operator<=>(const SpanDigest&) const = default;
};

// Over the KV bytes of a cell, taken by the daemon.
struct ContentDigest : Digest256 {
    auto operator<=>(const ContentDigest&) const = default;
};

}  // namespace cxlpool

// Span digests as keys of a hash table. Engines, and whoever wrote a trace, choose them; a keyed
// hash keeps them from choosing collisions.
#pragma once

#include <sodium.h>

#include <array>
#include <cstring>

#include "base/ids.hpp"

namespace cxlpool {

// A span in a tenant's keyspace, as that tenant's own.
struct OwnSpan {
    TenantId owner;
    SpanDigest span;
    bool operator==(const OwnSpan&) const = default;
};

// The calls are not noexcept on purpose: libstdc++ takes a hash that is for a quick one and does
// not keep it, and then computes that of each neighbour in a bucket, and of every key when a table
// grows.
class SpanHash {
  public:
    SpanHash() { ::crypto_shorthash_keygen(key_.data()); }
    std::size_t operator()(const SpanDigest& span) const {
        return hash(span.bytes.data(), span.bytes.size());
    }
    std::size_t operator()(const OwnSpan& own) const {
        std::array<unsigned char, sizeof own.owner.value + sizeof own.span.bytes> bytes{};
        std::memcpy(bytes.data(), &own.owner.value, sizeof own.owner.value);
        std::memcpy(bytes.data() + sizeof own.owner.value, own.span.bytes.data(),
                    own.span.bytes.size());
        return hash(bytes.data(), bytes.size());
    }

  private:
    std::size_t hash(const unsigned char* bytes, std::size_t size) const noexcept {
        std::array<unsigned char, crypto_shorthash_BYTES> out{};
        ::crypto_shorthash(out.data(), bytes, size, key_.data());
        std::size_t value = 0;
        std::memcpy(&value, out.data(), sizeof value);
        return value;
    }
    std::array<unsigned char, crypto_shorthash_KEYBYTES> key_{};
};

}  // namespace cxlpool

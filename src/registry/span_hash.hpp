// Span digests as keys of a hash table. Engines, and whoever wrote a trace, choose them; a keyed
// hash keeps them from choosing collisions.
#pragma once

#include <sodium.h>

#include <array>
#include <cstring>

#include "base/ids.hpp"

namespace cxlpool {

class SpanHash {
  public:
    SpanHash() { ::crypto_shorthash_keygen(key_.data()); }
    std::size_t operator()(const SpanDigest& span) const noexcept {
        std::array<unsigned char, crypto_shorthash_BYTES> out{};
        ::crypto_shorthash(out.data(), span.bytes.data(), span.bytes.size(), key_.data());
        std::size_t value = 0;
        std::memcpy(&value, out.data(), sizeof value);
        return value;
    }

  private:
    std::array<unsigned char, crypto_shorthash_KEYBYTES> key_{};
};

}  // namespace cxlpool

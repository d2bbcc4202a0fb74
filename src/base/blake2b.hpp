// BLAKE2b-256, unkeyed: the one hash behind every digest that cxlpool takes.
//
// Responsible for: feeding libsodium piece by piece. Refuses to know what is hashed and how fields
// are told apart; whoever hashes more than one field needs domain/tagged_hash.hpp.
#pragma once

#include <sodium/crypto_generichash_blake2b.h>

#include <cstddef>
#include <span>

#include "base/ids.hpp"

namespace cxlpool {

class Blake2b256 {
  public:
    Blake2b256();
    void update(std::span<const std::byte> bytes);
    // Once, at the end. Never all zeros, which means "absent": nobody can find bytes with that
    // digest, and whoever does has broken the hash.
    Digest256 finish();

  private:
    crypto_generichash_blake2b_state state_;
};

}  // namespace cxlpool

#include "base/blake2b.hpp"

#include <sodium/core.h>

#include "base/check.hpp"

namespace cxlpool {
namespace {

const unsigned char* data_of(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

Blake2b256::Blake2b256() {
    // sodium_init picks the fastest code for this processor; it is safe to call from any thread.
    static const int initialised = sodium_init();
    CXLPOOL_CHECK(initialised >= 0);
    CXLPOOL_CHECK(crypto_generichash_blake2b_init(&state_, nullptr, 0, sizeof(Digest256::bytes)) ==
                  0);
}

void Blake2b256::update(std::span<const std::byte> bytes) {
    CXLPOOL_CHECK(crypto_generichash_blake2b_update(&state_, data_of(bytes), bytes.size()) == 0);
}

Digest256 Blake2b256::finish() {
    Digest256 digest;
    const int done =
        crypto_generichash_blake2b_final(&state_, digest.bytes.data(), digest.bytes.size());
    CXLPOOL_CHECK(done == 0 && digest.present());
    return digest;
}

}  // namespace cxlpool

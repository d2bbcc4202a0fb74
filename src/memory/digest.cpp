#include "memory/digest.hpp"

#include <sodium.h>

#include "base/check.hpp"

namespace cxlpool {

ContentDigest digest_bytes(std::span<const std::byte> bytes) {
    // sodium_init picks the fastest code for this processor; it is safe to call from any thread.
    static const int initialised = sodium_init();
    CXLPOOL_CHECK(initialised >= 0);
    ContentDigest digest;
    const int done = crypto_generichash_blake2b(
        digest.bytes.data(), digest.bytes.size(),
        reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
    CXLPOOL_CHECK(done == 0 && digest.present());
    return digest;
}

}  // namespace cxlpool

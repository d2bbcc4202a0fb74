#include "memory/digest.hpp"

#include "base/blake2b.hpp"

namespace cxlpool {

ContentDigest digest_bytes(std::span<const std::byte> bytes) {
    Blake2b256 hash;
    hash.update(bytes);
    return ContentDigest{hash.finish()};
}

}  // namespace cxlpool

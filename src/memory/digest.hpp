// The content digest of the bytes of a cell.
//
// BLAKE2b-256, unkeyed: two cells with the same bytes have the same digest on every host. The
// result is never all zeros, which means "absent".
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.hpp"

namespace cxlpool {

// Any thread. The bytes must not change meanwhile, or the digest is that of neither version.
ContentDigest digest_bytes(std::span<const std::byte> bytes);

}  // namespace cxlpool

// Ready-made tenants, contexts, spans and locations for the registry's tests.
#pragma once

#include "domain/context.hpp"
#include "registry/registry.hpp"

namespace cxlpool::testing {

inline SpanDigest span_of(unsigned n) {
    SpanDigest out;
    out.bytes[0] = 1;
    std::memcpy(out.bytes.data() + 1, &n, sizeof n);
    return out;
}

inline ContentDigest content_of(unsigned n) {
    ContentDigest out;
    out.bytes[0] = 2;
    std::memcpy(out.bytes.data() + 1, &n, sizeof n);
    return out;
}

// A complete key whose model axis is `model`; made without an interner.
inline ContextKey key_of(std::uint32_t model) {
    ContextKey key;
    for (AxisId& axis : key.axes) {
        axis = AxisId{1};
    }
    key.axes[static_cast<std::size_t>(Axis::model)] = AxisId{model};
    return key;
}

inline Location location_of(std::uint64_t n, std::uint64_t length_bytes, std::size_t pool = 0) {
    Location out;
    out.pool = pool;
    out.placement.segment = SegmentId{n};
    out.placement.extent = Extent{0, length_bytes};
    out.placement.length_bytes = length_bytes;
    return out;
}

inline Timestamp at_ms(std::uint64_t ms) {
    return Timestamp{ms * 1'000'000};
}

}  // namespace cxlpool::testing

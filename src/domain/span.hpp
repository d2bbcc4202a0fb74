// The digest that names a span: its tokens and media items, and through its parent all before it.
//
// Responsible for: the recipe cxlpool-span-1, exactly as docs/span-digest.md describes it. An
// engine with a 256-bit block hash of its own can pass that instead; nothing in the daemon depends
// on how a span was named. Refuses to know the context: cells are found by context and span, each
// compared for itself, so that the same tokens keep their name when a model changes and the gate
// can say which axis diverged (docs/decisions/0005-what-a-span-digest-names.md).
// Invariants: same values, same digest, on every host and byte order; two different sequences of
// values have different digests, as surely as BLAKE2b-256 has no collisions; never all zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace cxlpool {

// What stands at some tokens and is no text: an image, a sound.
struct SpanItem {
    // Counted from the first token of the span (or of the sequence that is cut into spans);
    // negative when the item began before it.
    std::int64_t first_token = 0;
    std::uint64_t token_count = 0;  // of the whole item, also of what lies outside; above 0
    Digest256 digest;               // of the item, taken by the engine; present
};

// One span. No parent: it is the first of its sequence. At least one token. The items are in
// ascending order, hold a token of the span each, and do not overlap.
// Errors: invalid_argument, overflow (an item ends beyond 63 bits).
Result<SpanDigest> span_digest(const std::optional<SpanDigest>& parent,
                               std::span<const std::uint32_t> tokens,
                               std::span<const SpanItem> items);

// Cuts tokens into blocks of `page_tokens`, each the child of the one before, and the first of
// `parent`. Tokens that do not fill a block have no name yet. `out` has room for exactly
// tokens.size() / page_tokens digests. An item counts in every block that holds one of its tokens.
// Nothing is written when it fails. Errors: as above; also page_tokens 0, or `out` of another size.
Result<void> span_chain(std::optional<SpanDigest> parent, std::span<const std::uint32_t> tokens,
                        std::span<const SpanItem> items, std::uint32_t page_tokens,
                        std::span<SpanDigest> out);

// The name of a span in the keyspace of a tenant's salt, which the daemon keeps and no message
// carries: the same tokens under different salts are different spans. Salt 0 is none and leaves the
// name as it is.
SpanDigest in_keyspace(const SpanDigest& span, std::uint64_t salt);

}  // namespace cxlpool

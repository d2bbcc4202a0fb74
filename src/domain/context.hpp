// The exact identity under which KV bytes mean something.
//
// Responsible for: the fifteen axes, what makes a value acceptable on each, and an interner that
// turns values into small integers, so that the gate compares exactly and allocates nothing.
// Invariants: AxisId 0 is "absent"; two values get the same AxisId exactly when axis and bytes
// are equal; nothing is hashed into ambiguity.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace cxlpool {

// In the order in which a divergence is named.
enum class Axis : std::uint8_t {
    model,
    tokenizer,
    serializer,
    position,
    policy,
    admitter,
    weights,
    adapter,
    dtype,
    kv_quant,
    rope,
    page_tokens,
    layers,
    shard,
    layout,
};
inline constexpr std::size_t kAxisCount = 15;

std::string_view to_word(Axis axis) noexcept;
std::optional<Axis> parse_axis(std::string_view word) noexcept;

inline constexpr std::size_t kAxisValueMaxBytes = 256;  // names and digests are short; a peer's
                                                        // context must not cost more than 4 KiB

// What an engine says. An absent axis makes the identity incomplete: such a context may be
// registered and looked up with, and is refused by the gate (key_incomplete).
struct ContextFields {
    std::array<std::optional<std::string>, kAxisCount> axes;
    std::optional<std::string>& operator[](Axis a) { return axes[static_cast<std::size_t>(a)]; }
    const std::optional<std::string>& operator[](Axis a) const {
        return axes[static_cast<std::size_t>(a)];
    }
    bool operator==(const ContextFields&) const = default;
};

// A present value must be 1..kAxisValueMaxBytes bytes of printable ASCII. `weights` and `adapter`
// must be `sha256:<64 hex>`, `blake2b:<64 hex>`, `xxh3:<32 hex>` or `version:<decimal u64>`;
// adapter may also be `none`, which is a value. A bare name is refused: names are not identity.
// `page_tokens` is a decimal number > 0. Hexadecimal is lower case and numbers have no leading
// zero, so that one identity has one spelling. Empty is never a value: it is refused, and is not
// the same as absent. Errors: invalid_argument, too_large.
Result<void> validate(const ContextFields& fields);

struct AxisId {
    std::uint32_t value = 0;
    explicit operator bool() const noexcept { return value != 0; }
    bool operator==(const AxisId&) const = default;
};

struct ContextKey {
    std::array<AxisId, kAxisCount> axes{};
    bool complete() const noexcept;
    bool operator==(const ContextKey&) const = default;
};

// The first axis that diverges, or nothing when all are equal.
std::optional<Axis> first_divergence(const ContextKey& a, const ContextKey& b) noexcept;

// Interned contexts, counted by reference. Bounded: `max_values` distinct axis values in all. An
// AxisId is used again only after the last reference to it was given back. Not for several threads
// at once. A key that did not come from acquire, or was given back too often, is a broken
// invariant and aborts.
class ContextInterner {
  public:
    explicit ContextInterner(std::size_t max_values);
    ~ContextInterner();
    ContextInterner(const ContextInterner&) = delete;
    ContextInterner& operator=(const ContextInterner&) = delete;

    // Validates, then takes one reference on each present value. Either all or nothing is taken.
    // Errors: those of validate, limit_exceeded.
    Result<ContextKey> acquire(const ContextFields& fields);

    // One more reference on each value of a key got from acquire.
    void retain(const ContextKey& key) noexcept;

    // Gives one reference back. The last one frees the value.
    void release(const ContextKey& key) noexcept;

    // The text of a live value, for explain; empty for absent.
    std::string_view text(Axis axis, AxisId id) const noexcept;
    ContextFields fields(const ContextKey& key) const;

    std::size_t value_count() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxlpool

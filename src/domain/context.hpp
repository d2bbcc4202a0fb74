// The exact identity under which KV bytes mean something.
//
// Responsible for: the fifteen axes, what makes a value acceptable on each, and an interner that
// turns values into small integers, so that the gate compares exactly and allocates nothing.
// Invariants: AxisId 0 is "absent"; two values get the same AxisId exactly when axis and bytes
// are equal; nothing is hashed into ambiguity. What an owner is told when it acquires depends on
// no value that another owner has.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
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

// A value that nobody uses, in a key got from probe: it is present, and no interned value has it.
inline constexpr AxisId kUnusedAxisValue{std::numeric_limits<std::uint32_t>::max()};

struct ContextKey {
    std::array<AxisId, kAxisCount> axes{};
    // Without a branch for each axis, as first_divergence: the gate asks on every lookup.
    constexpr bool complete() const noexcept {
        bool all = true;
        for (const AxisId id : axes) {
            all &= id.value != 0;
        }
        return all;
    }
    bool operator==(const ContextKey&) const = default;
};

// The first axis that diverges, or nothing when all are equal.
constexpr std::optional<Axis> first_divergence(const ContextKey& a, const ContextKey& b) noexcept {
    std::size_t first = kAxisCount;
    for (std::size_t i = kAxisCount; i-- > 0;) {
        first = a.axes[i].value != b.axes[i].value ? i : first;
    }
    return first < kAxisCount ? std::optional(static_cast<Axis>(first)) : std::nullopt;
}

// Interned contexts, counted by reference and charged to their owners: an owner pays for each
// distinct (axis, value) that it uses, whether or not others use it too. Bounded twice:
// `max_values_per_owner`, which is the one that decides in practice, and `max_values`, the sum of
// what all owners pay. The sum counts a value once for each owner, so that a full interner does
// not tell who has which value. An AxisId is used again only after the last reference to it was
// given back. Not for several threads at once. A key that its owner did not get from acquire, or
// gave back too often, is a broken invariant and aborts.
class ContextInterner {
  public:
    ContextInterner(std::size_t max_values_per_owner, std::size_t max_values);
    ~ContextInterner();
    ContextInterner(const ContextInterner&) = delete;
    ContextInterner& operator=(const ContextInterner&) = delete;

    // Validates, then takes one reference of this owner on each present value. Either all or
    // nothing is taken. Errors: those of validate, limit_exceeded.
    Result<ContextKey> acquire(const ContextFields& fields, TenantId owner);

    // Validates and takes nothing: the key compares with interned keys as one from acquire would,
    // for as long as nothing is acquired or released, and must be neither retained nor released.
    // Values that nobody uses become kUnusedAxisValue. It tells what others use: only for
    // operators. Errors: those of validate.
    Result<ContextKey> probe(const ContextFields& fields) const;

    // One more reference of this owner on each value of a key that it holds. Costs no charge.
    void retain(const ContextKey& key, TenantId owner) noexcept;

    // Gives one reference of this owner back. Its last one ends the charge, the last one of all
    // owners frees the value.
    void release(const ContextKey& key, TenantId owner) noexcept;

    // The text of a live value, for explain; empty for absent and for kUnusedAxisValue.
    std::string_view text(Axis axis, AxisId id) const noexcept;
    // Without the values that are kUnusedAxisValue.
    ContextFields fields(const ContextKey& key) const;

    // Distinct values, of all owners and of one.
    std::size_t value_count() const noexcept;
    std::size_t value_count(TenantId owner) const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace cxlpool

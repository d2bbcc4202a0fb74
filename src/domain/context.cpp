#include "domain/context.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kAxisWords{
    Word<Axis>{Axis::model, "model"},
    Word<Axis>{Axis::tokenizer, "tokenizer"},
    Word<Axis>{Axis::serializer, "serializer"},
    Word<Axis>{Axis::position, "position"},
    Word<Axis>{Axis::policy, "policy"},
    Word<Axis>{Axis::admitter, "admitter"},
    Word<Axis>{Axis::weights, "weights"},
    Word<Axis>{Axis::adapter, "adapter"},
    Word<Axis>{Axis::dtype, "dtype"},
    Word<Axis>{Axis::kv_quant, "kv_quant"},
    Word<Axis>{Axis::rope, "rope"},
    Word<Axis>{Axis::page_tokens, "page_tokens"},
    Word<Axis>{Axis::layers, "layers"},
    Word<Axis>{Axis::shard, "shard"},
    Word<Axis>{Axis::layout, "layout"},
};
static_assert(kAxisWords.size() == kAxisCount);

bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// One spelling a number: no sign, no leading zero, so that equal numbers are equal bytes.
bool is_canonical_u64(std::string_view text) {
    if (text.empty() || (text.size() > 1 && text.front() == '0')) {
        return false;
    }
    std::uint64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return ec == std::errc{} && end == text.data() + text.size();
}

bool is_lower_hex(std::string_view text, std::size_t digits) {
    return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool is_identity(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const std::string_view kind = text.substr(0, colon);
    const std::string_view rest = text.substr(colon + 1);
    if (kind == "sha256" || kind == "blake2b") {
        return is_lower_hex(rest, 64);
    }
    if (kind == "xxh3") {
        return is_lower_hex(rest, 32);
    }
    return kind == "version" && is_canonical_u64(rest);
}

Result<void> validate_axis(Axis axis, std::string_view value) {
    const std::string name(to_word(axis));
    if (value.empty()) {
        return Error{Errc::invalid_argument,
                     name + " is empty: leave the field out, or say 'none' where that is a value"};
    }
    if (value.size() > kAxisValueMaxBytes) {
        return Error{Errc::too_large, name + " has " + std::to_string(value.size()) +
                                          " bytes: at most " + std::to_string(kAxisValueMaxBytes)};
    }
    if (!is_printable(value)) {
        return Error{Errc::invalid_argument,
                     name + " is " + words::quoted(value) + ": only printable ASCII is accepted"};
    }
    if (axis == Axis::weights || axis == Axis::adapter) {
        const bool none = axis == Axis::adapter && value == "none";
        if (!none && !is_identity(value)) {
            std::string message = name + " is " + words::quoted(value) +
                                  ": a name is no identity; write sha256:<64 hex>, blake2b:<64 "
                                  "hex>, xxh3:<32 hex> (lower case) or version:<number>";
            return Error{Errc::invalid_argument,
                         message + (axis == Axis::adapter ? ", or none without an adapter" : "")};
        }
    }
    if (axis == Axis::page_tokens && (!is_canonical_u64(value) || value == "0")) {
        return Error{Errc::invalid_argument, name + " is " + words::quoted(value) +
                                                 ": write a decimal number above 0, as in 16"};
    }
    return {};
}

constexpr std::size_t index_of(Axis axis) {
    return static_cast<std::size_t>(axis);
}

}  // namespace

std::string_view to_word(Axis axis) noexcept {
    return words::text_of(kAxisWords, axis);
}

std::optional<Axis> parse_axis(std::string_view word) noexcept {
    return words::find(kAxisWords, word);
}

Result<void> validate(const ContextFields& fields) {
    for (const Word<Axis>& row : kAxisWords) {
        if (const std::optional<std::string>& value = fields[row.value]) {
            CXLPOOL_TRY(validate_axis(row.value, *value));
        }
    }
    return {};
}

struct ContextInterner::Impl {
    // Ordered, so that no peer can choose values that make a look-up slow.
    using Ids = std::map<std::string, std::uint32_t, std::less<>>;
    using References = std::map<std::uint32_t, std::uint64_t>;  // by AxisId; none is 0

    struct Slot {
        std::size_t owners = 0;  // 0: on the free list
        std::size_t axis = 0;
        Ids::iterator value;
    };

    Impl(std::size_t owner_limit, std::size_t limit)
        : max_values_per_owner(owner_limit),
          // One id less than there are, for kUnusedAxisValue.
          max_values(std::min<std::size_t>(limit, kUnusedAxisValue.value - 1)) {}

    // The slot of a live value of this axis. Anything else was not got from acquire.
    Slot& slot(std::size_t axis, AxisId id) {
        CXLPOOL_CHECK(id.value != 0 && id.value <= slots.size());
        Slot& found = slots[id.value - 1];
        CXLPOOL_CHECK(found.owners > 0 && found.axis == axis);
        return found;
    }

    // What this owner has on a value that it holds.
    std::uint64_t& references(std::size_t axis, AxisId id, References& held) {
        slot(axis, id);
        const auto at = held.find(id.value);
        CXLPOOL_CHECK(at != held.end());
        return at->second;
    }

    References& held_by(TenantId owner) {
        const auto at = owners.find(owner);
        CXLPOOL_CHECK(at != owners.end());
        return at->second;
    }

    AxisId find(std::size_t axis, const std::string& text) const {
        const auto found = ids[axis].find(text);
        return found == ids[axis].end() ? AxisId{} : AxisId{found->second};
    }

    AxisId add(std::size_t axis, const std::string& text) {
        std::uint32_t id = 0;
        if (free_ids.empty()) {
            slots.emplace_back();
            id = static_cast<std::uint32_t>(slots.size());
        } else {
            id = free_ids.back();
            free_ids.pop_back();
        }
        slots[id - 1] = Slot{0, axis, ids[axis].emplace(text, id).first};
        ++live;
        return AxisId{id};
    }

    void drop(std::size_t axis, AxisId id, References& held) {
        if (--references(axis, id, held) > 0) {
            return;
        }
        held.erase(id.value);
        --charged;
        Slot& last = slot(axis, id);
        if (--last.owners == 0) {
            ids[axis].erase(last.value);
            free_ids.push_back(id.value);
            --live;
        }
    }

    std::size_t max_values_per_owner;
    std::size_t max_values;
    std::size_t live = 0;
    std::size_t charged = 0;  // the sizes of all in `owners`
    std::array<Ids, kAxisCount> ids;
    std::vector<Slot> slots;  // by AxisId - 1
    std::vector<std::uint32_t> free_ids;
    std::map<TenantId, References> owners;  // none is empty
};

ContextInterner::ContextInterner(std::size_t max_values_per_owner, std::size_t max_values)
    : impl_(std::make_unique<Impl>(max_values_per_owner, max_values)) {}

ContextInterner::~ContextInterner() = default;

Result<ContextKey> ContextInterner::acquire(const ContextFields& fields, TenantId owner) {
    CXLPOOL_TRY(validate(fields));
    ContextKey key;
    std::size_t present = 0;
    std::size_t missing = 0;
    const auto known = impl_->owners.find(owner);
    const std::size_t used = value_count(owner);
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (!fields.axes[i]) {
            continue;
        }
        ++present;
        key.axes[i] = impl_->find(i, *fields.axes[i]);
        // What another owner has already is new to this one.
        if (!key.axes[i] || used == 0 || known->second.count(key.axes[i].value) == 0) {
            ++missing;
        }
    }
    if (present == 0) {
        return key;
    }
    if (missing > impl_->max_values_per_owner - used) {
        return Error{Errc::limit_exceeded,
                     "the context needs " + std::to_string(missing) +
                         " new values, and this tenant's contexts and cells use " +
                         std::to_string(used) + " of at most " +
                         std::to_string(impl_->max_values_per_owner) +
                         ": release contexts that are not needed any more"};
    }
    if (missing > impl_->max_values - impl_->charged) {
        return Error{Errc::limit_exceeded, "the daemon can keep no more context values"};
    }
    Impl::References& held = impl_->owners[owner];
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (!fields.axes[i]) {
            continue;
        }
        if (!key.axes[i]) {
            key.axes[i] = impl_->add(i, *fields.axes[i]);
        }
        if (++held[key.axes[i].value] == 1) {
            ++impl_->slots[key.axes[i].value - 1].owners;
            ++impl_->charged;
        }
    }
    return key;
}

Result<ContextKey> ContextInterner::probe(const ContextFields& fields) const {
    CXLPOOL_TRY(validate(fields));
    ContextKey key;
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (fields.axes[i]) {
            const AxisId found = impl_->find(i, *fields.axes[i]);
            key.axes[i] = found ? found : kUnusedAxisValue;
        }
    }
    return key;
}

void ContextInterner::retain(const ContextKey& key, TenantId owner) noexcept {
    if (key == ContextKey{}) {
        return;
    }
    Impl::References& held = impl_->held_by(owner);
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (key.axes[i]) {
            ++impl_->references(i, key.axes[i], held);
        }
    }
}

void ContextInterner::release(const ContextKey& key, TenantId owner) noexcept {
    if (key == ContextKey{}) {
        return;
    }
    Impl::References& held = impl_->held_by(owner);
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (key.axes[i]) {
            impl_->drop(i, key.axes[i], held);
        }
    }
    if (held.empty()) {
        impl_->owners.erase(owner);
    }
}

std::string_view ContextInterner::text(Axis axis, AxisId id) const noexcept {
    if (!id || id == kUnusedAxisValue) {
        return {};
    }
    return impl_->slot(index_of(axis), id).value->first;
}

ContextFields ContextInterner::fields(const ContextKey& key) const {
    ContextFields out;
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (key.axes[i] && key.axes[i] != kUnusedAxisValue) {
            out.axes[i] = std::string(text(static_cast<Axis>(i), key.axes[i]));
        }
    }
    return out;
}

std::size_t ContextInterner::value_count() const noexcept {
    return impl_->live;
}

std::size_t ContextInterner::value_count(TenantId owner) const noexcept {
    const auto at = impl_->owners.find(owner);
    return at == impl_->owners.end() ? 0 : at->second.size();
}

}  // namespace cxlpool

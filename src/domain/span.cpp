#include "domain/span.hpp"

#include <limits>
#include <string>

#include "domain/tagged_hash.hpp"

namespace cxlpool {
namespace {

constexpr std::string_view kTag = "cxlpool-span-1";
enum Field : std::uint8_t { parent_field = 1, tokens_field = 2, items_field = 3 };
constexpr std::uint64_t kItemBytes = 8 + 8 + 32;

Error bad_item(std::size_t index, Errc code, const std::string& what) {
    return Error{code, "item " + std::to_string(index) + " " + what};
}

// The token after the last one of a checked item.
std::int64_t end_of(const SpanItem& item) {
    return item.first_token + static_cast<std::int64_t>(item.token_count);
}

// So that a set of items has one order, and every item says something about these tokens.
Result<void> check_items(std::span<const SpanItem> items, std::size_t token_count) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    std::int64_t free_from = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < items.size(); ++i) {
        const SpanItem& item = items[i];
        if (item.token_count == 0 || !item.digest.present()) {
            return bad_item(i, Errc::invalid_argument,
                            "has no tokens, or a digest of zeros: leave it out, or name it");
        }
        if (item.token_count > static_cast<std::uint64_t>(kMax) ||
            (item.first_token > 0 &&
             item.token_count > static_cast<std::uint64_t>(kMax - item.first_token))) {
            return bad_item(i, Errc::overflow, "ends beyond 63 bits");
        }
        if (end_of(item) <= 0 || (item.first_token >= 0 &&
                                  static_cast<std::uint64_t>(item.first_token) >= token_count)) {
            return bad_item(
                i, Errc::invalid_argument,
                "holds none of the " + std::to_string(token_count) + " tokens: leave it out");
        }
        if (item.first_token < free_from) {
            return bad_item(i, Errc::invalid_argument,
                            "begins before the end of the one in front of it: give items in the "
                            "order of their tokens, and one item a token");
        }
        free_from = end_of(item);
    }
    return {};
}

Result<void> check_parent(const std::optional<SpanDigest>& parent) {
    if (parent && !parent->present()) {
        return Error{Errc::invalid_argument,
                     "the parent is a digest of zeros, which is none: a first span has no parent"};
    }
    return {};
}

// What was checked. `items` are those of the span; their tokens are counted from `origin` tokens
// before it.
SpanDigest hash_span(const std::optional<SpanDigest>& parent, std::span<const std::uint32_t> tokens,
                     std::span<const SpanItem> items, std::int64_t origin) {
    TaggedHash hash(kTag);
    hash.begin_field(parent_field, parent ? parent->bytes.size() : 0);
    if (parent) {
        hash.bytes(parent->bytes);
    }
    hash.begin_field(tokens_field, tokens.size_bytes());
    hash.u32s(tokens);
    hash.begin_field(items_field, items.size() * kItemBytes);
    for (const SpanItem& item : items) {
        hash.u64(static_cast<std::uint64_t>(item.first_token - origin));
        hash.u64(item.token_count);
        hash.bytes(item.digest.bytes);
    }
    return SpanDigest{hash.finish()};
}

}  // namespace

Result<SpanDigest> span_digest(const std::optional<SpanDigest>& parent,
                               std::span<const std::uint32_t> tokens,
                               std::span<const SpanItem> items) {
    if (tokens.empty()) {
        return Error{Errc::invalid_argument, "a span has at least one token"};
    }
    CXLPOOL_TRY(check_parent(parent));
    CXLPOOL_TRY(check_items(items, tokens.size()));
    return hash_span(parent, tokens, items, 0);
}

Result<void> span_chain(std::optional<SpanDigest> parent, std::span<const std::uint32_t> tokens,
                        std::span<const SpanItem> items, std::uint32_t page_tokens,
                        std::span<SpanDigest> out) {
    if (page_tokens == 0) {
        return Error{Errc::invalid_argument, "a block has at least one token"};
    }
    if (out.size() != tokens.size() / page_tokens) {
        return Error{Errc::invalid_argument, std::to_string(tokens.size()) + " tokens have " +
                                                 std::to_string(tokens.size() / page_tokens) +
                                                 " whole blocks of " + std::to_string(page_tokens) +
                                                 ", and there is room for " +
                                                 std::to_string(out.size()) + ": make it the same"};
    }
    CXLPOOL_TRY(check_parent(parent));
    CXLPOOL_TRY(check_items(items, tokens.size()));
    for (std::size_t block = 0; block < out.size(); ++block) {
        const std::size_t first = block * page_tokens;
        const auto begin = static_cast<std::int64_t>(first);
        const auto end = begin + static_cast<std::int64_t>(page_tokens);
        while (!items.empty() && end_of(items.front()) <= begin) {
            items = items.subspan(1);
        }
        std::size_t here = 0;
        while (here < items.size() && items[here].first_token < end) {
            ++here;
        }
        out[block] =
            hash_span(parent, tokens.subspan(first, page_tokens), items.first(here), begin);
        parent = out[block];
    }
    return {};
}

SpanDigest in_keyspace(const SpanDigest& span, std::uint64_t salt) {
    if (salt == 0) {
        return span;
    }
    TaggedHash hash("cxlpool-keyspace-1");
    hash.begin_field(1, sizeof salt);
    hash.u64(salt);
    hash.begin_field(2, span.bytes.size());
    hash.bytes(span.bytes);
    return SpanDigest{hash.finish()};
}

}  // namespace cxlpool

#include "domain/tagged_hash.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace cxlpool {
namespace {

// Written out, so that the compiler makes one store of it where the order is the host's.
void store_little_endian(std::uint8_t* to, std::uint32_t value) {
    to[0] = static_cast<std::uint8_t>(value);
    to[1] = static_cast<std::uint8_t>(value >> 8);
    to[2] = static_cast<std::uint8_t>(value >> 16);
    to[3] = static_cast<std::uint8_t>(value >> 24);
}

void store_little_endian(std::uint8_t* to, std::uint64_t value) {
    store_little_endian(to, static_cast<std::uint32_t>(value));
    store_little_endian(to + 4, static_cast<std::uint32_t>(value >> 32));
}

}  // namespace

TaggedHash::TaggedHash(std::string_view tag) {
    put_u64(tag.size());
    put_bytes(tag.data(), tag.size());
}

void TaggedHash::begin_field(std::uint8_t number, std::uint64_t length_bytes) {
    CXLPOOL_CHECK(open_bytes_ == 0);
    put_bytes(&number, 1);
    put_u64(length_bytes);
    open_bytes_ = length_bytes;
}

void TaggedHash::bytes(std::span<const std::uint8_t> part) {
    spend(part.size());
    put_bytes(part.data(), part.size());
}

void TaggedHash::text(std::string_view part) {
    spend(part.size());
    put_bytes(part.data(), part.size());
}

void TaggedHash::u64(std::uint64_t value) {
    spend(sizeof value);
    put_u64(value);
}

void TaggedHash::u32s(std::span<const std::uint32_t> values) {
    spend(values.size_bytes());
    while (!values.empty()) {
        const std::span<std::uint8_t> to = room(sizeof(std::uint32_t));
        const std::size_t count = std::min(values.size(), to.size() / sizeof(std::uint32_t));
        for (std::size_t i = 0; i < count; ++i) {
            store_little_endian(to.data() + i * sizeof(std::uint32_t), values[i]);
        }
        used_ += count * sizeof(std::uint32_t);
        values = values.subspan(count);
    }
}

Digest256 TaggedHash::finish() {
    CXLPOOL_CHECK(open_bytes_ == 0);
    flush();
    return hash_.finish();
}

// The free end of the buffer, after emptying it if it has too little.
std::span<std::uint8_t> TaggedHash::room(std::size_t at_least) {
    if (buffer_.size() - used_ < at_least) {
        flush();
    }
    return std::span(buffer_).subspan(used_);
}

void TaggedHash::spend(std::uint64_t length_bytes) {
    CXLPOOL_CHECK(length_bytes <= open_bytes_);
    open_bytes_ -= length_bytes;
}

void TaggedHash::flush() {
    hash_.update(std::as_bytes(std::span(buffer_).first(used_)));
    used_ = 0;
}

void TaggedHash::put_u64(std::uint64_t value) {
    store_little_endian(room(sizeof value).data(), value);
    used_ += sizeof value;
}

void TaggedHash::put_bytes(const void* from, std::size_t length_bytes) {
    const auto* next = static_cast<const std::uint8_t*>(from);
    while (length_bytes > 0) {
        const std::span<std::uint8_t> to = room(1);
        const std::size_t count = std::min(length_bytes, to.size());
        std::memcpy(to.data(), next, count);
        used_ += count;
        next += count;
        length_bytes -= count;
    }
}

}  // namespace cxlpool

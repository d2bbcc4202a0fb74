// A digest over fields that cannot be taken for one another.
//
// Responsible for: the byte layout that docs/span-digest.md describes. What is hashed begins with
// the length and the text of a tag, which says what is named and by which version of the recipe;
// then come fields, each its number (1 byte), its length in bytes (8 bytes) and its payload. So a
// sequence of fields has one spelling and a spelling is one sequence: no byte can move from one
// field to its neighbour, and an empty field is not an absent one. Every integer is stored
// little-endian, byte by byte, so that the order of the host does not matter.
// Invariant: a payload is as long as its field said. Anything else aborts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/blake2b.hpp"

namespace cxlpool {

class TaggedHash {
  public:
    explicit TaggedHash(std::string_view tag);

    void begin_field(std::uint8_t number, std::uint64_t length_bytes);
    // Parts of the payload of the field that was begun last.
    void bytes(std::span<const std::uint8_t> part);
    void text(std::string_view part);
    void u64(std::uint64_t value);
    void u32s(std::span<const std::uint32_t> values);

    Digest256 finish();

  private:
    std::span<std::uint8_t> room(std::size_t at_least);
    void spend(std::uint64_t length_bytes);
    void flush();
    void put_u64(std::uint64_t value);
    void put_bytes(const void* from, std::size_t length_bytes);

    Blake2b256 hash_;
    std::uint64_t open_bytes_ = 0;  // of the payload, still to come
    std::size_t used_ = 0;
    std::array<std::uint8_t, 1024> buffer_;  // a span of 256 tokens in about one piece
};

}  // namespace cxlpool

// Memory that the daemon shares with this process.
//
// Responsible for: checking a descriptor before it is trusted with a mapping, the lease board, and
// one mapping a segment shared by all leases in it. Invariants: reading what was mapped cannot
// fault because somebody shrank it; a pointer stays mapped exactly as long as its lease is held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "wire/messages.hpp"

namespace cxlpool::client {

// Sole owner of a shared mapping.
class Mapping {
  public:
    // The first `size_bytes` of a sealed memfd or of a dax device. Errors: protocol (another kind
    // of file, shorter, or one that may still shrink), out_of_memory, not_permitted, io.
    static Result<Mapping> map(const UniqueFd& descriptor, std::uint64_t size_bytes,
                               wire::MapAccess access);
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();

    std::span<std::byte> bytes() const noexcept { return bytes_; }

  private:
    explicit Mapping(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}
    std::span<std::byte> bytes_;
};

// Which leases are live, by what the daemon writes and by the clock. Any thread may ask.
class LeaseBoard {
  public:
    // Errors: those of Mapping::map.
    static Result<LeaseBoard> map(const UniqueFd& descriptor, std::uint32_t entries);

    std::uint32_t entries() const noexcept { return entries_; }
    // Granted or renewed: the lease is over at `ends_at` even if nobody is left to say so.
    void set_end(LeaseRef lease, Timestamp ends_at) noexcept;
    bool live(LeaseRef lease, Timestamp now) const noexcept;

  private:
    LeaseBoard(Mapping mapping, std::uint32_t entries);

    Mapping mapping_;
    std::uint32_t entries_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> ends_at_ns_;
};

// Mapped segments, counted by the leases that hold them.
class SegmentMappings {
  public:
    struct Key {
        std::uint32_t segment = 0;
        wire::MapAccess access = wire::MapAccess::read;
        auto operator<=>(const Key&) const = default;
    };

    // The mapping of a segment, when there is one.
    const Mapping* find(Key key) const noexcept;
    void insert(Key key, Mapping mapping);

    // The lease holds the mapping, which must be there, from now on; twice is once. False when it
    // holds another one: a lease is of one cell, which is in one segment.
    bool hold(LeaseRef lease, Key key);
    // The mapping goes, unless a lease holds it.
    void forget_unheld(Key key) noexcept;
    // The lease holds nothing any more. The last holder takes the mapping along.
    void drop(LeaseRef lease) noexcept;

    std::size_t size() const noexcept { return mappings_.size(); }

  private:
    struct Entry {
        Mapping mapping;
        std::size_t holders = 0;
    };
    // Index and generation: one whose index was granted anew is still held until it is released.
    using LeaseKey = std::pair<std::uint32_t, std::uint32_t>;

    std::map<Key, Entry> mappings_;
    std::map<LeaseKey, Key> holds_;
};

}  // namespace cxlpool::client

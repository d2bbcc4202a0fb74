// Bounds-checked reading and writing of little-endian bytes.
//
// Responsible for: every byte that crosses the socket. Invariants: nothing is read or written
// outside the buffer; an overrun sticks (everything after it reads as zero) and is seen by done();
// the end of a message must be asked for explicitly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cxlpool::wire {

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

    std::uint8_t u8() noexcept;
    std::uint16_t u16() noexcept;
    std::uint32_t u32() noexcept;
    std::uint64_t u64() noexcept;
    std::span<const std::byte> take(std::size_t size) noexcept;  // empty after an overrun
    void copy(void* out, std::size_t size) noexcept;             // zeros after an overrun
    std::string_view text16() noexcept;                          // u16 length, bytes

    std::size_t remaining() const noexcept { return bytes_.size() - at_; }
    bool failed() const noexcept { return failed_; }
    // True when everything was inside and nothing is left over.
    bool done() const noexcept { return !failed_ && at_ == bytes_.size(); }

  private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

class Writer {
  public:
    // Appends to `out`, up to `max_bytes` in all.
    Writer(std::vector<std::byte>& out, std::size_t max_bytes) noexcept
        : out_(out), max_bytes_(max_bytes) {}

    void u8(std::uint8_t value);
    void u16(std::uint16_t value);
    void u32(std::uint32_t value);
    void u64(std::uint64_t value);
    void raw(const void* data, std::size_t size);
    void text16(std::string_view text);  // longer than 65535: fails
    // Overwrites a u32 written before (the size field).
    void patch_u32(std::size_t at, std::uint32_t value) noexcept;

    std::size_t size() const noexcept { return out_.size(); }
    bool failed() const noexcept { return failed_; }

  private:
    std::vector<std::byte>& out_;
    std::size_t max_bytes_;
    bool failed_ = false;
};

}  // namespace cxlpool::wire

#include "wire/cursor.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.hpp"

namespace cxlpool::wire {
namespace {

// Byte by byte, so that the result is the same on every architecture; compilers make one load or
// store of it.
template <typename T>
T load_little(std::span<const std::byte> bytes) noexcept {
    T value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[i]) << (8U * i)));
    }
    return value;
}

template <typename T>
std::array<std::byte, sizeof(T)> store_little(T value) noexcept {
    std::array<std::byte, sizeof(T)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(value >> (8U * i));
    }
    return bytes;
}

}  // namespace

std::span<const std::byte> Reader::take(std::size_t size) noexcept {
    if (failed_ || size > remaining()) {
        failed_ = true;
        return {};
    }
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
}

std::uint8_t Reader::u8() noexcept {
    return load_little<std::uint8_t>(take(1));
}
std::uint16_t Reader::u16() noexcept {
    return load_little<std::uint16_t>(take(2));
}
std::uint32_t Reader::u32() noexcept {
    return load_little<std::uint32_t>(take(4));
}
std::uint64_t Reader::u64() noexcept {
    return load_little<std::uint64_t>(take(8));
}

void Reader::copy(void* out, std::size_t size) noexcept {
    const auto taken = take(size);
    if (taken.size() == size && size > 0) {
        std::memcpy(out, taken.data(), size);
    } else if (size > 0) {
        std::memset(out, 0, size);
    }
}

std::string_view Reader::text16() noexcept {
    const auto taken = take(u16());
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
}

void Writer::raw(const void* data, std::size_t size) {
    if (failed_ || size > max_bytes_ - std::min(max_bytes_, out_.size())) {
        failed_ = true;
        return;
    }
    const auto* bytes = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), bytes, bytes + size);
}

void Writer::u8(std::uint8_t value) {
    raw(&value, 1);
}
void Writer::u16(std::uint16_t value) {
    raw(store_little(value).data(), 2);
}
void Writer::u32(std::uint32_t value) {
    raw(store_little(value).data(), 4);
}
void Writer::u64(std::uint64_t value) {
    raw(store_little(value).data(), 8);
}

void Writer::text16(std::string_view text) {
    if (text.size() > std::numeric_limits<std::uint16_t>::max()) {
        failed_ = true;
        return;
    }
    u16(static_cast<std::uint16_t>(text.size()));
    raw(text.data(), text.size());
}

void Writer::patch_u32(std::size_t at, std::uint32_t value) noexcept {
    CXLPOOL_CHECK(at <= out_.size() && out_.size() - at >= 4);
    const auto bytes = store_little(value);
    std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace cxlpool::wire

// One description of each layout, walked by an encoder and by a decoder.
//
// Responsible for: the kinds of field that messages are made of, and their checks, which are the
// same in both directions: what encode refuses to write, decode refuses to read. Refuses to know:
// which messages there are (layouts.hpp). Invariants: the first failure is kept, with the name of
// its field; a count is compared with the bytes that are left before anything is allocated.
// Internal to src/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/errc.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "wire/cursor.hpp"

namespace cxlpool::wire {

// What both directions share: the first error, and the checks on values.
class CodecBase {
  public:
    bool failed() const noexcept { return error_.has_value(); }
    Error take_error() { return std::move(*error_); }

    void fail(Errc code, std::string_view field, std::string_view what);
    void require(bool holds, Errc code, std::string_view field, std::string_view what) {
        if (!holds) {
            fail(code, field, what);
        }
    }

  protected:
    void check_text(std::string_view field, std::string_view text, std::size_t max_bytes);
    void check_name(std::string_view field, std::string_view text, std::size_t max_bytes);
    void check_count(std::string_view field, std::size_t count, std::size_t min, std::size_t max);

  private:
    std::optional<Error> error_;
};

class Encoder : public CodecBase {
  public:
    template <typename T>
    using Ref = const T&;

    explicit Encoder(Writer& writer) noexcept : writer_(writer) {}

    template <typename T>
    void number(std::string_view field, const T& value) {
        put(value);
        check_room(field);
    }

    // An enumeration, or a number that stands for one: only the range that exists.
    template <typename T>
    void word(std::string_view field, const T& value, T first, T last) {
        require(value >= first && value <= last, Errc::invalid_argument, field, "no such value");
        if constexpr (std::is_enum_v<T>) {
            put(static_cast<std::underlying_type_t<T>>(value));
        } else {
            put(value);
        }
        check_room(field);
    }

    void digest(std::string_view field, const Digest256& value) {
        writer_.raw(value.bytes.data(), value.bytes.size());
        check_room(field);
    }

    void reserved(std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            writer_.u8(0);
        }
        check_room("reserved bytes");
    }

    void text(std::string_view field, const std::string& value, std::size_t max_bytes) {
        check_text(field, value, max_bytes);
        writer_.text16(value);
        check_room(field);
    }

    // A text of printable ASCII.
    void name(std::string_view field, const std::string& value, std::size_t max_bytes) {
        check_name(field, value, max_bytes);
        text(field, value, max_bytes);
    }

    // u32 count, then the items; `item(codec, element)` lays one out, in `item_bytes` or more.
    template <typename T, typename Item>
    void list(std::string_view field, const std::vector<T>& items, std::size_t min, std::size_t max,
              std::size_t /*item_bytes*/, Item item) {
        check_count(field, items.size(), min, max);
        writer_.u32(static_cast<std::uint32_t>(items.size()));
        for (const T& element : items) {
            if (failed()) {
                return;
            }
            item(*this, element);
        }
        check_room(field);
    }

  private:
    template <typename T>
    void put(T value) {
        static_assert(std::is_unsigned_v<T>);
        if constexpr (sizeof(T) == 1) {
            writer_.u8(value);
        } else if constexpr (sizeof(T) == 2) {
            writer_.u16(value);
        } else if constexpr (sizeof(T) == 4) {
            writer_.u32(value);
        } else {
            writer_.u64(value);
        }
    }
    void check_room(std::string_view field) {
        require(!writer_.failed(), Errc::too_large, field, "the message is over its maximum");
    }

    Writer& writer_;
};

class Decoder : public CodecBase {
  public:
    template <typename T>
    using Ref = T&;

    explicit Decoder(Reader& reader) noexcept : reader_(reader) {}

    template <typename T>
    void number(std::string_view field, T& value) {
        value = get<T>();
        check_read(field);
    }

    template <typename T>
    void word(std::string_view field, T& value, T first, T last) {
        if constexpr (std::is_enum_v<T>) {
            value = static_cast<T>(get<std::underlying_type_t<T>>());
        } else {
            value = get<T>();
        }
        check_read(field);
        require(value >= first && value <= last, Errc::invalid_argument, field, "no such value");
    }

    void digest(std::string_view field, Digest256& value) {
        reader_.copy(value.bytes.data(), value.bytes.size());
        check_read(field);
    }

    void reserved(std::size_t size) {
        const auto bytes = reader_.take(size);
        check_read("reserved bytes");
        for (const std::byte b : bytes) {
            require(b == std::byte{0}, Errc::malformed, "reserved bytes", "not zero");
        }
    }

    void text(std::string_view field, std::string& value, std::size_t max_bytes) {
        const std::string_view read = reader_.text16();
        check_read(field);
        check_text(field, read, max_bytes);
        if (!failed()) {
            value = read;
        }
    }

    void name(std::string_view field, std::string& value, std::size_t max_bytes) {
        text(field, value, max_bytes);
        check_name(field, value, max_bytes);
    }

    template <typename T, typename Item>
    void list(std::string_view field, std::vector<T>& items, std::size_t min, std::size_t max,
              std::size_t item_bytes, Item item) {
        const std::uint32_t count = reader_.u32();
        check_read(field);
        check_count(field, count, min, max);
        require(count <= reader_.remaining() / item_bytes, Errc::malformed, field,
                "the message ends before its last item");
        if (failed()) {
            return;
        }
        items.resize(count);
        for (T& element : items) {
            if (failed()) {
                return;
            }
            item(*this, element);
        }
    }

  private:
    template <typename T>
    T get() {
        static_assert(std::is_unsigned_v<T>);
        if constexpr (sizeof(T) == 1) {
            return reader_.u8();
        } else if constexpr (sizeof(T) == 2) {
            return reader_.u16();
        } else if constexpr (sizeof(T) == 4) {
            return reader_.u32();
        } else {
            return reader_.u64();
        }
    }
    void check_read(std::string_view field) {
        require(!reader_.failed(), Errc::malformed, field, "the message ends inside it");
    }

    Reader& reader_;
};

}  // namespace cxlpool::wire

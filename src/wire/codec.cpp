#include "wire/codec.hpp"

namespace cxlpool::wire {

void CodecBase::fail(Errc code, std::string_view field, std::string_view what) {
    if (!error_) {
        error_.emplace(code, std::string(field).append(": ").append(what));
    }
}

void CodecBase::check_text(std::string_view field, std::string_view text, std::size_t max_bytes) {
    if (text.size() > max_bytes) {
        fail(Errc::too_large, field,
             std::to_string(text.size()) + " bytes, at most " + std::to_string(max_bytes));
    }
}

void CodecBase::check_name(std::string_view field, std::string_view text, std::size_t max_bytes) {
    check_text(field, text, max_bytes);
    for (const char c : text) {
        if (c < ' ' || c > '~') {
            fail(Errc::invalid_argument, field, "a byte that is not printable ASCII");
            return;
        }
    }
}

void CodecBase::check_count(std::string_view field, std::size_t count, std::size_t min,
                            std::size_t max) {
    if (count > max) {
        fail(Errc::too_large, field,
             std::to_string(count) + " items, at most " + std::to_string(max));
    } else if (count < min) {
        fail(Errc::invalid_argument, field,
             std::to_string(count) + " items, at least " + std::to_string(min));
    }
}

}  // namespace cxlpool::wire

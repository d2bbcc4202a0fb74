// Any bytes as a message: they are refused with an error, or mean something that encodes again.
//
// An input is taken as it is, and again with the size field made true, so that the fuzzer gets past
// the first check. An input of hexadecimal digits stands for its bytes: tests/golden/wire are
// seeds.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "wire/messages.hpp"

namespace {

using namespace cxlpool;
using Bytes = std::vector<std::byte>;

std::optional<Bytes> from_hex_text(std::span<const std::byte> text) {
    Bytes bytes;
    int high = -1;
    for (const std::byte b : text) {
        const int c = std::to_integer<int>(b);
        if (std::isspace(c) != 0) {
            continue;
        }
        if (std::isxdigit(c) == 0) {
            return std::nullopt;
        }
        const int digit = std::isdigit(c) != 0 ? c - '0' : (std::tolower(c) - 'a' + 10);
        if (high < 0) {
            high = digit;
        } else {
            bytes.push_back(static_cast<std::byte>(high * 16 + digit));
            high = -1;
        }
    }
    return bytes;
}

void try_both(const Bytes& bytes) {
    if (const auto request = wire::decode_request(bytes)) {
        const auto again = wire::encode(*request);
        CXLPOOL_CHECK(again.has_value());
        const bool hello = std::holds_alternative<wire::HelloRequest>(request->body);
        CXLPOOL_CHECK(hello || *again == bytes);
        CXLPOOL_CHECK(wire::peek_cookie(bytes) == request->cookie);
    }
    if (const auto reply = wire::decode_reply(bytes)) {
        const auto again = wire::encode(*reply);
        CXLPOOL_CHECK(again.has_value());
        const auto same = wire::decode_reply(*again);
        CXLPOOL_CHECK(same && same->body == reply->body && same->status == reply->status);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span input(reinterpret_cast<const std::byte*>(data), size);
    Bytes bytes = from_hex_text(input).value_or(Bytes(input.begin(), input.end()));
    try_both(bytes);
    if (bytes.size() >= wire::kHeaderBytes) {
        for (std::size_t i = 0; i < 4; ++i) {
            bytes[i] = static_cast<std::byte>(bytes.size() >> (8 * i));
        }
        try_both(bytes);
    }
    return 0;
}

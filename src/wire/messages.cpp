#include "wire/messages.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "wire/layouts.hpp"

namespace cxlpool::wire {
namespace {

struct TypeRow {
    Type type;
    std::string_view word;
};

constexpr std::array kTypes{
    TypeRow{Type::hello, "hello"},
    TypeRow{Type::context_register, "context_register"},
    TypeRow{Type::context_release, "context_release"},
    TypeRow{Type::lookup, "lookup"},
    TypeRow{Type::begin, "begin"},
    TypeRow{Type::map, "map"},
    TypeRow{Type::seal, "seal"},
    TypeRow{Type::share, "share"},
    TypeRow{Type::release, "release"},
    TypeRow{Type::renew, "renew"},
    TypeRow{Type::plan_fleet, "plan_fleet"},
    TypeRow{Type::plan_placement, "plan_placement"},
    TypeRow{Type::adjudicate, "adjudicate"},
    TypeRow{Type::document, "document"},
    TypeRow{Type::document_more, "document_more"},
    TypeRow{Type::reload, "reload"},
    TypeRow{Type::tenant_change, "tenant_change"},
    TypeRow{Type::forget, "forget"},
    TypeRow{Type::own_statistics, "own_statistics"},
};

// In the order of RequestBody's alternatives.
constexpr std::array kRequestTypes{
    Type::hello,
    Type::context_register,
    Type::context_release,
    Type::lookup,
    Type::begin,
    Type::map,
    Type::seal,
    Type::share,
    Type::release,
    Type::renew,
    Type::plan_fleet,
    Type::plan_placement,
    Type::adjudicate,
    Type::document,
    Type::document_more,
    Type::reload,
    Type::tenant_change,
    Type::forget,
    Type::own_statistics,
};
static_assert(kRequestTypes.size() == std::variant_size_v<RequestBody>);

// An empty body of the alternative that a request of this type has.
template <std::size_t I = 0>
std::optional<RequestBody> request_body_of(Type type) {
    if constexpr (I < kRequestTypes.size()) {
        if (kRequestTypes[I] == type) {
            return RequestBody(std::in_place_index<I>);
        }
        return request_body_of<I + 1>(type);
    } else {
        return std::nullopt;
    }
}

// An empty body of the alternative that a reply of this type and status has. A failure may answer
// a type that nobody knows: it echoes what was asked.
std::optional<ReplyBody> reply_body_of(Type type, Errc status) {
    if (status != Errc::ok) {
        return ErrorText{};
    }
    switch (type) {
        case Type::hello:
            return HelloReply{};
        case Type::context_register:
            return ContextRegisterReply{};
        case Type::lookup:
            return LookupReply{};
        case Type::begin:
            return BeginReply{};
        case Type::map:
            return MapReply{};
        case Type::seal:
            return SealReply{};
        case Type::renew:
            return RenewReply{};
        case Type::plan_fleet:
            return PlanFleetReply{};
        case Type::plan_placement:
            return PlanPlacementReply{};
        case Type::document:
        case Type::document_more:
            return DocumentReply{};
        case Type::reload:
            return ReloadReply{};
        case Type::forget:
            return ForgetReply{};
        case Type::own_statistics:
            return OwnStatisticsReply{};
        case Type::context_release:
        case Type::share:
        case Type::release:
        case Type::adjudicate:
        case Type::tenant_change:
            return EmptyReply{};
    }
    return std::nullopt;
}

std::string name_of(Type type, std::string_view what) {
    return std::string(to_word(type)).append(" ").append(what);
}

struct Header {
    Type type;
    std::uint16_t status;
    std::uint64_t cookie;
};

template <typename Body>
Result<std::vector<std::byte>> encode_message(const Header& header, const Body& body,
                                              std::string_view what) {
    std::vector<std::byte> bytes;
    Writer writer(bytes, kMaxMessageBytes);
    writer.u32(0);  // patched when the size is known
    writer.u16(static_cast<std::uint16_t>(header.type));
    writer.u16(header.status);
    writer.u64(header.cookie);
    Encoder encoder(writer);
    std::visit([&encoder](const auto& m) { layout<Encoder>(encoder, m); }, body);
    if (encoder.failed()) {
        return encoder.take_error().with_context(name_of(header.type, what));
    }
    writer.patch_u32(0, static_cast<std::uint32_t>(bytes.size()));
    return bytes;
}

Result<Header> decode_header(Reader& reader, std::size_t datagram_bytes) {
    if (datagram_bytes < kHeaderBytes) {
        return Error{Errc::malformed, std::to_string(datagram_bytes) +
                                          " bytes are no message; a header alone has " +
                                          std::to_string(kHeaderBytes)};
    }
    if (datagram_bytes > kMaxMessageBytes) {
        return Error{Errc::too_large, "a message of " + std::to_string(datagram_bytes) +
                                          " bytes; at most " + std::to_string(kMaxMessageBytes)};
    }
    const std::uint32_t size = reader.u32();
    if (size != datagram_bytes) {
        return Error{Errc::malformed, "the header says " + std::to_string(size) + " bytes, " +
                                          std::to_string(datagram_bytes) + " came"};
    }
    Header header{};
    header.type = static_cast<Type>(reader.u16());
    header.status = reader.u16();
    header.cookie = reader.u64();
    return header;
}

template <typename Body>
Result<void> decode_body(Reader& reader, Body& body, bool may_be_longer) {
    Decoder decoder(reader);
    std::visit([&decoder](auto& m) { layout<Decoder>(decoder, m); }, body);
    if (decoder.failed()) {
        return decoder.take_error();
    }
    if (!may_be_longer && !reader.done()) {
        return Error{Errc::malformed,
                     std::to_string(reader.remaining()) + " bytes after the last field"};
    }
    return {};
}

}  // namespace

std::string_view to_word(Type type) noexcept {
    for (const TypeRow& row : kTypes) {
        if (row.type == type) {
            return row.word;
        }
    }
    return "unknown";
}

Type type_of(const RequestBody& body) noexcept {
    return kRequestTypes[body.index()];
}

Result<std::vector<std::byte>> encode(const Request& request) {
    return encode_message({type_of(request.body), 0, request.cookie}, request.body, "request");
}

Result<std::vector<std::byte>> encode(const Reply& reply) {
    const auto expected = reply_body_of(reply.type, reply.status);
    if (!expected || expected->index() != reply.body.index()) {
        return Error{Errc::internal, name_of(reply.type, "reply with the body of another type")};
    }
    return encode_message({reply.type, static_cast<std::uint16_t>(reply.status), reply.cookie},
                          reply.body, "reply");
}

std::optional<std::uint64_t> peek_cookie(std::span<const std::byte> datagram) noexcept {
    if (datagram.size() < kHeaderBytes) {
        return std::nullopt;
    }
    return Reader(datagram.subspan(8)).u64();
}

std::optional<std::uint16_t> peek_type(std::span<const std::byte> datagram) noexcept {
    if (datagram.size() < kHeaderBytes) {
        return std::nullopt;
    }
    return Reader(datagram.subspan(4)).u16();
}

Result<Request> decode_request(std::span<const std::byte> datagram) {
    Reader reader(datagram);
    auto header = decode_header(reader, datagram.size());
    if (!header) {
        return std::move(header).error();
    }
    auto body = request_body_of(header->type);
    if (!body) {
        return Error{
            Errc::unknown_word,
            "no request has the type " + std::to_string(static_cast<std::uint16_t>(header->type))};
    }
    if (header->status != 0) {
        return Error{Errc::malformed, name_of(header->type, "request: status: not zero")};
    }
    // A newer client may say a longer hello; the versions at its start decide what follows.
    auto decoded = decode_body(reader, *body, header->type == Type::hello);
    if (!decoded) {
        return std::move(decoded).error().with_context(name_of(header->type, "request"));
    }
    return Request{header->cookie, std::move(*body)};
}

Result<Reply> decode_reply(std::span<const std::byte> datagram) {
    Reader reader(datagram);
    auto header = decode_header(reader, datagram.size());
    if (!header) {
        return std::move(header).error();
    }
    if (!errc_known(header->status)) {
        return Error{Errc::invalid_argument, name_of(header->type, "reply: status: no such value")};
    }
    const auto status = static_cast<Errc>(header->status);
    auto body = reply_body_of(header->type, status);
    if (!body) {
        return Error{
            Errc::unknown_word,
            "no reply has the type " + std::to_string(static_cast<std::uint16_t>(header->type))};
    }
    auto decoded = decode_body(reader, *body, true);
    if (!decoded) {
        return std::move(decoded).error().with_context(name_of(header->type, "reply"));
    }
    return Reply{header->type, status, header->cookie, std::move(*body)};
}

std::optional<std::size_t> first_repeated(std::span<const SpanDigest> spans) {
    std::vector<std::size_t> order(spans.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return spans[a] < spans[b]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (spans[order[i]] == spans[order[i - 1]]) {
            return order[i];
        }
    }
    return std::nullopt;
}

}  // namespace cxlpool::wire

// An engine that stores cells whose bytes are all the same, and looks whether they still are.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "daemon_process.hpp"
#include "domain/gate.hpp"
#include "support/wire_axes.hpp"
#include "wire/messages.hpp"

namespace cxlpool::testing {

inline constexpr std::uint64_t kCellBytes = 300'000;

inline SpanDigest span_of(std::uint8_t n) {
    SpanDigest span;
    span.bytes.fill(n);
    return span;
}

// Numbers of spans.
template <typename... Numbers>
constexpr std::array<std::uint8_t, sizeof...(Numbers)> spans(Numbers... numbers) {
    return {static_cast<std::uint8_t>(numbers)...};
}

// An engine of one tenant, with one context.
class Engine {
  public:
    Engine(DaemonProcess& daemon, std::uint64_t tenant)
        : connection_(std::move(*daemon.engine(tenant))) {
        const auto context = connection_.ask<wire::ContextRegisterReply>(
            wire::ContextRegisterRequest{complete_axes("m")});
        EXPECT_TRUE(context) << context.error().message();
        context_ = context->context;
    }
    // A filling cell whose bytes are all `value`.
    LeaseRef fill(std::uint8_t span, int value) {
        const auto begun = connection_.ask<wire::BeginReply>(
            wire::BeginRequest{context_, span_of(span), kCellBytes, 1000, ""});
        EXPECT_TRUE(begun) << begun.error().message();
        UniqueFd fd;
        const auto mapped = connection_.ask<wire::MapReply>(
            wire::MapRequest{begun->segment, wire::MapAccess::write}, &fd);
        EXPECT_TRUE(mapped) << mapped.error().message();
        void* const at =
            ::mmap(nullptr, mapped->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        EXPECT_NE(at, MAP_FAILED);
        std::memset(static_cast<char*>(at) + begun->offset_bytes, value, kCellBytes);
        ::munmap(at, mapped->size_bytes);
        return begun->lease;
    }
    void store(std::uint8_t span, int value) {
        EXPECT_TRUE(connection_.ask<wire::SealReply>(wire::SealRequest{fill(span, value)}));
    }
    void share(std::uint8_t span, Scope scope = Scope::fleet) {
        const auto shared = connection_.ask<wire::EmptyReply>(
            wire::ShareRequest{context_, span_of(span), static_cast<std::uint8_t>(scope), {}});
        EXPECT_TRUE(shared) << shared.error().message();
    }
    // The verdict, and for a hit the value that all bytes have: "hit/in_place 7".
    std::string look_up(std::uint8_t span) {
        const auto found =
            connection_.ask<wire::LookupReply>(wire::LookupRequest{context_, {span_of(span)}});
        if (!found) {
            return found.error().message();
        }
        const wire::LookupItem& item = found->items.at(0);
        const auto verdict = static_cast<Verdict>(item.verdict);
        std::string out(to_word(verdict));
        if (!is_hit(verdict)) {
            return out;
        }
        UniqueFd fd;
        const auto mapped = connection_.ask<wire::MapReply>(
            wire::MapRequest{item.segment, wire::MapAccess::read}, &fd);
        if (!mapped) {
            return mapped.error().message();
        }
        void* const at = ::mmap(nullptr, mapped->size_bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
        if (at == MAP_FAILED) {
            return "unmappable";
        }
        const char* const bytes = static_cast<const char*>(at) + item.offset_bytes;
        const bool same =
            item.length_bytes == kCellBytes &&
            std::all_of(bytes, bytes + kCellBytes, [&](char byte) { return byte == bytes[0]; });
        out += same ? " " + std::to_string(static_cast<int>(bytes[0])) : " with other bytes";
        ::munmap(at, mapped->size_bytes);
        EXPECT_TRUE(connection_.ask<wire::EmptyReply>(wire::ReleaseRequest{item.lease}));
        return out;
    }
    // A lease on what must be a hit.
    LeaseRef lease(std::uint8_t span) {
        const auto found =
            connection_.ask<wire::LookupReply>(wire::LookupRequest{context_, {span_of(span)}});
        EXPECT_TRUE(found && is_hit(static_cast<Verdict>(found->items.at(0).verdict)));
        return found->items.at(0).lease;
    }
    client::Connection& connection() { return connection_; }
    std::uint32_t context() const { return context_; }

  private:
    client::Connection connection_;
    std::uint32_t context_ = 0;
};

}  // namespace cxlpool::testing

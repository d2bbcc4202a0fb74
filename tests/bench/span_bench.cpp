// The digest of a span, against BLAKE2b-256 of libsodium over the bytes that the recipe hashes.
#include <benchmark/benchmark.h>
#include <sodium.h>

#include <array>
#include <numeric>
#include <vector>

#include "against_floor.hpp"
#include "domain/span.hpp"

namespace cxlpool::bench {
namespace {

// Of a child: the tag, three fields, the parent, the tokens, and no item.
constexpr std::size_t kHeaderBytes = 8 + 14 + 3 * 9 + 32;

void span_digest_of_tokens(benchmark::State& state) {
    std::vector<std::uint32_t> tokens(static_cast<std::size_t>(state.range(0)));
    std::iota(tokens.begin(), tokens.end(), 100'000U);
    SpanDigest parent;
    parent.bytes.fill(0x5A);
    const std::vector<unsigned char> message(kHeaderBytes + tokens.size() * 4, 0x5A);
    against_floor(
        state, 64, [&] { return span_digest(parent, tokens, {}); },
        [&] {
            std::array<unsigned char, 32> out;
            crypto_generichash_blake2b(out.data(), out.size(), message.data(), message.size(),
                                       nullptr, 0);
            return out;
        });
}
BENCHMARK(span_digest_of_tokens)->Arg(16)->Arg(256)->UseManualTime();

void span_chain_of_blocks(benchmark::State& state) {
    constexpr std::uint32_t kPageTokens = 16;
    std::vector<std::uint32_t> tokens(static_cast<std::size_t>(state.range(0)));
    std::iota(tokens.begin(), tokens.end(), 100'000U);
    std::vector<SpanDigest> digests(tokens.size() / kPageTokens);
    const std::vector<unsigned char> message(kHeaderBytes + kPageTokens * 4, 0x5A);
    against_floor(
        state, 1,
        [&] { return span_chain(std::nullopt, tokens, {}, kPageTokens, digests).has_value(); },
        [&] {
            for (SpanDigest& digest : digests) {
                crypto_generichash_blake2b(digest.bytes.data(), digest.bytes.size(), message.data(),
                                           message.size(), nullptr, 0);
            }
            return digests.size();
        });
}
BENCHMARK(span_chain_of_blocks)->Arg(8192)->UseManualTime();

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

// The content digest that a worker takes when a cell is sealed, against reading the same bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "against_floor.hpp"
#include "memory/digest.hpp"

namespace cxlpool::bench {
namespace {

void content_digest(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5A});
    against_floor(
        state, 1, [&] { return digest_bytes(bytes); },
        [&] { return std::memchr(bytes.data(), 0, bytes.size()); });
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(content_digest)->Arg(1 << 20)->Arg(8 << 20)->UseManualTime();

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

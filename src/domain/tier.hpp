// The rungs of the memory ladder and the words that describe how bytes are shared.
//
// Responsible for: the closed vocabularies tier, share kind and cross-host coherence, with their
// one spelling in files, JSON and output. Invariants: an unknown word is an error, never a value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace cxlpool {

// Warm to cold; what comes after the last is recompute, which is no tier.
enum class Tier : std::uint8_t { hbm, dram, numa_far, cxl, remote_dram, disk, remote };

inline constexpr std::array kTiers{Tier::hbm,         Tier::dram, Tier::numa_far, Tier::cxl,
                                   Tier::remote_dram, Tier::disk, Tier::remote};

enum class ShareKind : std::uint8_t {
    none,     // only by copying
    mmap,     // one host, zero-copy
    cxl_hdm,  // zero-copy in a host and across hosts
    rdma,     // staged copies
    dmabuf,   // one host, zero-copy
};

enum class CrossHostCoherence : std::uint8_t {
    none,      // the default, and what unknown means
    hardware,  // needs proof
    managed,   // the operator declares that engines write back on seal and invalidate before the
               // first read
};

inline constexpr std::array kShareKinds{ShareKind::none, ShareKind::mmap, ShareKind::cxl_hdm,
                                        ShareKind::rdma, ShareKind::dmabuf};
inline constexpr std::array kCrossHostCoherences{
    CrossHostCoherence::none, CrossHostCoherence::hardware, CrossHostCoherence::managed};

std::string_view to_word(Tier tier) noexcept;
std::string_view to_word(ShareKind kind) noexcept;
std::string_view to_word(CrossHostCoherence coherence) noexcept;

// Exact, case-sensitive. Error: unknown_word; the message lists the known words.
Result<Tier> parse_tier(std::string_view word);
Result<ShareKind> parse_share_kind(std::string_view word);
Result<CrossHostCoherence> parse_cross_host_coherence(std::string_view word);

constexpr bool zero_copy_in_host(ShareKind kind) noexcept {
    return kind == ShareKind::mmap || kind == ShareKind::dmabuf || kind == ShareKind::cxl_hdm;
}
constexpr bool zero_copy_across_hosts(ShareKind kind) noexcept {
    return kind == ShareKind::cxl_hdm;
}

}  // namespace cxlpool

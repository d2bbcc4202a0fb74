#include "domain/tier.hpp"

#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kTierWords{
    Word<Tier>{Tier::hbm, "hbm"},
    Word<Tier>{Tier::dram, "dram"},
    Word<Tier>{Tier::numa_far, "numa_far"},
    Word<Tier>{Tier::cxl, "cxl"},
    Word<Tier>{Tier::remote_dram, "remote_dram"},
    Word<Tier>{Tier::disk, "disk"},
    Word<Tier>{Tier::remote, "remote"},
};

constexpr std::array kShareKindWords{
    Word<ShareKind>{ShareKind::none, "none"},       Word<ShareKind>{ShareKind::mmap, "mmap"},
    Word<ShareKind>{ShareKind::cxl_hdm, "cxl_hdm"}, Word<ShareKind>{ShareKind::rdma, "rdma"},
    Word<ShareKind>{ShareKind::dmabuf, "dmabuf"},
};

constexpr std::array kCoherenceWords{
    Word<CrossHostCoherence>{CrossHostCoherence::none, "none"},
    Word<CrossHostCoherence>{CrossHostCoherence::hardware, "hardware"},
    Word<CrossHostCoherence>{CrossHostCoherence::managed, "managed"},
};

}  // namespace

std::string_view to_word(Tier tier) noexcept {
    return words::text_of(kTierWords, tier);
}

std::string_view to_word(ShareKind kind) noexcept {
    return words::text_of(kShareKindWords, kind);
}

std::string_view to_word(CrossHostCoherence coherence) noexcept {
    return words::text_of(kCoherenceWords, coherence);
}

Result<Tier> parse_tier(std::string_view word) {
    return words::parse(kTierWords, "tier", word);
}

Result<ShareKind> parse_share_kind(std::string_view word) {
    return words::parse(kShareKindWords, "share kind", word);
}

Result<CrossHostCoherence> parse_cross_host_coherence(std::string_view word) {
    return words::parse(kCoherenceWords, "cross-host coherence", word);
}

}  // namespace cxlpool

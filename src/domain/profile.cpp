#include "domain/profile.hpp"

#include "base/units.hpp"
#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kSourceWords{
    Word<Source>{Source::measured, "measured"},
    Word<Source>{Source::observed, "observed"},
    Word<Source>{Source::firmware, "firmware"},
    Word<Source>{Source::declared, "declared"},
    Word<Source>{Source::representative, "representative"},
    Word<Source>{Source::unknown, "unknown"},
};

struct Figures {
    Tier tier;
    std::uint64_t read_latency_ns;
    std::uint64_t read_mbps;
    std::uint64_t capacity_bytes;
    bool byte_addressable;
    bool coherent_in_host;
    bool persistent;
    ShareKind share_kind;
    std::uint32_t hosts;
    CrossHostCoherence coherence;
};

constexpr std::uint64_t kGib = 1ULL << 30U;
constexpr std::uint64_t kTib = 1ULL << 40U;
constexpr std::uint64_t kUnbounded = 0;

constexpr std::array kFigures{
    Figures{Tier::hbm, 200, 2'000'000, 80 * kGib, true, true, false, ShareKind::dmabuf, 1,
            CrossHostCoherence::none},
    Figures{Tier::dram, 90, 300'000, 512 * kGib, true, true, false, ShareKind::mmap, 1,
            CrossHostCoherence::none},
    Figures{Tier::numa_far, 140, 200'000, 512 * kGib, true, true, false, ShareKind::mmap, 1,
            CrossHostCoherence::none},
    Figures{Tier::cxl, 300, 64'000, 2 * kTib, true, true, false, ShareKind::cxl_hdm, 8,
            CrossHostCoherence::hardware},
    Figures{Tier::remote_dram, 2'000, 12'000, kUnbounded, false, false, false, ShareKind::rdma, 8,
            CrossHostCoherence::none},
    Figures{Tier::disk, 10'000, 7'000, 8 * kTib, false, false, true, ShareKind::none, 1,
            CrossHostCoherence::none},
    Figures{Tier::remote, 100'000, 12'000, kUnbounded, false, false, true, ShareKind::rdma, 8,
            CrossHostCoherence::none},
};

template <typename T>
Known<T> representative(T value) {
    return Known<T>::of(value, Source::representative, "planning figure of the tier");
}

}  // namespace

std::string_view to_word(Source source) noexcept {
    return words::text_of(kSourceWords, source);
}

Result<Source> parse_source(std::string_view word) {
    return words::parse(kSourceWords, "source", word);
}

ReadTime full_read(const Profile& profile, std::uint64_t bytes) noexcept {
    const std::optional<std::uint64_t> latency = figure(profile.read_latency_ns);
    const std::optional<std::uint64_t> mbps = figure(profile.read_mbps);
    if (!latency || !mbps) {
        return {};
    }
    const std::optional<std::uint64_t> thousandfold = checked_mul(bytes, 1000);
    if (!thousandfold) {
        return {std::nullopt, true};
    }
    const std::optional<std::uint64_t> ns = checked_add(*latency, *thousandfold / *mbps);
    return {ns, !ns};
}

Profile representative_profile(Tier tier) {
    Profile profile;
    profile.name = std::string(to_word(tier));
    profile.tier = tier;
    for (const Figures& row : kFigures) {
        if (row.tier == tier) {
            profile.read_latency_ns = representative(row.read_latency_ns);
            profile.read_mbps = representative(row.read_mbps);
            profile.capacity_bytes = representative(row.capacity_bytes);
            profile.byte_addressable = representative(row.byte_addressable);
            profile.coherent_in_host = representative(row.coherent_in_host);
            profile.persistent = representative(row.persistent);
            profile.share_kind = representative(row.share_kind);
            profile.hosts = representative(row.hosts);
            profile.cross_host_coherence = representative(row.coherence);
        }
    }
    return profile;
}

}  // namespace cxlpool

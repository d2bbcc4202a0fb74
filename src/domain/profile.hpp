// What a tier or a pool is worth, and how each figure is known.
//
// Responsible for: the Profile value, its derived properties, the representative table and the
// rule that unknown never widens a right. Refuses to know: where a figure was read (topology,
// a file, a measurement); it carries that as evidence. Invariants: an unknown field has no value;
// an unknown latency is no value, never 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "domain/tier.hpp"

namespace cxlpool {

// In order of trust, best first.
enum class Source : std::uint8_t {
    measured,
    observed,
    firmware,
    declared,
    representative,
    unknown,
};

inline constexpr std::array kSources{Source::measured, Source::observed,       Source::firmware,
                                     Source::declared, Source::representative, Source::unknown};

std::string_view to_word(Source source) noexcept;
Result<Source> parse_source(std::string_view word);

struct Evidence {
    Source source = Source::unknown;
    std::string detail;  // which file, run or configuration line
    Timestamp time;      // wall clock; 0 when not recorded
    bool operator==(const Evidence&) const = default;
};

template <typename T>
struct Known {
    std::optional<T> value;
    Evidence evidence;

    static Known unknown(std::string why = {}) {
        return Known{std::nullopt, Evidence{Source::unknown, std::move(why), {}}};
    }
    static Known of(T v, Source source, std::string detail, Timestamp time = {}) {
        return Known{std::move(v), Evidence{source, std::move(detail), time}};
    }
    bool operator==(const Known&) const = default;
};

struct Profile {
    std::string name;  // the tier's word or the pool's name
    Tier tier = Tier::dram;

    Known<std::uint64_t> read_latency_ns;
    Known<std::uint64_t> read_mbps;       // 10^6 bytes per second
    Known<std::uint64_t> capacity_bytes;  // 0 is unbounded
    Known<bool> byte_addressable;
    Known<bool> coherent_in_host;
    Known<bool> persistent;
    Known<ShareKind> share_kind;
    Known<std::uint32_t> hosts;
    Known<CrossHostCoherence> cross_host_coherence;
    // What managed coherence costs, as bytes of cache lines a second. Nothing else needs them.
    Known<std::uint64_t> cache_writeback_mbps;   // the sealing side writes its lines back
    Known<std::uint64_t> cache_invalidate_mbps;  // an attending side drops its lines
    Known<std::uint32_t> memory_node;            // the node the bytes are on (dax target_node)
    Known<std::uint32_t> cpu_affinity_node;      // the node the device hangs on (memdev numa_node)
    bool may_shrink = false;                     // dynamic capacity

    bool operator==(const Profile&) const = default;
};

// What the rights-bearing fields are taken for when they are not known: the least.
inline std::uint32_t hosts_or_assumed(const Profile& profile) noexcept {
    const std::uint32_t hosts = profile.hosts.value.value_or(1);
    return hosts == 0 ? 1 : hosts;
}
inline CrossHostCoherence coherence_or_none(const Profile& profile) noexcept {
    const CrossHostCoherence coherence =
        profile.cross_host_coherence.value.value_or(CrossHostCoherence::none);
    const bool known =
        coherence == CrossHostCoherence::hardware || coherence == CrossHostCoherence::managed;
    return known ? coherence : CrossHostCoherence::none;
}
inline ShareKind share_kind_or_none(const Profile& profile) noexcept {
    return profile.share_kind.value.value_or(ShareKind::none);
}

// More than one host reaches the bytes.
inline bool reachable(const Profile& profile) noexcept {
    return hosts_or_assumed(profile) > 1;
}
// Reachable, coherent across hosts and of a share kind that is zero-copy across hosts: other hosts
// attend the bytes where they are.
inline bool fabric_shareable(const Profile& profile) noexcept {
    return reachable(profile) && coherence_or_none(profile) != CrossHostCoherence::none &&
           zero_copy_across_hosts(share_kind_or_none(profile));
}
// Byte-addressable, coherent in the host and of a share kind that needs no copy in it; not when one
// of the three is unknown.
inline bool attendable_in_place(const Profile& profile) noexcept {
    return profile.byte_addressable.value.value_or(false) &&
           profile.coherent_in_host.value.value_or(false) &&
           zero_copy_in_host(share_kind_or_none(profile));
}

// A latency or bandwidth that says something: 0 is no figure, whoever put it there.
inline std::optional<std::uint64_t> figure(const Known<std::uint64_t>& field) noexcept {
    return field.value.value_or(0) != 0 ? field.value : std::nullopt;
}

// Reading `bytes` once, from the first to the last: latency + bytes x 1000 / MB/s in whole ns.
struct ReadTime {
    std::optional<std::uint64_t> ns;  // none: a figure is unknown, or the time does not fit
    bool overflow = false;            // it does not fit in 64 bits
};
ReadTime full_read(const Profile& profile, std::uint64_t bytes) noexcept;

// The planning figures of a tier; every field says `representative`. For planning on paper and
// for tests; a live daemon never presents one as a fact about its host.
Profile representative_profile(Tier tier);

}  // namespace cxlpool

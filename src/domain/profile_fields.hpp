// The fields of a profile that a profile file may name, in one table.
//
// Responsible for: key, unit, range and meaning of each field. The reader, the merge, the schema,
// the JSON and the tables all go through it, so that none of them can know another set of fields.
// Invariant: the key of a number ends in its unit; `hosts` is a count.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>

#include "domain/profile.hpp"

namespace cxlpool {

template <typename T>
struct ProfileField {
    std::string_view key;
    Known<T> Profile::*known;
    std::string_view label;    // for people
    std::string_view unit;     // of a number; empty for words and truth values
    std::string_view meaning;  // one sentence for the schema
    std::uint64_t min = 0;     // of a number
    std::uint64_t max = std::numeric_limits<T>::max();
};

namespace profile_fields {
using Number = ProfileField<std::uint64_t>;
using Count = ProfileField<std::uint32_t>;
using Flag = ProfileField<bool>;

inline constexpr std::string_view kMbps = "10^6 bytes a second";

inline constexpr std::tuple kAll{
    Number{"read_latency_ns", &Profile::read_latency_ns, "read latency", "nanoseconds",
           "Time until the first byte of a read.", 1},
    Number{"read_mbps", &Profile::read_mbps, "read bandwidth", kMbps,
           "Bandwidth of one reader that has the link to itself.", 1},
    Number{"capacity_bytes", &Profile::capacity_bytes, "capacity", "bytes",
           "What it holds; 0 is unbounded."},
    Flag{"byte_addressable", &Profile::byte_addressable, "byte-addressable", "",
         "Whether loads reach it, without a copy into memory first."},
    Flag{"coherent_in_host", &Profile::coherent_in_host, "coherent in the host", "",
         "Whether the caches of one host agree about it."},
    Flag{"persistent", &Profile::persistent, "persistent", "",
         "Whether its bytes outlive a power cycle."},
    ProfileField<ShareKind>{"share_kind", &Profile::share_kind, "share kind", "",
                            "How others reach its bytes; cxl_hdm alone is without a copy across "
                            "hosts.",
                            0, 0},
    Count{"hosts", &Profile::hosts, "hosts", "hosts", "How many hosts reach it.", 1},
    ProfileField<CrossHostCoherence>{"cross_host_coherence", &Profile::cross_host_coherence,
                                     "coherent across hosts", "",
                                     "Who keeps the caches of different hosts in agreement.", 0, 0},
    Number{"cache_writeback_mbps", &Profile::cache_writeback_mbps, "cache write-back", kMbps,
           "How fast a host writes the cache lines of a span back; a cost of managed coherence.",
           1},
    Number{"cache_invalidate_mbps", &Profile::cache_invalidate_mbps, "cache invalidate", kMbps,
           "How fast a host drops the cache lines of a span; a cost of managed coherence.", 1},
};
}  // namespace profile_fields

// Calls visit(const ProfileField<T>&) for each field, in the order of files and output.
template <typename Visit>
void for_each_profile_field(Visit&& visit) {
    std::apply([&visit](const auto&... field) { (visit(field), ...); }, profile_fields::kAll);
}

}  // namespace cxlpool

// Stable error codes, shared by the libraries, the wire protocol and the C ABI.
//
// Responsible for: one number per kind of failure. Numbers are never reused or renumbered; new
// ones go at the end of their group. Refuses to know: what a verdict of the trust gate is; those
// have their own enumeration in domain/gate.hpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace cxlpool {

enum class Errc : std::uint16_t {
    ok = 0,

    // The caller's fault: the same call will fail again.
    invalid_argument = 1,
    malformed = 2,            // bytes that do not parse: a message, a file
    unsupported_version = 3,  // no protocol or schema version in common
    too_large = 4,            // over a documented maximum
    unknown_word = 5,         // a key, role, tier or share kind that does not exist
    overflow = 6,             // arithmetic would not be exact
    span_exceeds_capacity = 7,
    key_incomplete = 8,  // an identity field is absent or is a name where a digest is needed

    // Rights and state: the caller may change something and try again.
    not_permitted = 20,
    not_found = 21,
    already_exists = 22,
    wrong_state = 23,
    stale_lease = 24,
    revoked = 25,
    tenancy_unset = 26,
    tenancy_mismatch = 27,
    cooperative_refused = 28,  // a cooperative pool in tenancy multi without the override

    // Limits and room.
    capacity = 40,
    limit_exceeded = 41,

    // The environment.
    unavailable = 60,   // nobody answers, device absent, kernel feature off
    disconnected = 61,  // the other side closed the connection
    io = 62,
    timeout = 63,
    cancelled = 64,
    protocol = 65,  // the peer broke the protocol
    out_of_memory = 66,

    internal = 100,
};

// The stable lower-case name of a code ("not_permitted"); "unknown_error" for any other number.
std::string_view errc_name(Errc code) noexcept;

// True for a number that this version defines. Numbers from a peer are checked with this.
bool errc_known(std::uint16_t number) noexcept;

}  // namespace cxlpool

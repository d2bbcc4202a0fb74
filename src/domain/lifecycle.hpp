// The life of a cell: its states, what may happen to it in each, and how it ages.
//
// Responsible for: which event leads from which state to which, the time to live in a tier, and
// what counts as touched since the cell entered it. Pure; time is passed in, and all times of one
// cell are of one clock. Refuses to know: tiers, bytes, leases, rights. Invariants: an event that a
// state does not allow is an error and changes nothing; what becomes of a cell does not depend on
// how often it is asked to age.
//
//   filling --seal--> sealed --(time)--> expiring --(time)--> expired
//                        ^---- touch ------'
//   sealed, expiring, expired, spilled: demote, promote -> sealed; spill -> spilled; evict ->
//   evicted; quarantine -> quarantined; lose -> lost. A spilled cell expires, too.
//
// The time to live is that of the tier and runs from the entry into the tier. In its last quarter
// the cell is expiring: still served, no longer kept for the mere reason that there is room. A
// touch then revives it: the time runs anew from that touch. No time to live is for ever.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace cxlpool {

enum class Lifecycle : std::uint8_t {
    filling = 0,
    sealed = 1,
    expiring = 2,
    expired = 3,
    spilled = 4,
    evicted = 5,
    quarantined = 6,
    lost = 7,
};
inline constexpr std::array kLifecycles{
    Lifecycle::filling, Lifecycle::sealed,  Lifecycle::expiring,    Lifecycle::expired,
    Lifecycle::spilled, Lifecycle::evicted, Lifecycle::quarantined, Lifecycle::lost};

std::string_view to_word(Lifecycle lifecycle) noexcept;
std::optional<Lifecycle> parse_lifecycle(std::string_view word) noexcept;

enum class LifecycleEvent : std::uint8_t {
    seal,        // its bytes are final
    touch,       // somebody attended it
    tick,        // nothing but time
    demote,      // moved to a colder tier, where it is attended in place
    spill,       // moved to a colder tier, from which it must be copied
    promote,     // moved to a warmer tier
    evict,       // given up
    quarantine,  // poisoned
    readmit,     // adjudicated anew while quarantined
    lose,        // its bytes are gone
};
inline constexpr std::array kLifecycleEvents{LifecycleEvent::seal,    LifecycleEvent::touch,
                                             LifecycleEvent::tick,    LifecycleEvent::demote,
                                             LifecycleEvent::spill,   LifecycleEvent::promote,
                                             LifecycleEvent::evict,   LifecycleEvent::quarantine,
                                             LifecycleEvent::readmit, LifecycleEvent::lose};

std::string_view to_word(LifecycleEvent event) noexcept;

// The table alone, without time: a tick leaves every state as it is, and a readmitted or promoted
// cell is taken to be attended in place. Error: wrong_state (the state does not allow the event, or
// one of the two is no value of this version).
Result<Lifecycle> transition(Lifecycle from, LifecycleEvent event);
bool allows(Lifecycle from, LifecycleEvent event) noexcept;

struct CellLife {
    Lifecycle state = Lifecycle::filling;
    Timestamp entered_at;                 // its tier; sealing enters the first one
    std::optional<Timestamp> revived_at;  // by the last touch that found it expiring in this tier
    std::optional<Timestamp> last_touch;  // in any tier
    std::uint64_t touches = 0;            // since it entered this tier; stays at its maximum
    bool staged = false;                  // it lies in a tier from which it must be copied
    bool operator==(const CellLife&) const = default;
};

// As the cell is at `now`: what a tick does. Never younger than it was: an expired cell stays
// expired, whatever the time to live says now, and so does an expiring one without any.
Lifecycle state_at(const CellLife& life, std::optional<std::uint64_t> ttl_ns,
                   Timestamp now) noexcept;
CellLife aged(const CellLife& life, std::optional<std::uint64_t> ttl_ns, Timestamp now) noexcept;

// What happens around an event.
struct LifecycleMoment {
    Timestamp now;
    std::optional<std::uint64_t> ttl_ns;  // of the tier that the cell is in; none: for ever
    bool promoted_in_place = true;        // only promote: the tier that it enters can be attended
};

// The cell after the event; first it ages. A move enters the new tier: the time to live and the
// touches start anew, and an expired cell is served again. Errors: wrong_state, as transition();
// invalid_argument (`now` is before what has happened already).
Result<CellLife> apply(const CellLife& life, LifecycleEvent event, const LifecycleMoment& moment);

}  // namespace cxlpool

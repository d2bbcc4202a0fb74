#include "domain/lifecycle.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kLifecycleWords{
    Word<Lifecycle>{Lifecycle::filling, "filling"},
    Word<Lifecycle>{Lifecycle::sealed, "sealed"},
    Word<Lifecycle>{Lifecycle::expiring, "expiring"},
    Word<Lifecycle>{Lifecycle::expired, "expired"},
    Word<Lifecycle>{Lifecycle::spilled, "spilled"},
    Word<Lifecycle>{Lifecycle::evicted, "evicted"},
    Word<Lifecycle>{Lifecycle::quarantined, "quarantined"},
    Word<Lifecycle>{Lifecycle::lost, "lost"},
};

constexpr std::array kEventWords{
    Word<LifecycleEvent>{LifecycleEvent::seal, "seal"},
    Word<LifecycleEvent>{LifecycleEvent::touch, "touch"},
    Word<LifecycleEvent>{LifecycleEvent::tick, "tick"},
    Word<LifecycleEvent>{LifecycleEvent::demote, "demote"},
    Word<LifecycleEvent>{LifecycleEvent::spill, "spill"},
    Word<LifecycleEvent>{LifecycleEvent::promote, "promote"},
    Word<LifecycleEvent>{LifecycleEvent::evict, "evict"},
    Word<LifecycleEvent>{LifecycleEvent::quarantine, "quarantine"},
    Word<LifecycleEvent>{LifecycleEvent::readmit, "readmit"},
    Word<LifecycleEvent>{LifecycleEvent::lose, "lose"},
};

// Whose bytes lie somewhere, sealed, and may be moved or given up.
bool at_rest(Lifecycle state) noexcept {
    return state == Lifecycle::sealed || state == Lifecycle::expiring ||
           state == Lifecycle::expired || state == Lifecycle::spilled;
}

std::optional<Lifecycle> after(Lifecycle from, LifecycleEvent event) noexcept {
    const auto when = [](bool allowed, Lifecycle to) {
        return allowed ? std::optional<Lifecycle>(to) : std::nullopt;
    };
    const bool quarantined = from == Lifecycle::quarantined;
    switch (event) {
        case LifecycleEvent::seal:
            return when(from == Lifecycle::filling, Lifecycle::sealed);
        case LifecycleEvent::touch:
            // Nobody attends what the gate does not serve.
            if (from == Lifecycle::spilled) {
                return Lifecycle::spilled;
            }
            return when(from == Lifecycle::sealed || from == Lifecycle::expiring,
                        Lifecycle::sealed);
        case LifecycleEvent::tick:
            return when(words::find(kLifecycleWords, to_word(from)).has_value(), from);
        case LifecycleEvent::demote:
        case LifecycleEvent::promote:
            return when(at_rest(from), Lifecycle::sealed);
        case LifecycleEvent::spill:
            return when(at_rest(from), Lifecycle::spilled);
        case LifecycleEvent::evict:
            return when(at_rest(from) || quarantined || from == Lifecycle::lost,
                        Lifecycle::evicted);
        case LifecycleEvent::quarantine:
            return when(at_rest(from) || quarantined, Lifecycle::quarantined);
        case LifecycleEvent::readmit:
            return when(quarantined, Lifecycle::sealed);
        case LifecycleEvent::lose:
            return when(at_rest(from) || quarantined || from == Lifecycle::filling,
                        Lifecycle::lost);
    }
    return std::nullopt;
}

std::uint64_t since(Timestamp then, Timestamp now) noexcept {
    return now.ns > then.ns ? now.ns - then.ns : 0;
}

std::uint64_t time_lived(const CellLife& life, Timestamp now) noexcept {
    return since(life.revived_at.value_or(life.entered_at), now);
}

bool in_last_quarter(std::uint64_t lived_ns, std::uint64_t ttl_ns) noexcept {
    return lived_ns >= ttl_ns - ttl_ns / 4;
}

void touch(CellLife& life, bool was_expiring, const LifecycleMoment& moment) {
    const bool spilled_and_due = life.state == Lifecycle::spilled && moment.ttl_ns &&
                                 in_last_quarter(time_lived(life, moment.now), *moment.ttl_ns);
    if (was_expiring || spilled_and_due) {
        life.revived_at = moment.now;
    }
    life.last_touch = moment.now;
    if (life.touches != std::numeric_limits<std::uint64_t>::max()) {
        ++life.touches;
    }
}

void enter_tier(CellLife& life, Timestamp now, bool staged) {
    life.entered_at = now;
    life.revived_at.reset();
    life.touches = 0;
    life.staged = staged;
    if (staged) {
        life.state = Lifecycle::spilled;
    }
}

}  // namespace

std::string_view to_word(Lifecycle lifecycle) noexcept {
    return words::text_of(kLifecycleWords, lifecycle);
}

std::optional<Lifecycle> parse_lifecycle(std::string_view word) noexcept {
    return words::find(kLifecycleWords, word);
}

std::string_view to_word(LifecycleEvent event) noexcept {
    return words::text_of(kEventWords, event);
}

Result<Lifecycle> transition(Lifecycle from, LifecycleEvent event) {
    if (const std::optional<Lifecycle> to = after(from, event)) {
        return *to;
    }
    return Error{Errc::wrong_state, std::string(to_word(event)) + ": a cell that is " +
                                        std::string(to_word(from)) + " does not allow it"};
}

bool allows(Lifecycle from, LifecycleEvent event) noexcept {
    return after(from, event).has_value();
}

Lifecycle state_at(const CellLife& life, std::optional<std::uint64_t> ttl_ns,
                   Timestamp now) noexcept {
    const bool ages = life.state == Lifecycle::sealed || life.state == Lifecycle::expiring ||
                      life.state == Lifecycle::spilled;
    if (!ages || !ttl_ns) {
        return life.state;
    }
    const std::uint64_t lived_ns = time_lived(life, now);
    if (lived_ns >= *ttl_ns) {
        return Lifecycle::expired;
    }
    const bool due = life.state == Lifecycle::sealed && in_last_quarter(lived_ns, *ttl_ns);
    return due ? Lifecycle::expiring : life.state;
}

CellLife aged(const CellLife& life, std::optional<std::uint64_t> ttl_ns, Timestamp now) noexcept {
    CellLife out = life;
    out.state = state_at(life, ttl_ns, now);
    return out;
}

Result<CellLife> apply(const CellLife& life, LifecycleEvent event, const LifecycleMoment& moment) {
    const Timestamp latest = std::max({life.entered_at, life.revived_at.value_or(Timestamp{}),
                                       life.last_touch.value_or(Timestamp{})});
    if (moment.now < latest) {
        return Error{Errc::invalid_argument, "now is " + std::to_string(moment.now.ns) +
                                                 " ns, before the cell's last event at " +
                                                 std::to_string(latest.ns) + " ns"};
    }
    CellLife out = aged(life, moment.ttl_ns, moment.now);
    const bool was_expiring = out.state == Lifecycle::expiring;
    const Result<Lifecycle> to = transition(out.state, event);
    if (!to) {
        return to.error();
    }
    out.state = *to;
    switch (event) {
        case LifecycleEvent::seal:
        case LifecycleEvent::demote:
            enter_tier(out, moment.now, false);
            break;
        case LifecycleEvent::spill:
            enter_tier(out, moment.now, true);
            break;
        case LifecycleEvent::promote:
            enter_tier(out, moment.now, !moment.promoted_in_place);
            break;
        case LifecycleEvent::touch:
            touch(out, was_expiring, moment);
            break;
        case LifecycleEvent::readmit:
            out.state = out.staged ? Lifecycle::spilled : Lifecycle::sealed;
            out = aged(out, moment.ttl_ns, moment.now);  // it grew older in quarantine
            break;
        case LifecycleEvent::tick:
        case LifecycleEvent::evict:
        case LifecycleEvent::quarantine:
        case LifecycleEvent::lose:
            break;
    }
    return out;
}

}  // namespace cxlpool

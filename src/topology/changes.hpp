// What became of the pools between two readings of one machine.
//
// Responsible for: the pools that go, shrink, lose the memory under them, or appear. Pure. Refuses
// to know: who uses a pool, and what is done about it. Invariants: a device that was destroyed and
// made again under the same name is another one, where the two can be told apart; a pool whose
// memory is being taken back is draining from the moment that an accepted extent is missing,
// whether or not its device still stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace cxlpool {

struct PoolChange {
    enum class Kind : std::uint8_t {
        draining,  // place nothing new in it: capacity of its region has been taken back
        shrunk,    // it stands with less capacity: what lay behind the new end is gone
        lost,      // every mapping of it is dead, and no byte of it may be served
        returned,  // was not there before: empty, whatever its name
    };
    std::string pool;
    Kind kind = Kind::lost;
    bool operator==(const PoolChange&) const = default;
};

std::string_view to_word(PoolChange::Kind kind) noexcept;

// In the order of the pools before, then those that are new. A pool that was replaced under its
// name is lost, and then returned.
std::vector<PoolChange> changes(const Topology& before, const Topology& after);

}  // namespace cxlpool

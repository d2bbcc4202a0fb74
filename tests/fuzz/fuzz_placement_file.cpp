// Any bytes as a placement file: they are refused with an error that names the place, or give cells
// that can all be planned and a ladder that stays within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "domain/placement_file.hpp"

namespace {

using namespace cxlpool;

void use(PlacementFile file) {
    for (const NamedCell& named : file.cells) {
        const auto directive = plan_placement(named.cell, file.ladder, file.now);
        if (!directive) {
            continue;
        }
        CXLPOOL_CHECK(directive->from == named.cell.tier);
        CXLPOOL_CHECK(directive->to.has_value() == (directive->action != PlacementAction::evict));
        const bool moves = directive->to && *directive->to != directive->from;
        CXLPOOL_CHECK(moves == (directive->action != PlacementAction::keep &&
                                directive->action != PlacementAction::evict));
        CXLPOOL_CHECK(!moves || file.ladder.room_bytes(*directive->to) >= directive->bytes);
        file.ladder.carry_out(*directive);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto file = parse_placement_file("fuzz", text);
    if (file) {
        use(*std::move(file));
    } else {
        CXLPOOL_CHECK(file.error().message().rfind("fuzz:", 0) == 0);
    }
    return 0;
}

#include "topology/topology.hpp"

#include <array>

#include "domain/words.hpp"

namespace cxlpool {
namespace {

using words::Word;

constexpr std::array kStateWords{
    Word<Region::State>{Region::State::unknown, "unknown"},
    Word<Region::State>{Region::State::committed, "committed"},
    Word<Region::State>{Region::State::reset, "reset"},
    Word<Region::State>{Region::State::disabled, "disabled"},
};

constexpr std::array kModeWords{
    Word<DaxMode>{DaxMode::unknown, "unknown"},       Word<DaxMode>{DaxMode::devdax, "devdax"},
    Word<DaxMode>{DaxMode::system_ram, "system-ram"}, Word<DaxMode>{DaxMode::famfs, "famfs"},
    Word<DaxMode>{DaxMode::unbound, "unbound"},
};

constexpr std::array kOriginWords{
    Word<Topology::Origin>{Topology::Origin::live, "live"},
    Word<Topology::Origin>{Topology::Origin::captured, "captured"},
};

constexpr std::array kSeverityWords{
    Word<Finding::Severity>{Finding::Severity::info, "info"},
    Word<Finding::Severity>{Finding::Severity::warning, "warning"},
    Word<Finding::Severity>{Finding::Severity::error, "error"},
};

}  // namespace

std::string_view to_word(Region::State state) noexcept {
    return words::text_of(kStateWords, state);
}

std::string_view to_word(DaxMode mode) noexcept {
    return words::text_of(kModeWords, mode);
}

std::string_view to_word(Topology::Origin origin) noexcept {
    return words::text_of(kOriginWords, origin);
}

std::string_view to_word(Finding::Severity severity) noexcept {
    return words::text_of(kSeverityWords, severity);
}

Result<Region::State> parse_region_state(std::string_view word) {
    return words::parse(kStateWords, "region state", word);
}

Result<DaxMode> parse_dax_mode(std::string_view word) {
    return words::parse(kModeWords, "dax mode", word);
}

Result<Finding::Severity> parse_severity(std::string_view word) {
    return words::parse(kSeverityWords, "severity", word);
}

}  // namespace cxlpool

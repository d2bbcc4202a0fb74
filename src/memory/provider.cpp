#include "memory/provider.hpp"

namespace cxlpool {

std::string_view to_word(Isolation isolation) noexcept {
    return isolation == Isolation::kernel ? "kernel" : "cooperative";
}

Result<std::unique_ptr<Segment>> SegmentProvider::adopt_segment(UniqueFd) {
    return Error{Errc::wrong_state, "segments of provider " + traits().kind +
                                        " are not kept while the daemon is not there"};
}

Result<HugePages> parse_hugepages(std::string_view word) {
    if (word == "auto") {
        return HugePages::automatic;
    }
    if (word == "never") {
        return HugePages::never;
    }
    if (word == "require") {
        return HugePages::require;
    }
    return Error{Errc::unknown_word, "'" + std::string(word.substr(0, 64)) +
                                         "' is not a huge page policy: auto, never or require"};
}

}  // namespace cxlpool

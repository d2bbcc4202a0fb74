// Any bytes as a captured topology: they are refused with an error, or give a topology from which
// everything else can be made and which its snapshot reproduces.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.hpp"
#include "topology/captured/captured.hpp"
#include "topology/report.hpp"
#include "topology/rules.hpp"

namespace {

using namespace cxlpool;

// Between two texts of one input.
constexpr std::string_view kSeparator = "\n---\n";

void use(const Topology& topology) {
    const Assessment assessment = assess(topology);
    CXLPOOL_CHECK(!topology_json(topology, assessment).empty());
    for (const PoolCandidate& pool : assessment.pools) {
        CXLPOOL_CHECK(!fabric_shareable(pool.profile));
        CXLPOOL_CHECK(!profiles_json({pool.profile}).empty());
        PoolSelector selector;
        selector.dax_device = pool.dax_device;
        selector.region = pool.dax_device.empty() ? pool.region : "";
        const auto found = find_pool(topology, assessment, selector);
        CXLPOOL_CHECK(found && found->name == pool.name);
    }
    const std::string snapshot = write_snapshot(topology);
    const CapturedText text{"snapshot", snapshot};
    const auto back = read_captured({&text, 1});
    CXLPOOL_CHECK(back.has_value());
    CXLPOOL_CHECK(*back == topology);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const std::size_t split = all.find(kSeparator);
    std::array<CapturedText, 2> texts{CapturedText{"first", all.substr(0, split)},
                                      CapturedText{"second", {}}};
    std::size_t count = 1;
    if (split != std::string_view::npos) {
        texts[1].text = all.substr(split + kSeparator.size());
        count = 2;
    }
    const auto topology = read_captured(std::span(texts.data(), count));
    if (topology) {
        use(*topology);
    }
    return 0;
}

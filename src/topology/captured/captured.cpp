#include "topology/captured/captured.hpp"

#include "topology/captured/collector.hpp"
#include "topology/captured/listing.hpp"
#include "topology/captured/snapshot.hpp"

namespace cxlpool {
namespace {

using captured::Seen;
using captured::Source;

// A machine of 1,000 memdevs has about 60,000 values; each takes some 200 bytes of memory here.
constexpr json::Limits kLimits{
    .max_bytes = kCapturedMaxBytes, .max_depth = 64, .max_values = 1U << 20U};

Result<Topology> read_one_snapshot(Source& source, const json::Value& root) {
    Topology topology = captured::read_snapshot(source, root);
    if (source.error) {
        return *std::move(source.error);
    }
    resolve(topology);
    return topology;
}

// Adds one listing; `seen` sums up over all texts.
Result<void> add_listing(Source& source, const json::Value& root, captured::Collector& collector,
                         Seen& seen) {
    const Seen here = captured::read_listing(source, root, collector);
    if (source.error) {
        return *std::move(source.error);
    }
    if (!here.cxl && !here.dax_devices && !here.dax_regions && !here.empty) {
        return json::error_at(Errc::invalid_argument, source.file, root,
                              "nothing of 'cxl list', 'daxctl list' or a snapshot in it");
    }
    seen.cxl = seen.cxl || here.cxl;
    seen.dax_devices = seen.dax_devices || here.dax_devices;
    seen.dax_regions = seen.dax_regions || here.dax_regions;
    seen.empty = seen.empty || here.empty;
    return {};
}

}  // namespace

Result<Topology> read_captured(std::span<const CapturedText> texts) {
    if (texts.empty()) {
        return Error{Errc::invalid_argument, "no file to read a topology from"};
    }
    captured::Collector collector;
    Seen seen;
    for (const CapturedText& text : texts) {
        const Result<json::Value> root = json::parse(text.name, text.text, kLimits);
        if (!root) {
            return root.error();
        }
        Source source{text.name, std::nullopt};
        if (captured::is_snapshot(*root)) {
            if (texts.size() != 1) {
                return json::error_at(Errc::invalid_argument, text.name, *root,
                                      "a snapshot is a whole topology: give it alone");
            }
            return read_one_snapshot(source, *root);
        }
        CXLPOOL_TRY(add_listing(source, *root, collector, seen));
    }
    Topology topology = collector.take();
    topology.origin = Topology::Origin::captured;
    // An empty list beside a CXL listing is what `daxctl list` prints when there is nothing.
    topology.dax_listed = seen.dax_devices || seen.empty;
    resolve(topology);
    return topology;
}

}  // namespace cxlpool

// Reads what `cxl list` and `daxctl list` print. Internal to captured.
#pragma once

#include "topology/captured/collector.hpp"
#include "topology/captured/fields.hpp"

namespace cxlpool::captured {

// What a text turned out to have in it.
struct Seen {
    bool cxl = false;          // a CXL object
    bool dax_devices = false;  // a dax device, or a dax region with its list of devices
    bool dax_regions = false;
    bool empty = false;  // an empty list, which either tool prints when it finds nothing
};

// Adds all devices of `root` to `collector`. Unknown keys are skipped, as the tools grow.
Seen read_listing(Source& source, const json::Value& root, Collector& collector);

// The devices themselves. `region` is the CXL region around them, or empty.
void read_dax_region(Source& source, const json::Value& object, const std::string& region,
                     Collector& collector, Seen& seen);
void read_dax_device(Source& source, const json::Value& object, const DaxDevice& inherited,
                     Collector& collector, Seen& seen);

// Calls `each` for every object of a list; the tools print a list of one as the bare object.
template <typename F>
void for_each_object(Source& source, const json::Value& list, F&& each) {
    if (list.is(json::Value::Kind::object)) {
        each(list);
        return;
    }
    if (!list.is(json::Value::Kind::array)) {
        source.fail(Errc::malformed, list,
                    "expected a list of objects, not " + std::string(to_word(list.kind)));
        return;
    }
    for (const json::Value& item : list.items) {
        if (!item.is(json::Value::Kind::object)) {
            source.fail(Errc::malformed, item,
                        "expected an object, not " + std::string(to_word(item.kind)));
        }
        if (!source.ok()) {
            return;
        }
        each(item);
    }
}

}  // namespace cxlpool::captured

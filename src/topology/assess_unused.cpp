// Memory that no region maps, and the command that maps it.
#include <algorithm>
#include <iterator>

#include "topology/assess.hpp"

namespace cxlpool {
namespace {

std::uint64_t minus(std::uint64_t whole, std::uint64_t taken) {
    return whole - std::min(whole, taken);
}

// Bytes of one memdev, by the partition they are in.
struct Partitions {
    std::uint64_t ram = 0;
    std::uint64_t pmem = 0;
    std::uint64_t unsaid = 0;  // taken, but the source does not say of which

    void add(std::string_view mode, std::uint64_t bytes) {
        if (mode.substr(0, 8) == "dynamic_") {
            return;  // of neither
        }
        std::uint64_t& of = mode == "ram" ? ram : mode == "pmem" ? pmem : unsaid;
        of = capped_sum(of, bytes);
    }
};

// What the endpoint decoders of each memdev have taken, or else its share of its regions.
std::map<std::string, Partitions> used_bytes(const Topology& topology, const Lookup& lookup) {
    std::map<std::string, Partitions> used;
    for (const Decoder& decoder : topology.decoders) {
        const Port* const endpoint = lookup.port(decoder.parent);
        if (decoder.kind == Decoder::Kind::endpoint && endpoint != nullptr) {
            used[endpoint->host].add(decoder.mode, decoder.dpa_size_bytes.value_or(0));
        }
    }
    std::map<std::string, Partitions> shares;
    for (const Region& region : topology.regions) {
        for (const RegionMapping& mapping : region.mappings) {
            shares[mapping.memdev].add(region.type, region.capacity_bytes / region.mappings.size());
        }
    }
    for (const auto& [memdev, share] : shares) {
        Partitions& of = used[memdev];
        of.ram = std::max(of.ram, share.ram);
        of.pmem = std::max(of.pmem, share.pmem);
        of.unsaid = std::max(of.unsaid, minus(share.unsaid, capped_sum(of.ram, of.pmem)));
    }
    return used;
}

// A memdev with memory of one type that no region maps.
struct Unused {
    const Memdev* memdev;
    std::uint64_t bytes;
};

struct UnusedMemory {
    std::vector<Unused> ram;
    std::vector<Unused> pmem;
    std::vector<std::string> memdevs;
    std::uint64_t bytes = 0;
};

UnusedMemory unused(const Topology& topology, const Lookup& lookup) {
    const std::map<std::string, Partitions> used = used_bytes(topology, lookup);
    UnusedMemory out;
    for (const Memdev& memdev : topology.memdevs) {
        if (memdev.enabled == false) {
            continue;
        }
        const auto found = used.find(memdev.name);
        const Partitions taken = found == used.end() ? Partitions{} : found->second;
        // A device has its volatile memory first.
        std::uint64_t ram = minus(memdev.ram_bytes, taken.ram);
        std::uint64_t pmem = minus(memdev.pmem_bytes, taken.pmem);
        pmem = minus(pmem, minus(taken.unsaid, ram));
        ram = minus(ram, taken.unsaid);
        if (ram == 0 && pmem == 0) {
            continue;
        }
        if (ram > 0) {
            out.ram.push_back({&memdev, ram});
        }
        if (pmem > 0) {
            out.pmem.push_back({&memdev, pmem});
        }
        out.memdevs.push_back(memdev.name);
        out.bytes = capped_sum(out.bytes, capped_sum(ram, pmem));
    }
    return out;
}

std::vector<const Decoder*> windows_of(const Topology& topology) {
    std::vector<const Decoder*> windows;
    for (const Decoder& decoder : topology.decoders) {
        if (decoder.kind == Decoder::Kind::root) {
            windows.push_back(&decoder);
        }
    }
    return windows;
}

bool has_room(const Decoder& window) {
    return window.max_available_extent_bytes.value_or(0) != 0;
}

// The unused memdevs of one type, by the host bridge that they hang below.
class Stock {
  public:
    Stock(const std::vector<Unused>& free, const Lookup& lookup) : free_(free) {
        for (const Unused& one : free) {
            const Port* const endpoint = lookup.endpoint(std::string_view(one.memdev->name));
            const auto path = endpoint == nullptr ? std::nullopt : path_to_root(*endpoint, lookup);
            const Port* const bridge = path ? path->host_bridge : nullptr;
            by_bridge_[bridge].push_back(one);
            if (bridge != nullptr) {
                bridges_.emplace(bridge->host, bridge);
                bridges_.emplace(bridge->parent_dport, bridge);
            }
        }
    }

    // One memdev for each target of the window, in the order of the targets; nothing when some
    // target has none. A device whose host bridge is not known may stand below any.
    std::vector<Unused> fill(const Decoder& window) const {
        std::vector<DecoderTarget> targets = window.targets;
        std::stable_sort(targets.begin(), targets.end(), [](const auto& a, const auto& b) {
            return a.position.value_or(0) < b.position.value_or(0);
        });
        const std::size_t ways = window.interleave_ways.value_or(1);
        if (targets.size() != ways) {  // a list that was captured in part proves nothing
            return ways <= free_.size()
                       ? std::vector<Unused>(
                             free_.begin(),
                             std::next(free_.begin(), static_cast<std::ptrdiff_t>(ways)))
                       : std::vector<Unused>{};
        }
        std::vector<Unused> chosen;
        std::map<const Port*, std::size_t> taken;
        for (const DecoderTarget& target : targets) {
            const Port* bridge = bridge_of(target);
            if (bridge == nullptr || taken[bridge] == by_bridge_.at(bridge).size()) {
                bridge = nullptr;
            }
            const auto stock = by_bridge_.find(bridge);
            if (stock == by_bridge_.end() || taken[bridge] == stock->second.size()) {
                return {};
            }
            chosen.push_back(stock->second[taken[bridge]++]);
        }
        return chosen;
    }

  private:
    const Port* bridge_of(const DecoderTarget& target) const {
        for (const std::string& name : {target.target, target.alias}) {
            const auto found = name.empty() ? bridges_.end() : bridges_.find(name);
            if (found != bridges_.end()) {
                return found->second;
            }
        }
        return nullptr;
    }

    const std::vector<Unused>& free_;
    std::map<const Port*, std::vector<Unused>> by_bridge_;  // null: not known
    std::map<std::string, const Port*> bridges_;
};

struct Placement {
    const Decoder* window = nullptr;
    std::vector<Unused> memdevs;
};

// Capacity of a region is handed out in units of 256 MiB for each way.
constexpr std::uint64_t kRegionUnitBytes = std::uint64_t{256} << 20U;

std::uint64_t room_for(const Decoder& window, std::size_t ways) {
    const std::uint64_t unit = kRegionUnitBytes * ways;
    return window.max_available_extent_bytes.value_or(0) / unit * unit;
}

// The window with the most room that takes this type and whose targets have unused memdevs. What a
// window may take is not always known.
Placement place(const std::vector<Unused>& free, const std::vector<const Decoder*>& windows,
                std::optional<bool> Decoder::*capable, const Lookup& lookup) {
    const Stock stock(free, lookup);
    Placement best;
    for (const Decoder* const window : windows) {
        const std::size_t ways = window->interleave_ways.value_or(1);
        if (window->*capable == false || ways == 0 || ways > free.size() ||
            room_for(*window, ways) == 0 ||
            (best.window != nullptr &&
             window->max_available_extent_bytes <= best.window->max_available_extent_bytes)) {
            continue;
        }
        std::vector<Unused> memdevs = stock.fill(*window);
        if (!memdevs.empty()) {
            best = {window, std::move(memdevs)};
        }
    }
    return best;
}

struct MemoryType {
    const char* type;
    const char* in_words;
    std::optional<bool> Decoder::*capable;
    const char* then;
};
constexpr MemoryType kRam{"ram", "volatile", &Decoder::volatile_capable, "daxctl list -RD"};
constexpr MemoryType kPmem{"pmem", "persistent", &Decoder::pmem_capable,
                           "ndctl create-namespace -m devdax"};

// The command that maps the first of the unused memdevs of one type; empty when there is none.
std::string create_region(const MemoryType& type, const std::vector<Unused>& free,
                          const std::vector<const Decoder*>& windows, const Lookup& lookup) {
    if (free.empty()) {
        return {};
    }
    Placement at = place(free, windows, type.capable, lookup);
    if (windows.empty()) {
        at.memdevs = {free.front()};
    } else if (at.window == nullptr) {
        return std::string("no window with room takes ") + type.in_words +
               " memory of these devices";
    }
    std::string command = std::string("cxl create-region -t ") + type.type + " -m -d " +
                          (at.window == nullptr ? "ROOT_DECODER" : at.window->name) + " -w " +
                          std::to_string(at.memdevs.size());
    std::uint64_t smallest = at.memdevs.front().bytes;
    for (const Unused& one : at.memdevs) {
        smallest = std::min(smallest, one.bytes);
    }
    if (at.window != nullptr) {
        const std::uint64_t room = room_for(*at.window, at.memdevs.size());
        if (room / at.memdevs.size() < smallest) {
            command += " -s " + std::to_string(room);
        }
    }
    for (const Unused& one : at.memdevs) {
        command += " " + one.memdev->name;
    }
    command += std::string(", then: ") + type.then;
    if (free.size() > at.memdevs.size()) {
        command += " (and so on for the others)";
    }
    return command;
}

std::string create_regions(const UnusedMemory& free, const std::vector<const Decoder*>& windows,
                           const Lookup& lookup) {
    std::string next = create_region(kRam, free.ram, windows, lookup);
    const std::string pmem = create_region(kPmem, free.pmem, windows, lookup);
    next += (next.empty() || pmem.empty() ? "" : "; ") + pmem;
    return windows.empty() ? next + "; ROOT_DECODER: see 'cxl list -D -d root'" : next;
}

}  // namespace

void assess_unused_memory(const Topology& topology, const Lookup& lookup, Findings& findings) {
    const UnusedMemory free = unused(topology, lookup);
    if (free.bytes == 0) {
        return;
    }
    const std::vector<const Decoder*> windows = windows_of(topology);
    const bool full =
        !windows.empty() &&
        std::none_of(windows.begin(), windows.end(), [](const Decoder* w) { return has_room(*w); });
    // Firmware that puts CXL memory into the boot map leaves windows without room, and neither a
    // region nor a dax device.
    if (full && topology.regions.empty() && topology.dax_devices.empty() && free.pmem.empty()) {
        findings.info("firmware_system_ram", join(free.memdevs),
                      join(free.memdevs) + ": " + bytes_text(free.bytes) +
                          " of memory is in use as System RAM by firmware, nothing to pool",
                      "to pool it, have the firmware set it aside (BIOS option for CXL memory: "
                      "\"specific purpose\"); no kernel switch takes it back after boot");
        return;
    }
    findings.warning(
        "unprovisioned_capacity", join(free.memdevs),
        join(free.memdevs) + ": " + bytes_text(free.bytes) + " unprovisioned, no region maps it",
        full ? "no window has room for a region: look for memory that firmware already mapped "
               "(daxctl list -RD, /proc/iomem)"
             : create_regions(free, windows, lookup));
}

}  // namespace cxlpool

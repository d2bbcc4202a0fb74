// The machine's CXL and dax memory as one plain value.
//
// Responsible for: what every source (live libcxl and sysfs, captured tool output, our snapshot)
// must produce, so that everything after it is pure. Refuses to know: how it was read. Invariants:
// an unknown number is absent, never 0 or -1; devices are keyed by memdev name and sysfs path,
// never by serial; u64 values are exact.
//
// Kernel words: Documentation/ABI/testing/sysfs-bus-cxl and sysfs-bus-dax.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace cxlpool {

// Something that is not right or not usable, and what to do next. Codes are stable, lower-case.
struct Finding {
    enum class Severity : std::uint8_t { info, warning, error };
    Severity severity = Severity::warning;
    std::string code;     // "region_not_committed"
    std::string subject;  // "region0"; "mem0, mem1" for several; or a file
    std::string message;  // what was found, with the numbers
    std::string next;     // what to type or change
    bool operator==(const Finding&) const = default;
};

struct Memdev {
    std::string name;                     // "mem0"
    std::string sysfs_path;               // live only
    std::optional<std::uint64_t> serial;  // 0 is printed by devices that have none
    std::string host;                     // "0000:0d:00.0"; empty when unknown
    std::uint64_t ram_bytes = 0;
    std::uint64_t pmem_bytes = 0;
    std::uint64_t dynamic_bytes = 0;         // dynamic capacity partitions
    std::optional<std::uint32_t> numa_node;  // CPU affinity of the device, not where its bytes are
    std::optional<bool> enabled;             // cxl_mem driver bound; absent: cannot be told
    std::string firmware_version;
    bool operator==(const Memdev&) const = default;
};

struct DecoderTarget {
    std::string target;  // dport name
    std::optional<std::uint32_t> position;
    std::string alias{};  // the other name of the same dport (firmware or PCI); may be empty
    bool operator==(const DecoderTarget&) const = default;
};

// Root, switch/host-bridge and endpoint decoders.
struct Decoder {
    enum class Kind : std::uint8_t { root, port, endpoint };
    std::string name;    // "decoder0.0"
    std::string parent;  // "root0", "port1", "endpoint5"; empty when the source does not say
    Kind kind = Kind::root;
    std::optional<std::uint64_t> resource;  // base host physical address
    std::optional<std::uint64_t> size_bytes;
    std::optional<std::uint32_t> interleave_ways;
    std::optional<std::uint32_t> interleave_granularity_bytes;
    std::optional<std::uint64_t> max_available_extent_bytes;  // negative in the source: absent
    std::optional<bool> volatile_capable;
    std::optional<bool> pmem_capable;
    // Window restrictions (cap_type3, cap_type2): host-only coherent and device coherent memory.
    // A window may allow both; neither given is unknown.
    std::optional<bool> mem_capable{};
    std::optional<bool> accelmem_capable;
    std::optional<bool> locked;
    std::string target_type;  // "expander", "accelerator"; empty when unknown
    std::string region;       // region mapped through it; empty when none
    std::string mode;         // endpoint: "ram", "pmem"
    std::optional<std::uint64_t> dpa_resource;
    std::optional<std::uint64_t> dpa_size_bytes;
    std::optional<std::uint32_t> declared_targets;  // nr_targets as printed
    std::vector<DecoderTarget> targets;             // the list decides, the count only warns
    bool operator==(const Decoder&) const = default;
};

struct Port {
    enum class Kind : std::uint8_t { root, port, endpoint };
    std::string name;    // "root0", "port1", "endpoint5"
    std::string parent;  // port above; empty for a root
    Kind kind = Kind::port;
    std::string host;          // "pci0000:e6", "mem0" for an endpoint
    std::string parent_dport;  // through which dport of the parent it hangs
    std::optional<std::uint32_t> depth;
    std::optional<std::uint32_t> declared_dports;  // nr_dports as printed
    std::vector<std::string> dports;
    bool operator==(const Port&) const = default;
};

struct RegionMapping {
    std::uint32_t position = 0;
    std::string memdev;
    std::string decoder;
    bool operator==(const RegionMapping&) const = default;
};

// Dynamic capacity: one accepted extent.
struct RegionExtent {
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    std::string tag;  // empty for an untagged extent (uuid of zeros, tag "0")
    bool operator==(const RegionExtent&) const = default;
};

struct Region {
    enum class State : std::uint8_t { unknown, committed, reset, disabled };
    std::string name;  // "region0"
    std::string sysfs_path;
    std::string root_decoder;  // empty when the source does not nest it
    std::optional<std::uint64_t> resource;
    std::uint64_t capacity_bytes = 0;
    std::string type;  // "ram", "pmem", "dynamic_ram_a"; empty when unknown
    std::optional<std::uint32_t> interleave_ways;
    std::optional<std::uint32_t> interleave_granularity_bytes;
    State state = State::unknown;
    std::vector<RegionMapping> mappings;  // sorted by position
    std::vector<RegionExtent> extents;    // sorted by offset; dynamic capacity only
    bool has_dynamic_capacity = false;
    // Derived by resolve(): host bridges and switches between the root and the devices.
    std::optional<std::uint32_t> host_bridges;
    std::optional<std::uint32_t> switch_depth;
    // What a kernel attribute says about back-invalidate on every device of it; absent: no such
    // attribute.
    std::optional<bool> back_invalidate;
    // What the kernel adds up along the paths from the nearest initiator to its devices.
    std::optional<std::uint64_t> read_latency_ns;
    std::optional<std::uint64_t> read_mbps;
    bool operator==(const Region&) const = default;
};

// Physical addresses, both ends included, as sysfs prints them.
struct PhysicalRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    bool operator==(const PhysicalRange&) const = default;
};

enum class DaxMode : std::uint8_t { unknown, devdax, system_ram, famfs, unbound };

struct DaxDevice {
    std::string name;  // "dax0.0", as in /sys/bus/dax/devices
    std::string sysfs_path;
    std::string region_path;  // of its dax region: "/platform/hmem.0"
    std::optional<std::uint64_t> capacity_bytes;
    std::optional<std::uint64_t> align_bytes;
    std::optional<std::uint64_t> resource;  // physical start; absent: cannot see
    // Its mappings, where the source lists them; otherwise resource and capacity say the range.
    std::vector<PhysicalRange> ranges;
    DaxMode mode = DaxMode::unknown;
    std::optional<std::uint32_t> target_node;  // the node of the memory
    std::optional<std::uint32_t> numa_node;    // CPU affinity of the parent
    std::optional<std::uint64_t> online_memblocks;
    std::optional<std::uint64_t> total_memblocks;
    std::string region;   // CXL region it belongs to; empty when none is known
    std::string devnode;  // "/dev/dax0.0"; empty when the source does not know
    std::optional<std::uint32_t> dev_major;
    std::optional<std::uint32_t> dev_minor;
    std::string held_by;  // a mounted file system on it; empty when none is known
    bool operator==(const DaxDevice&) const = default;
};

// What one node's memory is worth to the CPUs of another.
struct InitiatorFigures {
    std::uint32_t cpu_node = 0;
    std::optional<std::uint64_t> read_latency_ns;
    std::optional<std::uint64_t> read_mbps;
    bool operator==(const InitiatorFigures&) const = default;
};

struct NumaNode {
    std::uint32_t id = 0;
    bool online = true;
    bool has_cpus = false;
    std::optional<std::uint64_t> capacity_bytes;
    std::optional<std::uint64_t> free_bytes;
    // Distance to each online node, as (node id, distance).
    std::vector<std::pair<std::uint32_t, std::uint32_t>> distances;
    // HMAT, best initiator class; 0 in sysfs is "not given" and absent here.
    std::optional<std::uint64_t> read_latency_ns;
    std::optional<std::uint64_t> read_mbps;
    // The same for each initiator that is known: sysfs names only the best ones.
    std::vector<InitiatorFigures> initiators;
    bool operator==(const NumaNode&) const = default;
};

struct Topology {
    enum class Origin : std::uint8_t { live, captured };
    Origin origin = Origin::live;
    std::vector<Memdev> memdevs;  // by interleave position of the first region, then by number
    std::vector<Port> ports;      // roots included
    std::vector<Decoder> decoders;
    std::vector<Region> regions;
    std::vector<DaxDevice> dax_devices;
    // False: captured without a dax listing. Then a committed region stands for its dax device.
    bool dax_listed = true;
    std::vector<NumaNode> nodes;
    // Node ids that can ever be online; empty when the source does not say.
    std::vector<std::uint32_t> possible_nodes;
    // What the source itself noticed (a vanished file, a count that does not match its list).
    std::vector<Finding> source_findings;
    bool operator==(const Topology&) const = default;
};

std::string_view to_word(Region::State state) noexcept;  // "committed", "reset", ...
std::string_view to_word(DaxMode mode) noexcept;         // "devdax", "system-ram", "famfs", ...
std::string_view to_word(Topology::Origin origin) noexcept;
std::string_view to_word(Finding::Severity severity) noexcept;

// The value of a word. Error: unknown_word.
Result<Region::State> parse_region_state(std::string_view word);
Result<DaxMode> parse_dax_mode(std::string_view word);
Result<Finding::Severity> parse_severity(std::string_view word);

// Finishes what any source produced: sorts mappings by position, memdevs by interleave position
// and the rest by name, fills host_bridges and switch_depth from the parents of the endpoints
// (never from the target list of the root decoder), ties regions to their window and dax devices
// to their region, drops the granularity of what is not interleaved, and adds findings for counts
// that disagree with their lists. Idempotent.
void resolve(Topology& topology);

}  // namespace cxlpool

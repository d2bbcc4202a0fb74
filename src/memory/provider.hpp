// Segments: the units that a file descriptor grants.
//
// Responsible for: making and destroying segments, the descriptors that engines get, and what each
// provider can promise. Refuses to know: tenants, cells, the gate. Invariants: a descriptor from
// open_readable can never be mapped writable, nor re-opened writable by its holder; no descriptor
// exposes a byte outside its segment; the size of a segment never changes; making a
// segment takes a short time, whatever its size: what is not populated() is populated by whoever
// touches it first, which the owner of the segment leaves to a worker. (A holder with the daemon's
// own uid, or with the right to pass over file modes, can re-open what is not write-sealed; engines
// have neither.)
//
// Threads: a provider and its segments belong to one thread, except that the bytes of a segment may
// be touched from others. Whoever may write a segment may also take its bytes away, so the daemon
// touches a private segment only through memory/guarded.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "memory/host_memory.hpp"

namespace cxlpool {

enum class Isolation : std::uint8_t {
    kernel,       // one descriptor exposes only bytes that its holder may see
    cooperative,  // a descriptor exposes more: one device shared by several tenants
};
std::string_view to_word(Isolation isolation) noexcept;

// Who will write a segment. It decides whether the provider freezes it for readers.
enum class SegmentUse : std::uint8_t {
    private_writable,  // one tenant's engines write it in place
    shared_read_only,  // only the daemon writes it; every engine reads
};

struct ProviderTraits {
    std::string kind;  // "memfd", "devdax"
    Isolation isolation = Isolation::kernel;
    bool persistent = false;        // bytes survive the host's restart
    bool keeps_on_restart = false;  // bytes survive the daemon's restart
    bool single_segment = false;    // one segment is the whole pool; extents divide it
    std::uint64_t alignment_bytes = 4096;
    std::uint64_t capacity_bytes = 0;
    std::uint64_t largest_segment_bytes = 0;
    std::vector<std::string> notes;  // what the operator should know and may change
};

class Segment {
  public:
    virtual ~Segment() = default;

    virtual std::uint64_t size_bytes() const noexcept = 0;

    // Whether every byte had memory when the segment was made. Otherwise the first touch of each
    // page takes the time of clearing it and can find that there is no memory (SIGBUS, which
    // memory/guarded.hpp makes an error): that belongs on a worker.
    virtual bool populated() const noexcept = 0;

    // The daemon's own writable mapping, valid as long as the segment. See Threads above.
    virtual std::span<std::byte> bytes() noexcept = 0;

    // The segment's own descriptor, for who keeps it while the daemon is not there; -1: it has none
    // that could be. As long as the segment.
    virtual int own_descriptor() const noexcept { return -1; }
    // From now on its bytes stay what they are when this object ends, for who keeps it.
    virtual void outlive() noexcept {}

    // A descriptor through which the holder may write. Only for private_writable segments, and for
    // cooperative ones. Errors: not_permitted (shared_read_only), limit_exceeded (descriptors), io.
    virtual Result<UniqueFd> open_writable() = 0;

    // A descriptor that cannot be mapped writable, whoever holds it. Errors: limit_exceeded
    // (descriptors), unavailable (the device is gone), io.
    virtual Result<UniqueFd> open_readable() = 0;
};

class SegmentProvider {
  public:
    virtual ~SegmentProvider() = default;
    virtual const ProviderTraits& traits() const noexcept = 0;

    // Zeroed bytes; the size is rounded up to the alignment. A single_segment provider makes
    // exactly one segment, of its whole capacity, whatever the use, and its bytes are as found.
    // Only short segments are populated here, because the reactor waits for it; see populated().
    // What is left unpopulated counts as taken when the next segment asks for available memory.
    // Errors: invalid_argument (0, over the largest), capacity, out_of_memory, limit_exceeded
    // (descriptors), unavailable (a device that changed its state), io.
    virtual Result<std::unique_ptr<Segment>> create_segment(std::uint64_t size_bytes,
                                                            SegmentUse use) = 0;

    // The private segment whose own descriptor this was in another process, with the bytes that it
    // has. Errors: wrong_state (segments of this provider do not outlive their process),
    // invalid_argument (the descriptor is of something else), capacity, limit_exceeded, io.
    virtual Result<std::unique_ptr<Segment>> adopt_segment(UniqueFd descriptor);
};

enum class HugePages : std::uint8_t {
    automatic,  // reserved 2 MiB pages for segments that are multiples of it, as long as enough are
                // free; else transparent ones, as far as the kernel gives them
    never,
    require,  // reserved 2 MiB pages only
};
Result<HugePages> parse_hugepages(std::string_view word);  // "auto", "never", "require"

struct MemfdOptions {
    std::string pool_name;
    std::uint64_t capacity_bytes = 0;
    HugePages hugepages = HugePages::automatic;
    std::optional<std::uint32_t> numa_node;  // bind every page to it
    HostPaths host;
};

// Anonymous memory, one memfd a segment. Errors: invalid_argument (capacity below one page),
// unavailable (hugepages required and fewer configured than the capacity takes: the message names
// the sysctl; the node does not exist or is not allowed).
Result<std::unique_ptr<SegmentProvider>> make_memfd_provider(const MemfdOptions& options);

struct DevdaxOptions {
    std::string pool_name;
    std::string device_path;          // "/dev/dax0.0"
    std::string sysfs_root = "/sys";  // tests point it at a scratch tree
};

// One existing dax device. Alignment and size come from sysfs by the node's device number; the
// driver is checked before the node is opened, and again when the device is mapped. The node is
// never created, changed or unlinked. Errors, each naming the likely cause and the remedy:
// not_found (ENOENT), not_permitted (EACCES: owner, group, mode; EPERM: device cgroup; a node that
// everybody may write), unavailable (ENXIO or another driver: system RAM or famfs; EBUSY; no size
// in sysfs), invalid_argument (not a dax character device, size 0: seed device, size implausible),
// limit_exceeded (descriptors), io. Mapping it: limit_exceeded (EAGAIN: memlock), out_of_memory
// (ENOMEM: address space), capacity (it is mapped already).
Result<std::unique_ptr<SegmentProvider>> make_devdax_provider(const DevdaxOptions& options);

// A mapping that somebody wants to make of a dax device.
struct DaxMappingRequest {
    std::uint64_t offset_bytes = 0;
    std::uint64_t length_bytes = 0;
    std::uint64_t address_hint = 0;  // 0: the kernel chooses
    bool shared = true;
    bool writable = false;
    bool descriptor_writable = true;  // the descriptor was opened for writing
};

// Before any mmap of a dax device: what is wrong with the request, or nothing. The kernel itself
// takes an offset off the alignment, and then shows bytes from somewhere else.
// Errors: invalid_argument with wanted and found numbers (offset, length, address, wrap, past the
// end, private mapping); not_permitted (writable, by a descriptor that is not).
Result<void> check_dax_mapping(std::uint64_t device_size_bytes, std::uint64_t align_bytes,
                               const DaxMappingRequest& request);
Result<void> check_dax_mapping(std::uint64_t device_size_bytes, std::uint64_t align_bytes,
                               std::uint64_t offset_bytes, std::uint64_t length_bytes);

// What a mapping of that length costs although it is allowed, for people; or nothing.
std::optional<std::string> dax_mapping_note(std::uint64_t align_bytes, std::uint64_t length_bytes);

// The size of a device as sysfs prints it: decimal or hexadecimal; 0 (seed device) and all ones
// are refused. Errors: invalid_argument, malformed, overflow.
Result<std::uint64_t> parse_dax_size(std::string_view sysfs_text);

}  // namespace cxlpool

#include <fcntl.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <utility>

#include "base/units.hpp"
#include "memory/provider.hpp"

// Newer than the C library's headers here; the kernel answers EINVAL when it does not know it.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26U)
#endif

namespace cxlpool {
namespace {

// Up to here a segment is populated when it is made: clearing 64 pages takes about as long as the
// system calls that make a segment. The kernel clears some GiB a second, so that a long one would
// hold up the reactor, and with it every tenant, for as long as its maker likes.
constexpr std::uint64_t kPopulateAtOnceBytes = 256 << 10U;

constexpr int kPrivateSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Bytes held by the segments of one provider, and which of them the kernel still has to find memory
// for; a segment gives its share back when it dies.
class Ledger {
  public:
    explicit Ledger(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
    std::uint64_t room_bytes() const noexcept { return capacity_bytes_ - used_bytes_; }
    void take(std::uint64_t bytes) {
        CXLPOOL_CHECK(bytes <= room_bytes());
        used_bytes_ += bytes;
    }
    void give_back(std::uint64_t bytes) {
        CXLPOOL_CHECK(bytes <= used_bytes_);
        used_bytes_ -= bytes;
    }

    void add_unpopulated(int fd, std::uint64_t bytes) { unpopulated_.emplace(fd, bytes); }
    void forget_unpopulated(int fd) { unpopulated_.erase(fd); }
    // A segment that was populated once no longer counts, so that only the recent ones are asked.
    std::uint64_t unpopulated_bytes() {
        std::uint64_t sum = 0;
        for (auto at = unpopulated_.begin(); at != unpopulated_.end();) {
            constexpr std::uint64_t kBlockBytes = 512;
            struct stat status = {};
            const std::uint64_t there =
                ::fstat(at->first, &status) == 0
                    ? static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes
                    : 0;
            if (there >= at->second) {
                at = unpopulated_.erase(at);
                continue;
            }
            sum += at->second - there;
            ++at;
        }
        return sum;
    }

  private:
    std::uint64_t capacity_bytes_;
    std::uint64_t used_bytes_ = 0;
    std::map<int, std::uint64_t> unpopulated_;  // descriptor -> bytes, of ordinary pages
};

Error memory_error(const std::string& doing, int os_errno) {
    switch (os_errno) {
        case ENOMEM:
            return os_error(doing +
                                " (out of memory, over the cgroup's memory.max, or over "
                                "vm.max_map_count mappings)",
                            os_errno, Errc::out_of_memory);
        case ENOSPC:
            return os_error(doing, os_errno, Errc::capacity);
        case EMFILE:
        case ENFILE:
            return os_error(doing + " (raise LimitNOFILE= of the service)", os_errno,
                            Errc::limit_exceeded);
        default:
            return os_error(doing, os_errno);
    }
}

class MemfdSegment final : public Segment {
  public:
    MemfdSegment(UniqueFd fd, SegmentUse use, std::shared_ptr<Ledger> ledger,
                 std::span<std::byte> bytes, bool huge)
        : fd_(std::move(fd)), use_(use), ledger_(std::move(ledger)), bytes_(bytes) {
        ledger_->take(bytes_.size());
        // Of huge pages the mapping has reserved what it takes.
        if (!populated() && !huge) {
            ledger_->add_unpopulated(fd_.get(), bytes_.size());
        }
    }
    MemfdSegment(const MemfdSegment&) = delete;
    MemfdSegment& operator=(const MemfdSegment&) = delete;

    ~MemfdSegment() override {
        ::munmap(bytes_.data(), bytes_.size());
        // An engine may hold its descriptor for as long as it lives; the pages it could still see
        // go now. A segment sealed for readers refuses that: its pages live as long as its readers.
        if (use_ == SegmentUse::private_writable && !outlives_) {
            ::fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        static_cast<off_t>(bytes_.size()));
        }
        ledger_->forget_unpopulated(fd_.get());
        ledger_->give_back(bytes_.size());
    }

    std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
    bool populated() const noexcept override { return bytes_.size() <= kPopulateAtOnceBytes; }
    std::span<std::byte> bytes() noexcept override { return bytes_; }

    int own_descriptor() const noexcept override { return fd_.get(); }
    void outlive() noexcept override { outlives_ = true; }

    Result<UniqueFd> open_writable() override {
        if (use_ != SegmentUse::private_writable) {
            return Error{Errc::not_permitted, "a shared segment is read only for every engine"};
        }
        UniqueFd fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
        if (!fd) {
            return memory_error("duplicating the descriptor of a segment", errno);
        }
        return fd;
    }

    Result<UniqueFd> open_readable() override {
        // A new open file description, which a duplicate would not be: only that can be read only.
        const std::string path = "/proc/self/fd/" + std::to_string(fd_.get());
        UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!fd) {
            return memory_error("opening a segment for reading through '" + path + "'", errno);
        }
        return fd;
    }

  private:
    UniqueFd fd_;
    SegmentUse use_;
    std::shared_ptr<Ledger> ledger_;
    std::span<std::byte> bytes_;
    bool outlives_ = false;
};

// A mapping that is undone unless it is released.
class Mapping {
  public:
    explicit Mapping(std::span<std::byte> bytes) : bytes_(bytes) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (!bytes_.empty()) {
            ::munmap(bytes_.data(), bytes_.size());
        }
    }
    std::span<std::byte> get() const noexcept { return bytes_; }
    std::span<std::byte> release() noexcept { return std::exchange(bytes_, {}); }

  private:
    std::span<std::byte> bytes_;
};

Result<UniqueFd> create_memfd(const std::string& name, bool huge) {
    const unsigned base =
        MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0U);
    UniqueFd fd(::memfd_create(name.c_str(), base | MFD_NOEXEC_SEAL));
    if (!fd && errno == EINVAL) {
        fd.reset(::memfd_create(name.c_str(), base));
    }
    if (!fd) {
        return memory_error("creating a memfd", errno);
    }
    return fd;
}

Result<void> bind_to_node(std::span<std::byte> bytes, std::uint32_t node) {
    constexpr std::size_t kBits = std::numeric_limits<unsigned long>::digits;
    std::vector<unsigned long> mask(node / kBits + 1);
    mask[node / kBits] = 1UL << (node % kBits);
    // The kernel reads one bit less than it is told.
    if (::mbind(bytes.data(), bytes.size(), MPOL_BIND, mask.data(), mask.size() * kBits + 1,
                MPOL_MF_STRICT) != 0) {
        return os_error(
            "binding memory to NUMA node " + std::to_string(node) +
                (errno == EPERM || errno == ENOSYS ? " (does a seccomp filter refuse mbind?)" : ""),
            errno, Errc::unavailable);
    }
    return {};
}

// Every page exists afterwards, so that no later touch can fail for want of memory.
Result<void> populate(int fd, std::span<std::byte> bytes) {
    constexpr int kAttempts = 16;  // a signal undoes what was allocated so far
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes.size())) == 0) {
            return {};
        }
        if (errno != EINTR) {
            break;
        }
    }
    return memory_error("populating " + std::to_string(bytes.size()) + " bytes", errno);
}

class MemfdProvider final : public SegmentProvider {
  public:
    MemfdProvider(MemfdOptions options, ProviderTraits traits)
        : options_(std::move(options)),
          traits_(std::move(traits)),
          ledger_(std::make_shared<Ledger>(traits_.capacity_bytes)) {}

    const ProviderTraits& traits() const noexcept override { return traits_; }

    Result<std::unique_ptr<Segment>> create_segment(std::uint64_t size_bytes,
                                                    SegmentUse use) override {
        if (size_bytes == 0 || size_bytes > traits_.largest_segment_bytes) {
            return Error{Errc::invalid_argument, "a segment has 1 to " +
                                                     std::to_string(traits_.largest_segment_bytes) +
                                                     " bytes, not " + std::to_string(size_bytes)};
        }
        // No overflow: the largest size is a multiple of the alignment.
        const std::uint64_t mask = traits_.alignment_bytes - 1;
        const std::uint64_t rounded = (size_bytes + mask) & ~mask;
        if (rounded > ledger_->room_bytes()) {
            return Error{Errc::capacity, "no room for a segment of " + std::to_string(rounded) +
                                             " bytes: " + std::to_string(ledger_->room_bytes()) +
                                             " of " + std::to_string(traits_.capacity_bytes) +
                                             " bytes are free"};
        }
        if (options_.hugepages == HugePages::require) {
            return create(rounded, use, true);
        }
        if (options_.hugepages == HugePages::automatic && rounded % kHugePageBytes == 0 &&
            huge_page_counts(options_.host, options_.numa_node).free >= rounded / kHugePageBytes) {
            Result<std::unique_ptr<Segment>> huge = create(rounded, use, true);
            if (huge) {
                return huge;
            }
            // Somebody else was quicker; ordinary pages do as well.
        }
        CXLPOOL_TRY(check_available(rounded));
        return create(rounded, use, false);
    }

    Result<std::unique_ptr<Segment>> adopt_segment(UniqueFd descriptor) override {
        struct stat status = {};
        const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
        if (seals < 0 || (seals & ~F_SEAL_EXEC) != kPrivateSeals ||
            ::fstat(descriptor.get(), &status) != 0) {
            return Error{Errc::invalid_argument, "this is no memfd of a private segment"};
        }
        const auto size = static_cast<std::uint64_t>(status.st_size);
        if (size == 0 || size % traits_.alignment_bytes != 0) {
            return Error{Errc::invalid_argument, "a segment of " + std::to_string(size) +
                                                     " bytes, which is no multiple of " +
                                                     std::to_string(traits_.alignment_bytes)};
        }
        if (size > ledger_->room_bytes()) {
            return Error{Errc::capacity, "a kept segment of " + std::to_string(size) +
                                             " bytes does not fit into the pool any more"};
        }
        const bool huge = static_cast<std::uint64_t>(status.st_blksize) == kHugePageBytes;
        return map(std::move(descriptor), size, SegmentUse::private_writable, huge, false);
    }

  private:
    // Asked before the kernel has to find memory that it does not have: for ordinary pages it would
    // rather kill somebody than fail a touch. What was promised to earlier segments, and is not
    // populated yet, is not there for this one, although the host still counts it as available;
    // other pools and other programs do not know of that promise.
    Result<void> check_available(std::uint64_t size_bytes) const {
        std::optional<std::uint64_t> available = available_bytes(options_.host, options_.numa_node);
        if (available) {
            *available -= std::min(*available, ledger_->unpopulated_bytes());
        }
        if (available && *available < size_bytes) {
            return Error{
                Errc::out_of_memory,
                "a segment of " + std::to_string(size_bytes) + " bytes, but only " +
                    std::to_string(*available) + " bytes are available on " +
                    (options_.numa_node ? "NUMA node " + std::to_string(*options_.numa_node)
                                        : std::string("this host")) +
                    "; lower the capacity of the pool"};
        }
        return {};
    }

    Result<std::unique_ptr<Segment>> create(std::uint64_t size_bytes, SegmentUse use, bool huge) {
        const std::string name = "cxlpool:" + options_.pool_name.substr(0, 128);
        Result<UniqueFd> created = create_memfd(name, huge);
        if (!created) {
            return std::move(created).error();
        }
        UniqueFd fd = std::move(created).value();
        // A memfd starts out with mode 0777: everybody who holds it could re-open it for writing.
        if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) {
            return os_error("changing the mode of a memfd", errno);
        }
        if (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0) {
            return memory_error("sizing a memfd", errno);
        }
        return map(std::move(fd), size_bytes, use, huge, true);
    }

    Result<std::unique_ptr<Segment>> map(UniqueFd fd, std::uint64_t size_bytes, SegmentUse use,
                                         bool huge, bool fresh) {
        void* const at =
            ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
        if (at == MAP_FAILED) {
            return memory_error("mapping a memfd of " + std::to_string(size_bytes) + " bytes",
                                errno);
        }
        Mapping mapping({static_cast<std::byte*>(at), size_bytes});
        // What tenants compute has no place in a core dump of the daemon.
        ::madvise(at, size_bytes, MADV_DONTDUMP);
        if (options_.numa_node) {
            CXLPOOL_TRY(bind_to_node(mapping.get(), *options_.numa_node));
        }
        if (!huge && options_.hugepages == HugePages::automatic) {
            // Advice, honoured by a touch through this mapping; nothing is lost where it is not.
            ::madvise(at, size_bytes, MADV_HUGEPAGE);
        }
        if (size_bytes <= kPopulateAtOnceBytes) {
            CXLPOOL_TRY(populate(fd.get(), mapping.get()));
        }
        if (fresh) {
            CXLPOOL_TRY(seal(fd.get(), use));
        }
        return std::unique_ptr<Segment>(
            std::make_unique<MemfdSegment>(std::move(fd), use, ledger_, mapping.release(), huge));
    }

    // Nobody changes the size. No engine adds a seal of its own, against the daemon. Of a shared
    // segment no writable mapping can be made any more, only the one that exists stays.
    static Result<void> seal(int fd, SegmentUse use) {
        int seals = kPrivateSeals;
        if (use == SegmentUse::shared_read_only) {
            seals |= F_SEAL_FUTURE_WRITE;
            if (::fchmod(fd, S_IRUSR) != 0) {
                return os_error("changing the mode of a memfd", errno);
            }
        }
        if (::fcntl(fd, F_ADD_SEALS, seals) != 0) {
            return os_error("sealing a memfd", errno);
        }
        return {};
    }

    MemfdOptions options_;
    ProviderTraits traits_;
    std::shared_ptr<Ledger> ledger_;
};

Result<void> check_required_huge_pages(const MemfdOptions& options, std::uint64_t capacity_bytes) {
    const std::uint64_t wanted = capacity_bytes / kHugePageBytes;
    const std::uint64_t configured = huge_page_counts(options.host, options.numa_node).configured;
    if (configured < wanted) {
        const std::string where =
            options.numa_node
                ? "/sys/devices/system/node/node" + std::to_string(*options.numa_node) +
                      "/hugepages/hugepages-2048kB/nr_hugepages (the part of vm.nr_hugepages on "
                      "that node)"
                : "vm.nr_hugepages (sysctl)";
        return Error{Errc::unavailable, "hugepages = \"require\": the capacity takes " +
                                            std::to_string(wanted) + " pages of 2 MiB, " +
                                            std::to_string(configured) + " are configured; raise " +
                                            where};
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<SegmentProvider>> make_memfd_provider(const MemfdOptions& options) {
    ProviderTraits traits;
    traits.kind = "memfd";
    traits.isolation = Isolation::kernel;
    const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    traits.alignment_bytes = options.hugepages == HugePages::require
                                 ? kHugePageBytes
                                 : std::max(page_bytes, UINT64_C(4096));
    constexpr auto kMaxBytes = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());
    if (options.capacity_bytes < traits.alignment_bytes || options.capacity_bytes > kMaxBytes) {
        return Error{Errc::invalid_argument,
                     "pool '" + options.pool_name + "': a capacity of " +
                         std::to_string(options.capacity_bytes) + " bytes; give at least " +
                         format_bytes(traits.alignment_bytes) + " and less than 8 EiB"};
    }
    traits.capacity_bytes = options.capacity_bytes & ~(traits.alignment_bytes - 1);
    traits.largest_segment_bytes = traits.capacity_bytes;
    const auto in_pool = [&](Error error) {
        return std::move(error).with_context("pool '" + options.pool_name + "'");
    };
    if (options.numa_node) {
        Result<void> node = check_numa_node(options.host, *options.numa_node);
        if (!node) {
            return in_pool(std::move(node).error());
        }
    }
    if (options.hugepages == HugePages::require) {
        Result<void> pages = check_required_huge_pages(options, traits.capacity_bytes);
        if (!pages) {
            return in_pool(std::move(pages).error());
        }
    }
    return std::unique_ptr<SegmentProvider>(
        std::make_unique<MemfdProvider>(options, std::move(traits)));
}

}  // namespace cxlpool

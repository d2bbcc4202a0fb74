#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/units.hpp"
#include "memory/devdax_system.hpp"
#include "memory/kernel_files.hpp"
#include "memory/provider.hpp"

namespace cxlpool {
namespace {

class RealSystem final : public DevdaxSystem {
  public:
    int stat(const char* path, struct stat* out) override { return ::stat(path, out); }
    int open(const char* path, int flags) override { return ::open(path, flags); }
    int fstat(int fd, struct stat* out) override { return ::fstat(fd, out); }
    void* mmap(std::size_t length, int prot, int flags, int fd, off_t offset) override {
        return ::mmap(nullptr, length, prot, flags, fd, offset);
    }
    int munmap(void* at, std::size_t length) override { return ::munmap(at, length); }
};

std::string octal(mode_t mode) {
    char text[16];
    std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777U));
    return text;
}

std::string limit_text(int resource) {
    rlimit limit = {};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) {
        return "unknown";
    }
    return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

// --- what sysfs says -----------------------------------------------------------------------------

// The last part of where a link leads; empty when there is none.
std::string link_name(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length <= 0) {
        return {};
    }
    const std::string_view all(target, static_cast<std::size_t>(length));
    return std::string(all.substr(all.find_last_of('/') + 1));
}

struct DeviceFacts {
    std::string name;  // "dax0.0"
    std::uint64_t size_bytes = 0;
    std::uint64_t align_bytes = 0;
    bool operator==(const DeviceFacts&) const = default;
};

std::string device_directory(const std::string& sysfs_root, dev_t number) {
    return sysfs_root + "/dev/char/" + std::to_string(major(number)) + ":" +
           std::to_string(minor(number));
}

// Only the device_dax driver gives a node that can be mapped.
Result<void> check_driver(const std::string& directory, const std::string& name) {
    const std::string driver = link_name(directory + "/driver");
    if (driver == "device_dax") {
        return {};
    }
    const std::string back =
        "; 'daxctl reconfigure-device --mode=devdax " + name + "' makes it one";
    if (driver.empty()) {
        return Error{Errc::unavailable, "no driver is bound to " + name +
                                            ": it is disabled, not in devdax mode" + back};
    }
    if (driver == "kmem") {
        return Error{Errc::unavailable, name + " is system RAM (driver kmem), not in devdax mode" +
                                            back + " once its memory is offline"};
    }
    return Error{Errc::unavailable, name + " belongs to the driver '" + driver +
                                        "' (famfs or another user), not in devdax mode" + back};
}

Result<DeviceFacts> read_facts(const std::string& sysfs_root, dev_t number) {
    const std::string directory = device_directory(sysfs_root, number);
    const std::string subsystem = link_name(directory + "/subsystem");
    if (subsystem.empty()) {
        return Error{Errc::unavailable, "'" + directory +
                                            "' does not exist: the device was removed, "
                                            "or sysfs is not mounted"};
    }
    if (subsystem != "dax") {
        return Error{Errc::invalid_argument,
                     "not a dax device but one of the subsystem '" + subsystem + "'"};
    }
    DeviceFacts facts;
    facts.name = link_name(directory);
    CXLPOOL_TRY(check_driver(directory, facts.name));
    const Result<std::string> size_text = read_kernel_file(directory + "/size");
    if (!size_text) {
        return Error{Errc::unavailable, "size unknown: " + size_text.error().message(),
                     size_text.error().os_errno()};
    }
    const Result<std::uint64_t> size = parse_dax_size(*size_text);
    if (!size) {
        return Error(size.error());
    }
    const Result<std::uint64_t> align = read_kernel_u64(directory + "/align");
    if (!align) {
        return Error{Errc::unavailable, "alignment unknown: " + align.error().message(),
                     align.error().os_errno()};
    }
    constexpr std::uint64_t kSmallestBytes = 4096;
    if (*align < kSmallestBytes || (*align & (*align - 1)) != 0 || *align > *size) {
        return Error{Errc::invalid_argument, "an alignment of " + std::to_string(*align) +
                                                 " bytes with a size of " + std::to_string(*size) +
                                                 " bytes is not plausible"};
    }
    facts.size_bytes = *size;
    facts.align_bytes = *align;
    return facts;
}

// --- what the kernel answers ---------------------------------------------------------------------

Error stat_error(int os_errno) {
    switch (os_errno) {
        case ENOENT:
        case ENOTDIR:
            return os_error(
                "there is no such node in this mount namespace; in a container or with "
                "PrivateDevices=yes it has to be let in, or the device has another name since the "
                "last boot (see 'daxctl list')",
                os_errno, Errc::not_found);
        case EACCES:
            return os_error("a directory on the way to the node may not be searched", os_errno,
                            Errc::not_permitted);
        default:
            return os_error("looking at the node", os_errno);
    }
}

Error open_error(int os_errno, const struct stat& node) {
    switch (os_errno) {
        case ENOENT:
            return stat_error(os_errno);
        case EACCES:
            return os_error("the node has owner " + std::to_string(node.st_uid) + ", group " +
                                std::to_string(node.st_gid) + " and mode " + octal(node.st_mode) +
                                ", and this process is uid " + std::to_string(::geteuid()) +
                                ", gid " + std::to_string(::getegid()) +
                                "; install the udev rule that gives it to the daemon's group",
                            os_errno, Errc::not_permitted);
        case EPERM:
            return os_error(
                "the device cgroup does not allow it; add DeviceAllow= with rw for "
                "this node to the service, or the device to the container",
                os_errno, Errc::not_permitted);
        case ENXIO:
        case ENODEV:
            return os_error(
                "the device is not in devdax mode any more: it became system RAM, or "
                "was disabled or destroyed (see 'daxctl list')",
                os_errno, Errc::unavailable);
        case EBUSY:
            return os_error("somebody uses the device exclusively", os_errno, Errc::unavailable);
        case EMFILE:
        case ENFILE:
            return os_error("no descriptor is left; raise LimitNOFILE= of the service", os_errno,
                            Errc::limit_exceeded);
        default:
            return os_error("opening the node", os_errno);
    }
}

Error map_error(int os_errno, const DeviceFacts& facts) {
    const std::string doing = "mapping " + std::to_string(facts.size_bytes) + " bytes of " +
                              facts.name + " at an alignment of " +
                              std::to_string(facts.align_bytes);
    switch (os_errno) {
        case EAGAIN:
            return os_error(doing + ": over the memlock limit of " + limit_text(RLIMIT_MEMLOCK) +
                                " bytes; raise LimitMEMLOCK= of the service",
                            os_errno, Errc::limit_exceeded);
        case ENOMEM:
            return os_error(doing + ": over the address space limit of " + limit_text(RLIMIT_AS) +
                                " bytes (LimitAS= of the service) or over vm.max_map_count",
                            os_errno, Errc::out_of_memory);
        case EACCES:
        case EPERM:
            return os_error(doing + ": the descriptor does not give the right to write", os_errno,
                            Errc::not_permitted);
        case ENXIO:
        case ENODEV:
            return os_error(doing + ": the device was disabled or destroyed", os_errno,
                            Errc::unavailable);
        default:
            return os_error(doing, os_errno);
    }
}

// --- the provider --------------------------------------------------------------------------------

// The open device; provider and segment share it, and whoever lives longer closes it.
struct Device {
    Device(DevdaxSystem& calls, DevdaxOptions wanted) : system(calls), options(std::move(wanted)) {}

    DevdaxSystem& system;
    DevdaxOptions options;
    UniqueFd fd;
    dev_t number = 0;
    DeviceFacts facts;
    bool mapped = false;

    Error in_pool(Error error) const {
        return std::move(error).with_context("pool '" + options.pool_name + "': '" +
                                             options.device_path + "'");
    }
};

class DevdaxSegment final : public Segment {
  public:
    DevdaxSegment(std::shared_ptr<Device> device, std::span<std::byte> bytes)
        : device_(std::move(device)), bytes_(bytes) {
        device_->mapped = true;
    }
    DevdaxSegment(const DevdaxSegment&) = delete;
    DevdaxSegment& operator=(const DevdaxSegment&) = delete;
    // The whole mapping at once: a part would have to respect the alignment.
    ~DevdaxSegment() override {
        device_->system.munmap(bytes_.data(), bytes_.size());
        device_->mapped = false;
    }

    std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
    bool populated() const noexcept override { return true; }  // a device is memory
    std::span<std::byte> bytes() noexcept override { return bytes_; }

    Result<UniqueFd> open_writable() override {
        UniqueFd fd(::fcntl(device_->fd.get(), F_DUPFD_CLOEXEC, 0));
        if (!fd) {
            return device_->in_pool(open_error(errno, {}));
        }
        return fd;
    }

    Result<UniqueFd> open_readable() override {
        // Through the descriptor, not the path: a device created since may have taken the name.
        const std::string path = "/proc/self/fd/" + std::to_string(device_->fd.get());
        UniqueFd fd(device_->system.open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat node = {};
        const int failure = fd ? 0 : errno;
        if (device_->system.fstat(fd ? fd.get() : device_->fd.get(), &node) != 0) {
            return device_->in_pool(os_error("looking at the node", errno));
        }
        if (!fd) {
            return device_->in_pool(open_error(failure, node));
        }
        if (!S_ISCHR(node.st_mode) || node.st_rdev != device_->number) {
            return device_->in_pool(
                Error{Errc::unavailable, "opening it again for reading gave another device"});
        }
        return fd;
    }

  private:
    std::shared_ptr<Device> device_;
    std::span<std::byte> bytes_;
};

class DevdaxProvider final : public SegmentProvider {
  public:
    DevdaxProvider(std::shared_ptr<Device> device, ProviderTraits traits)
        : device_(std::move(device)), traits_(std::move(traits)) {}

    const ProviderTraits& traits() const noexcept override { return traits_; }

    Result<std::unique_ptr<Segment>> create_segment(std::uint64_t size_bytes, SegmentUse) override {
        if (size_bytes == 0 || size_bytes > traits_.capacity_bytes) {
            return device_->in_pool(
                Error{Errc::invalid_argument, "a segment has 1 to " +
                                                  std::to_string(traits_.capacity_bytes) +
                                                  " bytes, not " + std::to_string(size_bytes)});
        }
        if (device_->mapped) {
            return device_->in_pool(Error{Errc::capacity, "the device is one segment, in use"});
        }
        // Since the device was opened it may have become something else.
        const Result<DeviceFacts> now = read_facts(device_->options.sysfs_root, device_->number);
        if (!now) {
            return device_->in_pool(Error(now.error()));
        }
        if (*now != device_->facts) {
            return device_->in_pool(Error{
                Errc::unavailable, "the device changed: " + std::to_string(now->size_bytes) +
                                       " bytes now, " + std::to_string(device_->facts.size_bytes) +
                                       " when opened"});
        }
        return map();
    }

  private:
    Result<std::unique_ptr<Segment>> map() {
        DaxMappingRequest request;
        request.length_bytes = traits_.capacity_bytes;
        request.writable = true;
        Result<void> allowed =
            check_dax_mapping(device_->facts.size_bytes, device_->facts.align_bytes, request);
        if (!allowed) {
            return device_->in_pool(std::move(allowed).error());
        }
        void* const at = device_->system.mmap(traits_.capacity_bytes, PROT_READ | PROT_WRITE,
                                              MAP_SHARED, device_->fd.get(), 0);
        if (at == MAP_FAILED) {
            return device_->in_pool(map_error(errno, device_->facts));
        }
        return std::unique_ptr<Segment>(std::make_unique<DevdaxSegment>(
            device_, std::span(static_cast<std::byte*>(at), traits_.capacity_bytes)));
    }

    std::shared_ptr<Device> device_;
    ProviderTraits traits_;
};

// Checks first what the node is: opening a foreign device node can have effects of its own.
Result<void> open_device(Device& device) {
    struct stat before = {};
    const char* const path = device.options.device_path.c_str();
    if (device.system.stat(path, &before) != 0) {
        return stat_error(errno);
    }
    if (!S_ISCHR(before.st_mode)) {
        return Error{Errc::invalid_argument,
                     "not a character device; name the node of a dax device, as in /dev/dax0.0"};
    }
    Result<DeviceFacts> facts = read_facts(device.options.sysfs_root, before.st_rdev);
    if (!facts) {
        return std::move(facts).error();
    }
    if ((before.st_mode & S_IWOTH) != 0) {
        return Error{Errc::not_permitted,
                     "everybody may write the node (mode " + octal(before.st_mode) +
                         "), so a reader could make itself a writer; set the mode to 0660 with the "
                         "udev rule"};
    }
    device.fd.reset(device.system.open(path, O_RDWR | O_CLOEXEC));
    if (!device.fd) {
        return open_error(errno, before);
    }
    struct stat after = {};
    if (device.system.fstat(device.fd.get(), &after) != 0) {
        return os_error("looking at the open node", errno);
    }
    if (!S_ISCHR(after.st_mode) || after.st_rdev != before.st_rdev) {
        return Error{Errc::unavailable, "the node changed while it was opened; try again"};
    }
    device.number = after.st_rdev;
    device.facts = std::move(facts).value();
    return {};
}

}  // namespace

Result<std::unique_ptr<SegmentProvider>> make_devdax_provider(const DevdaxOptions& options,
                                                              DevdaxSystem& system) {
    auto device = std::make_shared<Device>(system, options);
    Result<void> opened = open_device(*device);
    if (!opened) {
        return device->in_pool(std::move(opened).error());
    }
    const DeviceFacts& facts = device->facts;
    ProviderTraits traits;
    traits.kind = "devdax";
    traits.isolation = Isolation::cooperative;
    traits.keeps_on_restart = true;
    traits.single_segment = true;
    traits.alignment_bytes = facts.align_bytes;
    traits.capacity_bytes = facts.size_bytes & ~(facts.align_bytes - 1);
    traits.largest_segment_bytes = traits.capacity_bytes;
    if (traits.capacity_bytes != facts.size_bytes) {
        traits.notes.push_back("the last " +
                               std::to_string(facts.size_bytes - traits.capacity_bytes) +
                               " bytes of " + facts.name + " are less than its alignment of " +
                               format_bytes(facts.align_bytes) + " and stay unused");
    }
    if (std::optional<std::string> note =
            dax_mapping_note(facts.align_bytes, traits.capacity_bytes)) {
        traits.notes.push_back(*std::move(note));
    }
    return std::unique_ptr<SegmentProvider>(
        std::make_unique<DevdaxProvider>(std::move(device), std::move(traits)));
}

Result<std::unique_ptr<SegmentProvider>> make_devdax_provider(const DevdaxOptions& options) {
    static RealSystem system;
    return make_devdax_provider(options, system);
}

}  // namespace cxlpool

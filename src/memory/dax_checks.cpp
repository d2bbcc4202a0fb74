#include <limits>

#include "base/units.hpp"
#include "memory/provider.hpp"

namespace cxlpool {
namespace {

Error refused(std::string what) {
    return Error{Errc::invalid_argument, std::move(what)};
}

Error unaligned(const char* what, std::uint64_t found, std::uint64_t align_bytes) {
    return refused(std::string(what) + " " + std::to_string(found) +
                   " is not a multiple of the device's alignment of " +
                   std::to_string(align_bytes) + " bytes");
}

}  // namespace

Result<void> check_dax_mapping(std::uint64_t device_size_bytes, std::uint64_t align_bytes,
                               const DaxMappingRequest& request) {
    if (align_bytes == 0 || (align_bytes & (align_bytes - 1)) != 0) {
        return refused("a device alignment of " + std::to_string(align_bytes) + " bytes");
    }
    if (!request.shared) {
        return refused("a dax device has no private mappings: map it MAP_SHARED");
    }
    if (request.length_bytes == 0) {
        return refused("a mapping of 0 bytes; the smallest is the device's alignment of " +
                       std::to_string(align_bytes) + " bytes");
    }
    for (const auto& [what, value] :
         {std::pair{"offset", request.offset_bytes}, std::pair{"length", request.length_bytes},
          std::pair{"address", request.address_hint}}) {
        if (value % align_bytes != 0) {
            return unaligned(what, value, align_bytes);
        }
    }
    const std::optional<std::uint64_t> end =
        checked_add(request.offset_bytes, request.length_bytes);
    const std::string asked = "offset " + std::to_string(request.offset_bytes) + " and length " +
                              std::to_string(request.length_bytes);
    if (!end) {
        return refused(asked + " wrap around");
    }
    if (*end > device_size_bytes) {
        return refused(asked + " end past the device's " + std::to_string(device_size_bytes) +
                       " bytes");
    }
    if (request.writable && !request.descriptor_writable) {
        return Error{Errc::not_permitted,
                     "a writable mapping by a descriptor that was opened for reading"};
    }
    return {};
}

Result<void> check_dax_mapping(std::uint64_t device_size_bytes, std::uint64_t align_bytes,
                               std::uint64_t offset_bytes, std::uint64_t length_bytes) {
    DaxMappingRequest request;
    request.offset_bytes = offset_bytes;
    request.length_bytes = length_bytes;
    return check_dax_mapping(device_size_bytes, align_bytes, request);
}

std::optional<std::string> dax_mapping_note(std::uint64_t align_bytes, std::uint64_t length_bytes) {
    constexpr std::uint64_t kLargePageBytes = 2ULL << 20U;
    constexpr std::uint64_t kEntryBytes = 8;
    if (align_bytes == 0 || align_bytes >= kLargePageBytes) {
        return std::nullopt;
    }
    return "the device's alignment is " + format_bytes(align_bytes) + ": every mapping of " +
           format_bytes(length_bytes) + " takes " +
           format_bytes(length_bytes / align_bytes * kEntryBytes) +
           " of page tables in each process; an alignment of 2 MiB takes almost none";
}

Result<std::uint64_t> parse_dax_size(std::string_view sysfs_text) {
    Result<std::uint64_t> size = parse_u64(sysfs_text);
    if (!size) {
        return std::move(size).error().with_context("size of the dax device");
    }
    if (*size == 0) {
        return refused(
            "the dax device has size 0: it is a seed device, which stands for room in its region; "
            "create a device with 'daxctl create-device', or name another one");
    }
    if (*size == std::numeric_limits<std::uint64_t>::max()) {
        return refused("the dax device has an implausible size (all ones)");
    }
    return size;
}

}  // namespace cxlpool

#include "client/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <string>

namespace cxlpool::client {
namespace {

Result<void> check_descriptor(const UniqueFd& descriptor, std::uint64_t size_bytes) {
    struct stat found {};
    if (::fstat(descriptor.get(), &found) != 0) {
        return os_error("looking at a descriptor from the daemon", errno);
    }
    if (S_ISCHR(found.st_mode)) {
        return {};  // a dax device: the kernel checks the range, and its size cannot change
    }
    const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        return Error{Errc::protocol,
                     "the daemon sent a descriptor that is neither a device nor a memfd sealed "
                     "against shrinking"};
    }
    if (static_cast<std::uint64_t>(found.st_size) < size_bytes) {
        return Error{Errc::protocol, "the daemon sent a descriptor of " +
                                         std::to_string(found.st_size) + " bytes and spoke of " +
                                         std::to_string(size_bytes)};
    }
    return {};
}

Error map_error(std::uint64_t size_bytes, int os_errno) {
    const std::string doing = "mapping " + std::to_string(size_bytes) + " bytes";
    switch (os_errno) {
        case ENOMEM:
            return os_error(doing, os_errno, Errc::out_of_memory);
        case EACCES:
        case EPERM:
            return os_error(doing, os_errno, Errc::not_permitted);
        default:
            return os_error(doing, os_errno);
    }
}

}  // namespace

Result<Mapping> Mapping::map(const UniqueFd& descriptor, std::uint64_t size_bytes,
                             wire::MapAccess access) {
    if (size_bytes == 0 || size_bytes > std::numeric_limits<std::size_t>::max()) {
        return Error{Errc::protocol,
                     "the daemon spoke of a segment of " + std::to_string(size_bytes) + " bytes"};
    }
    CXLPOOL_TRY(check_descriptor(descriptor, size_bytes));
    const int protection = access == wire::MapAccess::write ? PROT_READ | PROT_WRITE : PROT_READ;
    void* at = ::mmap(nullptr, size_bytes, protection, MAP_SHARED, descriptor.get(), 0);
    if (at == MAP_FAILED) {
        return map_error(size_bytes, errno);
    }
    return Mapping({static_cast<std::byte*>(at), static_cast<std::size_t>(size_bytes)});
}

Mapping::~Mapping() {
    if (!bytes_.empty()) {
        ::munmap(bytes_.data(), bytes_.size());
    }
}

LeaseBoard::LeaseBoard(Mapping mapping, std::uint32_t entries)
    : mapping_(std::move(mapping)),
      entries_(entries),
      ends_at_ns_(std::make_unique<std::atomic<std::uint64_t>[]>(entries)) {}

Result<LeaseBoard> LeaseBoard::map(const UniqueFd& descriptor, std::uint32_t entries) {
    auto mapping = Mapping::map(descriptor, std::uint64_t{entries} * sizeof(std::uint32_t),
                                wire::MapAccess::read);
    if (!mapping) {
        return std::move(mapping).error().with_context("lease board");
    }
    return LeaseBoard(std::move(mapping).value(), entries);
}

void LeaseBoard::set_end(LeaseRef lease, Timestamp ends_at) noexcept {
    if (lease.index < entries_) {
        ends_at_ns_[lease.index].store(ends_at.ns, std::memory_order_relaxed);
    }
}

bool LeaseBoard::live(LeaseRef lease, Timestamp now) const noexcept {
    if (lease.generation == 0 || lease.index >= entries_ ||
        now.ns >= ends_at_ns_[lease.index].load(std::memory_order_relaxed)) {
        return false;
    }
    const auto* entry = reinterpret_cast<const std::uint32_t*>(mapping_.bytes().data());
    // Asked before the bytes are read: the load comes before those reads. Asked after: the fence
    // keeps those reads before the load.
    std::atomic_thread_fence(std::memory_order_acquire);
    return __atomic_load_n(entry + lease.index, __ATOMIC_ACQUIRE) == lease.generation;
}

const Mapping* SegmentMappings::find(Key key) const noexcept {
    const auto found = mappings_.find(key);
    return found == mappings_.end() ? nullptr : &found->second.mapping;
}

void SegmentMappings::insert(Key key, Mapping mapping) {
    mappings_.insert_or_assign(key, Entry{std::move(mapping), 0});
}

bool SegmentMappings::hold(LeaseRef lease, Key key) {
    const auto [held, added] = holds_.try_emplace({lease.index, lease.generation}, key);
    if (added) {
        mappings_.at(key).holders += 1;
    }
    return held->second == key;
}

void SegmentMappings::forget_unheld(Key key) noexcept {
    const auto found = mappings_.find(key);
    if (found != mappings_.end() && found->second.holders == 0) {
        mappings_.erase(found);
    }
}

void SegmentMappings::drop(LeaseRef lease) noexcept {
    const auto held = holds_.find({lease.index, lease.generation});
    if (held == holds_.end()) {
        return;
    }
    const Key key = held->second;
    holds_.erase(held);
    mappings_.at(key).holders -= 1;
    forget_unheld(key);
}

}  // namespace cxlpool::client

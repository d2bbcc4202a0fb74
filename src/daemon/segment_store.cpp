#include "daemon/segment_store.hpp"

#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "daemon/notify.hpp"
#include "server/listener.hpp"

namespace cxlpool {
namespace {

std::optional<std::pair<std::string, std::uint64_t>> parse_name(std::string_view name) {
    name.remove_prefix(std::min(name.size(), kStoredPrefix.size()));
    std::uint64_t segment = 0;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data(), end, segment);
    if (error != std::errc() || segment == 0 || end - at < 2 || *at != '-') {
        return std::nullopt;
    }
    return std::pair(std::string(at + 1, end), segment);
}

}  // namespace

std::string stored_name(const std::string& pool, SegmentId segment) {
    return std::string(kStoredPrefix) + std::to_string(segment.value) + "-" + pool;
}

std::shared_ptr<SegmentStore> SegmentStore::of_service_manager() {
    return std::getenv("NOTIFY_SOCKET") == nullptr ? nullptr : std::make_shared<SegmentStore>();
}

std::map<std::pair<std::string, std::uint64_t>, UniqueFd> SegmentStore::take(
    std::vector<std::pair<std::string, UniqueFd>> stored) {
    std::map<std::pair<std::string, std::uint64_t>, UniqueFd> out;
    for (auto& [name, descriptor] : stored) {
        if (auto parsed = parse_name(name)) {
            unclaimed_.insert(name);
            out.emplace(std::move(*parsed), std::move(descriptor));
        } else {
            spdlog::warn("the service manager kept a descriptor '{}' that no pool has stored",
                         name);
            remove(name);
        }
    }
    return out;
}

void SegmentStore::drop_unclaimed() {
    for (const std::string& name : std::exchange(unclaimed_, {})) {
        remove(name);
    }
}

void SegmentStore::keep(const std::string& pool, SegmentId segment, int descriptor) {
    const std::string name = stored_name(pool, segment);
    unclaimed_.erase(name);
    if (!notify::store(name, descriptor)) {
        to_store_.emplace(name, descriptor);
    }
}

void SegmentStore::give_up(const std::string& pool, SegmentId segment) {
    const std::string name = stored_name(pool, segment);
    if (to_store_.erase(name) == 0) {
        remove(name);
    }
}

void SegmentStore::retry() {
    for (const std::string& name : std::exchange(to_remove_, {})) {
        remove(name);
    }
    // Until the service manager has no room again.
    while (!to_store_.empty() &&
           notify::store(to_store_.begin()->first, to_store_.begin()->second)) {
        to_store_.erase(to_store_.begin());
    }
}

void SegmentStore::remove(const std::string& name) {
    // What stays in the store would take memory for nothing.
    if (!notify::remove(name)) {
        to_remove_.insert(name);
    }
}

}  // namespace cxlpool

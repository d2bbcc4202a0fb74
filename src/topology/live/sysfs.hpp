// Attributes, links and directories of one sysfs tree.
//
// Responsible for: reading below a root directory, so that a recorded tree reads like the real
// one. Paths are given and returned as on the recorded machine ("/sys/..."). Invariants: what is
// not there is absent, silently, because files vanish in mid-scan; what cannot be read goes to the
// log; every read is bounded; nothing is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/live/finding_log.hpp"

namespace cxlpool::live {

class Sysfs {
  public:
    // `root` is empty for this machine, or a directory that holds `sys`.
    Sysfs(std::string root, FindingLog& log) : root_(std::move(root)), log_(log) {}

    // The text of an attribute without trailing white space and NUL bytes.
    std::optional<std::string> text(const std::string& path) const;

    // Decimal or 0x-prefixed hexadecimal. A text that is no such number is logged and absent.
    std::optional<std::uint64_t> u64(const std::string& path) const;
    std::optional<std::uint32_t> u32(const std::string& path) const;
    // As u64, and 0 means "not given".
    std::optional<std::uint64_t> nonzero(const std::string& path) const;
    std::optional<bool> flag(const std::string& path) const;
    // A node number; -1 is absent.
    std::optional<std::uint32_t> node(const std::string& path) const;

    // Names in a directory, numbers in numeric order; empty when there is no such directory.
    std::vector<std::string> list(const std::string& path) const;

    bool exists(const std::string& path) const;

    // The path with every link followed; absent when it leads nowhere.
    std::optional<std::string> resolve(const std::string& path) const;

    // The last part of a link's target, which need not exist.
    std::optional<std::string> link_name(const std::string& path) const;

    FindingLog& log() const noexcept { return log_; }

  private:
    std::string root_;
    FindingLog& log_;
};

// "/a/b" of "/a/b/c", and "c".
std::string parent_of(std::string_view path);
std::string base_name(std::string_view path);

// The number in NAME when it is PREFIX followed by digits only.
std::optional<std::uint32_t> numbered(std::string_view name, std::string_view prefix);

// True when `path` is `ancestor` or lies below it.
bool is_within(std::string_view path, std::string_view ancestor);

// Orders "mem2" before "mem10".
bool natural_less(const std::string& a, const std::string& b);

// "0-2,4" as 0 1 2 4; absent when malformed or longer than a kernel's node list can be.
std::optional<std::vector<std::uint32_t>> parse_node_list(std::string_view text);

}  // namespace cxlpool::live

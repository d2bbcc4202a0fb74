#include "daemon/config_names.hpp"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/units.hpp"
#include "daemon/config_reader.hpp"

namespace cxlpool {
namespace {

// The id behind a user's or group's name, or nothing.
template <typename Entry, typename Lookup>
const Entry* look_up(Lookup lookup, const std::string& name, Entry& entry,
                     std::vector<char>& buffer) {
    Entry* found = nullptr;
    for (buffer.resize(4096); buffer.size() <= (1U << 22U); buffer.resize(buffer.size() * 4)) {
        if (lookup(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != ERANGE) {
            break;
        }
    }
    return found;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

Result<std::uint32_t> read_number(const std::string& text) {
    const Result<std::uint64_t> id = parse_u64(text);
    if (!id || *id > kMaxUserOrGroupId) {
        return Error{Errc::invalid_argument,
                     config::quoted(text) + " is not the number of a user or group"};
    }
    return static_cast<std::uint32_t>(*id);
}

}  // namespace

Result<uid_t> resolve_user(const std::string& user) {
    if (is_number(user)) {
        return read_number(user);
    }
    passwd entry{};
    std::vector<char> buffer;
    const passwd* found = look_up(&::getpwnam_r, user, entry, buffer);
    if (found == nullptr) {
        return Error{Errc::invalid_argument, "no user " + config::quoted(user) +
                                                 " on this host; create it or write its number"};
    }
    return found->pw_uid;
}

Result<gid_t> resolve_group(const std::string& group) {
    if (is_number(group)) {
        return read_number(group);
    }
    struct group entry {};
    std::vector<char> buffer;
    const struct group* found = look_up(&::getgrnam_r, group, entry, buffer);
    if (found == nullptr) {
        return Error{Errc::invalid_argument, "no group " + config::quoted(group) +
                                                 " on this host; create it or write its number"};
    }
    return found->gr_gid;
}

std::string normal_path(const std::string& path) {
    return std::filesystem::path(path).lexically_normal();
}

}  // namespace cxlpool

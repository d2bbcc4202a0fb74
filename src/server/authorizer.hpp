// Which tenants and roles the kernel's word about a peer gives it.
//
// Responsible for: matching credentials to grants, or to the socket that they came by. Pure.
// Invariants: nothing in a message widens a right; uid and gid 65534 and pids match no grant; no
// match is no right.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "server/listener.hpp"

namespace cxlpool {

enum class Role : std::uint32_t { engine = 1, adjudicator = 2, inspector = 4, admin = 8 };
using Roles = std::uint32_t;  // bits of Role
std::string_view to_word(Role role) noexcept;
std::optional<Role> parse_role(std::string_view word) noexcept;

struct Grant {
    std::optional<uid_t> uid;  // exactly one of uid and gid
    std::optional<gid_t> gid;
    std::vector<TenantId> tenants;  // whom it may act as in the role engine
    Roles roles = 0;
    std::string where;  // "FILE:LINE", for the audit log
    bool operator==(const Grant&) const = default;
};

struct Identity {
    uid_t uid = 65534;
    gid_t gid = 65534;
    Roles roles = 0;
    std::vector<TenantId> tenants;
    bool has(Role role) const noexcept { return (roles & static_cast<Roles>(role)) != 0; }
};

class Authorizer {
  public:
    explicit Authorizer(std::vector<Grant> grants);

    // The union of all grants that match. Errors: not_permitted when none does.
    Result<Identity> identify(const PeerCredentials& peer) const;

    // Who reached a socket that is a credential: an engine of `tenants`, whatever its uid. Errors:
    // not_permitted for nobody (uid 65534), and for a pid of 0: such a peer is in a pid namespace
    // that we do not see, so it is known by its uid or not at all.
    static Result<Identity> identify_by_socket(const std::vector<TenantId>& tenants,
                                               const PeerCredentials& peer);

    // The tenant that a hello selects: `asked` 0 takes the only one. Errors: not_permitted (not
    // one of them, none at all), invalid_argument (0 although there are several).
    static Result<TenantId> select_tenant(const Identity& identity, TenantId asked);

  private:
    std::vector<Grant> grants_;
};

}  // namespace cxlpool

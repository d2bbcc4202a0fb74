#include "server/authorizer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cxlpool {
namespace {

constexpr std::uint32_t kNobody = 65534;
constexpr auto kNone = static_cast<std::uint32_t>(-1);

constexpr std::array kRoles{
    std::pair<Role, std::string_view>{Role::engine, "engine"},
    std::pair<Role, std::string_view>{Role::adjudicator, "adjudicator"},
    std::pair<Role, std::string_view>{Role::inspector, "inspector"},
    std::pair<Role, std::string_view>{Role::admin, "admin"},
};

bool is_somebody(std::uint32_t id) noexcept {
    return id != kNobody && id != kNone;
}

bool matches(const Grant& grant, const PeerCredentials& peer) {
    if (grant.uid.has_value() == grant.gid.has_value()) {
        return false;  // names nobody, or is ambiguous
    }
    if (grant.uid) {
        return *grant.uid == peer.uid;
    }
    if (!is_somebody(*grant.gid)) {
        return false;
    }
    return *grant.gid == peer.gid ||
           std::find(peer.groups.begin(), peer.groups.end(), *grant.gid) != peer.groups.end();
}

void sort_out(std::vector<TenantId>& tenants) {
    std::sort(tenants.begin(), tenants.end());
    tenants.erase(std::unique(tenants.begin(), tenants.end()), tenants.end());
}

}  // namespace

std::string_view to_word(Role role) noexcept {
    for (const auto& [known, word] : kRoles) {
        if (known == role) {
            return word;
        }
    }
    return "unknown";
}

std::optional<Role> parse_role(std::string_view word) noexcept {
    for (const auto& [role, known] : kRoles) {
        if (known == word) {
            return role;
        }
    }
    return std::nullopt;
}

Authorizer::Authorizer(std::vector<Grant> grants) : grants_(std::move(grants)) {}

Result<Identity> Authorizer::identify(const PeerCredentials& peer) const {
    Identity identity;
    identity.uid = peer.uid;
    identity.gid = peer.gid;
    if (is_somebody(peer.uid)) {
        for (const Grant& grant : grants_) {
            if (!matches(grant, peer)) {
                continue;
            }
            identity.roles |= grant.roles;
            // Tenants count only where the same grant makes the peer an engine: two narrow grants
            // never add up to a right that neither gives.
            if ((grant.roles & static_cast<Roles>(Role::engine)) != 0) {
                identity.tenants.insert(identity.tenants.end(), grant.tenants.begin(),
                                        grant.tenants.end());
            }
        }
    }
    if (identity.roles == 0) {
        return Error{Errc::not_permitted, "no grant for uid " + std::to_string(peer.uid) + " gid " +
                                              std::to_string(peer.gid) +
                                              ": add a [[grant]] to the configuration"};
    }
    sort_out(identity.tenants);
    return identity;
}

Result<Identity> Authorizer::identify_by_socket(const std::vector<TenantId>& tenants,
                                                const PeerCredentials& peer) {
    if (!is_somebody(peer.uid)) {
        return Error{Errc::not_permitted,
                     "uid " + std::to_string(peer.uid) + " stands for nobody, at this socket too"};
    }
    if (peer.pid == 0) {
        return Error{Errc::not_permitted,
                     "the peer is in a pid namespace that the daemon does not see, so this socket "
                     "is no credential for it; run the daemon in that of the host, or use the "
                     "engine socket and a [[grant]]"};
    }
    Identity identity;
    identity.uid = peer.uid;
    identity.gid = peer.gid;
    identity.roles = static_cast<Roles>(Role::engine);
    identity.tenants = tenants;
    sort_out(identity.tenants);
    return identity;
}

Result<TenantId> Authorizer::select_tenant(const Identity& identity, TenantId asked) {
    if (!identity.has(Role::engine) || identity.tenants.empty()) {
        return Error{Errc::not_permitted,
                     "uid " + std::to_string(identity.uid) + " may act as no tenant"};
    }
    if (!asked) {
        if (identity.tenants.size() > 1) {
            return Error{Errc::invalid_argument, "uid " + std::to_string(identity.uid) +
                                                     " may act as " +
                                                     std::to_string(identity.tenants.size()) +
                                                     " tenants: the hello has to name one"};
        }
        return identity.tenants.front();
    }
    if (std::find(identity.tenants.begin(), identity.tenants.end(), asked) ==
        identity.tenants.end()) {
        return Error{Errc::not_permitted, "uid " + std::to_string(identity.uid) +
                                              " may not act as tenant " +
                                              std::to_string(asked.value)};
    }
    return asked;
}

}  // namespace cxlpool

// The configuration file of cxlpoold.
//
// Responsible for: reading TOML into values, refusing everything that it does not know, and naming
// the line. Refuses to know: devices, sockets; nothing is opened. Invariants: a file is taken
// whole or not at all; every error is "FILE:LINE:COLUMN: what; remedy"; there is no default for
// the tenancy mode. Every error here makes cxlpoold exit with status 2.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "daemon/config_names.hpp"
#include "domain/gate.hpp"
#include "domain/tier.hpp"
#include "memory/provider.hpp"
#include "registry/fair_share.hpp"
#include "server/authorizer.hpp"
#include "server/limits.hpp"
#include "server/reactor.hpp"

namespace cxlpool {

struct PoolConfig {
    std::string name;
    std::string provider;  // "memfd", "devdax"
    std::string where;     // "FILE:LINE" of the table, for messages and evidence

    // memfd
    std::uint64_t capacity_bytes = 0;
    HugePages hugepages = HugePages::automatic;
    std::optional<std::uint32_t> numa_node;

    // devdax: exactly one of these
    std::optional<std::uint64_t> serial;
    std::string device;
    std::string region;
    std::string sysfs_path;
    bool allow_cooperative = false;

    // declarations
    std::optional<std::uint32_t> hosts;
    std::optional<CrossHostCoherence> coherence;
    std::optional<ShareKind> share_kind;

    std::uint64_t private_segment_bytes = 64ULL << 20U;
    bool operator==(const PoolConfig&) const = default;
};

struct TenantConfig {
    TenantId id;
    std::string name;
    bool operator==(const TenantConfig&) const = default;
};

struct SocketConfig {
    std::string path;
    mode_t mode = 0660;
    std::string group;  // for resolve_group; empty: unchanged
    bool operator==(const SocketConfig&) const = default;
};

// A socket that is the credential: whom its file lets connect may act as these tenants, and in no
// other role than engine.
struct ListenerConfig {
    std::string path;  // normal_path()
    mode_t mode = 0660;
    std::optional<uid_t> owner;  // none: unchanged
    std::optional<gid_t> group;  // none: unchanged
    std::vector<TenantId> tenants;
    std::string where;  // "FILE:LINE" of the table, for messages
    bool operator==(const ListenerConfig&) const = default;
};

// Listeners that one file may have: each takes a descriptor, and a reload looks at each.
inline constexpr std::size_t kMaxListeners = 1024;

struct Config {
    std::string file;
    TenancyMode mode = TenancyMode::multi;
    SocketConfig engine{CXLPOOL_RUNTIME_DIR "/engine.sock", 0666, ""};
    SocketConfig admin{CXLPOOL_RUNTIME_DIR "/admin.sock", 0660, ""};
    std::string state_directory = "/var/lib/cxlpool";
    ReactorKind reactor = ReactorKind::automatic;
    std::string log_level = "info";
    std::size_t worker_threads = 2;
    EvictionPolicy eviction = EvictionPolicy::fair;
    std::vector<PoolConfig> pools;
    std::vector<TenantConfig> tenants;
    std::vector<Grant> grants;
    std::vector<ListenerConfig> listeners;
    Limits limits;
    bool operator==(const Config&) const = default;
};

// Keys: see cxlpoold.toml(5). Errors: malformed (not TOML), tenancy_unset ("tenancy mode not
// configured"), unknown_word (key, role, provider, share kind, mode), invalid_argument (a value
// out of range or of the wrong type, a tenant, a pool or the path of a socket twice, a grant or
// listener for a tenant that is not declared, uid 65534, no pool, neither grant nor listener),
// overflow, too_large.
Result<Config> parse_config(std::string_view file_name, std::string_view text);

// Reads at most 1 MiB. Errors: those of parse_config, invalid_argument (there is no file, or
// everybody may write it), io.
Result<Config> read_config(const std::string& path);

}  // namespace cxlpool

#include "daemon/config.hpp"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "daemon/config_names.hpp"
#include "daemon/config_reader.hpp"

namespace cxlpool {
namespace {

using config::Key;
using config::Member;
using config::Node;
using config::quoted;
using config::Reader;

constexpr std::uint64_t kNobody = 65534;

// Reads a value into where it belongs.
template <typename T, typename Value>
Result<void> into(T& out, Result<Value> value) {
    if (!value) {
        return std::move(value).error();
    }
    out = static_cast<T>(std::move(*value));
    return {};
}

// Reads one word of a closed vocabulary whose parser makes the message.
template <typename T, typename Parse>
Result<void> word_into(T& out, const Reader& reader, const Node& value, Parse parse) {
    const Result<std::string> word = reader.text(value);
    if (!word) {
        return word.error();
    }
    const auto parsed = parse(*word);
    if (!parsed) {
        return reader.at(value, parsed.error());
    }
    out = *parsed;
    return {};
}

// One of a few words, kept as text.
Result<void> choice_into(std::string& out, const Reader& reader, const Node& value,
                         std::string_view what, const std::vector<std::string_view>& known) {
    const Result<std::string> word = reader.text(value);
    if (!word) {
        return word.error();
    }
    if (std::find(known.begin(), known.end(), *word) == known.end()) {
        return reader.error(Errc::unknown_word, value.position,
                            "unknown " + std::string(what) + " " + quoted(*word) +
                                config::suggestion(*word, known));
    }
    out = *word;
    return {};
}

Error missing(const Reader& reader, const Node& table, std::string_view what) {
    return reader.error(Errc::invalid_argument, table.position, what);
}

// A user or group that a grant names: its number, or its name in quotes.
Result<std::uint32_t> read_id(const Reader& reader, const Node& value,
                              Result<uid_t> (*by_name)(const std::string&)) {
    std::uint64_t id = 0;
    if (value.kind == Node::Kind::string) {
        const Result<std::uint32_t> found = by_name(value.string);
        if (!found) {
            return reader.at(value, found.error());
        }
        id = *found;
    } else {
        const Result<std::uint64_t> number = reader.number(value, 0, kMaxUserOrGroupId);
        if (!number) {
            return number.error();
        }
        id = *number;
    }
    if (id == kNobody) {
        return reader.invalid(value,
                              "65534 stands for everybody whom this host does not know, so it can "
                              "have no rights; name a user or group of its own");
    }
    return static_cast<std::uint32_t>(id);
}

// A tenant that the grant or listener at `index` names.
struct PendingTenant {
    bool of_listener = false;
    std::size_t index = 0;
    const Node* value = nullptr;
};

// One pass over a document. Grants and listeners may name tenants that are declared further down,
// and a path may be taken by a table further down, so those are looked at last.
class Parser {
  public:
    Parser(std::string_view file, const Node& root) : reader_(file), root_(root) {
        config_.file = file;
    }

    Result<Config> parse();

  private:
    Result<void> read_listen(const Node& table);
    Result<void> read_limits(const Node& table);
    Result<void> read_each(const Node& array, std::string_view what,
                           Result<void> (Parser::*read)(const Node&));
    Result<void> read_pool(const Node& table);
    Result<void> check_pool(const Node& table, const PoolConfig& pool) const;
    Result<void> read_tenant(const Node& table);
    Result<void> read_grant(const Node& table);
    Result<void> read_roles(const Node& array, Grant& grant) const;
    Result<void> check_grant(const Node& table, const Grant& grant) const;
    Result<void> read_listener(const Node& table);
    Result<void> check_paths() const;
    Result<void> read_tenant_names(const Node& array, bool of_listener, std::size_t index);
    Result<TenantId> tenant_of(const Node& value) const;
    Result<void> resolve_tenants();
    Result<void> read_socket_path(const Node& value, std::string& path) const;
    Result<void> read_group(const Node& value, SocketConfig& socket) const;

    Reader reader_;
    const Node& root_;
    Config config_;
    std::vector<PendingTenant> pending_;
    std::vector<const Node*> listener_paths_;  // in the order of config_.listeners
};

Result<Config> Parser::parse() {
    const auto mode = [](const std::string& word) -> Result<TenancyMode> {
        const std::optional<TenancyMode> parsed = parse_tenancy_mode(word);
        if (!parsed) {
            return Error{Errc::unknown_word,
                         "unknown tenancy mode " + quoted(word) + "; write single or multi"};
        }
        return *parsed;
    };
    const std::vector<Key> keys = {
        {"tenancy", [&](const Node& v) { return word_into(config_.mode, reader_, v, mode); }},
        {"state_directory",
         [&](const Node& v) { return into(config_.state_directory, reader_.absolute_path(v)); }},
        {"reactor",
         [&](const Node& v) { return word_into(config_.reactor, reader_, v, parse_reactor_kind); }},
        {"log_level",
         [&](const Node& v) {
             return choice_into(config_.log_level, reader_, v, "log level",
                                {"trace", "debug", "info", "warning", "error"});
         }},
        // More threads than this wait for memory, not for each other.
        {"eviction",
         [&](const Node& v) {
             return word_into(config_.eviction, reader_, v, parse_eviction_policy);
         }},
        {"worker_threads",
         [&](const Node& v) { return into(config_.worker_threads, reader_.number(v, 1, 64)); }},
        {"listen", [&](const Node& v) { return read_listen(v); }},
        {"limits", [&](const Node& v) { return read_limits(v); }},
        {"pool", [&](const Node& v) { return read_each(v, "[[pool]]", &Parser::read_pool); }},
        {"tenant", [&](const Node& v) { return read_each(v, "[[tenant]]", &Parser::read_tenant); }},
        {"grant", [&](const Node& v) { return read_each(v, "[[grant]]", &Parser::read_grant); }},
        {"listener",
         [&](const Node& v) { return read_each(v, "[[listener]]", &Parser::read_listener); }},
    };
    CXLPOOL_TRY(reader_.check_keys(root_, "the file", keys));
    if (root_.find("tenancy") == nullptr) {
        return reader_.error(Errc::tenancy_unset, root_.position,
                             "tenancy mode not configured; write tenancy = \"multi\" when tenants "
                             "do not trust each other, tenancy = \"single\" for one organisation");
    }
    CXLPOOL_TRY(reader_.read_table(root_, "the file", keys));
    CXLPOOL_TRY(resolve_tenants());
    CXLPOOL_TRY(check_paths());
    if (config_.pools.empty()) {
        return missing(reader_, root_, "no pool; add a [[pool]] table");
    }
    if (config_.grants.empty() && config_.listeners.empty()) {
        return missing(reader_, root_, "no grant, so nobody could connect; add a [[grant]] table");
    }
    return std::move(config_);
}

Result<void> Parser::read_each(const Node& array, std::string_view what,
                               Result<void> (Parser::*read)(const Node&)) {
    if (array.kind != Node::Kind::array) {
        return reader_.invalid(array, std::string(config::describe(array.kind)) +
                                          " where a list of tables belongs; write " +
                                          std::string(what));
    }
    for (const Node& table : array.items) {
        CXLPOOL_TRY(reader_.expect(table, Node::Kind::table, what));
        CXLPOOL_TRY((this->*read)(table));
    }
    return {};
}

Result<void> Parser::read_socket_path(const Node& value, std::string& path) const {
    CXLPOOL_TRY(into(path, reader_.absolute_path(value)));
    if (path.size() >= sizeof(sockaddr_un::sun_path) || path.back() == '/') {
        return reader_.invalid(value, quoted(path) +
                                          " cannot be a socket; write the path of a file, of at "
                                          "most 107 bytes");
    }
    return {};
}

Result<void> Parser::read_group(const Node& value, SocketConfig& socket) const {
    if (value.kind == Node::Kind::integer) {
        const Result<std::uint64_t> number = reader_.number(value, 0, kMaxUserOrGroupId);
        if (!number) {
            return number.error();
        }
        socket.group = std::to_string(*number);
        return {};
    }
    CXLPOOL_TRY(into(socket.group, reader_.text(value)));
    const Result<gid_t> group = resolve_group(socket.group);
    return group ? Result<void>() : reader_.at(value, group.error());
}

Result<void> Parser::read_listen(const Node& table) {
    const auto admin_mode = [&](const Node& value) -> Result<void> {
        CXLPOOL_TRY(into(config_.admin.mode, reader_.file_mode(value)));
        if ((config_.admin.mode & 0002U) != 0) {
            return reader_.invalid(value, quoted(value.string) +
                                              " lets everybody reach the operator's socket; "
                                              "write \"0660\" and set admin_group");
        }
        return {};
    };
    CXLPOOL_TRY(reader_.read_table(
        table, "[listen]",
        {
            {"engine", [&](const Node& v) { return read_socket_path(v, config_.engine.path); }},
            {"admin", [&](const Node& v) { return read_socket_path(v, config_.admin.path); }},
            {"engine_mode",
             [&](const Node& v) { return into(config_.engine.mode, reader_.file_mode(v)); }},
            {"admin_mode", admin_mode},
            {"engine_group", [&](const Node& v) { return read_group(v, config_.engine); }},
            {"admin_group", [&](const Node& v) { return read_group(v, config_.admin); }},
        }));
    if (normal_path(config_.engine.path) == normal_path(config_.admin.path)) {
        return missing(reader_, table,
                       "engine and admin are one path; give the operator's socket its own");
    }
    return {};
}

Result<void> Parser::read_listener(const Node& table) {
    if (config_.listeners.size() >= kMaxListeners) {
        return missing(
            reader_, table,
            "more than " + std::to_string(kMaxListeners) + " listeners; remove some of them");
    }
    ListenerConfig listener;
    listener.where = reader_.where(table.position);
    const std::size_t index = config_.listeners.size();
    CXLPOOL_TRY(reader_.read_table(
        table, "[[listener]]",
        {
            {"path", [&](const Node& v) { return read_socket_path(v, listener.path); }},
            {"mode", [&](const Node& v) { return into(listener.mode, reader_.file_mode(v)); }},
            {"owner",
             [&](const Node& v) {
                 return into(listener.owner.emplace(), read_id(reader_, v, resolve_user));
             }},
            {"group",
             [&](const Node& v) {
                 return into(listener.group.emplace(), read_id(reader_, v, resolve_group));
             }},
            {"tenants", [&](const Node& v) { return read_tenant_names(v, true, index); }},
        }));
    const Member* path = table.find("path");
    if (path == nullptr) {
        return missing(reader_, table, "a listener without a path; add path = \"/run/...\"");
    }
    const Member* tenants = table.find("tenants");
    if (tenants == nullptr || tenants->value.items.empty()) {
        return missing(reader_, table,
                       "whoever reaches a listener acts as one of its tenants, and this names "
                       "none; add tenants = [1]");
    }
    listener.path = normal_path(listener.path);
    listener_paths_.push_back(&path->value);
    config_.listeners.push_back(std::move(listener));
    return {};
}

// Each socket has a path of its own.
Result<void> Parser::check_paths() const {
    std::map<std::string, std::string> taken{
        {normal_path(config_.engine.path), "the engine socket"},
        {normal_path(config_.admin.path), "the admin socket"},
    };
    for (std::size_t i = 0; i < config_.listeners.size(); ++i) {
        const ListenerConfig& listener = config_.listeners[i];
        const auto [at, fresh] = taken.emplace(listener.path, "the listener at " + listener.where);
        if (!fresh) {
            return reader_.invalid(*listener_paths_[i], quoted(listener.path) + " is the path of " +
                                                            at->second +
                                                            "; give each socket its own");
        }
    }
    return {};
}

// What a limit may be set to. The upper ends keep the daemon's own memory within what the comment
// at the limit says a unit costs; the lower ends keep it usable.
struct CountLimit {
    std::string_view name;
    std::uint32_t Limits::*field;
    std::uint64_t min;
    std::uint64_t max;
};

constexpr std::array kCountLimits{
    CountLimit{"connections_per_uid", &Limits::connections_per_uid, 1, 65'536},
    CountLimit{"contexts_per_connection", &Limits::contexts_per_connection, 1, 65'536},
    CountLimit{"leases_per_connection", &Limits::leases_per_connection, 1, 1U << 20U},
    CountLimit{"cells_per_span_and_tenant", &Limits::cells_per_span_and_tenant, 1, 4096},
    CountLimit{"cells", &Limits::cells, 1, 1U << 28U},
    CountLimit{"cells_per_tenant", &Limits::cells_per_tenant, 1, 1U << 28U},
    CountLimit{"pending_per_connection", &Limits::pending_per_connection, 1, 4096},
    CountLimit{"lease_ttl_ms", &Limits::lease_ttl_ms, 100, 86'400'000},
    CountLimit{"hello_timeout_ms", &Limits::hello_timeout_ms, 100, 3'600'000},
    CountLimit{"connections", &Limits::connections, kOperatorConnections + 1, 1U << 20U},
    CountLimit{"axis_values_per_tenant", &Limits::axis_values_per_tenant, 16, 1U << 24U},
    CountLimit{"axis_values", &Limits::axis_values, 16, 1U << 24U},
};

Result<void> Parser::read_limits(const Node& table) {
    Limits& limits = config_.limits;
    std::vector<Key> keys = {
        {"filling_bytes_per_uid",
         [&](const Node& v) { return into(limits.filling_bytes_per_uid, reader_.bytes(v)); }},
        {"cell_bytes", [&](const Node& v) { return into(limits.cell_bytes, reader_.bytes(v)); }},
    };
    for (const CountLimit& limit : kCountLimits) {
        keys.push_back({limit.name, [&](const Node& v) {
                            return into(limits.*limit.field,
                                        reader_.number(v, limit.min, limit.max));
                        }});
    }
    return reader_.read_table(table, "[limits]", keys);
}

Result<void> Parser::read_pool(const Node& table) {
    constexpr std::uint64_t kMaxNode = 1023;  // MAX_NUMNODES of the kernel
    PoolConfig pool;
    pool.where = reader_.where(table.position);
    CXLPOOL_TRY(reader_.read_table(
        table, "[[pool]]",
        {
            {"name", [&](const Node& v) { return into(pool.name, reader_.name(v)); }},
            {"provider",
             [&](const Node& v) {
                 return choice_into(pool.provider, reader_, v, "provider", {"memfd", "devdax"});
             }},
            {"capacity",
             [&](const Node& v) { return into(pool.capacity_bytes, reader_.bytes(v)); }},
            {"hugepages",
             [&](const Node& v) { return word_into(pool.hugepages, reader_, v, parse_hugepages); }},
            {"numa_node",
             [&](const Node& v) {
                 return into(pool.numa_node.emplace(), reader_.number(v, 0, kMaxNode));
             }},
            {"serial",
             [&](const Node& v) { return into(pool.serial.emplace(), reader_.wide_number(v)); }},
            {"device", [&](const Node& v) { return into(pool.device, reader_.text(v)); }},
            {"region", [&](const Node& v) { return into(pool.region, reader_.text(v)); }},
            {"sysfs_path",
             [&](const Node& v) { return into(pool.sysfs_path, reader_.absolute_path(v)); }},
            {"allow_cooperative",
             [&](const Node& v) { return into(pool.allow_cooperative, reader_.flag(v)); }},
            {"hosts",
             [&](const Node& v) {
                 return into(pool.hosts.emplace(), reader_.number(v, 1, 65'536));
             }},
            {"cross_host_coherence",
             [&](const Node& v) {
                 return word_into(pool.coherence, reader_, v, parse_cross_host_coherence);
             }},
            {"share_kind",
             [&](const Node& v) {
                 return word_into(pool.share_kind, reader_, v, parse_share_kind);
             }},
            {"private_segment",
             [&](const Node& v) { return into(pool.private_segment_bytes, reader_.bytes(v)); }},
        }));
    CXLPOOL_TRY(check_pool(table, pool));
    config_.pools.push_back(std::move(pool));
    return {};
}

Result<void> Parser::check_pool(const Node& table, const PoolConfig& pool) const {
    if (pool.name.empty()) {
        return missing(reader_, table, "a pool without a name; add name = \"...\"");
    }
    if (pool.provider.empty()) {
        return missing(reader_, table,
                       "a pool without a provider; add provider = \"memfd\" or \"devdax\"");
    }
    const auto same_name = [&](const PoolConfig& other) { return other.name == pool.name; };
    if (std::any_of(config_.pools.begin(), config_.pools.end(), same_name)) {
        return reader_.invalid(table.find("name")->value,
                               "a second pool " + quoted(pool.name) + "; give each its own name");
    }
    constexpr std::array<std::string_view, 4> kSelectors{"serial", "device", "region",
                                                         "sysfs_path"};
    constexpr std::array<std::string_view, 3> kMemfdOnly{"capacity", "hugepages", "numa_node"};
    const bool memfd = pool.provider == "memfd";
    int selectors = 0;
    for (const Member& member : table.members) {
        const bool selects = std::count(kSelectors.begin(), kSelectors.end(), member.key) != 0;
        selectors += selects ? 1 : 0;
        const bool other_way =
            memfd ? selects || member.key == "allow_cooperative"
                  : std::count(kMemfdOnly.begin(), kMemfdOnly.end(), member.key) != 0;
        if (other_way) {
            return reader_.error(Errc::invalid_argument, member.position,
                                 quoted(member.key) + " has no meaning for provider " +
                                     quoted(pool.provider) + "; remove the line");
        }
    }
    if (memfd && pool.capacity_bytes == 0) {
        return missing(reader_, table, "a memfd pool without a capacity; add capacity = \"1GiB\"");
    }
    if (!memfd && selectors != 1) {
        return missing(reader_, table,
                       "a devdax pool has to say which device in exactly one way, and this says "
                       "it in " +
                           std::to_string(selectors) +
                           "; write one of serial, device, region, sysfs_path");
    }
    if (memfd && table.find("private_segment") != nullptr &&
        pool.private_segment_bytes > pool.capacity_bytes) {
        return reader_.invalid(table.find("private_segment")->value,
                               "a private segment of " + format_bytes(pool.private_segment_bytes) +
                                   " does not fit in a pool of " +
                                   format_bytes(pool.capacity_bytes) + "; write a smaller one");
    }
    return {};
}

Result<void> Parser::read_tenant(const Node& table) {
    TenantConfig tenant;
    CXLPOOL_TRY(reader_.read_table(
        table, "[[tenant]]",
        {
            {"id", [&](const Node& v) { return into(tenant.id.value, reader_.wide_number(v)); }},
            {"name", [&](const Node& v) { return into(tenant.name, reader_.name(v)); }},
        }));
    if (!tenant.id) {
        return missing(reader_, table, "a tenant without an id; add id = 1");
    }
    for (const TenantConfig& other : config_.tenants) {
        if (other.id == tenant.id) {
            return reader_.invalid(
                table.find("id")->value,
                "a second tenant " + std::to_string(tenant.id.value) + "; give each its own id");
        }
        if (!tenant.name.empty() && other.name == tenant.name) {
            return reader_.invalid(
                table.find("name")->value,
                "a second tenant " + quoted(tenant.name) + "; give each its own name");
        }
    }
    config_.tenants.push_back(std::move(tenant));
    return {};
}

Result<void> Parser::read_roles(const Node& array, Grant& grant) const {
    constexpr std::string_view kRemedy = "roles = [\"engine\"]";
    CXLPOOL_TRY(reader_.expect(array, Node::Kind::array, kRemedy));
    for (const Node& item : array.items) {
        CXLPOOL_TRY(reader_.expect(item, Node::Kind::string, "a role in quotes"));
        const std::optional<Role> role = parse_role(item.string);
        if (!role) {
            return reader_.error(Errc::unknown_word, item.position,
                                 "unknown role " + quoted(item.string) +
                                     config::suggestion(item.string, {"engine", "adjudicator",
                                                                      "inspector", "admin"}));
        }
        grant.roles |= static_cast<Roles>(*role);
    }
    return {};
}

Result<void> Parser::read_grant(const Node& table) {
    Grant grant;
    grant.where = reader_.where(table.position);
    const auto tenants = [&](const Node& array) {
        return read_tenant_names(array, false, config_.grants.size());
    };
    CXLPOOL_TRY(reader_.read_table(
        table, "[[grant]]",
        {
            {"uid",
             [&](const Node& v) {
                 return into(grant.uid.emplace(), read_id(reader_, v, resolve_user));
             }},
            {"gid",
             [&](const Node& v) {
                 return into(grant.gid.emplace(), read_id(reader_, v, resolve_group));
             }},
            {"tenants", tenants},
            {"roles", [&](const Node& v) { return read_roles(v, grant); }},
        }));
    CXLPOOL_TRY(check_grant(table, grant));
    config_.grants.push_back(std::move(grant));
    return {};
}

Result<void> Parser::check_grant(const Node& table, const Grant& grant) const {
    if (grant.uid.has_value() == grant.gid.has_value()) {
        return missing(reader_, table, "a grant is for exactly one of uid and gid; write one");
    }
    if (grant.roles == 0) {
        return missing(reader_, table, "a grant without roles; add roles = [\"engine\"]");
    }
    const Member* tenants = table.find("tenants");
    const bool names_some = tenants != nullptr && !tenants->value.items.empty();
    const bool engine = (grant.roles & static_cast<Roles>(Role::engine)) != 0;
    if (engine && !names_some) {
        return missing(reader_, table,
                       "the role engine acts as a tenant and this grant names none; add tenants = "
                       "[1]");
    }
    if (!engine && names_some) {
        return reader_.error(Errc::invalid_argument, tenants->position,
                             "only the role engine acts as a tenant; add it to roles or remove "
                             "tenants");
    }
    return {};
}

Result<void> Parser::read_tenant_names(const Node& array, bool of_listener, std::size_t index) {
    CXLPOOL_TRY(reader_.expect(array, Node::Kind::array, "tenants = [1]"));
    for (const Node& item : array.items) {
        pending_.push_back({of_listener, index, &item});
    }
    return {};
}

// A tenant by id, or by the name of its declaration.
Result<TenantId> Parser::tenant_of(const Node& value) const {
    const bool by_name = value.kind == Node::Kind::string && !value.string.empty() &&
                         (value.string.front() < '0' || value.string.front() > '9');
    TenantId id;
    if (!by_name) {
        CXLPOOL_TRY(into(id.value, reader_.wide_number(value)));
    }
    for (const TenantConfig& tenant : config_.tenants) {
        if (by_name ? tenant.name == value.string : tenant.id == id) {
            return tenant.id;
        }
    }
    const std::string what = by_name ? quoted(value.string) : std::to_string(id.value);
    return reader_.invalid(value, "no tenant " + what + "; declare it in a [[tenant]] table");
}

Result<void> Parser::resolve_tenants() {
    for (const PendingTenant& pending : pending_) {
        const Result<TenantId> tenant = tenant_of(*pending.value);
        if (!tenant) {
            return tenant.error();
        }
        std::vector<TenantId>& tenants = pending.of_listener
                                             ? config_.listeners[pending.index].tenants
                                             : config_.grants[pending.index].tenants;
        if (std::find(tenants.begin(), tenants.end(), *tenant) == tenants.end()) {
            tenants.push_back(*tenant);
        }
    }
    return {};
}

}  // namespace

Result<Config> parse_config(std::string_view file_name, std::string_view text) {
    const Result<Node> document = config::parse_document(file_name, text);
    if (!document) {
        return document.error();
    }
    return Parser(file_name, *document).parse();
}

}  // namespace cxlpool

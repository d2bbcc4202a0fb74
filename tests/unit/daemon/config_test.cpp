#include "daemon/config.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr Roles bit(Role role) {
    return static_cast<Roles>(role);
}

constexpr const char* kMinimal =
    "tenancy = \"multi\"\n"    // 1
    "[[pool]]\n"               // 2
    "name = \"embedded\"\n"    // 3
    "provider = \"memfd\"\n"   // 4
    "capacity = \"1GiB\"\n"    // 5
    "[[tenant]]\n"             // 6
    "id = 1\n"                 // 7
    "[[grant]]\n"              // 8
    "uid = 1000\n"             // 9
    "tenants = [1]\n"          // 10
    "roles = [\"engine\"]\n";  // 11

Config parsed(const std::string& text) {
    const Result<Config> config = parse_config("F", text);
    EXPECT_TRUE(config) << config.error().message();
    return config ? *config : Config{};
}

TEST(Config, TheMinimalOneTakesDefaultsForTheRest) {
    const Config config = parsed(kMinimal);
    EXPECT_EQ(config.file, "F");
    EXPECT_EQ(config.mode, TenancyMode::multi);
    EXPECT_EQ(config.engine.path, CXLPOOL_RUNTIME_DIR "/engine.sock");
    EXPECT_EQ(config.engine.mode, 0666U);
    EXPECT_EQ(config.engine.group, "");
    EXPECT_EQ(config.admin.path, CXLPOOL_RUNTIME_DIR "/admin.sock");
    EXPECT_EQ(config.admin.mode, 0660U);
    EXPECT_EQ(config.state_directory, "/var/lib/cxlpool");
    EXPECT_EQ(config.reactor, ReactorKind::automatic);
    EXPECT_EQ(config.log_level, "info");
    EXPECT_EQ(config.worker_threads, 2U);
    EXPECT_EQ(config.eviction, EvictionPolicy::fair);
    ASSERT_EQ(config.pools.size(), 1U);
    const PoolConfig& pool = config.pools[0];
    EXPECT_EQ(pool.name, "embedded");
    EXPECT_EQ(pool.provider, "memfd");
    EXPECT_EQ(pool.where, "F:2");
    EXPECT_EQ(pool.capacity_bytes, 1ULL << 30U);
    EXPECT_EQ(pool.hugepages, HugePages::automatic);
    EXPECT_FALSE(pool.numa_node || pool.serial || pool.hosts || pool.coherence || pool.share_kind);
    EXPECT_FALSE(pool.allow_cooperative);
    EXPECT_EQ(pool.private_segment_bytes, 64ULL << 20U);
    ASSERT_EQ(config.tenants.size(), 1U);
    EXPECT_EQ(config.tenants[0].id, TenantId{1});
    EXPECT_EQ(config.tenants[0].name, "");
    ASSERT_EQ(config.grants.size(), 1U);
    EXPECT_EQ(config.grants[0].uid, 1000U);
    EXPECT_FALSE(config.grants[0].gid);
    EXPECT_THAT(config.grants[0].tenants, ElementsAre(TenantId{1}));
    EXPECT_EQ(config.grants[0].roles, bit(Role::engine));
    EXPECT_EQ(config.grants[0].where, "F:8");
    EXPECT_EQ(config.limits.cell_bytes, Limits{}.cell_bytes);
}

TEST(Config, EveryKeyIsRead) {
    const Config config = parsed(R"(
tenancy = "single"
state_directory = "/srv/cxlpool"
reactor = "poll"
log_level = "debug"
worker_threads = 4
eviction = "lru"

[listen]
engine = "/tmp/e.sock"
admin = "/tmp/a.sock"
engine_mode = "0660"
admin_mode = "600"
engine_group = "root"
admin_group = 27

[limits]
connections_per_uid = 1
contexts_per_connection = 2
leases_per_connection = 3
filling_bytes_per_uid = "2GiB"
cell_bytes = 4096
cells_per_span_and_tenant = 5
cells = 6
cells_per_tenant = 7
pending_per_connection = 8
lease_ttl_ms = 900
hello_timeout_ms = 1000
connections = 17
axis_values_per_tenant = 120
axis_values = 1200

[[grant]]
uid = "root"
roles = ["admin", "inspector", "adjudicator"]

[[grant]]
gid = 500
tenants = ["beta", 1, "0xffffffffffffffff", "beta"]
roles = ["engine"]

[[listener]]
path = "/run/cxlpool/beta.sock"
tenants = ["beta"]

[[listener]]
path = "/run/cxlpool/both.sock"
mode = "0666"
owner = "root"
group = 4242
tenants = [1, "beta", 1]

[[pool]]
name = "fast.0"
provider = "memfd"
capacity = 2097152
hugepages = "never"
numa_node = 0
private_segment = "2MiB"
share_kind = "mmap"

[[pool]]
name = "cxl0"
provider = "devdax"
serial = "0xfedcba9876543210"
allow_cooperative = true
hosts = 8
cross_host_coherence = "managed"
share_kind = "cxl_hdm"

[[pool]]
name = "cxl1"
provider = "devdax"
serial = 4660

[[pool]]
name = "cxl2"
provider = "devdax"
device = "dax0.0"

[[pool]]
name = "cxl3"
provider = "devdax"
region = "region0"

[[pool]]
name = "cxl4"
provider = "devdax"
sysfs_path = "/sys/devices/x"

[[tenant]]
id = 1
[[tenant]]
id = 2
name = "beta"
[[tenant]]
id = "18446744073709551615"
name = "last"
)");
    EXPECT_EQ(config.mode, TenancyMode::single);
    EXPECT_EQ(config.state_directory, "/srv/cxlpool");
    EXPECT_EQ(config.reactor, ReactorKind::poll);
    EXPECT_EQ(config.log_level, "debug");
    EXPECT_EQ(config.worker_threads, 4U);
    EXPECT_EQ(config.eviction, EvictionPolicy::lru);
    EXPECT_EQ(config.engine.path, "/tmp/e.sock");
    EXPECT_EQ(config.engine.mode, 0660U);
    EXPECT_EQ(config.engine.group, "root");
    EXPECT_EQ(config.admin.path, "/tmp/a.sock");
    EXPECT_EQ(config.admin.mode, 0600U);
    EXPECT_EQ(config.admin.group, "27");
    EXPECT_EQ(config.limits.connections_per_uid, 1U);
    EXPECT_EQ(config.limits.contexts_per_connection, 2U);
    EXPECT_EQ(config.limits.leases_per_connection, 3U);
    EXPECT_EQ(config.limits.filling_bytes_per_uid, 2ULL << 30U);
    EXPECT_EQ(config.limits.cell_bytes, 4096U);
    EXPECT_EQ(config.limits.cells_per_span_and_tenant, 5U);
    EXPECT_EQ(config.limits.cells, 6U);
    EXPECT_EQ(config.limits.cells_per_tenant, 7U);
    EXPECT_EQ(config.limits.pending_per_connection, 8U);
    EXPECT_EQ(config.limits.lease_ttl_ms, 900U);
    EXPECT_EQ(config.limits.hello_timeout_ms, 1000U);
    EXPECT_EQ(config.limits.connections, 17U);
    EXPECT_EQ(config.limits.axis_values_per_tenant, 120U);
    EXPECT_EQ(config.limits.axis_values, 1200U);

    ASSERT_EQ(config.grants.size(), 2U);
    EXPECT_EQ(config.grants[0].uid, 0U);
    EXPECT_EQ(config.grants[0].roles,
              bit(Role::admin) | bit(Role::inspector) | bit(Role::adjudicator));
    EXPECT_THAT(config.grants[0].tenants, IsEmpty());
    EXPECT_EQ(config.grants[1].gid, 500U);
    EXPECT_FALSE(config.grants[1].uid);
    EXPECT_THAT(config.grants[1].tenants,
                ElementsAre(TenantId{2}, TenantId{1}, TenantId{UINT64_MAX}));

    ASSERT_EQ(config.listeners.size(), 2U);
    EXPECT_EQ(config.listeners[0].path, "/run/cxlpool/beta.sock");
    EXPECT_EQ(config.listeners[0].mode, 0660U) << "not for everybody unless that is written";
    EXPECT_FALSE(config.listeners[0].owner || config.listeners[0].group);
    EXPECT_THAT(config.listeners[0].tenants, ElementsAre(TenantId{2}));
    EXPECT_EQ(config.listeners[0].where, "F:42");
    EXPECT_EQ(config.listeners[1].mode, 0666U);
    EXPECT_EQ(config.listeners[1].owner, 0U);
    EXPECT_EQ(config.listeners[1].group, 4242U);
    EXPECT_THAT(config.listeners[1].tenants, ElementsAre(TenantId{1}, TenantId{2}));

    ASSERT_EQ(config.pools.size(), 6U);
    EXPECT_EQ(config.pools[0].capacity_bytes, 2097152U);
    EXPECT_EQ(config.pools[0].hugepages, HugePages::never);
    EXPECT_EQ(config.pools[0].numa_node, 0U);
    EXPECT_EQ(config.pools[0].private_segment_bytes, 2097152U);
    EXPECT_EQ(config.pools[0].share_kind, ShareKind::mmap);
    EXPECT_EQ(config.pools[1].serial, 0xfedcba9876543210U);
    EXPECT_TRUE(config.pools[1].allow_cooperative);
    EXPECT_EQ(config.pools[1].hosts, 8U);
    EXPECT_EQ(config.pools[1].coherence, CrossHostCoherence::managed);
    EXPECT_EQ(config.pools[1].share_kind, ShareKind::cxl_hdm);
    EXPECT_EQ(config.pools[2].serial, 4660U);
    EXPECT_EQ(config.pools[3].device, "dax0.0");
    EXPECT_EQ(config.pools[4].region, "region0");
    EXPECT_EQ(config.pools[5].sysfs_path, "/sys/devices/x");
    ASSERT_EQ(config.tenants.size(), 3U);
    EXPECT_EQ(config.tenants[2].id, TenantId{UINT64_MAX});
    EXPECT_EQ(config.tenants[2].name, "last");
}

// One line of the minimal configuration replaced, or lines added at its end (line 12 and on).
struct Row {
    std::string name;
    std::size_t line;  // to replace; 12 appends
    std::string text;
    Errc code;
    std::string place;  // how the message begins
    std::string says;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.name;
}

std::string with_line(std::size_t line, const std::string& text) {
    std::string out;
    std::size_t number = 1;
    const std::string minimal(kMinimal);
    for (std::size_t at = 0; at < minimal.size(); ++number) {
        const std::size_t end = minimal.find('\n', at);
        out += (number == line ? text : minimal.substr(at, end - at)) + "\n";
        at = end + 1;
    }
    return line >= number ? out + text + "\n" : out;
}

class ConfigRefuses : public ::testing::TestWithParam<Row> {};

TEST_P(ConfigRefuses, WithTheLineAndTheRemedy) {
    const Row& row = GetParam();
    const Result<Config> config = parse_config("F", with_line(row.line, row.text));
    ASSERT_FALSE(config) << "it was taken";
    EXPECT_EQ(config.error().code(), row.code) << config.error().message();
    EXPECT_THAT(config.error().message(), StartsWith(row.place + ": "));
    EXPECT_THAT(config.error().message(), HasSubstr(row.says));
    EXPECT_THAT(config.error().message(), ::testing::Not(HasSubstr("\n")));
}

const std::vector<Row> kRows = {
    // Tenancy.
    {"tenancy_unset", 1, "", Errc::tenancy_unset, "F:1:1", "tenancy mode not configured"},
    {"tenancy_misspelt_value", 1, "tenancy = \"mutli\"", Errc::unknown_word, "F:1:11", "'mutli'"},
    {"tenancy_misspelt_key", 1, "tenency = \"multi\"", Errc::unknown_word, "F:1:1",
     "did you mean 'tenancy'?"},
    {"tenancy_case", 1, "tenancy = \"Multi\"", Errc::unknown_word, "F:1:11", "single or multi"},
    {"tenancy_empty", 1, "tenancy = \"\"", Errc::invalid_argument, "F:1:11", "empty"},
    {"tenancy_number", 1, "tenancy = 1", Errc::invalid_argument, "F:1:11", "a string"},

    // Not TOML.
    {"broken", 5, "capacity = ", Errc::malformed, "F:5:12", "not TOML"},
    {"twice", 5, "name = \"again\"", Errc::malformed, "F:5:8", "not TOML"},
    {"nul", 5, std::string("capacity = \"1\0GiB\"", 18), Errc::malformed, "F:5:14", "not TOML"},
    {"bad_utf8", 3, "name = \"\xff\"", Errc::malformed, "F:3:8", "not TOML"},

    // Unknown keys, everywhere.
    {"root_key", 1, "tenancy = \"multi\"\nlogg_level = \"info\"", Errc::unknown_word, "F:2:1",
     "did you mean 'log_level'?"},
    {"root_table", 12, "[limit]\ncells = 1", Errc::unknown_word, "F:12:2",
     "did you mean 'limits'?"},
    {"far_off", 1, "tenancy = \"multi\"\nfrobnicate = 1", Errc::unknown_word, "F:2:1",
     "known are tenancy, state_directory"},
    {"listen_key", 12, "[listen]\nengin = \"/x\"", Errc::unknown_word, "F:13:1",
     "did you mean 'engine'?"},
    {"limits_key", 12, "[limits]\ncell = 1", Errc::unknown_word, "F:13:1", "did you mean 'cells'?"},
    {"pool_key", 5, "capasity = \"1GiB\"", Errc::unknown_word, "F:5:1",
     "unknown key 'capasity' in [[pool]]; did you mean 'capacity'?"},
    {"tenant_key", 7, "id = 1\nnmae = \"a\"", Errc::unknown_word, "F:8:1", "did you mean 'name'?"},
    {"grant_key", 9, "uid = 1\nrole = [\"engine\"]", Errc::unknown_word, "F:10:1",
     "did you mean 'roles'?"},
    {"key_with_control_bytes", 1, "tenancy = \"multi\"\n\"\\u001b[31m\" = 1", Errc::unknown_word,
     "F:2:1", "'?[31m'"},

    // Tables of the wrong form.
    {"pool_single_brackets", 2, "[pool]", Errc::invalid_argument, "F:2:1", "write [[pool]]"},
    {"pools_of_numbers", 12, "[limits]\n[[tenant]]\nid = [1]", Errc::invalid_argument, "F:14:6",
     "an array"},
    {"listen_number", 1, "tenancy = \"multi\"\nlisten = 3", Errc::invalid_argument, "F:2:10",
     "[listen]"},
    {"grant_strings", 1, "tenancy = \"multi\"\nlimits = [1]", Errc::invalid_argument, "F:2:10",
     "[limits]"},

    // Top level.
    {"state_relative", 1, "tenancy = \"multi\"\nstate_directory = \"state\"",
     Errc::invalid_argument, "F:2:19", "absolute"},
    {"reactor_word", 1, "tenancy = \"multi\"\nreactor = \"epoll\"", Errc::unknown_word, "F:2:11",
     "auto, io_uring, poll"},
    {"log_word", 1, "tenancy = \"multi\"\nlog_level = \"warn\"", Errc::unknown_word, "F:2:13",
     "known are trace, debug, info, warning, error"},
    {"log_misspelt", 1, "tenancy = \"multi\"\nlog_level = \"debugg\"", Errc::unknown_word, "F:2:13",
     "did you mean 'debug'?"},
    {"workers_zero", 1, "tenancy = \"multi\"\nworker_threads = 0", Errc::invalid_argument, "F:2:18",
     "1 to 64"},
    {"workers_many", 1, "tenancy = \"multi\"\nworker_threads = 65", Errc::invalid_argument,
     "F:2:18", "1 to 64"},

    // Sockets.
    {"listen_relative", 12, "[listen]\nengine = \"engine.sock\"", Errc::invalid_argument, "F:13:10",
     "absolute"},
    {"listen_long", 12, "[listen]\nadmin = \"/" + std::string(107, 'a') + "\"",
     Errc::invalid_argument, "F:13:9", "107 bytes"},
    {"listen_directory", 12, "[listen]\nadmin = \"/run/\"", Errc::invalid_argument, "F:13:9",
     "path of a file"},
    {"listen_same", 12, "[listen]\nengine = \"/x\"\nadmin = \"/x\"", Errc::invalid_argument,
     "F:12:1", "one path"},
    {"mode_integer", 12, "[listen]\nengine_mode = 660", Errc::invalid_argument, "F:13:15",
     "\"0660\""},
    {"mode_decimal_digits", 12, "[listen]\nengine_mode = \"0689\"", Errc::invalid_argument,
     "F:13:15", "'0689'"},
    {"mode_setuid", 12, "[listen]\nengine_mode = \"4666\"", Errc::invalid_argument, "F:13:15",
     "'4666'"},
    {"admin_for_everybody", 12, "[listen]\nadmin_mode = \"0666\"", Errc::invalid_argument,
     "F:13:14", "operator's socket"},
    {"group_unknown", 12, "[listen]\nadmin_group = \"no-such-group\"", Errc::invalid_argument,
     "F:13:15", "no group 'no-such-group'"},
    {"group_number", 12, "[listen]\nadmin_group = 4294967295", Errc::invalid_argument, "F:13:15",
     "out of range"},

    // Limits.
    {"limit_zero", 12, "[limits]\ncells = 0", Errc::invalid_argument, "F:13:9", "out of range"},
    {"limit_negative", 12, "[limits]\ncells = -1", Errc::invalid_argument, "F:13:9",
     "out of range"},
    {"limit_nan", 12, "[limits]\ncells = nan", Errc::invalid_argument, "F:13:9",
     "whole number from"},
    {"limit_inf", 12, "[limits]\nconnections = inf", Errc::invalid_argument, "F:13:15",
     "whole number from"},
    {"limit_fraction", 12, "[limits]\nlease_ttl_ms = 1.5", Errc::invalid_argument, "F:13:16",
     "whole number from"},
    {"limit_string", 12, "[limits]\ncells = \"10\"", Errc::invalid_argument, "F:13:9",
     "whole number from"},
    {"limit_large", 12, "[limits]\ncells = 4294967296", Errc::invalid_argument, "F:13:9",
     "out of range"},
    {"operators_connections_only", 12, "[limits]\nconnections = 16", Errc::invalid_argument,
     "F:13:15", "17 to"},
    {"bytes_zero", 12, "[limits]\ncell_bytes = 0", Errc::invalid_argument, "F:13:14", "0 bytes"},
    {"bytes_negative", 12, "[limits]\ncell_bytes = -4096", Errc::invalid_argument, "F:13:14",
     "negative"},
    {"bytes_inf", 12, "[limits]\ncell_bytes = -inf", Errc::invalid_argument, "F:13:14",
     "whole number"},
    {"bytes_unit", 12, "[limits]\ncell_bytes = \"4GBi\"", Errc::malformed, "F:13:14", "GiB"},
    {"bytes_bare_unit", 12, "[limits]\nfilling_bytes_per_uid = \"4G\"", Errc::malformed, "F:13:25",
     "'4G'"},
    {"bytes_overflow", 12, "[limits]\ncell_bytes = \"99999999999TiB\"", Errc::overflow, "F:13:14",
     "64 bits"},

    // Pools.
    {"no_pool", 2, "[[tenant]]\nid = 2\n[[unused]]", Errc::unknown_word, "F:4:3", "'unused'"},
    {"pool_no_name", 3, "", Errc::invalid_argument, "F:2:1", "without a name"},
    {"pool_bad_name", 3, "name = \"../x\"", Errc::invalid_argument, "F:3:8", "not a name"},
    {"pool_long_name", 3, "name = \"a" + std::string(64, 'b') + "\"", Errc::invalid_argument,
     "F:3:8", "at most 64"},
    {"pool_no_provider", 4, "", Errc::invalid_argument, "F:2:1", "without a provider"},
    {"pool_provider", 4, "provider = \"devdx\"", Errc::unknown_word, "F:4:12",
     "did you mean 'devdax'?"},
    {"pool_no_capacity", 5, "", Errc::invalid_argument, "F:2:1", "without a capacity"},
    {"pool_zero", 5, "capacity = 0", Errc::invalid_argument, "F:5:12", "0 bytes"},
    {"pool_hugepages", 5, "capacity = 1\nhugepages = \"always\"", Errc::unknown_word, "F:6:13",
     "always"},
    {"pool_node", 5, "capacity = 1\nnuma_node = -1", Errc::invalid_argument, "F:6:13", "0 to 1023"},
    {"pool_hosts_zero", 5, "capacity = 1\nhosts = 0", Errc::invalid_argument, "F:6:9",
     "out of range"},
    {"pool_coherence", 5, "capacity = 1\ncross_host_coherence = \"hw\"", Errc::unknown_word,
     "F:6:24", "hardware"},
    {"pool_share_kind", 5, "capacity = 1\nshare_kind = \"cxl-hdm\"", Errc::unknown_word, "F:6:14",
     "cxl_hdm"},
    {"pool_twice", 12, "[[pool]]\nname = \"embedded\"\nprovider = \"memfd\"\ncapacity = 1",
     Errc::invalid_argument, "F:13:8", "second pool 'embedded'"},
    {"pool_private_large", 5, "capacity = \"1MiB\"\nprivate_segment = \"2MiB\"",
     Errc::invalid_argument, "F:6:19", "does not fit"},
    {"memfd_serial", 5, "capacity = 1\nserial = 1", Errc::invalid_argument, "F:6:1",
     "no meaning for provider 'memfd'"},
    {"memfd_cooperative", 5, "capacity = 1\nallow_cooperative = true", Errc::invalid_argument,
     "F:6:1", "no meaning"},
    {"devdax_capacity", 4, "provider = \"devdax\"\nserial = 1", Errc::invalid_argument, "F:6:1",
     "'capacity' has no meaning for provider 'devdax'"},
    {"devdax_no_selector", 12, "[[pool]]\nname = \"c\"\nprovider = \"devdax\"",
     Errc::invalid_argument, "F:12:1", "says it in 0"},
    {"devdax_two_selectors", 12,
     "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = 1\nregion = \"region0\"",
     Errc::invalid_argument, "F:12:1", "says it in 2"},
    {"devdax_serial_zero", 12, "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = 0",
     Errc::invalid_argument, "F:15:10", "no identity"},
    {"devdax_serial_negative", 12, "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = -1",
     Errc::invalid_argument, "F:15:10", "\"0x...\""},
    {"devdax_serial_large", 12,
     "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = \"0x1ffffffffffffffff\"",
     Errc::overflow, "F:15:10", "64 bits"},
    {"devdax_serial_word", 12, "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = \"mem0\"",
     Errc::malformed, "F:15:10", "'mem0'"},
    {"devdax_cooperative_word", 12,
     "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nserial = 1\nallow_cooperative = \"yes\"",
     Errc::invalid_argument, "F:16:21", "true or false"},
    {"devdax_sysfs_relative", 12,
     "[[pool]]\nname = \"c\"\nprovider = \"devdax\"\nsysfs_path = \"devices/x\"",
     Errc::invalid_argument, "F:15:14", "absolute"},

    // Tenants.
    {"tenant_no_id", 7, "name = \"a\"", Errc::invalid_argument, "F:6:1", "without an id"},
    {"tenant_zero", 7, "id = 0", Errc::invalid_argument, "F:7:6", "no identity"},
    {"tenant_twice", 12, "[[tenant]]\nid = 1", Errc::invalid_argument, "F:13:6", "second tenant 1"},
    {"tenant_name_twice", 7, "id = 1\nname = \"a\"\n[[tenant]]\nid = 2\nname = \"a\"",
     Errc::invalid_argument, "F:11:8", "second tenant 'a'"},
    {"tenant_numeric_name", 7, "id = 1\nname = \"7\"", Errc::invalid_argument, "F:8:8",
     "not a name"},

    // Grants.
    {"role_misspelt", 11, "roles = [\"engine\", \"inspektor\"]", Errc::unknown_word, "F:11:20",
     "unknown role 'inspektor'; did you mean 'inspector'?"},
    {"role_case", 11, "roles = [\"Engine\"]", Errc::unknown_word, "F:11:10",
     "did you mean 'engine'?"},
    {"role_number", 11, "roles = [1]", Errc::invalid_argument, "F:11:10", "role in quotes"},
    {"roles_word", 11, "roles = \"engine\"", Errc::invalid_argument, "F:11:9",
     "roles = [\"engine\"]"},
    {"roles_empty", 11, "roles = []", Errc::invalid_argument, "F:8:1", "without roles"},
    {"roles_absent", 11, "", Errc::invalid_argument, "F:8:1", "without roles"},
    {"grant_nobody", 9, "", Errc::invalid_argument, "F:8:1", "exactly one of uid and gid"},
    {"grant_both", 9, "uid = 1\ngid = 1", Errc::invalid_argument, "F:8:1",
     "exactly one of uid and gid"},
    {"uid_65534", 9, "uid = 65534", Errc::invalid_argument, "F:9:7", "no rights"},
    {"gid_65534", 9, "gid = 65534", Errc::invalid_argument, "F:9:7", "no rights"},
    {"uid_65534_by_name", 9, "uid = \"nobody\"", Errc::invalid_argument, "F:9:7", "no rights"},
    {"gid_65534_by_name", 9, "gid = \"nogroup\"", Errc::invalid_argument, "F:9:7", "no rights"},
    {"uid_unknown", 9, "uid = \"no-such-user\"", Errc::invalid_argument, "F:9:7",
     "no user 'no-such-user'"},
    {"gid_unknown", 9, "gid = \"no-such-group\"", Errc::invalid_argument, "F:9:7",
     "no group 'no-such-group'"},
    {"uid_minus_one", 9, "uid = 4294967295", Errc::invalid_argument, "F:9:7", "out of range"},
    {"uid_minus_one_in_quotes", 9, "uid = \"4294967295\"", Errc::invalid_argument, "F:9:7",
     "not the number"},
    {"uid_negative", 9, "uid = -1", Errc::invalid_argument, "F:9:7", "out of range"},
    {"engine_no_tenant", 10, "", Errc::invalid_argument, "F:8:1", "names none"},
    {"engine_empty_tenants", 10, "tenants = []", Errc::invalid_argument, "F:8:1", "names none"},
    {"tenants_without_engine", 11, "roles = [\"admin\"]", Errc::invalid_argument, "F:10:1",
     "only the role engine"},
    {"tenant_undeclared", 10, "tenants = [1, 3]", Errc::invalid_argument, "F:10:15", "no tenant 3"},
    {"tenant_undeclared_name", 10, "tenants = [\"alpha\"]", Errc::invalid_argument, "F:10:12",
     "no tenant 'alpha'"},
    {"tenant_zero_in_grant", 10, "tenants = [0]", Errc::invalid_argument, "F:10:12", "no identity"},
    {"tenants_number", 10, "tenants = 1", Errc::invalid_argument, "F:10:11", "tenants = [1]"},

    // Listeners.
    {"listener_key", 12, "[[listener]]\npath = \"/x\"\ntenant = [1]", Errc::unknown_word, "F:14:1",
     "unknown key 'tenant' in [[listener]]; did you mean 'tenants'?"},
    {"listener_roles", 12, "[[listener]]\npath = \"/x\"\nroles = [\"admin\"]", Errc::unknown_word,
     "F:14:1", "unknown key 'roles'"},
    {"listener_single_brackets", 12, "[listener]\npath = \"/x\"", Errc::invalid_argument, "F:12:1",
     "write [[listener]]"},
    {"listener_no_path", 12, "[[listener]]\ntenants = [1]", Errc::invalid_argument, "F:12:1",
     "without a path"},
    {"listener_relative", 12, "[[listener]]\npath = \"x\"\ntenants = [1]", Errc::invalid_argument,
     "F:13:8", "absolute"},
    {"listener_long", 12, "[[listener]]\ntenants = [1]\npath = \"/" + std::string(107, 'a') + "\"",
     Errc::invalid_argument, "F:14:8", "107 bytes"},
    {"listener_no_tenants", 12, "[[listener]]\npath = \"/x\"", Errc::invalid_argument, "F:12:1",
     "names none"},
    {"listener_empty_tenants", 12, "[[listener]]\npath = \"/x\"\ntenants = []",
     Errc::invalid_argument, "F:12:1", "names none"},
    {"listener_tenant_undeclared", 12, "[[listener]]\npath = \"/x\"\ntenants = [1, \"alpha\"]",
     Errc::invalid_argument, "F:14:15", "no tenant 'alpha'"},
    {"listener_mode_number", 12, "[[listener]]\npath = \"/x\"\nmode = 660\ntenants = [1]",
     Errc::invalid_argument, "F:14:8", "\"0660\""},
    {"listener_owner_unknown", 12,
     "[[listener]]\npath = \"/x\"\nowner = \"no-such-user\"\ntenants = [1]", Errc::invalid_argument,
     "F:14:9", "no user 'no-such-user'"},
    {"listener_owner_nobody", 12, "[[listener]]\npath = \"/x\"\nowner = 65534\ntenants = [1]",
     Errc::invalid_argument, "F:14:9", "no rights"},
    {"listener_group_unknown", 12,
     "[[listener]]\npath = \"/x\"\ngroup = \"no-such-group\"\ntenants = [1]",
     Errc::invalid_argument, "F:14:9", "no group 'no-such-group'"},
    {"listener_twice", 12,
     "[[listener]]\npath = \"/x\"\ntenants = [1]\n[[listener]]\npath = \"/./x\"\ntenants = [1]",
     Errc::invalid_argument, "F:16:8", "the listener at F:12; give each socket its own"},
    {"listener_at_engine", 12,
     "[[listener]]\npath = \"/x\"\ntenants = [1]\n[listen]\nengine = \"/x\"",
     Errc::invalid_argument, "F:13:8", "the engine socket"},
    {"listener_at_admin", 12,
     "[[listener]]\npath = \"" CXLPOOL_RUNTIME_DIR "/../cxlpool/admin.sock\"\ntenants = [1]",
     Errc::invalid_argument, "F:13:8", "the admin socket"},
};

INSTANTIATE_TEST_SUITE_P(All, ConfigRefuses, ::testing::ValuesIn(kRows),
                         [](const ::testing::TestParamInfo<Row>& row) { return row.param.name; });

TEST(Config, NamesAreUnique) {
    std::vector<std::string> names;
    for (const Row& row : kRows) {
        EXPECT_EQ(std::count(names.begin(), names.end(), row.name), 0) << row.name;
        names.push_back(row.name);
    }
}

void expect_refused(const std::string& text, Errc code, const std::string& says) {
    const Result<Config> config = parse_config("F", text);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), code);
    EXPECT_THAT(config.error().message(), HasSubstr(says));
}

TEST(Config, WithoutPoolsOrGrantsNothingCouldBeServed) {
    expect_refused("", Errc::tenancy_unset, "tenancy mode not configured");
    expect_refused("tenancy = \"single\"\n", Errc::invalid_argument, "[[pool]]");
    expect_refused(
        "tenancy = \"single\"\n[[pool]]\nname = \"a\"\nprovider = \"memfd\"\n"
        "capacity = 1\nprivate_segment = 1\n",
        Errc::invalid_argument, "[[grant]]");
}

TEST(Config, AListenerIsAWayInWithoutGrants) {
    const Config config = parsed(
        "tenancy = \"multi\"\n[[pool]]\nname = \"a\"\nprovider = \"memfd\"\ncapacity = \"64MiB\"\n"
        "[[tenant]]\nid = 1\n[[listener]]\npath = \"/x\"\ntenants = [1]\n");
    EXPECT_THAT(config.grants, IsEmpty());
    EXPECT_EQ(config.listeners.size(), 1U);
}

TEST(Config, ListenersAreBounded) {
    std::string text(kMinimal);
    for (std::size_t i = 0; i <= kMaxListeners; ++i) {
        text += "[[listener]]\npath = \"/" + std::to_string(i) + "\"\ntenants = [1]\n";
    }
    expect_refused(text, Errc::invalid_argument, "more than 1024 listeners");
}

TEST(Config, TheFirstErrorOfTheFileIsTheOneThatIsNamed) {
    const Result<Config> config =
        parse_config("F", with_line(3, "name = \"../x\"\nshare_kind = \"b\""));
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message(), StartsWith("F:3:8: "));
}

TEST(Config, DeepNestingIsRefusedNotFollowed) {
    expect_refused("x = " + std::string(100'000, '[') + "\n", Errc::malformed, "not TOML");
}

TEST(Config, AHugeTextIsRefusedBeforeItIsParsed) {
    expect_refused(std::string((1U << 20U) + 1, '#'), Errc::too_large, "1048576");
}

TEST(ExampleConfig, IsTakenAsItIs) {
    const Result<Config> config = read_config(EXAMPLE_CONFIG);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->mode, TenancyMode::multi);
    EXPECT_EQ(config->pools.size(), 1U);
    EXPECT_EQ(config->tenants.size(), 2U);
    EXPECT_EQ(config->grants.size(), 3U);
}

// The commented tables are right as well.
TEST(ExampleConfig, IsTakenWithItsCommentedTables) {
    std::ifstream file(EXAMPLE_CONFIG);
    std::string text;
    for (std::string line; std::getline(file, line);) {
        const bool commented = line.size() > 1 && line[0] == '#' && line[1] != ' ';
        text += (commented ? line.substr(1) : line) + "\n";
    }
    const Config config = parsed(text);
    ASSERT_EQ(config.pools.size(), 2U);
    EXPECT_EQ(config.pools[1].serial, 0x1234U);
    EXPECT_TRUE(config.pools[1].allow_cooperative);
    ASSERT_EQ(config.listeners.size(), 1U);
    EXPECT_EQ(config.listeners[0].mode & 0002U, 0U);
}

class ConfigFile : public ::testing::Test {
  protected:
    void SetUp() override {
        path_ = ::testing::TempDir() + "config-XXXXXX";
        const UniqueFd fd(::mkstemp(path_.data()));
        ASSERT_TRUE(fd);
    }
    void TearDown() override { ::unlink(path_.c_str()); }

    void write(const std::string& text) { std::ofstream(path_) << text; }

    std::string path_;
};

TEST_F(ConfigFile, IsRead) {
    write(kMinimal);
    const Result<Config> config = read_config(path_);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->file, path_);
    EXPECT_EQ(config->pools[0].where, path_ + ":2");
}

TEST_F(ConfigFile, ErrorsNameThePath) {
    write(with_line(11, "roles = [\"root\"]"));
    const Result<Config> config = read_config(path_);
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message(), StartsWith(path_ + ":11:10: unknown role 'root'"));
}

TEST_F(ConfigFile, ThatEverybodyMayWriteIsRefused) {
    write(kMinimal);
    ASSERT_EQ(::chmod(path_.c_str(), 0646), 0);
    const Result<Config> config = read_config(path_);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), Errc::invalid_argument);
    EXPECT_THAT(config.error().message(), HasSubstr("chmod o-w"));
}

TEST_F(ConfigFile, ThatIsTooLongIsRefused) {
    write(std::string(3U << 20U, '#'));
    const Result<Config> config = read_config(path_);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code(), Errc::too_large);
}

TEST_F(ConfigFile, ThatIsNotThereOrNoFileIsAnError) {
    const Result<Config> absent = read_config("/nonexistent/cxlpoold.toml");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code(), Errc::invalid_argument)
        << "like a configuration that is wrong";
    EXPECT_THAT(absent.error().message(), HasSubstr("/nonexistent/cxlpoold.toml"));
    const Result<Config> directory = read_config(::testing::TempDir());
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code(), Errc::io);
    const Result<Config> device = read_config("/dev/zero");
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code(), Errc::io);
}

TEST(ResolveGroup, NamesAndNumbers) {
    EXPECT_EQ(*resolve_group("root"), 0U);
    EXPECT_EQ(*resolve_group("4242"), 4242U) << "need not exist";
    for (const char* wrong : {"", "no-such-group", "4294967295", "99999999999999999999", "-1"}) {
        const Result<gid_t> group = resolve_group(wrong);
        ASSERT_FALSE(group) << wrong;
        EXPECT_EQ(group.error().code(), Errc::invalid_argument);
    }
}

}  // namespace
}  // namespace cxlpool

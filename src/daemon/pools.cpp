#include "daemon/pools.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/units.hpp"
#include "memory/provider.hpp"

namespace cxlpool {
namespace {

Error about(const PoolConfig& pool, Error error) {
    return std::move(error).with_context(pool.where + ": pool '" + pool.name + "'");
}

// Anonymous memory of this host. Its speed is whatever the node's is and stays unknown here.
Profile memfd_profile(const PoolConfig& pool) {
    const std::string why = "memfd: anonymous memory of this host";
    Profile profile;
    profile.name = pool.name;
    profile.tier = Tier::dram;
    profile.read_latency_ns = Known<std::uint64_t>::unknown("not measured");
    profile.read_mbps = Known<std::uint64_t>::unknown("not measured");
    profile.capacity_bytes =
        Known<std::uint64_t>::of(pool.capacity_bytes, Source::declared, pool.where);
    profile.byte_addressable = Known<bool>::of(true, Source::observed, why);
    profile.coherent_in_host = Known<bool>::of(true, Source::observed, why);
    profile.persistent = Known<bool>::of(false, Source::observed, why);
    profile.share_kind = Known<ShareKind>::of(ShareKind::mmap, Source::observed, why);
    profile.hosts = Known<std::uint32_t>::of(1, Source::observed, why);
    profile.cross_host_coherence =
        Known<CrossHostCoherence>::of(CrossHostCoherence::none, Source::observed, why);
    profile.memory_node =
        pool.numa_node ? Known<std::uint32_t>::of(*pool.numa_node, Source::declared, pool.where)
                       : Known<std::uint32_t>::unknown("not bound to a node");
    profile.cpu_affinity_node = Known<std::uint32_t>::unknown("no device");
    return profile;
}

// What is declared about anonymous memory must not widen what it is.
Result<void> check_memfd_declarations(const PoolConfig& pool) {
    const bool wider = (pool.hosts && *pool.hosts != 1) ||
                       (pool.coherence && *pool.coherence != CrossHostCoherence::none) ||
                       (pool.share_kind && *pool.share_kind != ShareKind::mmap);
    if (wider) {
        return Error{Errc::invalid_argument,
                     "anonymous memory reaches one host, is not coherent across hosts and is "
                     "shared by mmap; remove hosts, cross_host_coherence and share_kind"};
    }
    return {};
}

Result<PoolPlan> plan_devdax(const Config& config, const PoolConfig& pool, const Topology& topology,
                             const Assessment& assessment) {
    if (config.mode == TenancyMode::multi && !pool.allow_cooperative) {
        return Error{Errc::cooperative_refused,
                     "one dax device shows each of its engines all of it (isolation "
                     "cooperative), which tenancy \"multi\" refuses; to serve it all the same, "
                     "write allow_cooperative = true in the [[pool]] table at " +
                         pool.where};
    }
    PoolSelector selector;
    selector.serial = pool.serial;
    selector.region = pool.region;
    selector.dax_device = pool.device;
    selector.sysfs_path = pool.sysfs_path;
    Result<PoolCandidate> found = find_pool(topology, assessment, selector);
    if (!found) {
        return std::move(found).error();
    }
    PoolDeclaration declaration;
    declaration.hosts = pool.hosts;
    declaration.coherence = pool.coherence;
    declaration.where = pool.where;
    Result<Profile> profile = apply_declaration(std::move(found->profile), declaration);
    if (!profile) {
        return std::move(profile).error();
    }
    if (pool.share_kind && *pool.share_kind != share_kind_or_none(*profile)) {
        return Error{Errc::invalid_argument,
                     "share_kind " + std::string(to_word(*pool.share_kind)) +
                         " contradicts the device, which shares by " +
                         std::string(to_word(share_kind_or_none(*profile))) + "; remove it"};
    }
    profile->name = pool.name;
    PoolPlan plan;
    plan.config = pool;
    plan.profile = std::move(*profile);
    plan.device_path = "/dev/" + found->dax_device;
    return plan;
}

Result<std::unique_ptr<SegmentProvider>> open_provider(const PoolPlan& plan) {
    if (plan.config.provider == "memfd") {
        MemfdOptions options;
        options.pool_name = plan.config.name;
        options.capacity_bytes = plan.config.capacity_bytes;
        options.hugepages = plan.config.hugepages;
        options.numa_node = plan.config.numa_node;
        return make_memfd_provider(options);
    }
    DevdaxOptions options;
    options.pool_name = plan.config.name;
    options.device_path = plan.device_path;
    return make_devdax_provider(options);
}

}  // namespace

Result<std::vector<PoolPlan>> plan_pools(const Config& config, const Topology& topology,
                                         const Assessment& assessment) {
    std::vector<PoolPlan> plans;
    for (const PoolConfig& pool : config.pools) {
        if (pool.provider == "memfd") {
            if (Result<void> checked = check_memfd_declarations(pool); !checked) {
                return about(pool, std::move(checked).error());
            }
            plans.push_back(PoolPlan{pool, memfd_profile(pool), {}});
            continue;
        }
        Result<PoolPlan> plan = plan_devdax(config, pool, topology, assessment);
        if (!plan) {
            return about(pool, std::move(plan).error());
        }
        for (const PoolPlan& other : plans) {
            if (other.device_path == plan->device_path) {
                return about(pool, Error{Errc::already_exists,
                                         plan->device_path + " is pool '" + other.config.name +
                                             "' already (" + other.config.where + ")"});
            }
        }
        plans.push_back(std::move(*plan));
    }
    return plans;
}

std::vector<std::string> over_memory(const std::vector<PoolPlan>& plans, const HostPaths& host) {
    std::vector<std::string> out;
    for (const PoolPlan& plan : plans) {
        const PoolConfig& pool = plan.config;
        const std::optional<std::uint64_t> total =
            pool.provider == "memfd" ? total_bytes(host, pool.numa_node) : std::nullopt;
        if (total && pool.capacity_bytes > *total) {
            out.push_back(pool.where + ": pool '" + pool.name + "' has a capacity of " +
                          format_bytes(pool.capacity_bytes) + ", and " +
                          (pool.numa_node ? "NUMA node " + std::to_string(*pool.numa_node)
                                          : std::string("this machine")) +
                          " has " + format_bytes(*total) +
                          " of memory; lower the capacity, or engines meet errors when it fills");
        }
    }
    return out;
}

Result<std::vector<ServedPool>> open_pools(const std::vector<PoolPlan>& plans,
                                           const std::shared_ptr<SegmentKeeper>& keeper) {
    std::vector<ServedPool> served;
    for (const PoolPlan& plan : plans) {
        Result<std::unique_ptr<SegmentProvider>> provider = open_provider(plan);
        if (!provider) {
            return about(plan.config, std::move(provider).error());
        }
        for (const std::string& note : (*provider)->traits().notes) {
            spdlog::warn("pool '{}': {}", plan.config.name, note);
        }
        PoolOptions options;
        options.name = plan.config.name;
        options.private_segment_bytes = plan.config.private_segment_bytes;
        options.keeper = keeper;
        Result<std::unique_ptr<Pool>> pool =
            Pool::create(std::move(options), std::move(provider).value());
        if (!pool) {
            return about(plan.config, std::move(pool).error());
        }
        served.push_back(ServedPool{std::move(pool).value(), plan.profile});
    }
    return served;
}

}  // namespace cxlpool

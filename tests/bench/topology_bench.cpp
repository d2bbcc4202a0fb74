// A captured machine of 1,000 memdevs, read and turned into pools with their profiles, against
// parsing its JSON alone.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>

#include "against_floor.hpp"
#include "base/json_reader.hpp"
#include "topology/captured/captured.hpp"
#include "topology/rules.hpp"

namespace cxlpool::bench {
namespace {

constexpr std::uint64_t kMemdevBytes = std::uint64_t{64} << 30U;
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 40U;
constexpr unsigned kBridges = 8;  // and the ways of each region: one device below each

std::string text(std::uint64_t number) {
    return std::to_string(number);
}

// Adds `item` to a JSON list that begins with '['.
void append(std::string& list, const std::string& item) {
    list += (list.size() == 1 ? "" : ",\n") + item;
}

std::uint64_t region_address(unsigned region) {
    return kFirstAddress + region * kBridges * kMemdevBytes;
}

// The endpoint that is device `region` below a bridge, and the memdev and decoder of it.
std::string endpoint(unsigned number, unsigned region) {
    const std::string name = "endpoint" + text(100 + number);
    const std::string memdev = "mem" + text(number);
    return R"({"endpoint":")" + name + R"(","host":")" + memdev +
           R"(","depth":2,"memdev":{"memdev":")" + memdev + R"(","ram_size":)" +
           text(kMemdevBytes) + R"(,"serial":)" + text(7000 + number) +
           R"(,"numa_node":0,"host":"0000:)" + text(number) + R"(:00.0"},"decoders:)" + name +
           R"(":[{"decoder":"decoder)" + text(100 + number) + R"(.0","resource":)" +
           text(region_address(region)) + R"(,"size":)" + text(kBridges * kMemdevBytes) +
           R"(,"interleave_ways":8,"interleave_granularity":256,"region":"region)" + text(region) +
           R"(","dpa_resource":0,"dpa_size":)" + text(kMemdevBytes) + R"(,"mode":"ram"}]})";
}

std::string region_of(unsigned region) {
    std::string mappings = "[";
    for (unsigned bridge = 0; bridge < kBridges; ++bridge) {
        const unsigned number = region * kBridges + bridge;
        append(mappings, R"({"position":)" + text(bridge) + R"(,"memdev":"mem)" + text(number) +
                             R"(","decoder":"decoder)" + text(100 + number) + R"(.0"})");
    }
    return R"({"region":"region)" + text(region) + R"(","resource":)" +
           text(region_address(region)) + R"(,"size":)" + text(kBridges * kMemdevBytes) +
           R"(,"type":"ram","interleave_ways":8,"interleave_granularity":256,)"
           R"("decode_state":"commit","mappings":)" +
           mappings + "]}";
}

// As `cxl list -vvv` prints it.
std::string cxl_list(unsigned memdevs) {
    const unsigned regions = memdevs / kBridges;
    std::string ports = "[";
    std::string targets = "[";
    for (unsigned bridge = 0; bridge < kBridges; ++bridge) {
        std::string endpoints = "[";
        for (unsigned region = 0; region < regions; ++region) {
            append(endpoints, endpoint(region * kBridges + bridge, region));
        }
        const std::string port = "port" + text(bridge + 1);
        append(ports, R"({"port":")" + port + R"(","host":"pci0000:)" + text(bridge) +
                          R"(","depth":1,"endpoints:)" + port + "\":" + endpoints + "]}");
        append(targets,
               R"({"target":"pci0000:)" + text(bridge) + R"(","position":)" + text(bridge) + "}");
    }
    std::string listed = "[";
    for (unsigned region = 0; region < regions; ++region) {
        append(listed, region_of(region));
    }
    return R"([{"bus":"root0","provider":"ACPI.CXL","ports:root0":)" + ports +
           R"(],"decoders:root0":[{"decoder":"decoder0.0","resource":)" + text(kFirstAddress) +
           R"(,"size":)" + text(regions * kBridges * kMemdevBytes) +
           R"(,"interleave_ways":8,"interleave_granularity":256,"max_available_extent":0,)"
           R"("volatile_capable":true,"nr_targets":8,"targets":)" +
           targets + R"(],"regions:decoder0.0":)" + listed + "]}]}]";
}

// As `daxctl list -RD` prints it: one device on each region.
std::string daxctl_list(unsigned memdevs) {
    std::string list = "[";
    for (unsigned region = 0; region < memdevs / kBridges; ++region) {
        const std::string id = text(region);
        const std::string size = text(kBridges * kMemdevBytes);
        append(list, R"({"path":"/platform/ACPI0017:00/root0/decoder0.0/region)" + id +
                         "/dax_region" + id + R"(","id":)" + id + R"(,"size":)" + size +
                         R"(,"align":2097152,"devices":[{"chardev":"dax)" + id + R"(.0","size":)" +
                         size + R"(,"target_node":2,"align":2097152,"mode":"devdax"}]})");
    }
    return list + "]";
}

void captured_machine(benchmark::State& state) {
    const auto memdevs = static_cast<unsigned>(state.range(0));
    const std::string cxl = cxl_list(memdevs);
    const std::string dax = daxctl_list(memdevs);
    const std::array texts{CapturedText{"cxl", cxl}, CapturedText{"daxctl", dax}};
    const auto pools = [&] {
        const Result<Topology> topology = read_captured(texts);
        return topology ? assess(*topology).pools.size() : 0;
    };
    if (pools() != memdevs / kBridges) {
        state.SkipWithError("the listing does not give a pool for each region");
        return;
    }
    constexpr json::Limits kLimits{
        .max_bytes = kCapturedMaxBytes, .max_depth = 64, .max_values = 1U << 20U};
    against_floor(state, 1, pools, [&] {
        return json::parse("cxl", cxl, kLimits).has_value() &&
               json::parse("daxctl", dax, kLimits).has_value();
    });
    state.SetBytesProcessed(state.iterations() *
                            static_cast<std::int64_t>(cxl.size() + dax.size()));
}
BENCHMARK(captured_machine)->Arg(1000)->Arg(8000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cxlpool::bench

BENCHMARK_MAIN();

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

using test::read_golden;
using test::read_text;
using testing::AllOf;
using testing::HasSubstr;

class Selector : public testing::Test {
  protected:
    void use(Topology topology) {
        topology_ = std::move(topology);
        assessment_ = assess(topology_);
    }
    std::string found(const PoolSelector& selector) const {
        const auto pool = find_pool(topology_, assessment_, selector);
        return pool ? pool->name : "error: " + pool.error().message();
    }
    Error error(const PoolSelector& selector) const {
        auto pool = find_pool(topology_, assessment_, selector);
        if (pool) {
            ADD_FAILURE() << "found " << pool->name;
            return Error{Errc::ok, ""};
        }
        return std::move(pool).error();
    }

    Topology topology_;
    Assessment assessment_;
};

PoolSelector serial(std::uint64_t number) {
    return PoolSelector{.serial = number, .region = {}, .dax_device = {}, .sysfs_path = {}};
}
PoolSelector region(std::string name) {
    return PoolSelector{
        .serial = {}, .region = std::move(name), .dax_device = {}, .sysfs_path = {}};
}
PoolSelector dax(std::string name) {
    return PoolSelector{
        .serial = {}, .region = {}, .dax_device = std::move(name), .sysfs_path = {}};
}
PoolSelector path(std::string name) {
    return PoolSelector{
        .serial = {}, .region = {}, .dax_device = {}, .sysfs_path = std::move(name)};
}

TEST_F(Selector, EveryNameOfTheGuestsPool) {
    use(read_golden({"guest-pmem-x2.cxl-list.json", "guest-pmem-x2.daxctl-list.json"}));
    topology_.memdevs[0].sysfs_path = "/sys/devices/pci0000:0c/0000:0c:00.0/0000:0d:00.0/mem1";
    topology_.regions[0].sysfs_path = "/sys/devices/platform/ACPI0017:00/root0/decoder0.0/region0";
    // A pool over several devices is found by the serial of any.
    EXPECT_EQ(found(serial(4660)), "dax0.0");
    EXPECT_EQ(found(serial(22136)), "dax0.0");
    EXPECT_EQ(found(region("region0")), "dax0.0");
    EXPECT_EQ(found(dax("dax0.0")), "dax0.0");
    EXPECT_EQ(found(dax("/dev/dax0.0")), "dax0.0");
    const std::string dax_path = "/platform/ACPI0017:00/root0/nvdimm-bridge0/ndbus0/region0/dax0.0";
    EXPECT_EQ(found(path(dax_path)), "dax0.0");
    EXPECT_EQ(found(path("/sys/devices" + dax_path + "/")), "dax0.0");
    EXPECT_EQ(found(path("/sys/bus/dax/devices/dax0.0")), "dax0.0");
    EXPECT_EQ(found(path(topology_.memdevs[0].sysfs_path)), "dax0.0");
    EXPECT_EQ(found(path(topology_.regions[0].sysfs_path)), "dax0.0");
}

TEST_F(Selector, NotFoundSaysWhatThereIs) {
    use(read_golden({"guest-pmem.cxl-list.json", "guest-pmem.daxctl-list.json"}));
    for (const PoolSelector& selector :
         {serial(5), region("region9"), dax("dax9.9"), path("/sys/nowhere"), path("/")}) {
        const Error e = error(selector);
        EXPECT_EQ(e.code(), Errc::not_found);
        EXPECT_THAT(e.message(), HasSubstr("there is: dax0.0 serial 4660"));
    }
    use(Topology{});
    EXPECT_THAT(error(dax("dax0.0")).message(), HasSubstr("there is none at all"));
}

TEST_F(Selector, ExactlyOneNameMustBeGiven) {
    use(Topology{});
    EXPECT_EQ(error(PoolSelector{}).code(), Errc::invalid_argument);
    PoolSelector two = serial(1);
    two.region = "region0";
    EXPECT_EQ(error(two).code(), Errc::invalid_argument);
}

TEST_F(Selector, SerialsThatAreNoIdentity) {
    use(read_text(R"([{"memdev":"mem0","serial":0},{"memdev":"mem1","serial":7},
                      {"memdev":"mem2","serial":7}])"));
    const Error zero = error(serial(0));
    EXPECT_EQ(zero.code(), Errc::invalid_argument);
    EXPECT_THAT(zero.message(), HasSubstr("by region, dax device or path"));
    const Error twice = error(serial(7));
    EXPECT_EQ(twice.code(), Errc::invalid_argument);
    EXPECT_THAT(twice.message(), AllOf(HasSubstr("mem1, mem2"), HasSubstr("several devices")));
}

TEST_F(Selector, SeveralPoolsOfOneRegionAreAllNamed) {
    use(read_text(R"([{"memdevs":[{"memdev":"mem0","serial":9}]},
      {"regions":[{"region":"region0","size":8192,"decode_state":"commit",
        "mappings":[{"position":0,"memdev":"mem0"}],
        "daxregion":{"id":0,"align":4096,"devices":[
          {"chardev":"dax0.0","size":4096,"mode":"devdax"},
          {"chardev":"dax0.1","size":4096,"mode":"devdax"}]}}]}])"));
    for (const PoolSelector& selector : {serial(9), region("region0")}) {
        const Error e = error(selector);
        EXPECT_EQ(e.code(), Errc::invalid_argument);
        EXPECT_THAT(e.message(), HasSubstr("several pools: dax0.0, dax0.1"));
    }
    EXPECT_EQ(found(dax("dax0.1")), "dax0.1");
}

TEST_F(Selector, ADeviceThatIsNoPoolSaysWhy) {
    use(read_golden({"a10-partially-online-busy.daxctl-list.json"}));
    const Error ram = error(dax("/dev/dax0.0"));
    EXPECT_EQ(ram.code(), Errc::not_found);
    EXPECT_THAT(ram.message(), HasSubstr("504/512 blocks online"));
    EXPECT_THAT(error(path("/platform/hmem.0")).message(), HasSubstr("504/512"));

    use(read_golden({"a17-region-reset-disabled.cxl-list.json"}));
    EXPECT_THAT(error(region("region0")).message(), HasSubstr("region0 is not committed"));

    use(read_text(R"([{"memdev":"mem0","serial":5,"ram_size":4096},
                      {"memdev":"mem1","serial":6,"ram_size":4096}])"));
    EXPECT_THAT(error(serial(6)).message(), HasSubstr("unprovisioned"));

    use(read_text(R"([{"chardev":"dax0.0","size":0,"mode":"devdax"}])"));
    EXPECT_THAT(error(dax("dax0.0")).message(), HasSubstr("seed"));
}

}  // namespace
}  // namespace cxlpool

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numaif.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <vector>

#include "memory/guarded.hpp"
#include "memory/provider.hpp"
#include "support/processes.hpp"
#include "support/scratch_tree.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;

MemfdOptions options_of(std::uint64_t capacity_bytes) {
    MemfdOptions options;
    options.pool_name = "m0";
    options.capacity_bytes = capacity_bytes;
    options.hugepages = HugePages::never;
    return options;
}

std::unique_ptr<SegmentProvider> provider_of(const MemfdOptions& options) {
    auto made = make_memfd_provider(options);
    if (!made) {
        ADD_FAILURE() << made.error().message();
        return nullptr;
    }
    return std::move(made).value();
}

std::uint64_t populated_bytes(Segment& segment) {
    const UniqueFd fd = *segment.open_readable();
    struct stat status = {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

mode_t mode_of(const UniqueFd& fd) {
    struct stat status = {};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return status.st_mode & 07777U;
}

TEST(MemfdProvider, SaysWhatItIs) {
    const auto provider = provider_of(options_of(10 * kMiB + 17));
    const ProviderTraits& traits = provider->traits();
    EXPECT_EQ(traits.kind, "memfd");
    EXPECT_EQ(traits.isolation, Isolation::kernel);
    EXPECT_FALSE(traits.persistent);
    EXPECT_FALSE(traits.single_segment);
    EXPECT_EQ(traits.alignment_bytes, 4096U);
    EXPECT_EQ(traits.capacity_bytes, 10 * kMiB);
    EXPECT_EQ(traits.largest_segment_bytes, 10 * kMiB);
}

TEST(MemfdProvider, RefusesACapacityThatIsNone) {
    for (const std::uint64_t bad :
         {std::uint64_t{0}, std::uint64_t{4095}, std::numeric_limits<std::uint64_t>::max()}) {
        const auto made = make_memfd_provider(options_of(bad));
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code(), Errc::invalid_argument);
        EXPECT_THAT(made.error().message(), HasSubstr("pool 'm0'"));
    }
}

TEST(MemfdProvider, ModesAndSealsFitTheUse) {
    const auto provider = provider_of(options_of(4 * kMiB));
    const auto own = *provider->create_segment(kMiB, SegmentUse::private_writable);
    const auto shared = *provider->create_segment(kMiB, SegmentUse::shared_read_only);
    const UniqueFd writable = *own->open_writable();
    const UniqueFd readable = *shared->open_readable();
    EXPECT_EQ(mode_of(writable), 0600U);
    EXPECT_EQ(mode_of(readable), 0400U);
    constexpr int kFixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    constexpr int kAnyWrite = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
    EXPECT_EQ(::fcntl(writable.get(), F_GET_SEALS) & (kFixed | kAnyWrite), kFixed);
    EXPECT_EQ(::fcntl(readable.get(), F_GET_SEALS) & (kFixed | kAnyWrite),
              kFixed | F_SEAL_FUTURE_WRITE);
    EXPECT_NE(::fcntl(writable.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(readable.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(MemfdProvider, AnEngineCannotSealAgainstTheDaemon) {
    const auto provider = provider_of(options_of(kMiB));
    const auto own = *provider->create_segment(kMiB, SegmentUse::private_writable);
    const UniqueFd writable = *own->open_writable();
    EXPECT_EQ(::fcntl(writable.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    EXPECT_EQ(errno, EPERM);
}

// Whatever a holder may do to a file that it can write, a reader of a frozen one may not.
TEST(MemfdProvider, TheOwnerCannotReopenAFrozenSegmentForWriting) {
    const auto provider = provider_of(options_of(kMiB));
    const auto shared = *provider->create_segment(kMiB, SegmentUse::shared_read_only);
    const UniqueFd readable = *shared->open_readable();
    ASSERT_EQ(::fchmod(readable.get(), 0600), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(readable.get());
    const UniqueFd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_TRUE(again);
    EXPECT_EQ(::mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0),
              MAP_FAILED);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::write(again.get(), "x", 1), -1);
    EXPECT_EQ(::fallocate(again.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
}

TEST(MemfdProvider, EveryPageOfAShortSegmentIsPopulated) {
    const auto provider = provider_of(options_of(3 * kMiB));
    for (const std::uint64_t size : {std::uint64_t{4096}, kMiB / 4}) {
        const auto segment = *provider->create_segment(size, SegmentUse::private_writable);
        EXPECT_TRUE(segment->populated());
        EXPECT_EQ(populated_bytes(*segment), size);
    }
}

// The reactor makes segments, and clearing a long one there would keep every tenant waiting.
TEST(MemfdProvider, ALongSegmentIsPopulatedByWhoeverOverwritesIt) {
    MemfdOptions transparent = options_of(3 * kMiB);
    transparent.hugepages = HugePages::automatic;
    for (const MemfdOptions& options : {options_of(3 * kMiB), transparent}) {
        const auto provider = provider_of(options);
        const auto own = *provider->create_segment(kMiB / 4 + 1, SegmentUse::private_writable);
        EXPECT_FALSE(own->populated());
        EXPECT_EQ(populated_bytes(*own), 0U);
        EXPECT_TRUE(guarded_zero(own->bytes()));
        EXPECT_EQ(populated_bytes(*own), own->size_bytes());
        const auto shared = *provider->create_segment(kMiB, SegmentUse::shared_read_only);
        EXPECT_FALSE(shared->populated());
        EXPECT_EQ(populated_bytes(*shared), 0U);
        const std::vector<std::byte> source(kMiB, std::byte{5});
        EXPECT_TRUE(guarded_copy(shared->bytes(), source));
        EXPECT_EQ(populated_bytes(*shared), kMiB);
    }
}

TEST(MemfdProvider, ADestroyedPrivateSegmentIsGoneForItsHoldersToo) {
    const auto provider = provider_of(options_of(kMiB));
    auto segment = *provider->create_segment(kMiB, SegmentUse::private_writable);
    const UniqueFd held = *segment->open_writable();
    segment->bytes()[4096] = std::byte{9};
    segment.reset();
    struct stat status = {};
    ASSERT_EQ(::fstat(held.get(), &status), 0);
    EXPECT_EQ(status.st_blocks, 0);
    char byte = 1;
    EXPECT_EQ(::pread(held.get(), &byte, 1, 4096), 1);
    EXPECT_EQ(byte, 0);
}

TEST(MemfdProvider, TheDaemonSurvivesAHolePunchedByAnEngine) {
    const auto provider = provider_of(options_of(kMiB));
    const auto segment = *provider->create_segment(kMiB, SegmentUse::private_writable);
    const UniqueFd held = *segment->open_writable();
    ASSERT_EQ(::fallocate(held.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kMiB), 0);
    EXPECT_TRUE(guarded_zero(segment->bytes()));
}

TEST(MemfdProvider, SizesAreRoundedUpAndCounted) {
    const auto provider = provider_of(options_of(2 * kMiB));
    auto first = *provider->create_segment(kMiB + 1, SegmentUse::private_writable);
    EXPECT_EQ(first->size_bytes(), kMiB + 4096);
    EXPECT_EQ(first->bytes().size(), kMiB + 4096);
    const auto second = provider->create_segment(kMiB, SegmentUse::shared_read_only);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::capacity);
    EXPECT_EQ(second.error().message(),
              "no room for a segment of 1048576 bytes: 1044480 of "
              "2097152 bytes are free");
    first.reset();
    EXPECT_TRUE(provider->create_segment(2 * kMiB, SegmentUse::shared_read_only));
}

TEST(MemfdProvider, ASegmentMayOutliveItsProvider) {
    auto provider = provider_of(options_of(kMiB));
    const auto segment = *provider->create_segment(kMiB, SegmentUse::private_writable);
    provider.reset();
    segment->bytes()[0] = std::byte{1};
    EXPECT_EQ(segment->bytes()[0], std::byte{1});
}

TEST(MemfdProvider, RunningOutOfDescriptorsIsAnErrorAndLeaksNothing) {
    const auto provider = provider_of(options_of(kMiB));
    const auto segment = *provider->create_segment(4096, SegmentUse::private_writable);
    const std::size_t before = test::open_descriptors();
    rlimit old = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
    const rlimit none = {1, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto create = provider->create_segment(4096, SegmentUse::private_writable);
    const auto writable = segment->open_writable();
    const auto readable = segment->open_readable();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    EXPECT_EQ(create.error().code(), Errc::limit_exceeded);
    EXPECT_THAT(create.error().message(), HasSubstr("LimitNOFILE="));
    EXPECT_EQ(writable.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(readable.error().code(), Errc::limit_exceeded);
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_TRUE(provider->create_segment(kMiB - 4096, SegmentUse::private_writable));
}

TEST(MemfdProvider, AnAddressSpaceLimitIsAnErrorAndLeaksNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer needs the address space";
#endif
    const auto provider = provider_of(options_of(1024 * kMiB));
    const std::size_t before = test::open_descriptors();
    rlimit old = {};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &old), 0);
    const rlimit little = {512 * kMiB, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &little), 0);
    const auto create = provider->create_segment(1024 * kMiB, SegmentUse::private_writable);
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &old), 0);
    ASSERT_FALSE(create);
    EXPECT_EQ(create.error().code(), Errc::out_of_memory);
    EXPECT_EQ(test::open_descriptors(), before);
}

// --- memory that the host does not have ----------------------------------------------------------

class MemfdOnScratchHost : public ::testing::Test {
  protected:
    void SetUp() override {
        tree_.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 1024 kB\n");
        tree_.write("proc/self/status", "Mems_allowed_list:\t0\n");
        tree_.write("sys/devices/system/node/online", "0-1\n");
        tree_.write("sys/devices/system/node/node1/cpulist", "\n");
    }
    MemfdOptions options(std::uint64_t capacity_bytes) const {
        MemfdOptions options = options_of(capacity_bytes);
        options.host = {tree_.path("sys"), tree_.path("proc")};
        return options;
    }
    test::ScratchTree tree_;
};

TEST_F(MemfdOnScratchHost, MoreThanIsAvailableIsRefusedBeforeTheKernelKillsSomebody) {
    const auto provider = provider_of(options(8 * kMiB));
    EXPECT_TRUE(provider->create_segment(kMiB, SegmentUse::private_writable));
    const auto refused = provider->create_segment(kMiB + 1, SegmentUse::private_writable);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::out_of_memory);
    EXPECT_THAT(refused.error().message(), HasSubstr("only 1048576 bytes are available"));
    EXPECT_TRUE(provider->create_segment(kMiB, SegmentUse::private_writable));
}

// The host's number does not know yet of what will be populated.
TEST_F(MemfdOnScratchHost, WhatIsNotPopulatedYetIsNotPromisedTwice) {
    const auto provider = provider_of(options(8 * kMiB));
    auto first = *provider->create_segment(kMiB / 2, SegmentUse::private_writable);
    const auto refused = provider->create_segment(kMiB / 2 + 1, SegmentUse::private_writable);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::out_of_memory);
    EXPECT_THAT(refused.error().message(), HasSubstr("only 524288 bytes are available"));
    // A part of it is populated, and the host's number (which a test does not change) knows it.
    ASSERT_TRUE(guarded_zero(first->bytes().first(kMiB / 4)));
    EXPECT_TRUE(provider->create_segment(kMiB * 3 / 4, SegmentUse::private_writable));
    first.reset();
    EXPECT_TRUE(provider->create_segment(kMiB, SegmentUse::private_writable));
}

TEST_F(MemfdOnScratchHost, ANodeThatIsNotThereOrNotAllowedIsRefusedAtTheStart) {
    MemfdOptions wrong = options(8 * kMiB);
    wrong.numa_node = 9;
    auto made = make_memfd_provider(wrong);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Errc::unavailable);
    EXPECT_EQ(made.error().message(), "pool 'm0': NUMA node 9 does not exist; nodes online: 0-1");
    wrong.numa_node = 1;
    made = make_memfd_provider(wrong);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message(), HasSubstr("not allowed for this process"));
}

TEST_F(MemfdOnScratchHost, RequiredHugePagesThatAreMissingNameTheSysctl) {
    MemfdOptions wanting = options(8 * kMiB);
    wanting.hugepages = HugePages::require;
    auto made = make_memfd_provider(wanting);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Errc::unavailable);
    EXPECT_EQ(made.error().message(),
              "pool 'm0': hugepages = \"require\": the capacity takes 4 pages of 2 MiB, 0 are "
              "configured; raise vm.nr_hugepages (sysctl)");
    tree_.write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "4\n");
    made = make_memfd_provider(wanting);
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->traits().alignment_bytes, 2 * kMiB);
}

// The host claims free huge pages that it does not have: somebody else took them meanwhile.
TEST_F(MemfdOnScratchHost, AutomaticFallsBackToOrdinaryPages) {
    if (huge_page_counts({}, std::nullopt).free > 0) {
        GTEST_SKIP() << "this machine has free huge pages";
    }
    tree_.write("proc/meminfo", "MemAvailable: 8192 kB\n");
    tree_.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "64\n");
    MemfdOptions wanting = options(8 * kMiB);
    wanting.hugepages = HugePages::automatic;
    const std::size_t before = test::open_descriptors();
    {
        const auto provider = provider_of(wanting);
        const auto segment = provider->create_segment(4 * kMiB, SegmentUse::private_writable);
        ASSERT_TRUE(segment) << segment.error().message();
        (*segment)->bytes()[4 * kMiB - 1] = std::byte{1};
        wanting.hugepages = HugePages::require;
        tree_.write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "64\n");
        const auto strict = provider_of(wanting);
        const auto refused = strict->create_segment(4 * kMiB, SegmentUse::private_writable);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), Errc::out_of_memory);
    }
    EXPECT_EQ(test::open_descriptors(), before);
}

TEST(MemfdProvider, BindsToTheNode) {
    if (!check_numa_node({}, 0)) {
        GTEST_SKIP() << check_numa_node({}, 0).error().message();
    }
    MemfdOptions bound = options_of(kMiB);
    bound.numa_node = 0;
    const auto provider = provider_of(bound);
    const auto segment = provider->create_segment(kMiB, SegmentUse::private_writable);
    ASSERT_TRUE(segment) << segment.error().message();
    int mode = -1;
    unsigned long nodes[16] = {};
    ASSERT_EQ(::get_mempolicy(&mode, nodes, 1024, (*segment)->bytes().data(), MPOL_F_ADDR), 0);
    EXPECT_EQ(mode, MPOL_BIND);
    EXPECT_EQ(nodes[0], 1U);
}

TEST(Provider, Words) {
    EXPECT_EQ(to_word(Isolation::kernel), "kernel");
    EXPECT_EQ(to_word(Isolation::cooperative), "cooperative");
    EXPECT_EQ(*parse_hugepages("auto"), HugePages::automatic);
    EXPECT_EQ(*parse_hugepages("never"), HugePages::never);
    EXPECT_EQ(*parse_hugepages("require"), HugePages::require);
    for (const char* bad : {"", "Auto", "always", "2MiB"}) {
        const auto parsed = parse_hugepages(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_EQ(parsed.error().code(), Errc::unknown_word);
    }
}

}  // namespace
}  // namespace cxlpool

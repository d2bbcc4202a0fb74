// What every segment provider promises, asked of each of them.
//
// usage: memory_contract_test [--device PATH] [GoogleTest options]
//
// --device (or CXLPOOL_TEST_DEVDAX) adds a real dax device. Its bytes are overwritten.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "memory/provider.hpp"
#include "support/fake_devdax.hpp"
#include "support/processes.hpp"

namespace cxlpool {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr uid_t kOtherUser = 1001;
constexpr const char* kDeviceVariable = "CXLPOOL_TEST_DEVDAX";

using Provider = std::unique_ptr<SegmentProvider>;

struct Backend {
    std::string name;
    std::function<Result<Provider>()> make;

    friend void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }
};

Backend memfd(const std::string& name, HugePages hugepages, std::optional<std::uint32_t> node) {
    return {name, [=] {
                MemfdOptions options;
                options.pool_name = name;
                options.capacity_bytes = 16 * kMiB;
                options.hugepages = hugepages;
                options.numa_node = node;
                return make_memfd_provider(options);
            }};
}

Backend fake_devdax() {
    return {"devdax_fake", []() -> Result<Provider> {
                // A device and its number stay for as long as the machine runs.
                static auto* const device = new test::FakeDevdax(16 * kMiB, 2 * kMiB);
                return make_devdax_provider(device->options(), *device);
            }};
}

Backend real_devdax(const std::string& path) {
    return {"devdax", [path] {
                DevdaxOptions options;
                options.pool_name = "devdax";
                options.device_path = path;
                return make_devdax_provider(options);
            }};
}

bool huge_pages_here() {
    return huge_page_counts({}, std::nullopt).free >= 8;
}
bool node_here() {
    return check_numa_node({}, 0).has_value();
}

std::vector<Backend> backends() {
    std::vector<Backend> all{memfd("memfd", HugePages::never, std::nullopt),
                             memfd("memfd_auto", HugePages::automatic, std::nullopt),
                             fake_devdax()};
    if (huge_pages_here()) {
        all.push_back(memfd("memfd_hugetlb", HugePages::require, std::nullopt));
    }
    if (node_here()) {
        all.push_back(memfd("memfd_node0", HugePages::never, 0));
    }
    if (const char* path = std::getenv(kDeviceVariable)) {
        all.push_back(real_devdax(path));
    }
    return all;
}

// What is left out on this machine is said once, not once a test.
TEST(Backends, HugePages) {
    if (!huge_pages_here()) {
        GTEST_SKIP() << "fewer than 8 free pages of 2 MiB: sysctl vm.nr_hugepages=16";
    }
}
TEST(Backends, NumaNode) {
    if (!node_here()) {
        GTEST_SKIP() << check_numa_node({}, 0).error().message();
    }
}
TEST(Backends, DaxDevice) {
    if (std::getenv(kDeviceVariable) == nullptr) {
        GTEST_SKIP() << "no dax device given: --device PATH or " << kDeviceVariable;
    }
}

class MapGuard {
  public:
    MapGuard(int fd, std::uint64_t length, int prot)
        : at_(::mmap(nullptr, length, prot, MAP_SHARED, fd, 0)), length_(length), error_(errno) {}
    MapGuard(const MapGuard&) = delete;
    MapGuard& operator=(const MapGuard&) = delete;
    ~MapGuard() {
        if (ok()) {
            ::munmap(at_, length_);
        }
    }
    bool ok() const { return at_ != MAP_FAILED; }
    int error() const { return ok() ? 0 : error_; }
    void* get() const { return at_; }
    std::byte* data() const { return static_cast<std::byte*>(at_); }

  private:
    void* at_;
    std::uint64_t length_;
    int error_;
};

std::size_t mapping_lines() {
    std::ifstream maps("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(maps, line);) {
        // What the C library's heap does is not of interest.
        lines += line.find("cxlpool:") != std::string::npos ||
                         line.find("/dev/dax") != std::string::npos ||
                         line.find("fake-dax") != std::string::npos
                     ? 1
                     : 0;
    }
    return lines;
}

class SegmentProviderContract : public ::testing::TestWithParam<Backend> {
  protected:
    void SetUp() override {
        auto made = GetParam().make();
        ASSERT_TRUE(made) << made.error().message();
        provider_ = std::move(made).value();
    }

    const ProviderTraits& traits() const { return provider_->traits(); }
    // A size that leaves room for another segment, where there can be one.
    std::uint64_t some_size() const {
        return std::min<std::uint64_t>(4 * kMiB, traits().largest_segment_bytes);
    }
    std::unique_ptr<Segment> create(SegmentUse use) {
        auto made = provider_->create_segment(some_size(), use);
        EXPECT_TRUE(made) << made.error().message();
        return std::move(made).value();
    }
    // A few places are enough, and an emulated device is slow.
    static std::vector<std::uint64_t> places(const Segment& segment) {
        const std::uint64_t last = segment.size_bytes() - 1;
        return {0, 4095, 4096, last / 2, last - 4096, last};
    }
    static constexpr SegmentUse kUses[] = {SegmentUse::private_writable,
                                           SegmentUse::shared_read_only};

    Provider provider_;
};

INSTANTIATE_TEST_SUITE_P(Every, SegmentProviderContract, ::testing::ValuesIn(backends()),
                         [](const auto& each) { return each.param.name; });

TEST_P(SegmentProviderContract, TraitsFitTogether) {
    const std::uint64_t alignment = traits().alignment_bytes;
    EXPECT_GE(alignment, 4096U);
    EXPECT_EQ(alignment & (alignment - 1), 0U);
    EXPECT_GT(traits().capacity_bytes, 0U);
    EXPECT_EQ(traits().capacity_bytes % alignment, 0U);
    EXPECT_LE(traits().largest_segment_bytes, traits().capacity_bytes);
    EXPECT_FALSE(traits().kind.empty());
    if (traits().single_segment) {
        EXPECT_EQ(traits().largest_segment_bytes, traits().capacity_bytes);
    }
}

TEST_P(SegmentProviderContract, SizesAreRoundedUpToTheAlignment) {
    const auto segment = *provider_->create_segment(1, SegmentUse::private_writable);
    EXPECT_EQ(segment->size_bytes(),
              traits().single_segment ? traits().capacity_bytes : traits().alignment_bytes);
    EXPECT_EQ(segment->bytes().size(), segment->size_bytes());
}

TEST_P(SegmentProviderContract, ReadersSeeWhatTheDaemonWrites) {
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        const UniqueFd fd = *segment->open_readable();
        const MapGuard map(fd.get(), segment->size_bytes(), PROT_READ);
        ASSERT_TRUE(map.ok()) << std::strerror(map.error());
        int value = 1;
        for (const std::uint64_t at : places(*segment)) {
            segment->bytes()[at] = static_cast<std::byte>(++value);
            EXPECT_EQ(map.data()[at], static_cast<std::byte>(value)) << at;
        }
    }
}

TEST_P(SegmentProviderContract, TheDaemonAndReadersSeeWhatAWriterWrites) {
    const auto segment = create(SegmentUse::private_writable);
    const UniqueFd fd = *segment->open_writable();
    const MapGuard map(fd.get(), segment->size_bytes(), PROT_READ | PROT_WRITE);
    ASSERT_TRUE(map.ok()) << std::strerror(map.error());
    const UniqueFd reading = *segment->open_readable();
    const MapGuard reader(reading.get(), segment->size_bytes(), PROT_READ);
    ASSERT_TRUE(reader.ok()) << std::strerror(reader.error());
    int value = 100;
    for (const std::uint64_t at : places(*segment)) {
        map.data()[at] = static_cast<std::byte>(++value);
        EXPECT_EQ(segment->bytes()[at], static_cast<std::byte>(value)) << at;
        EXPECT_EQ(reader.data()[at], static_cast<std::byte>(value)) << at;
    }
}

TEST_P(SegmentProviderContract, OnlyTheDaemonWritesASharedSegment) {
    const auto segment = create(SegmentUse::shared_read_only);
    const auto writable = segment->open_writable();
    if (traits().isolation == Isolation::kernel) {
        ASSERT_FALSE(writable);
        EXPECT_EQ(writable.error().code(), Errc::not_permitted);
    } else {
        EXPECT_TRUE(writable);
    }
}

// --- a reader cannot write
// -------------------------------------------------------------------------

TEST_P(SegmentProviderContract, AReadersDescriptorCannotBeMappedWritable) {
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        const UniqueFd fd = *segment->open_readable();
        EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
        for (const int prot : {PROT_WRITE, PROT_READ | PROT_WRITE}) {
            const MapGuard map(fd.get(), segment->size_bytes(), prot);
            EXPECT_FALSE(map.ok());
            EXPECT_THAT(map.error(), ::testing::AnyOf(EACCES, EPERM));
        }
    }
}

TEST_P(SegmentProviderContract, AReadersMappingCannotBeMadeWritable) {
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        const UniqueFd fd = *segment->open_readable();
        const MapGuard map(fd.get(), segment->size_bytes(), PROT_READ);
        ASSERT_TRUE(map.ok()) << std::strerror(map.error());
        EXPECT_EQ(::mprotect(map.get(), segment->size_bytes(), PROT_READ | PROT_WRITE), -1);
        EXPECT_EQ(errno, EACCES);
    }
}

TEST_P(SegmentProviderContract, AReadersDescriptorCannotBeWrittenCutOrPunched) {
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        segment->bytes()[0] = std::byte{0x5a};
        const UniqueFd fd = *segment->open_readable();
        EXPECT_EQ(::write(fd.get(), "x", 1), -1);
        EXPECT_EQ(::pwrite(fd.get(), "x", 1, 0), -1);
        EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
        EXPECT_EQ(::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
        EXPECT_EQ(segment->bytes()[0], std::byte{0x5a});
    }
}

// The exit status of a child of another user that opens what it was given once more.
int reopen_as_other_user(int fd, int flags) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return test::run_as(kOtherUser, [&] {
        const int again = ::open(path.c_str(), flags | O_CLOEXEC);
        return again >= 0 ? 0 : errno == EACCES ? 13 : 99;
    });
}

TEST_P(SegmentProviderContract, AnotherUserCannotReopenADescriptorForWriting) {
    if (!test::can_change_user()) {
        GTEST_SKIP() << "not root, so there is no second uid to try with";
    }
    // The same attempt on a file with the mode of a new memfd succeeds, so it can be trusted.
    const UniqueFd open_to_all(::memfd_create("open-to-all", MFD_CLOEXEC));
    ASSERT_EQ(::fchmod(open_to_all.get(), 0777), 0);
    ASSERT_EQ(reopen_as_other_user(open_to_all.get(), O_RDWR), 0);
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        const UniqueFd fd = *segment->open_readable();
        EXPECT_EQ(reopen_as_other_user(fd.get(), O_RDWR), EACCES);
        EXPECT_EQ(reopen_as_other_user(fd.get(), O_WRONLY), EACCES);
        EXPECT_EQ(reopen_as_other_user(fd.get(), O_RDWR | O_TRUNC), EACCES);
    }
}

TEST_P(SegmentProviderContract, AnotherUserCanReadThroughItsDescriptor) {
    if (!test::can_change_user()) {
        GTEST_SKIP() << "not root, so there is no second uid to try with";
    }
    for (const SegmentUse use : kUses) {
        const auto segment = create(use);
        segment->bytes()[4096] = std::byte{0x77};
        const UniqueFd fd = *segment->open_readable();
        const int seen = test::run_as(kOtherUser, [&] {
            void* const at =
                ::mmap(nullptr, segment->size_bytes(), PROT_READ, MAP_SHARED, fd.get(), 0);
            if (at == MAP_FAILED) {
                return 99;
            }
            return static_cast<const unsigned char*>(at)[4096] == 0x77 ? 0 : 98;
        });
        EXPECT_EQ(seen, 0);
    }
}

// --- what a segment is
// -----------------------------------------------------------------------------

TEST_P(SegmentProviderContract, TheSizeIsFixedForWritersToo) {
    const auto segment = create(SegmentUse::private_writable);
    const UniqueFd fd = *segment->open_writable();
    const auto size = static_cast<off_t>(segment->size_bytes());
    EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
    EXPECT_EQ(::ftruncate(fd.get(), size - 4096), -1);
    EXPECT_EQ(::ftruncate(fd.get(), size + 4096), -1);
    EXPECT_EQ(::fallocate(fd.get(), 0, 0, size + 4096), -1);
    segment->bytes()[segment->size_bytes() - 1] = std::byte{1};
}

TEST_P(SegmentProviderContract, ADescriptorExposesNothingBehindItsSegment) {
    const auto segment = create(SegmentUse::private_writable);
    const UniqueFd fd = *segment->open_readable();
    char byte = 0;
    EXPECT_LE(::pread(fd.get(), &byte, 1, static_cast<off_t>(segment->size_bytes())), 0);
}

TEST_P(SegmentProviderContract, DescriptorsAreNotInheritedByPrograms) {
    const auto segment = create(SegmentUse::private_writable);
    const UniqueFd readable = *segment->open_readable();
    const UniqueFd writable = *segment->open_writable();
    EXPECT_NE(::fcntl(readable.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(writable.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(SegmentProviderContract, NewSegmentsAreZero) {
    if (traits().single_segment) {
        // Its bytes are as found, and stay.
        create(SegmentUse::private_writable)->bytes()[4096] = std::byte{0x42};
        EXPECT_EQ(create(SegmentUse::private_writable)->bytes()[4096], std::byte{0x42});
        return;
    }
    for (int round = 0; round < 3; ++round) {
        for (const SegmentUse use : kUses) {
            const auto segment = create(use);
            const std::span<std::byte> bytes = segment->bytes();
            EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(),
                                    [](std::byte b) { return b == std::byte{0}; }));
            std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
        }
    }
}

TEST_P(SegmentProviderContract, TwoSegmentsHaveDifferentBytes) {
    if (traits().single_segment) {
        EXPECT_EQ(traits().isolation, Isolation::cooperative);
        return;
    }
    const auto one = create(SegmentUse::private_writable);
    const auto other = create(SegmentUse::private_writable);
    one->bytes()[0] = std::byte{1};
    other->bytes()[0] = std::byte{2};
    const UniqueFd fd = *one->open_readable();
    const MapGuard map(fd.get(), one->size_bytes(), PROT_READ);
    EXPECT_EQ(map.data()[0], std::byte{1});
}

// --- bounds
// ----------------------------------------------------------------------------------------

TEST_P(SegmentProviderContract, RefusesSizesThatCannotBe) {
    for (const std::uint64_t bad : {std::uint64_t{0}, traits().largest_segment_bytes + 1,
                                    std::numeric_limits<std::uint64_t>::max()}) {
        const auto made = provider_->create_segment(bad, SegmentUse::private_writable);
        ASSERT_FALSE(made) << bad;
        EXPECT_EQ(made.error().code(), Errc::invalid_argument);
    }
}

TEST_P(SegmentProviderContract, ExhaustionIsCapacityAndEverythingComesBack) {
    const std::size_t descriptors = test::open_descriptors();
    const std::size_t mappings = mapping_lines();
    std::size_t first_round = 0;
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<Segment>> held;
        for (;;) {
            auto made = provider_->create_segment(some_size(), held.size() % 2 == 0
                                                                   ? SegmentUse::private_writable
                                                                   : SegmentUse::shared_read_only);
            if (!made) {
                EXPECT_EQ(made.error().code(), Errc::capacity);
                break;
            }
            held.push_back(std::move(made).value());
        }
        EXPECT_EQ(held.size(), traits().single_segment
                                   ? 1U
                                   : traits().capacity_bytes / held.front()->size_bytes());
        EXPECT_EQ(mapping_lines(), mappings + held.size());
        first_round = round == 0 ? held.size() : first_round;
        EXPECT_EQ(held.size(), first_round);
    }
    EXPECT_EQ(test::open_descriptors(), descriptors);
    EXPECT_EQ(mapping_lines(), mappings);
}

TEST_P(SegmentProviderContract, NothingIsLeftOfAProvider) {
    provider_.reset();
    const std::size_t descriptors = test::open_descriptors();
    for (int round = 0; round < 20; ++round) {
        auto made = GetParam().make();
        ASSERT_TRUE(made);
        const auto segment = *(*made)->create_segment(1, SegmentUse::private_writable);
        const UniqueFd readable = *segment->open_readable();
        const UniqueFd writable = *segment->open_writable();
    }
    EXPECT_EQ(test::open_descriptors(), descriptors);
}

}  // namespace
}  // namespace cxlpool

int main(int argc, char** argv) {
    // Before GoogleTest asks for the list of backends.
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--device") == 0) {
            if (i + 1 == argc) {
                std::cerr << "memory_contract_test: --device needs a path, as in /dev/dax0.0\n";
                return 2;
            }
            ::setenv(cxlpool::kDeviceVariable, argv[i + 1], 1);
            std::copy(argv + i + 2, argv + argc, argv + i);
            argc -= 2;
            break;
        }
    }
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/fake_devdax.hpp"
#include "support/processes.hpp"

namespace cxlpool {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t kMiB = 1U << 20U;

class Devdax : public ::testing::Test {
  protected:
    void expect_refused(Errc code, const ::testing::Matcher<const std::string&>& text) {
        const auto made = make_devdax_provider(device_.options(), device_);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code(), code) << made.error().message();
        EXPECT_THAT(made.error().message(), StartsWith("pool 'd0': '/dev/dax0.0': "));
        EXPECT_THAT(made.error().message(), text);
    }
    std::unique_ptr<SegmentProvider> make() {
        auto made = make_devdax_provider(device_.options(), device_);
        EXPECT_TRUE(made) << made.error().message();
        return std::move(made).value();
    }

    test::FakeDevdax device_{8 * kMiB, 2 * kMiB};
};

TEST_F(Devdax, SaysWhatItIs) {
    const auto provider = make();
    const ProviderTraits& traits = provider->traits();
    EXPECT_EQ(traits.kind, "devdax");
    EXPECT_EQ(traits.isolation, Isolation::cooperative);
    EXPECT_TRUE(traits.single_segment);
    EXPECT_FALSE(traits.persistent);
    EXPECT_EQ(traits.alignment_bytes, 2 * kMiB);
    EXPECT_EQ(traits.capacity_bytes, 8 * kMiB);
    EXPECT_EQ(traits.largest_segment_bytes, 8 * kMiB);
    EXPECT_TRUE(traits.notes.empty());
    ASSERT_EQ(device_.opened.size(), 1U);
    EXPECT_EQ(device_.opened[0].second, O_RDWR | O_CLOEXEC);
}

TEST_F(Devdax, MapsTheWholeDeviceOnceAndUnmapsItWhole) {
    const auto provider = make();
    auto segment = *provider->create_segment(1, SegmentUse::shared_read_only);
    EXPECT_EQ(segment->size_bytes(), 8 * kMiB);
    segment->bytes()[8 * kMiB - 1] = std::byte{1};
    const auto second = provider->create_segment(1, SegmentUse::private_writable);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::capacity);
    segment.reset();
    EXPECT_EQ(device_.mapped.size(), 1U);
    EXPECT_EQ(device_.unmapped, device_.mapped);
    // The bytes are as they were left.
    segment = *provider->create_segment(8 * kMiB, SegmentUse::private_writable);
    EXPECT_EQ(segment->bytes()[8 * kMiB - 1], std::byte{1});
}

TEST_F(Devdax, RefusesSizesThatTheDeviceDoesNotHave) {
    const auto provider = make();
    for (const std::uint64_t bad : {std::uint64_t{0}, 8 * kMiB + 1}) {
        EXPECT_EQ(provider->create_segment(bad, SegmentUse::private_writable).error().code(),
                  Errc::invalid_argument);
    }
    EXPECT_TRUE(device_.mapped.empty());
}

TEST_F(Devdax, TheSegmentOutlivesItsProvider) {
    auto provider = make();
    const auto segment = *provider->create_segment(1, SegmentUse::private_writable);
    provider.reset();
    segment->bytes()[0] = std::byte{1};
    EXPECT_TRUE(segment->open_readable());
}

TEST_F(Devdax, WhatIsLessThanTheAlignmentStaysUnused) {
    device_.describe(0, std::to_string(7 * kMiB), std::to_string(2 * kMiB));
    const auto provider = make();
    EXPECT_EQ(provider->traits().capacity_bytes, 6 * kMiB);
    EXPECT_THAT(provider->traits().notes,
                ::testing::ElementsAre(HasSubstr("the last 1048576 bytes of dax0.0")));
    const auto segment = *provider->create_segment(1, SegmentUse::private_writable);
    EXPECT_EQ(segment->size_bytes(), 6 * kMiB);
}

TEST_F(Devdax, ASmallAlignmentIsNoted) {
    device_.describe(0, std::to_string(8 * kMiB), "4096\n");
    EXPECT_THAT(make()->traits().notes, ::testing::ElementsAre(HasSubstr("page tables")));
}

// --- where the size comes from -------------------------------------------------------------------

TEST_F(Devdax, TheSizeComesFromSysfs) {
    device_.describe(0, "0x800000\n", "0x200000\n");
    EXPECT_EQ(make()->traits().capacity_bytes, 8 * kMiB);
}

TEST_F(Devdax, ASeedDeviceIsNotUsable) {
    device_.describe(0, "0\n", "2097152\n");
    expect_refused(Errc::invalid_argument, HasSubstr("seed device"));
}

TEST_F(Devdax, AnUnknownOrImplausibleSizeIsRefused) {
    device_.tree.remove(test::FakeDevdax::directory(0) + "/size");
    expect_refused(Errc::unavailable, HasSubstr("size unknown"));
    device_.describe(0, "18446744073709551615\n", "2097152\n");
    expect_refused(Errc::invalid_argument, HasSubstr("implausible"));
    device_.describe(0, "many\n", "2097152\n");
    expect_refused(Errc::malformed, HasSubstr("'many'"));
}

TEST_F(Devdax, AnAlignmentThatIsNoneIsRefused) {
    for (const char* bad : {"0\n", "512\n", "3145728\n", "16777216\n"}) {
        device_.describe(0, "8388608\n", bad);
        expect_refused(Errc::invalid_argument, HasSubstr("alignment"));
    }
    device_.tree.remove(test::FakeDevdax::directory(0) + "/align");
    expect_refused(Errc::unavailable, HasSubstr("alignment unknown"));
}

TEST_F(Devdax, OnlyACharacterDeviceOfTheDaxSubsystemIsOpened) {
    device_.mode = S_IFREG | 0660;
    expect_refused(Errc::invalid_argument, HasSubstr("not a character device"));
    device_.mode = S_IFCHR | 0660;
    device_.tree.link(test::FakeDevdax::directory(0) + "/subsystem", "../../../bus/mem");
    expect_refused(Errc::invalid_argument, HasSubstr("subsystem 'mem'"));
    device_.rdev = makedev(252, 9);
    expect_refused(Errc::unavailable, HasSubstr("252:9' does not exist"));
    EXPECT_TRUE(device_.opened.empty());
}

TEST(DevdaxOnThisMachine, DevNullAndAFileAreNotDax) {
    DevdaxOptions options;
    options.pool_name = "d0";
    options.device_path = "/dev/null";
    const auto null = make_devdax_provider(options);
    ASSERT_FALSE(null);
    EXPECT_EQ(null.error().code(), Errc::invalid_argument);
    EXPECT_EQ(null.error().message(),
              "pool 'd0': '/dev/null': not a dax device but one of the subsystem 'mem'");
    const test::ScratchTree tree;
    tree.write("file", "x");
    options.device_path = tree.path("file");
    EXPECT_EQ(make_devdax_provider(options).error().code(), Errc::invalid_argument);
    options.device_path = tree.path("none");
    EXPECT_EQ(make_devdax_provider(options).error().code(), Errc::not_found);
}

// --- why it cannot be opened ---------------------------------------------------------------------

TEST_F(Devdax, NotInThisMountNamespace) {
    device_.stat_errno = ENOENT;
    expect_refused(Errc::not_found, AllOf(HasSubstr("mount namespace"), HasSubstr("(ENOENT)")));
    device_.stat_errno = EACCES;
    expect_refused(Errc::not_permitted, HasSubstr("directory"));
    device_.stat_errno = EIO;
    expect_refused(Errc::io, HasSubstr("(EIO)"));
}

TEST_F(Devdax, OwnerGroupAndModeDoNotAllowIt) {
    device_.open_errno = EACCES;
    expect_refused(Errc::not_permitted, AllOf(HasSubstr("owner 0, group 998 and mode 0660"),
                                              HasSubstr("udev rule"), HasSubstr("(EACCES)")));
}

TEST_F(Devdax, TheDeviceCgroupDoesNotAllowIt) {
    device_.open_errno = EPERM;
    expect_refused(Errc::not_permitted, AllOf(HasSubstr("device cgroup"), HasSubstr("DeviceAllow="),
                                              HasSubstr("(EPERM)")));
}

TEST_F(Devdax, ADeviceThatIsSystemRamIsNotOpened) {
    device_.set_driver("kmem");
    device_.open_errno = ENXIO;
    expect_refused(Errc::unavailable,
                   AllOf(HasSubstr("dax0.0 is system RAM (driver kmem)"),
                         HasSubstr("daxctl reconfigure-device --mode=devdax dax0.0")));
    EXPECT_TRUE(device_.opened.empty());
    device_.set_driver("fsdev_dax");
    expect_refused(Errc::unavailable, HasSubstr("driver 'fsdev_dax' (famfs"));
    device_.tree.remove(test::FakeDevdax::directory(0) + "/driver");
    expect_refused(Errc::unavailable, HasSubstr("no driver is bound to dax0.0"));
}

TEST_F(Devdax, ADeviceThatBecomesSystemRamWhileItIsOpened) {
    device_.open_errno = ENXIO;
    expect_refused(Errc::unavailable, AllOf(HasSubstr("system RAM"), HasSubstr("(ENXIO)")));
}

TEST_F(Devdax, OtherRefusalsHaveTheirOwnCauses) {
    device_.open_errno = EBUSY;
    expect_refused(Errc::unavailable, HasSubstr("exclusively"));
    device_.open_errno = EMFILE;
    expect_refused(Errc::limit_exceeded, HasSubstr("LimitNOFILE="));
    device_.open_errno = ENOENT;
    expect_refused(Errc::not_found, HasSubstr("mount namespace"));
    device_.open_errno = EIO;
    expect_refused(Errc::io, HasSubstr("(EIO)"));
}

TEST_F(Devdax, ANodeThatEverybodyMayWriteIsRefused) {
    device_.mode = S_IFCHR | 0666;
    expect_refused(Errc::not_permitted, HasSubstr("everybody may write the node (mode 0666)"));
    EXPECT_TRUE(device_.opened.empty());
}

TEST_F(Devdax, ANodeThatIsReplacedWhileItIsOpenedIsRefused) {
    device_.rdev_when_open = makedev(252, 1);
    expect_refused(Errc::unavailable, HasSubstr("changed while it was opened"));
}

// --- why it cannot be mapped ---------------------------------------------------------------------

TEST_F(Devdax, EachRefusalOfAMappingHasItsCause) {
    const auto provider = make();
    const std::size_t before = test::open_descriptors();
    struct Case {
        int os_errno;
        Errc code;
        const char* text;
    };
    for (const Case& expected :
         {Case{EAGAIN, Errc::limit_exceeded, "memlock limit"},
          Case{ENOMEM, Errc::out_of_memory, "address space limit"},
          Case{EACCES, Errc::not_permitted, "right to write"},
          Case{EPERM, Errc::not_permitted, "right to write"},
          Case{ENXIO, Errc::unavailable, "disabled or destroyed"},
          Case{EINVAL, Errc::io, "8388608 bytes of dax0.0 at an alignment of 2097152"}}) {
        device_.mmap_errno = expected.os_errno;
        const auto made = provider->create_segment(1, SegmentUse::private_writable);
        ASSERT_FALSE(made) << expected.text;
        EXPECT_EQ(made.error().code(), expected.code) << made.error().message();
        EXPECT_EQ(made.error().os_errno(), expected.os_errno);
        EXPECT_THAT(made.error().message(), HasSubstr(expected.text));
    }
    EXPECT_EQ(test::open_descriptors(), before);
    device_.mmap_errno = 0;
    EXPECT_TRUE(provider->create_segment(1, SegmentUse::private_writable));
}

TEST_F(Devdax, TheMemlockMessageSaysTheLimit) {
    const auto provider = make();
    rlimit old = {};
    ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &old), 0);
    const rlimit little = {4096, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &little), 0);
    device_.mmap_errno = EAGAIN;
    const auto made = provider->create_segment(1, SegmentUse::private_writable);
    ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &old), 0);
    EXPECT_THAT(made.error().message(), HasSubstr("memlock limit of 4096 bytes"));
}

TEST_F(Devdax, TheStateIsCheckedAgainBeforeItIsMapped) {
    const auto provider = make();
    device_.set_driver("kmem");
    EXPECT_EQ(provider->create_segment(1, SegmentUse::private_writable).error().code(),
              Errc::unavailable);
    device_.set_driver("device_dax");
    device_.describe(0, "4194304\n", "2097152\n");
    const auto smaller = provider->create_segment(1, SegmentUse::private_writable);
    ASSERT_FALSE(smaller);
    EXPECT_EQ(smaller.error().code(), Errc::unavailable);
    EXPECT_THAT(smaller.error().message(), HasSubstr("4194304 bytes now, 8388608 when opened"));
    EXPECT_TRUE(device_.mapped.empty());
}

// --- descriptors for engines ---------------------------------------------------------------------

TEST_F(Devdax, AReaderGetsADescriptorThatIsReadOnly) {
    const auto provider = make();
    const auto segment = *provider->create_segment(1, SegmentUse::private_writable);
    const UniqueFd readable = *segment->open_readable();
    EXPECT_EQ(::fcntl(readable.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
    EXPECT_NE(::fcntl(readable.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_THAT(device_.opened.back().first, StartsWith("/proc/self/fd/"));
    const UniqueFd writable = *segment->open_writable();
    EXPECT_EQ(::fcntl(writable.get(), F_GETFL) & O_ACCMODE, O_RDWR);
    EXPECT_NE(::fcntl(writable.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(Devdax, AReaderNeverGetsAnotherDevice) {
    const auto provider = make();
    const auto segment = *provider->create_segment(1, SegmentUse::private_writable);
    const std::size_t before = test::open_descriptors();
    device_.rdev_when_open = makedev(252, 1);
    const auto other = segment->open_readable();
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code(), Errc::unavailable);
    device_.rdev_when_open = 0;
    device_.open_errno = ENXIO;
    EXPECT_EQ(segment->open_readable().error().code(), Errc::unavailable);
    EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace cxlpool

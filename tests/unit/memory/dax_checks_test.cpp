#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "memory/provider.hpp"

namespace cxlpool {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;

struct Device {
    std::uint64_t size_bytes;
    std::uint64_t align_bytes;
};
constexpr Device kTwoMiB{536870912, 2 * kMiB};
constexpr Device kOneGiB{34359738368, kGiB};
constexpr Device kFourKiB{268435456, 4096};
constexpr Device kOdd{526385152, 2 * kMiB};

DaxMappingRequest request(std::uint64_t offset, std::uint64_t length) {
    DaxMappingRequest wanted;
    wanted.offset_bytes = offset;
    wanted.length_bytes = length;
    wanted.writable = true;
    return wanted;
}

void expect_refused(const Device& device, const DaxMappingRequest& wanted, Errc code,
                    const std::string& text) {
    const Result<void> checked = check_dax_mapping(device.size_bytes, device.align_bytes, wanted);
    ASSERT_FALSE(checked) << text;
    EXPECT_EQ(checked.error().code(), code);
    EXPECT_THAT(checked.error().message(), HasSubstr(text));
}

TEST(DaxMapping, AlignedRequestsInsideTheDeviceAreAllowed) {
    EXPECT_TRUE(check_dax_mapping(kTwoMiB.size_bytes, kTwoMiB.align_bytes, 0, 2 * kMiB));
    EXPECT_TRUE(check_dax_mapping(kOneGiB.size_bytes, kOneGiB.align_bytes, kGiB, kGiB));
    EXPECT_TRUE(check_dax_mapping(kFourKiB.size_bytes, kFourKiB.align_bytes, 4096, 8192));
    // 251 times 2 MiB.
    EXPECT_TRUE(check_dax_mapping(kOdd.size_bytes, kOdd.align_bytes, 0, 526385152));
    DaxMappingRequest reading = request(0, 2 * kMiB);
    reading.writable = false;
    reading.descriptor_writable = false;
    EXPECT_TRUE(check_dax_mapping(kTwoMiB.size_bytes, kTwoMiB.align_bytes, reading));
}

TEST(DaxMapping, RefusesWhatIsOffTheAlignment) {
    expect_refused(kTwoMiB, request(4096, 2 * kMiB), Errc::invalid_argument,
                   "offset 4096 is not a multiple of the device's alignment of 2097152 bytes");
    expect_refused(kTwoMiB, request(0, kMiB), Errc::invalid_argument,
                   "length 1048576 is not a multiple of the device's alignment of 2097152 bytes");
    expect_refused(kOneGiB, request(2 * kMiB, 2 * kMiB), Errc::invalid_argument, "1073741824");
    DaxMappingRequest hinted = request(0, kGiB);
    hinted.address_hint = 0x7f0000200000;
    expect_refused(kOneGiB, hinted, Errc::invalid_argument,
                   "address 139637978824704 is not a multiple of the device's alignment of "
                   "1073741824 bytes");
    hinted.address_hint = 0x7f0000000000;
    EXPECT_TRUE(check_dax_mapping(kOneGiB.size_bytes, kOneGiB.align_bytes, hinted));
}

TEST(DaxMapping, RefusesWhatIsNotInTheDevice) {
    expect_refused(kTwoMiB, request(536870912, 2 * kMiB), Errc::invalid_argument,
                   "end past the device's 536870912 bytes");
    expect_refused(kTwoMiB, request(534773760, 4 * kMiB), Errc::invalid_argument,
                   "end past the device's 536870912 bytes");
    expect_refused(kTwoMiB, request(18446744073707454464U, 4 * kMiB), Errc::invalid_argument,
                   "wrap around");
    expect_refused(kTwoMiB, request(0, 0), Errc::invalid_argument, "0 bytes");
    expect_refused({0, 2 * kMiB}, request(0, 2 * kMiB), Errc::invalid_argument, "past the device");
}

TEST(DaxMapping, RefusesPrivateMappings) {
    DaxMappingRequest alone = request(0, 2 * kMiB);
    alone.shared = false;
    expect_refused(kTwoMiB, alone, Errc::invalid_argument, "no private mappings");
}

TEST(DaxMapping, WritingThroughAReadersDescriptorIsAMatterOfRights) {
    DaxMappingRequest wanted = request(0, 2 * kMiB);
    wanted.descriptor_writable = false;
    expect_refused(kTwoMiB, wanted, Errc::not_permitted, "opened for reading");
}

TEST(DaxMapping, AnAlignmentThatIsNoneIsRefused) {
    expect_refused({kGiB, 0}, request(0, 4096), Errc::invalid_argument, "alignment of 0");
    expect_refused({kGiB, 3 * kMiB}, request(0, 3 * kMiB), Errc::invalid_argument, "alignment");
}

TEST(DaxMapping, SmallAlignmentsHaveTheirPrice) {
    const auto note = dax_mapping_note(4096, 8192);
    ASSERT_TRUE(note);
    EXPECT_THAT(*note, HasSubstr("takes 16 B of page tables"));
    EXPECT_THAT(*dax_mapping_note(4096, 2 * kGiB), HasSubstr("takes 4 MiB of page tables"));
    EXPECT_FALSE(dax_mapping_note(2 * kMiB, kGiB));
    EXPECT_FALSE(dax_mapping_note(kGiB, kGiB));
}

TEST(DaxSize, TakesBothFormsThatSysfsPrints) {
    EXPECT_EQ(*parse_dax_size("268435456\n"), 268435456U);
    EXPECT_EQ(*parse_dax_size("0x10000000\n"), 268435456U);
}

TEST(DaxSize, RefusesWhatIsNoSize) {
    const auto seed = parse_dax_size("0\n");
    ASSERT_FALSE(seed);
    EXPECT_EQ(seed.error().code(), Errc::invalid_argument);
    EXPECT_THAT(seed.error().message(), HasSubstr("seed device"));
    const auto ones = parse_dax_size("18446744073709551615\n");
    ASSERT_FALSE(ones);
    EXPECT_EQ(ones.error().code(), Errc::invalid_argument);
    EXPECT_THAT(ones.error().message(), HasSubstr("implausible"));
    EXPECT_EQ(parse_dax_size("").error().code(), Errc::malformed);
    EXPECT_EQ(parse_dax_size("-1\n").error().code(), Errc::malformed);
    EXPECT_EQ(parse_dax_size("18446744073709551616\n").error().code(), Errc::overflow);
}

}  // namespace
}  // namespace cxlpool

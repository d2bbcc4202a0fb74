#include "client/mapping.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace cxlpool::client {
namespace {

using testing::HasSubstr;
using wire::MapAccess;

UniqueFd sealed_memfd(std::uint64_t size, int seals = F_SEAL_SHRINK) {
    UniqueFd fd(::memfd_create("mapping-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
}

void expect_error(const auto& result, Errc code, const std::string& text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), code) << result.error().message();
    EXPECT_THAT(result.error().message(), HasSubstr(text));
}

TEST(Mapping, SharesTheBytesOfASealedMemfd) {
    const UniqueFd fd = sealed_memfd(8192);
    auto written = Mapping::map(fd, 8192, MapAccess::write);
    auto read = Mapping::map(fd, 8192, MapAccess::read);
    ASSERT_TRUE(written && read);
    EXPECT_EQ(read->bytes().size(), 8192U);
    written->bytes()[8191] = std::byte{42};
    EXPECT_EQ(read->bytes()[8191], std::byte{42});
}

TEST(Mapping, RefusesWhatMayStillShrink) {
    const UniqueFd fd = sealed_memfd(8192, F_SEAL_GROW);
    expect_error(Mapping::map(fd, 8192, MapAccess::read), Errc::protocol, "sealed against");
}

TEST(Mapping, RefusesARegularFileWhereAMemfdWasPromised) {
    std::string name = "/tmp/cxlpool-mapping-XXXXXX";
    const UniqueFd fd(::mkstemp(name.data()));
    ASSERT_TRUE(fd);
    ::unlink(name.c_str());
    ASSERT_EQ(::ftruncate(fd.get(), 8192), 0);
    expect_error(Mapping::map(fd, 8192, MapAccess::read), Errc::protocol, "neither a device nor");
}

TEST(Mapping, RefusesAPipeAndAClosedDescriptor) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    expect_error(Mapping::map(reader, 4096, MapAccess::read), Errc::protocol, "neither");
    expect_error(Mapping::map(UniqueFd(), 4096, MapAccess::read), Errc::io, "EBADF");
}

TEST(Mapping, RefusesLessThanWasSaid) {
    const UniqueFd fd = sealed_memfd(4096);
    expect_error(Mapping::map(fd, 4097, MapAccess::read), Errc::protocol, "4096 bytes and spoke");
    expect_error(Mapping::map(fd, 0, MapAccess::read), Errc::protocol, "segment of 0 bytes");
}

TEST(Mapping, ADescriptorForReadingCannotBeWritten) {
    const UniqueFd fd = sealed_memfd(4096);
    const UniqueFd reading(
        ::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(Mapping::map(reading, 4096, MapAccess::read));
    expect_error(Mapping::map(reading, 4096, MapAccess::write), Errc::not_permitted, "EACCES");
}

TEST(Mapping, MoreThanTheAddressSpaceIsOutOfMemory) {
    constexpr std::uint64_t kHuge = 1ULL << 50U;
    const UniqueFd fd = sealed_memfd(kHuge);
    expect_error(Mapping::map(fd, kHuge, MapAccess::read), Errc::out_of_memory, "ENOMEM");
}

class LeaseBoardTest : public testing::Test {
  protected:
    static constexpr std::uint32_t kEntries = 4;
    UniqueFd fd = sealed_memfd(kEntries * 4);
    Mapping daemon = Mapping::map(fd, kEntries * 4, MapAccess::write).value();
    LeaseBoard board = LeaseBoard::map(fd, kEntries).value();
    void write(std::uint32_t index, std::uint32_t generation) {
        reinterpret_cast<std::uint32_t*>(daemon.bytes().data())[index] = generation;
    }
};

TEST_F(LeaseBoardTest, ALeaseIsLiveWhileTheBoardHasItsGeneration) {
    write(2, 7);
    board.set_end({2, 7}, Timestamp{100});
    EXPECT_TRUE(board.live({2, 7}, Timestamp{50}));
    EXPECT_FALSE(board.live({2, 6}, Timestamp{50}));
    EXPECT_FALSE(board.live({1, 7}, Timestamp{50}));
    write(2, 8);
    EXPECT_FALSE(board.live({2, 7}, Timestamp{50}));
    write(2, 0);
    EXPECT_FALSE(board.live({2, 8}, Timestamp{50}));
}

TEST_F(LeaseBoardTest, ALeaseIsOverAtItsEndWhateverTheBoardSays) {
    write(0, 1);
    EXPECT_FALSE(board.live({0, 1}, Timestamp{0})) << "no end is known: not granted to us";
    board.set_end({0, 1}, Timestamp{100});
    EXPECT_TRUE(board.live({0, 1}, Timestamp{99}));
    EXPECT_FALSE(board.live({0, 1}, Timestamp{100}));
    board.set_end({0, 1}, Timestamp{200});
    EXPECT_TRUE(board.live({0, 1}, Timestamp{199}));
}

TEST_F(LeaseBoardTest, NoLeaseAndNoEntryAreNotLive) {
    board.set_end({0, 0}, Timestamp{100});
    EXPECT_FALSE(board.live({0, 0}, Timestamp{1})) << "a free entry is zero, as is no lease";
    board.set_end({kEntries, 1}, Timestamp{100});
    EXPECT_FALSE(board.live({kEntries, 1}, Timestamp{1}));
    EXPECT_FALSE(board.live({UINT32_MAX, 1}, Timestamp{1}));
}

TEST(LeaseBoard, ABoardThatIsTooSmallIsRefused) {
    const UniqueFd fd = sealed_memfd(4096);
    EXPECT_TRUE(LeaseBoard::map(fd, 1024));
    expect_error(LeaseBoard::map(fd, 1025), Errc::protocol, "lease board");
}

class SegmentMappingsTest : public testing::Test {
  protected:
    void insert(SegmentMappings::Key key) {
        mappings.insert(key, Mapping::map(sealed_memfd(4096), 4096, key.access).value());
    }
    SegmentMappings mappings;
    static constexpr SegmentMappings::Key kRead{1, MapAccess::read};
    static constexpr SegmentMappings::Key kWrite{1, MapAccess::write};
};

TEST_F(SegmentMappingsTest, TheLastHolderTakesTheMappingAlong) {
    insert(kRead);
    EXPECT_TRUE(mappings.hold({0, 1}, kRead));
    EXPECT_TRUE(mappings.hold({0, 1}, kRead)) << "twice is once";
    EXPECT_TRUE(mappings.hold({5, 1}, kRead));
    mappings.drop({0, 1});
    EXPECT_NE(mappings.find(kRead), nullptr);
    mappings.drop({0, 1});
    EXPECT_NE(mappings.find(kRead), nullptr) << "a second drop of the same is nothing";
    mappings.drop({5, 1});
    EXPECT_EQ(mappings.find(kRead), nullptr);
}

TEST_F(SegmentMappingsTest, AnIndexGrantedAnewDoesNotUnmapTheLeaseBefore) {
    insert(kRead);
    EXPECT_TRUE(mappings.hold({0, 1}, kRead));
    EXPECT_TRUE(mappings.hold({0, 2}, kRead));
    mappings.drop({0, 2});
    EXPECT_NE(mappings.find(kRead), nullptr);
    mappings.drop({0, 1});
    EXPECT_EQ(mappings.find(kRead), nullptr);
}

TEST_F(SegmentMappingsTest, ALeaseHoldsOneMapping) {
    insert(kRead);
    insert(kWrite);
    EXPECT_TRUE(mappings.hold({0, 1}, kRead));
    EXPECT_FALSE(mappings.hold({0, 1}, kWrite));
    mappings.forget_unheld(kWrite);
    EXPECT_EQ(mappings.find(kWrite), nullptr);
    mappings.forget_unheld(kRead);
    EXPECT_NE(mappings.find(kRead), nullptr) << "it is held";
}

TEST_F(SegmentMappingsTest, ReadingAndWritingAreMappedApart) {
    insert(kRead);
    insert(kWrite);
    EXPECT_TRUE(mappings.hold({0, 1}, kRead));
    EXPECT_TRUE(mappings.hold({1, 1}, kWrite));
    EXPECT_NE(mappings.find(kRead)->bytes().data(), mappings.find(kWrite)->bytes().data());
    mappings.drop({1, 1});
    EXPECT_EQ(mappings.find(kWrite), nullptr);
    EXPECT_NE(mappings.find(kRead), nullptr);
}

}  // namespace
}  // namespace cxlpool::client

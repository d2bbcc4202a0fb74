#include "cxlpoolctl/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

namespace cxlpool::ctl {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Files : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "cxlpoolctl-files.XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string path(const char* name) const { return (directory_ / name).string(); }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }
    std::string content(const std::string& file) {
        const Result<std::string> read = read_file(file, input_, 1U << 20U);
        return read ? *read : read.error().message();
    }

    fs::path directory_;
    std::istringstream input_;
};

TEST_F(Files, WritesAndReadsBack) {
    const std::string text("a\0b\n", 4);
    ASSERT_TRUE(write_file_atomically(path("snapshot"), text));
    EXPECT_EQ(content(path("snapshot")), text);
    EXPECT_EQ(files(), 1U);
}

TEST_F(Files, ReplacesAFileWholeAndKeepsItsMode) {
    ASSERT_TRUE(write_file_atomically(path("snapshot"), "a long first version"));
    ASSERT_EQ(::chmod(path("snapshot").c_str(), 0640), 0);
    ASSERT_TRUE(write_file_atomically(path("snapshot"), "second"));
    EXPECT_EQ(content(path("snapshot")), "second");
    struct stat status {};
    ASSERT_EQ(::stat(path("snapshot").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
    EXPECT_EQ(files(), 1U);
}

TEST_F(Files, GivesANewFileTheModeOfTheUmask) {
    const mode_t before = ::umask(027);
    ASSERT_TRUE(write_file_atomically(path("new"), "x"));
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path("new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST_F(Files, WritesThroughASymbolicLink) {
    ASSERT_TRUE(write_file_atomically(path("target"), "old"));
    fs::create_symlink("target", directory_ / "link");
    ASSERT_TRUE(write_file_atomically(path("link"), "new"));
    EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
    EXPECT_EQ(content(path("target")), "new");
}

TEST_F(Files, NeverReplacesWhatIsNoRegularFile) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    const Result<void> pipe = write_file_atomically(path("pipe"), "x");
    ASSERT_FALSE(pipe);
    EXPECT_THAT(pipe.error().message(), HasSubstr("is no regular file"));
    EXPECT_TRUE(fs::is_fifo(directory_ / "pipe"));
    EXPECT_FALSE(write_file_atomically(directory_.string(), "x"));
}

TEST_F(Files, SaysWhichFileCannotBeWritten) {
    const Result<void> written = write_file_atomically(path("none/snapshot"), "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), Errc::io);
    EXPECT_THAT(written.error().message(), HasSubstr("none/snapshot"));
    EXPECT_EQ(files(), 0U);
}

TEST_F(Files, SaysWhichFileCannotBeRead) {
    const Result<std::string> absent = read_file(path("absent"), input_, 10);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code(), Errc::io);
    EXPECT_EQ(absent.error().os_errno(), ENOENT);
    EXPECT_THAT(absent.error().message(), HasSubstr("absent"));
    const Result<std::string> directory = read_file(directory_.string(), input_, 10);
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().os_errno(), EISDIR);
}

TEST_F(Files, RefusesMoreThanTheLimit) {
    ASSERT_TRUE(write_file_atomically(path("ten"), "0123456789"));
    EXPECT_TRUE(read_file(path("ten"), input_, 10));
    const Result<std::string> over = read_file(path("ten"), input_, 9);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code(), Errc::too_large);
    // A source without an end is cut off, too.
    const Result<std::string> endless = read_file("/dev/zero", input_, 1U << 20U);
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code(), Errc::too_large);
}

TEST_F(Files, ReadsStandardInputForADash) {
    input_.str("from a pipe");
    EXPECT_EQ(content("-"), "from a pipe");
    std::istringstream long_input("0123456789");
    const Result<std::string> over = read_file("-", long_input, 9);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code(), Errc::too_large);
}

}  // namespace
}  // namespace cxlpool::ctl

// The example engine, as its users run it: its words, its exit status, and that it tells a wrong
// byte and a writable descriptor from right ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/fake_daemon.hpp"

namespace cxlpool::test {
namespace {

using testing::HasSubstr;
using wire::Type;

// A child whose stdout and stderr come through one pipe, in order.
class Program {
  public:
    explicit Program(std::vector<std::string> arguments) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        out_.reset(ends[0]);
        UniqueFd in(ends[1]);
        std::string path = std::getenv("CXLPOOL_EXAMPLE_ENGINE");
        std::vector<char*> argv{path.data()};
        for (std::string& argument : arguments) {
            argv.push_back(argument.data());
        }
        argv.push_back(nullptr);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::dup2(in.get(), 1);
            ::dup2(in.get(), 2);
            ::execv(path.c_str(), argv.data());
            ::_exit(127);
        }
    }
    // Reads until `text` was said, or the end.
    bool says(const std::string& text) {
        std::array<char, 512> buffer{};
        while (said.find(text) == std::string::npos) {
            const ssize_t size = ::read(out_.get(), buffer.data(), buffer.size());
            if (size <= 0) {
                return false;
            }
            said.append(buffer.data(), static_cast<std::size_t>(size));
        }
        return true;
    }
    int wait() {
        while (says("\xFF")) {
        }
        int status = -1;
        ::waitpid(pid_, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::string said;

  private:
    UniqueFd out_;
    pid_t pid_ = -1;
};

class ExampleEngine : public testing::Test {
  protected:
    std::vector<std::string> arguments(std::vector<std::string> command) {
        command.insert(command.end(), {"--socket", daemon.path(), "--tenant", "1"});
        return command;
    }
    void expect(std::vector<std::string> command, int status, const std::string& text) {
        Program program(arguments(std::move(command)));
        EXPECT_EQ(program.wait(), status) << program.said;
        EXPECT_THAT(program.said, HasSubstr(text));
    }
    FakeDaemon daemon;
};

TEST_F(ExampleEngine, ProducesSharesLooksUpAndAttends) {
    expect({"lookup"}, 0, "verdict=miss/absent\n");
    expect({"attend", "--verify"}, 1, "verdict=miss/absent\n");
    expect({"produce", "--bytes", "64KiB"}, 0, "sealed bytes=65536 digest=");
    expect({"share", "--scope", "fleet"}, 0, "shared scope=fleet\n");
    expect({"lookup"}, 0, "verdict=hit/in_place bytes=65536\n");
    expect({"attend"}, 0, "attended bytes=65536\n");
    expect({"attend", "--verify", "--bytes", "65536"}, 0, "verified bytes=65536\n");
    expect({"attend", "--bytes", "65535"}, 1, "the cell has 65536 bytes, not 65535");
    expect({"lookup", "--span-seed", "other"}, 0, "verdict=miss/absent\n");
    expect({"lookup", "--span-seed", ""}, 2, "not a value for this option: ''");
    EXPECT_EQ(daemon.live_leases(), 0U);
}

TEST_F(ExampleEngine, ASpanMayBeGivenInHexadecimal) {
    const std::string span(64, 'a');
    expect({"produce", "--bytes", "9", "--span", span}, 0, "digest=" + span);
    expect({"attend", "--verify", "--span", span}, 0, "verified bytes=9\n");
}

TEST_F(ExampleEngine, TheContextHasAllAxes) {
    daemon.take_requests();
    expect({"lookup", "--model", "m7b"}, 0, "miss");
    for (const auto& request : daemon.take_requests()) {
        if (const auto* context = std::get_if<wire::ContextRegisterRequest>(&request.body)) {
            ASSERT_EQ(context->axes.size(), 15U);
            EXPECT_EQ(context->axes[0].value, "m7b");
            EXPECT_THAT(context->axes[6].value, testing::StartsWith("sha256:"));
            EXPECT_EQ(context->axes[7].value, "none");
        }
    }
    expect({"context", "--model", "a\"b"}, 0, R"({"model": "a\"b",)");
}

TEST_F(ExampleEngine, AWrongByteIsFound) {
    expect({"produce", "--bytes", "64KiB"}, 0, "sealed");
    const UniqueFd segment = daemon.open_segment(true);
    const char wrong = 1;
    std::array<char, 1> right{};
    ASSERT_EQ(::pread(segment.get(), right.data(), 1, 65'535), 1);
    const char changed = static_cast<char>(right[0] ^ wrong);
    ASSERT_EQ(::pwrite(segment.get(), &changed, 1, 65'535), 1);
    expect({"attend", "--verify"}, 1, "byte 65535 is not what was written");
}

// The fake daemon's descriptors for reading are not sealed: whoever may open them again may write.
TEST_F(ExampleEngine, AWritableDescriptorIsFound) {
    expect({"produce", "--bytes", "64KiB"}, 0, "sealed");
    expect({"attend", "--prove-read-only"}, 1, "could be opened and mapped for writing");
    daemon.on(Type::map, [this](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(Type::map, request.cookie,
                                          wire::MapReply{kFakeSegmentBytes, 4096})},
                      std::make_shared<UniqueFd>(daemon.open_segment(true))};
    });
    expect({"attend", "--prove-read-only"}, 1, "a writable mapping was possible");
}

TEST_F(ExampleEngine, ASealedDescriptorIsProvenReadOnly) {
    expect({"produce", "--bytes", "64KiB"}, 0, "sealed");
    const UniqueFd segment(::memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(segment.get(), static_cast<off_t>(kFakeSegmentBytes)), 0);
    ASSERT_EQ(::fcntl(segment.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(segment.get());
    daemon.on(Type::map, [path](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(Type::map, request.cookie,
                                          wire::MapReply{kFakeSegmentBytes, 4096})},
                      std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
    });
    Program program(arguments({"attend", "--prove-read-only"}));
    EXPECT_EQ(program.wait(), 0) << program.said;
    EXPECT_THAT(program.said, HasSubstr("writable mapping refused: EACCES\n"));
    EXPECT_THAT(program.said, HasSubstr("re-open writable refused: "));
}

TEST_F(ExampleEngine, HoldsUntilTheLeaseIsRevoked) {
    expect({"produce", "--bytes", "64KiB"}, 0, "sealed");
    Program program(arguments({"attend", "--verify", "--hold-until-revoked"}));
    ASSERT_TRUE(program.says("holding\n")) << program.said;
    daemon.refuse(Type::renew, Errc::revoked, "taken away");
    for (std::uint32_t i = 0; i < kFakeLeases; ++i) {
        daemon.revoke({i, 0});
    }
    EXPECT_EQ(program.wait(), 0) << program.said;
    EXPECT_THAT(program.said, HasSubstr("verified bytes=65536\nholding\nlease revoked\n"));
}

TEST_F(ExampleEngine, DoesNotHoldForEver) {
    expect({"produce", "--bytes", "1"}, 0, "sealed");
    expect({"attend", "--hold-until-revoked", "--hold-ms", "20"}, 1, "still live after 20 ms");
}

TEST_F(ExampleEngine, RefusalsOfTheDaemonAreShown) {
    daemon.refuse(Type::begin, Errc::capacity, "no room for 9 bytes");
    expect({"produce"}, 1, "begin: capacity: no room for 9 bytes");
    daemon.refuse(Type::hello, Errc::not_permitted, "no grant");
    expect({"lookup"}, 1, "connect: not_permitted: no grant");
}

TEST_F(ExampleEngine, BadUsageIsRefusedBeforeAnythingIsDone) {
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"produce", "lookup"},
        {"destroy"},
        {"share"},
        {"share", "--scope", "world"},
        {"lookup", "--span", "12"},
        {"lookup", "--span", std::string(63, 'a') + "g"},
        {"lookup", "--unknown"},
        {"produce", "--bytes", "0"},
        {"produce", "--bytes", "8M"},
        {"produce", "--bytes", "-1"},
        {"produce", "--bytes", "99999999999999999999"},
        {"produce", "--bytes", "18014398509481984KiB"},
        {"lookup", "--timeout-ms", "4294967296"},
    };
    for (const auto& command : wrong) {
        Program program(arguments(command));
        EXPECT_EQ(program.wait(), 2) << testing::PrintToString(command) << program.said;
        EXPECT_THAT(program.said, HasSubstr("--help"));
    }
    EXPECT_TRUE(daemon.take_requests().empty());
    expect({"--help"}, 0, "usage: cxlpool-example-engine COMMAND");
}

}  // namespace
}  // namespace cxlpool::test

#include "server/listener.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> entries_of(const std::string& directory) {
    std::vector<std::string> names;
    DIR* dir = ::opendir(directory.c_str());
    while (const dirent* entry = ::readdir(dir)) {
        const std::string name(entry->d_name);
        if (name != "." && name != "..") {
            names.push_back(name);
        }
    }
    ::closedir(dir);
    return names;
}

class ListenerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "listener-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override {
        ::chmod(directory_.c_str(), 0700);
        for (const std::string& name : entries_of(directory_)) {
            const std::string path = directory_ + "/" + name;
            if (::unlink(path.c_str()) != 0) {
                ::rmdir(path.c_str());
            }
        }
        EXPECT_EQ(::rmdir(directory_.c_str()), 0);
    }

    const std::string& directory() const { return directory_; }
    std::string path() const { return directory_ + "/engine.sock"; }

    ListenerOptions options(mode_t mode = 0660) const {
        ListenerOptions wanted;
        wanted.path = path();
        wanted.mode = mode;
        return wanted;
    }

  private:
    std::string directory_;
};

int connect_to(const std::string& path, int type = SOCK_SEQPACKET) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        ::close(fd);
        return -1;
    }
    return fd;
}

UniqueFd bind_raw(const std::string& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    CXLPOOL_CHECK(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return fd;
}

// Runs `body` in a child and returns what it says.
std::string in_child(const std::function<std::string()>& body) {
    int ends[2] = {-1, -1};
    CXLPOOL_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    // Well above the numbers that socket activation uses.
    UniqueFd out(::fcntl(ends[1], F_DUPFD_CLOEXEC, 300));
    ::close(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string said = body();
        const ssize_t written = ::write(out.get(), said.data(), said.size());
        ::_exit(written < 0 ? 1 : 0);
    }
    out.reset();
    std::string said(4096, '\0');
    const ssize_t size = ::read(ends[0], said.data(), said.size());
    said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0 ? said : "the child died";
}

bool is_root() {
    return ::geteuid() == 0;
}

TEST_F(ListenerTest, TheSocketListensWithItsModeAndLeavesNothingElse) {
    const auto listener = listen_at(options(0640));
    ASSERT_TRUE(listener) << listener.error().message();
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777, 0640U);
    EXPECT_EQ(status.st_uid, ::geteuid());
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
    const UniqueFd client(connect_to(path()));
    EXPECT_TRUE(client);

    int type = 0;
    socklen_t length = sizeof type;
    ASSERT_EQ(::getsockopt(listener->get(), SOL_SOCKET, SO_TYPE, &type, &length), 0);
    EXPECT_EQ(type, SOCK_SEQPACKET);
    EXPECT_NE(::fcntl(listener->get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(listener->get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(ListenerTest, OwnerAndGroupAreGiven) {
    if (!is_root()) {
        GTEST_SKIP() << "needs root to give a file away";
    }
    ListenerOptions wanted = options();
    wanted.owner = 4321;
    wanted.group = 1234;
    const auto listener = listen_at(wanted);
    ASSERT_TRUE(listener) << listener.error().message();
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 4321U);
    EXPECT_EQ(status.st_gid, 1234U);
    EXPECT_EQ(status.st_mode & 07777, 0660U);
}

// As root without its capabilities, but for `kept`, as in the shipped service.
void keep_only(unsigned kept) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    data[0].effective = data[0].permitted = 1U << kept;
    CXLPOOL_CHECK(::syscall(SYS_capset, &header, data) == 0);
}

TEST_F(ListenerTest, ASocketThatTheDaemonItselfCouldNotReachIsRefused) {
    if (::getuid() != 0) {
        GTEST_SKIP() << "needs root to give a file away";
    }
    ListenerOptions given = options(0660);
    given.owner = 4242;
    const std::string said = in_child([&]() -> std::string {
        keep_only(CAP_CHOWN);
        ListenerOptions both = given;
        both.group = 4343;
        const auto refused = listen_at(both);
        std::string out = refused ? "taken" : refused.error().message();
        {
            const auto taken = listen_at(given);
            out += taken ? "; one: ok" : "; one: " + taken.error().message();
        }
        remove_socket_file(given.path);
        return out;
    });
    EXPECT_THAT(said, HasSubstr("not both"));
    EXPECT_THAT(said, HasSubstr("; one: ok"));
    EXPECT_THAT(entries_of(directory()), IsEmpty());
}

TEST_F(ListenerTest, TheUmaskIsWhatItWas) {
    const mode_t before = ::umask(0027);
    const auto listener = listen_at(options(0666));
    EXPECT_EQ(::umask(before), 0027U);
    ASSERT_TRUE(listener);
    struct stat status {};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0666U) << "the mode asked for, whatever the umask";
}

// Case D02: at no moment of a start is the socket seen with another mode or group than the final
// ones, and once it is there it accepts.
TEST_F(ListenerTest, NoClientEverSeesAnotherMode) {
    ListenerOptions wanted = options(0600);
    const mode_t before = ::umask(0);  // bind alone would make the socket writable by everybody
    if (is_root()) {
        wanted.group = 1234;
    }
    std::atomic<bool> ended = false;
    std::atomic<int> seen = 0;
    std::set<std::string> wrong;
    std::thread watcher([&] {
        while (!ended) {
            struct stat status {};
            if (::lstat(path().c_str(), &status) != 0) {
                continue;
            }
            ++seen;
            if ((status.st_mode & 07777) != 0600U ||
                (wanted.group && status.st_gid != *wanted.group)) {
                wrong.insert(std::to_string(status.st_mode & 07777));
            }
        }
    });
    for (int start = 0; start < 1000; ++start) {
        auto listener = listen_at(wanted);
        if (!listener) {
            ADD_FAILURE() << listener.error().message();
            break;
        }
        const int seen_before = seen;
        while (start == 0 && seen == seen_before) {
            std::this_thread::yield();  // the watcher has to have looked at least once
        }
        listener->reset();
        if (start % 2 == 0) {  // the other starts replace a stale socket
            EXPECT_EQ(::unlink(path().c_str()), 0);
        }
    }
    ended = true;
    watcher.join();
    ::umask(before);
    EXPECT_GT(seen, 0);
    EXPECT_THAT(wrong, IsEmpty());
}

// As the descriptors in an io_uring do for a moment, this one outlives who listened.
TEST_F(ListenerTest, ASocketThatOutlivesItsListenerIsStale) {
    const UniqueFd left = bind_raw(path(), SOCK_SEQPACKET);
    ASSERT_EQ(in_child([&] { return std::to_string(::listen(left.get(), 5)); }), "0");
    const int connected = connect_to(path());
    ASSERT_GE(connected, 0) << "the kernel still lets peers in";
    ::close(connected);
    const Result<UniqueFd> listener = listen_at(options());
    EXPECT_TRUE(listener) << listener.error().message();
}

TEST_F(ListenerTest, AStaleSocketIsReplaced) {
    bind_raw(path(), SOCK_SEQPACKET);
    struct stat stale {};
    ASSERT_EQ(::stat(path().c_str(), &stale), 0);
    const auto listener = listen_at(options());
    ASSERT_TRUE(listener) << listener.error().message();
    EXPECT_TRUE(UniqueFd(connect_to(path())));
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, APreparedSocketIsNowhereUntilItIsPublished) {
    {
        Result<PreparedListener> prepared = prepare_listener(options(), false);
        ASSERT_TRUE(prepared) << prepared.error().message();
        EXPECT_EQ(connect_to(path()), -1);
    }
    EXPECT_THAT(entries_of(directory()), IsEmpty()) << "given up";
    UniqueFd socket;
    {
        Result<PreparedListener> prepared = prepare_listener(options(), false);
        ASSERT_TRUE(prepared->publish());
        socket = prepared->take_socket();
        const UniqueFd client(connect_to(path()));
        EXPECT_TRUE(client);
    }
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
    {
        Result<PreparedListener> prepared = prepare_listener(options(), false);
        ASSERT_FALSE(prepared) << "somebody answers";
        EXPECT_EQ(prepared.error().code(), Errc::already_exists);
    }
}

TEST_F(ListenerTest, OurOwnSocketIsReplacedAndComesBack) {
    const Result<UniqueFd> first = listen_at(options(0660));
    ASSERT_TRUE(first);
    const auto mode = [&] {
        struct stat status {};
        EXPECT_EQ(::stat(path().c_str(), &status), 0);
        return status.st_mode & 0777U;
    };
    {
        Result<PreparedListener> second = prepare_listener(options(0600), true);
        ASSERT_TRUE(second) << second.error().message();
        EXPECT_EQ(mode(), 0660U);
        ASSERT_TRUE(second->publish());
        EXPECT_EQ(mode(), 0600U);
        second->take_back();
    }
    EXPECT_EQ(mode(), 0660U) << "as it was";
    const UniqueFd client(connect_to(path()));
    ASSERT_TRUE(client);
    const auto accepted = accept_one(first->get());
    ASSERT_TRUE(accepted);
    EXPECT_TRUE(accepted->has_value()) << "and the one that listened";
    {
        Result<PreparedListener> third = prepare_listener(options(0600), true);
        ASSERT_TRUE(third);
        ASSERT_TRUE(third->publish());
    }
    EXPECT_EQ(mode(), 0600U);
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, ANewSocketThatIsTakenBackLeavesNothing) {
    {
        Result<PreparedListener> prepared = prepare_listener(options(), true);
        ASSERT_TRUE(prepared) << "ours, but somebody removed the file";
        ASSERT_TRUE(prepared->publish());
        prepared->take_back();
    }
    EXPECT_THAT(entries_of(directory()), IsEmpty());
}

TEST_F(ListenerTest, ALiveDaemonIsLeftAlone) {
    const auto first = listen_at(options());
    ASSERT_TRUE(first);
    const auto second = listen_at(options());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::already_exists);
    EXPECT_THAT(second.error().message(), HasSubstr(path()));
    EXPECT_TRUE(UniqueFd(connect_to(path()))) << "the first still answers";
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, ALiveDaemonWithAFullBacklogIsLeftAlone) {
    const UniqueFd first = bind_raw(path(), SOCK_SEQPACKET);
    ASSERT_EQ(::listen(first.get(), 0), 0);
    std::vector<UniqueFd> waiting;
    for (int fd = connect_to(path()); fd >= 0; fd = connect_to(path())) {
        waiting.emplace_back(fd);
    }
    EXPECT_FALSE(waiting.empty());
    const auto second = listen_at(options());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::already_exists);
}

TEST_F(ListenerTest, ALiveSocketOfAnotherTypeIsLeftAlone) {
    const UniqueFd first = bind_raw(path(), SOCK_STREAM);
    ASSERT_EQ(::listen(first.get(), 5), 0);
    const auto second = listen_at(options());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Errc::already_exists);
    EXPECT_TRUE(UniqueFd(connect_to(path(), SOCK_STREAM)));
}

TEST_F(ListenerTest, OfManyStartsAtOnceExactlyOneListens) {
    bind_raw(path(), SOCK_SEQPACKET);  // stale: all of them may want to replace it
    constexpr int kDaemons = 8;
    int go[2] = {-1, -1};
    int told[2] = {-1, -1};
    ASSERT_EQ(::pipe2(go, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kDaemons; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(go[1]);
            char byte = 0;
            const auto listener = listen_at(options());
            byte = listener ? 'L' : listener.error().code() == Errc::already_exists ? 'a' : '?';
            if (::write(told[1], &byte, 1) != 1) {
                ::_exit(1);
            }
            // Keeps listening until the parent closes its end.
            ::_exit(::read(go[0], &byte, 1) == 0 ? 0 : 1);
        }
        children.push_back(child);
    }
    ::close(go[0]);
    std::string answers;
    char byte = 0;
    while (answers.size() < kDaemons && ::read(told[0], &byte, 1) == 1) {
        answers += byte;
    }
    EXPECT_TRUE(UniqueFd(connect_to(path()))) << "the one that listens is the one at the path";
    ::close(go[1]);
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    ::close(told[0]);
    ::close(told[1]);
    std::sort(answers.begin(), answers.end());
    EXPECT_EQ(answers, "Laaaaaaa");
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, WhatACrashLeftIsClearedAway) {
    const std::string left = directory() + "/.engine.sock.private";
    ASSERT_EQ(::mkdir(left.c_str(), 0700), 0);
    bind_raw(left + "/socket", SOCK_SEQPACKET);
    const auto listener = listen_at(options());
    ASSERT_TRUE(listener) << listener.error().message();
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, APrivateDirectoryThatOthersMayEnterIsRefused) {
    const std::string left = directory() + "/.engine.sock.private";
    ASSERT_EQ(::mkdir(left.c_str(), 0755), 0);
    const auto listener = listen_at(options());
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), Errc::invalid_argument);
    EXPECT_THAT(entries_of(directory()), ElementsAre(".engine.sock.private"));
}

TEST_F(ListenerTest, AFileThatIsNoSocketIsRefusedAndKept) {
    const UniqueFd file(::open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    const auto listener = listen_at(options());
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), Errc::invalid_argument);
    EXPECT_THAT(listener.error().message(), HasSubstr("not a socket"));
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock"));
}

TEST_F(ListenerTest, ASymbolicLinkIsRefusedAndNotFollowed) {
    const std::string target = directory() + "/target";
    const UniqueFd live = bind_raw(target, SOCK_SEQPACKET);
    ASSERT_EQ(::symlink(target.c_str(), path().c_str()), 0);
    const auto listener = listen_at(options());
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), Errc::invalid_argument);
    EXPECT_THAT(entries_of(directory()), UnorderedElementsAre("engine.sock", "target"));
}

TEST_F(ListenerTest, PathsThatCannotWorkAreRefused) {
    struct Row {
        std::string path;
        std::string says;
    };
    const std::vector<Row> rows = {
        {"", "not absolute"},
        {"run/engine.sock", "not absolute"},
        {directory() + "/", "names a directory"},
        {directory() + "/..", "names a directory"},
        {directory() + "/" + std::string(108 - directory().size() - 1, 's'), "has 108 bytes"},
        {directory() + std::string("/a\0b", 4), "NUL"},
    };
    for (const Row& row : rows) {
        ListenerOptions wanted;
        wanted.path = row.path;
        const auto listener = listen_at(wanted);
        ASSERT_FALSE(listener) << row.path;
        EXPECT_EQ(listener.error().code(), Errc::invalid_argument) << row.path;
        EXPECT_THAT(listener.error().message(), HasSubstr(row.says));
    }
    EXPECT_THAT(entries_of(directory()), IsEmpty());
}

TEST_F(ListenerTest, TheLongestPathWorks) {
    ListenerOptions wanted;
    wanted.path = directory() + "/" + std::string(107 - directory().size() - 1, 's');
    const auto listener = listen_at(wanted);
    ASSERT_TRUE(listener) << listener.error().message();
    EXPECT_TRUE(UniqueFd(connect_to(wanted.path)));
}

TEST_F(ListenerTest, ADirectoryThatIsNotThereIsAnError) {
    ListenerOptions wanted;
    wanted.path = directory() + "/absent/engine.sock";
    const auto listener = listen_at(wanted);
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), Errc::io);
    EXPECT_EQ(listener.error().os_errno(), ENOENT);
    EXPECT_THAT(listener.error().message(), HasSubstr(directory() + "/absent"));
}

TEST_F(ListenerTest, ADirectoryThatEverybodyMayWriteIsRefusedUnlessSticky) {
    ASSERT_EQ(::chmod(directory().c_str(), 0777), 0);
    const auto open = listen_at(options());
    ASSERT_FALSE(open);
    EXPECT_EQ(open.error().code(), Errc::invalid_argument);
    EXPECT_THAT(open.error().message(), HasSubstr("chmod o-w"));
    EXPECT_THAT(entries_of(directory()), IsEmpty());

    ASSERT_EQ(::chmod(directory().c_str(), 01777), 0);
    const auto sticky = listen_at(options());
    EXPECT_TRUE(sticky) << sticky.error().message();
}

TEST_F(ListenerTest, ADirectoryOfAStrangerOrOfAForeignGroupIsRefused) {
    if (!is_root()) {
        GTEST_SKIP() << "needs root to give a directory away";
    }
    ASSERT_EQ(::chown(directory().c_str(), 4321, 0), 0);
    const auto owned = listen_at(options());
    ASSERT_FALSE(owned);
    EXPECT_THAT(owned.error().message(), HasSubstr("belongs to uid 4321"));

    ASSERT_EQ(::chown(directory().c_str(), 0, 1234), 0);
    ASSERT_EQ(::chmod(directory().c_str(), 0770), 0);
    const auto grouped = listen_at(options());
    ASSERT_FALSE(grouped);
    EXPECT_THAT(grouped.error().message(), HasSubstr("writable by group 1234"));
}

TEST_F(ListenerTest, NoPermissionIsSaid) {
    if (!is_root()) {
        GTEST_SKIP() << "needs root to become somebody else";
    }
    const std::string said = in_child([this]() -> std::string {
        if (::setresuid(4321, 4321, 4321) != 0) {
            return "cannot become 4321";
        }
        const auto listener = listen_at(options());
        return listener ? "listens" : std::string(errc_name(listener.error().code()));
    });
    EXPECT_EQ(said, "not_permitted");

    ListenerOptions wanted;
    wanted.path = path();
    wanted.group = 1234;
    ASSERT_EQ(::chown(directory().c_str(), 4321, 4321), 0);
    const std::string group = in_child([&wanted]() -> std::string {
        if (::setgroups(0, nullptr) != 0 || ::setresgid(4321, 4321, 4321) != 0 ||
            ::setresuid(4321, 4321, 4321) != 0) {
            return "cannot become 4321";
        }
        const auto listener = listen_at(wanted);
        return listener ? "listens" : std::string(errc_name(listener.error().code()));
    });
    EXPECT_EQ(group, "not_permitted") << "a group that is not ours";
    ASSERT_EQ(::chown(directory().c_str(), 0, 0), 0);
    EXPECT_THAT(entries_of(directory()), IsEmpty());
}

TEST_F(ListenerTest, ACleanStopRemovesOnlyADeadSocket) {
    auto listener = listen_at(options());
    ASSERT_TRUE(listener);
    remove_socket_file(path());
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock")) << "somebody answers";
    listener->reset();
    remove_socket_file(path());
    EXPECT_THAT(entries_of(directory()), IsEmpty());
    remove_socket_file(path());
    const UniqueFd file(::open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    remove_socket_file(path());
    EXPECT_THAT(entries_of(directory()), ElementsAre("engine.sock")) << "no socket";
}

TEST_F(ListenerTest, AcceptTakesOneAtATimeAndNothingWhenNobodyWaits) {
    const auto listener = listen_at(options());
    ASSERT_TRUE(listener);
    const auto none = accept_one(listener->get());
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->has_value());
    const UniqueFd first(connect_to(path()));
    const UniqueFd second(connect_to(path()));
    for (int i = 0; i < 2; ++i) {
        const auto accepted = accept_one(listener->get());
        ASSERT_TRUE(accepted);
        ASSERT_TRUE(accepted->has_value());
        EXPECT_NE(::fcntl((*accepted)->get(), F_GETFD) & FD_CLOEXEC, 0);
        EXPECT_NE(::fcntl((*accepted)->get(), F_GETFL) & O_NONBLOCK, 0);
    }
    const auto end = accept_one(listener->get());
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->has_value());
}

TEST_F(ListenerTest, AcceptSaysWhenTheDescriptorTableIsFull) {
    const auto listener = listen_at(options());
    ASSERT_TRUE(listener);
    const UniqueFd client(connect_to(path()));
    const std::string said = in_child([&]() -> std::string {
        while (::dup(0) >= 0) {
        }
        const auto accepted = accept_one(listener->get());
        return accepted ? "accepted" : std::string(errc_name(accepted.error().code()));
    });
    EXPECT_EQ(said, "limit_exceeded");
    const auto accepted = accept_one(listener->get());
    ASSERT_TRUE(accepted);
    EXPECT_TRUE(accepted->has_value()) << "the connection still waits";
}

TEST_F(ListenerTest, AcceptOnSomethingElseIsAnError) {
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto accepted = accept_one(null.get());
    ASSERT_FALSE(accepted);
    EXPECT_EQ(accepted.error().code(), Errc::io);
}

// Case D01.

TEST_F(ListenerTest, CredentialsAreTheKernelsWord) {
    const auto listener = listen_at(options());
    ASSERT_TRUE(listener);
    const UniqueFd client(connect_to(path()));
    const auto socket = accept_one(listener->get());
    ASSERT_TRUE(socket && socket->has_value());
    const auto peer = peer_credentials((*socket)->get());
    ASSERT_TRUE(peer) << peer.error().message();
    EXPECT_EQ(peer->pid, ::getpid());
    EXPECT_EQ(peer->uid, ::geteuid());
    EXPECT_EQ(peer->gid, ::getegid());
}

class CredentialsOf : public ListenerTest {
  protected:
    void SetUp() override {
        ListenerTest::SetUp();
        if (!is_root()) {
            GTEST_SKIP() << "needs root to become somebody else";
        }
        ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
    }

    // A child connects as that user, is seen, and ends.
    Result<PeerCredentials> peer(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
        if (!listener_) {
            Result<UniqueFd> made = listen_at(options(0666));
            CXLPOOL_CHECK(made.has_value());
            listener_ = std::move(*made);
        }
        const pid_t child = ::fork();
        if (child == 0) {
            const bool changed = ::setgroups(groups.size(), groups.data()) == 0 &&
                                 ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0;
            ::_exit(changed && connect_to(path()) >= 0 ? 0 : 1);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CXLPOOL_CHECK(status == 0);
        // The connection waits; its peer and that peer's pid are gone.
        Result<std::optional<UniqueFd>> socket = accept_one(listener_.get());
        CXLPOOL_CHECK(socket.has_value() && socket->has_value());
        Result<PeerCredentials> found = peer_credentials((*socket)->get());
        if (found) {
            CXLPOOL_CHECK(found->pid == child);
        }
        return found;
    }

  private:
    UniqueFd listener_;
};

TEST_F(CredentialsOf, AnotherUserWithSupplementaryGroups) {
    const auto found = peer(1000, 1001, {5, 6, 7});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->uid, 1000U);
    EXPECT_EQ(found->gid, 1001U);
    EXPECT_THAT(found->groups, UnorderedElementsAre(5, 6, 7));
}

TEST_F(CredentialsOf, NoSupplementaryGroups) {
    const auto found = peer(1000, 1001, {});
    ASSERT_TRUE(found);
    EXPECT_THAT(found->groups, IsEmpty());
}

TEST_F(CredentialsOf, ManySupplementaryGroupsAreAllSeen) {
    std::vector<gid_t> groups;
    for (gid_t g = 1; g <= 3000; ++g) {
        groups.push_back(g);
    }
    const auto found = peer(1000, 1001, groups);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->groups.size(), 3000U);
    EXPECT_EQ(std::set<gid_t>(found->groups.begin(), found->groups.end()).size(), 3000U);
}

TEST_F(CredentialsOf, AnUnmappedUserIsRefused) {
    const auto found = peer(65534, 1000, {});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::not_permitted);
}

TEST_F(CredentialsOf, UnmappedGroupsAreNoGroups) {
    const auto found = peer(1000, 65534, {5, 65534});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->gid, 65534U) << "which no grant matches";
    EXPECT_THAT(found->groups, ElementsAre(5));
}

// The identity is the one at connect, whoever holds the socket later.
TEST_F(CredentialsOf, ChangingUserAfterConnectChangesNothing) {
    const auto listener = listen_at(options(0666));
    ASSERT_TRUE(listener);
    const UniqueFd client(connect_to(path()));
    ASSERT_TRUE(client);
    const auto socket = accept_one(listener->get());
    ASSERT_TRUE(socket && socket->has_value());
    const std::string said = in_child([&]() -> std::string {
        if (::setresuid(2000, 2000, 2000) != 0 || ::send(client.get(), "x", 1, 0) != 1) {
            return "cannot send as 2000";
        }
        const auto seen = peer_credentials((*socket)->get());
        return seen ? std::to_string(seen->uid) : seen.error().message();
    });
    EXPECT_EQ(said, "0");
}

TEST(PeerCredentialsOf, ATcpSocketHasNoIdentity) {
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(socket);
    const auto peer = peer_credentials(socket.get());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code(), Errc::not_permitted);
}

TEST(PeerCredentialsOf, AnUnconnectedSocketHasNoIdentity) {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto peer = peer_credentials(socket.get());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code(), Errc::not_permitted);
}

TEST(PeerCredentialsOf, AFailingCallIsARefusalNeverAnEmptyIdentity) {
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (const int fd : {-1, null.get()}) {
        const auto peer = peer_credentials(fd);
        ASSERT_FALSE(peer);
        EXPECT_EQ(peer.error().code(), Errc::not_permitted);
    }
}

// Case D03: sockets from systemd. Each row runs in a child that has them at 3, 4, ...

class PassedSocketsTest : public ListenerTest {
  protected:
    UniqueFd socket_at(const std::string& name, mode_t mode, int type = SOCK_SEQPACKET,
                       bool listening = true) {
        const std::string file = directory() + "/" + name;
        UniqueFd fd = bind_raw(file, type);
        CXLPOOL_CHECK(::chmod(file.c_str(), mode) == 0);
        CXLPOOL_CHECK(!listening || ::listen(fd.get(), 5) == 0);
        return fd;
    }

    // "ok [engine] [admin]" or the error.
    static std::string take(const std::vector<UniqueFd>& sockets, const std::string& names) {
        return in_child([&]() -> std::string {
            std::vector<int> high;
            for (const UniqueFd& socket : sockets) {
                high.push_back(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 200));
            }
            for (std::size_t i = 0; i < high.size(); ++i) {
                ::dup2(high[i], static_cast<int>(3 + i));
            }
            ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
            ::setenv("LISTEN_FDS", std::to_string(sockets.size()).c_str(), 1);
            ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
            const auto passed = take_passed_sockets();
            if (::getenv("LISTEN_FDS") != nullptr) {
                return "a child of the daemon would take them too";
            }
            if (!passed) {
                for (std::size_t i = 0; i < sockets.size(); ++i) {
                    if (::fcntl(static_cast<int>(3 + i), F_GETFD) >= 0) {
                        return "left open: " + passed.error().message();
                    }
                }
                return std::string(errc_name(passed.error().code())) + ": " +
                       passed.error().message();
            }
            std::string said = "ok";
            for (const auto* fd : {&passed->engine, &passed->admin}) {
                if (*fd) {
                    said += fd == &passed->engine ? " engine" : " admin";
                    said += (::fcntl(fd->get(), F_GETFL) & O_NONBLOCK) != 0 ? "" : " blocking";
                    said += (::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0 ? "" : " inherited";
                }
            }
            for (const PassedListener& one : passed->listeners) {
                char mode[8];
                std::snprintf(mode, sizeof mode, "%o", one.mode);
                said += " " + one.path.substr(one.path.rfind('/') + 1) + ":" + mode;
            }
            return said;
        });
    }
};

template <typename... Fds>
std::vector<UniqueFd> list(Fds... fds) {
    std::vector<UniqueFd> out;
    (out.push_back(std::move(fds)), ...);
    return out;
}

TEST_F(PassedSocketsTest, BothInEitherOrder) {
    const auto sockets = list(socket_at("e", 0666), socket_at("a", 0660));
    EXPECT_EQ(take(sockets, "engine:admin"), "ok engine admin");
    const auto turned = list(socket_at("a2", 0660), socket_at("e2", 0666));
    EXPECT_EQ(take(turned, "admin:engine"), "ok engine admin");
}

TEST_F(PassedSocketsTest, OneOrNone) {
    EXPECT_EQ(take(list(socket_at("e", 0666)), "engine"), "ok engine");
    EXPECT_EQ(take(list(socket_at("a", 0660)), "admin"), "ok admin");
    const auto none = take_passed_sockets();
    ASSERT_TRUE(none) << "not started by systemd";
    EXPECT_FALSE(none->engine || none->admin);
}

TEST_F(PassedSocketsTest, SocketsForAnotherProcessAreNotOurs) {
    const std::string said = in_child([]() -> std::string {
        ::setenv("LISTEN_PID", "1", 1);
        ::setenv("LISTEN_FDS", "1", 1);
        const auto passed = take_passed_sockets();
        return passed && !passed->engine && !passed->admin ? "none" : "some";
    });
    EXPECT_EQ(said, "none");
}

TEST_F(PassedSocketsTest, UnknownAndDoubledNamesAreRefused) {
    EXPECT_THAT(take(list(socket_at("x", 0660)), "control"),
                HasSubstr("FileDescriptorName= must be engine, admin or listener"));
    EXPECT_THAT(take(list(socket_at("y", 0660)), "cxlpoold-engine.socket"),
                HasSubstr("FileDescriptorName="));
    EXPECT_THAT(take(list(socket_at("e", 0666), socket_at("f", 0666)), "engine:engine"),
                HasSubstr("passed twice"));
    EXPECT_THAT(take(list(socket_at("g", 0666), socket_at("h", 0660), socket_at("i", 0660)),
                     "engine:admin:other"),
                HasSubstr("invalid_argument"));
}

TEST_F(PassedSocketsTest, ListenersAreToldApartByTheirPaths) {
    EXPECT_EQ(take(list(socket_at("l", 0660), socket_at("e", 0666), socket_at("m", 0666)),
                   "listener:engine:listener"),
              "ok engine l:660 m:666");
    const UniqueFd one = socket_at("n", 0660);
    EXPECT_THAT(take(list(UniqueFd(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0)),
                          UniqueFd(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0))),
                     "listener:listener"),
                HasSubstr("passed twice"));
}

TEST_F(PassedSocketsTest, WrongKindsOfDescriptorsAreRefused) {
    const auto refused = [&](UniqueFd fd) { return take(list(std::move(fd)), "engine"); };
    EXPECT_THAT(refused(socket_at("s", 0666, SOCK_STREAM)), HasSubstr("ListenSequentialPacket="));
    EXPECT_THAT(refused(socket_at("n", 0666, SOCK_SEQPACKET, false)),
                HasSubstr("ListenSequentialPacket="));
    EXPECT_THAT(refused(UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))),
                HasSubstr("ListenSequentialPacket="));
    EXPECT_THAT(refused(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))),
                HasSubstr("invalid_argument"));
}

TEST_F(PassedSocketsTest, AnAbstractSocketIsRefused) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
    ASSERT_EQ(::listen(fd.get(), 5), 0);
    EXPECT_THAT(take(list(std::move(fd)), "engine"), HasSubstr("it has no file"));
}

TEST_F(PassedSocketsTest, AnAdminSocketThatEverybodyMayWriteIsRefused) {
    const std::string said = take(list(socket_at("a", 0666)), "admin");
    EXPECT_THAT(said, HasSubstr("invalid_argument"));
    EXPECT_THAT(said, HasSubstr("SocketMode=0660"));
    EXPECT_EQ(take(list(socket_at("e", 0666)), "engine"), "ok engine");
}

}  // namespace
}  // namespace cxlpool

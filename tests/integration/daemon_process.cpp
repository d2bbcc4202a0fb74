#include "daemon_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace cxlpool::testing {
namespace {

std::string slurp(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

// In the child: stderr and stdout to the file, then the program.
[[noreturn]] void become(const std::vector<std::string>& arguments, const std::string& log) {
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(fd, STDOUT_FILENO);
    ::dup2(fd, STDERR_FILENO);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
}

constexpr std::string_view kMark = "X_MARK=1";

int exit_status(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace

std::string program(const char* variable) {
    const char* path = std::getenv(variable);
    EXPECT_NE(path, nullptr) << variable << " is not set: run this through meson test";
    return path == nullptr ? "" : path;
}

TempDir::TempDir() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base == nullptr ? "/tmp" : base) + "/cxlpool-test-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) {
        path_ = name;
        // Engines of other users reach the socket through it.
        ::chmod(path_.c_str(), 0755);
    }
    EXPECT_FALSE(path_.empty()) << "no directory could be made from " << name;
}

TempDir::~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string basic_config(const std::string& directory, const std::string& mode,
                         const std::string& extra) {
    const std::string uid = std::to_string(::getuid());
    return "tenancy = \"" + mode + "\"\nstate_directory = \"" + directory +
           "/state\"\n[listen]\nengine = \"" + directory + "/run/engine.sock\"\nadmin = \"" +
           directory +
           "/run/admin.sock\"\n"
           "[[pool]]\nname = \"embedded\"\nprovider = \"memfd\"\ncapacity = \"64MiB\"\n"
           "private_segment = \"1MiB\"\n"
           "[[tenant]]\nid = 1\nname = \"alpha\"\n[[tenant]]\nid = 2\nname = \"beta\"\n"
           "[[grant]]\nuid = " +
           uid +
           "\ntenants = [1, 2]\n"
           "roles = [\"engine\", \"adjudicator\", \"inspector\", \"admin\"]\n" +
           extra;
}

DaemonProcess::DaemonProcess() {
    notify_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = dir_.path() + "/notify";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(notify_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd read_end(ends[0]);
    ended_managing_ = UniqueFd(ends[1]);
    manager_ = std::thread([this, end = ::fcntl(ends[0], F_DUPFD_CLOEXEC, 0)] { manage(end); });
}

DaemonProcess::~DaemonProcess() {
    if (running()) {
        stop(SIGKILL);
    }
    ended_managing_.reset();
    manager_.join();
}

void DaemonProcess::manage(int end) {
    const UniqueFd closing(end);
    for (;;) {
        std::array<pollfd, 2> ready{pollfd{notify_.get(), POLLIN, 0}, pollfd{end, POLLIN, 0}};
        if (::poll(ready.data(), ready.size(), -1) > 0 && ready[1].revents != 0) {
            return;
        }
        char text[4096] = {};
        iovec part{text, sizeof text - 1};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t size = ::recvmsg(notify_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (size < 0) {
            continue;
        }
        UniqueFd came;
        if (message.msg_controllen != 0) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof descriptor);
            came.reset(descriptor);
        }
        const std::string told(text, static_cast<std::size_t>(size));
        const std::string name = told.substr(std::min(told.size(), told.find("FDNAME=") + 7));
        const std::lock_guard lock(mutex_);
        if (told.rfind("FDSTORE=1", 0) == 0) {
            if (keeps_) {
                stored_[name] = std::move(came);
            }
        } else if (told.rfind("FDSTOREREMOVE=1", 0) == 0) {
            stored_.erase(name);
        } else if (told == kMark) {
            ++marks_heard_;
            told_.notify_all();
        } else {
            notifications_.push_back(told);
            told_.notify_all();
        }
    }
}

void DaemonProcess::catch_up() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = dir_.path() + "/notify";
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::unique_lock lock(mutex_);
    const std::uint64_t mark = ++marks_said_;
    lock.unlock();  // the manager takes it while this waits for room
    EXPECT_EQ(::sendto(socket.get(), kMark.data(), kMark.size(), 0,
                       reinterpret_cast<const sockaddr*>(&address), sizeof address),
              static_cast<ssize_t>(kMark.size()));
    lock.lock();
    told_.wait(lock, [&] { return marks_heard_ >= mark; });
}

void DaemonProcess::keep_descriptors() {
    const std::lock_guard lock(mutex_);
    keeps_ = true;
}

std::vector<std::string> DaemonProcess::stored_descriptors() const {
    catch_up();
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, descriptor] : stored_) {
        out.push_back(name);
    }
    return out;
}

UniqueFd DaemonProcess::stored_descriptor(const std::string& name) const {
    catch_up();
    const std::lock_guard lock(mutex_);
    const auto at = stored_.find(name);
    return UniqueFd(at == stored_.end() ? -1 : ::fcntl(at->second.get(), F_DUPFD_CLOEXEC, 0));
}

void DaemonProcess::pass_descriptors() const {
    std::string names;
    std::vector<int> aside;  // where no number is wanted
    for (const auto& [name, descriptor] : stored_) {
        names.append(names.empty() ? "" : ":").append(name);
        aside.push_back(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 1000));
    }
    if (aside.empty()) {
        return;
    }
    constexpr int kFirst = 3;
    for (std::size_t i = 0; i < aside.size(); ++i) {
        ::dup2(aside[i], kFirst + static_cast<int>(i));
    }
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", std::to_string(aside.size()).c_str(), 1);
    ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
}

bool DaemonProcess::start(const std::string& config, const std::vector<std::string>& options) {
    const std::string file = dir_.path() + "/cxlpoold.toml";
    write_config(config);
    const std::string log = dir_.path() + "/log";
    const std::string notify = dir_.path() + "/notify";
    std::vector<std::string> arguments = command_;
    if (arguments.empty()) {
        arguments.push_back(program("CXLPOOLD"));
    }
    arguments.insert(arguments.end(), {"--config", file});
    arguments.insert(arguments.end(), options.begin(), options.end());
    catch_up();
    // In the child nobody else has the lock.
    std::unique_lock lock(mutex_);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::setenv("NOTIFY_SOCKET", notify.c_str(), 1);
        ::unsetenv("JOURNAL_STREAM");
        pass_descriptors();
        become(arguments, log);
    }
    lock.unlock();
    // Whichever comes first: a word on the notify socket, or the end of the process.
    for (;;) {
        if (notification(50).find("READY=1") != std::string::npos) {
            return true;
        }
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = 0;
            ended_ = Ended{exit_status(status), slurp(log)};
            return false;
        }
    }
}

void DaemonProcess::write_config(const std::string& config) const {
    std::ofstream(dir_.path() + "/cxlpoold.toml") << config;
}

std::string DaemonProcess::notification(int timeout_ms) {
    std::unique_lock lock(mutex_);
    if (!told_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return !notifications_.empty(); })) {
        return {};
    }
    std::string out = std::move(notifications_.front());
    notifications_.pop_front();
    return out;
}

void DaemonProcess::drain_notifications(int timeout_ms) {
    while (!notification(timeout_ms).empty()) {
        timeout_ms = 0;
    }
}

DaemonProcess::Reloaded DaemonProcess::reload(const std::string& config) {
    drain_notifications();  // of reloads that others asked for
    write_config(config);
    ::kill(pid_, SIGHUP);
    constexpr int kTimeoutMs = 60'000;
    EXPECT_EQ(notification(kTimeoutMs).rfind("RELOADING=1\nMONOTONIC_USEC=", 0), 0U);
    const std::string ready = notification(kTimeoutMs);
    EXPECT_EQ(ready.rfind("READY=1\n", 0), 0U) << ready;
    return ready.find("reload refused") == std::string::npos ? Reloaded::taken_on
                                                             : Reloaded::refused;
}

Ended DaemonProcess::stop(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return Ended{exit_status(status), log()};
}

std::string DaemonProcess::log() const {
    return slurp(dir_.path() + "/log");
}

Result<client::Connection> DaemonProcess::engine(std::uint64_t tenant, std::uint32_t timeout_ms) {
    wire::HelloRequest hello;
    hello.tenant = tenant;
    hello.engine_name = "test-engine";
    return client::Connection::connect(engine_socket(), hello, timeout_ms);
}

Result<client::Connection> DaemonProcess::admin() {
    wire::HelloRequest hello;
    hello.engine_name = "test-operator";
    return client::Connection::connect(admin_socket(), hello);
}

std::size_t DaemonProcess::descriptor_count() const {
    const std::filesystem::path fds = "/proc/" + std::to_string(pid_) + "/fd";
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(fds), {}));
}

std::uint64_t DaemonProcess::resident_bytes() const {
    std::istringstream in(slurp("/proc/" + std::to_string(pid_) + "/statm"));
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    in >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<client::Connection> connect_as(uid_t uid, const std::string& path, std::uint64_t tenant) {
    // The kernel notes the effective ids at connect.
    EXPECT_EQ(::setegid(uid), 0);
    EXPECT_EQ(::seteuid(uid), 0);
    wire::HelloRequest hello;
    hello.tenant = tenant;
    hello.engine_name = "test-engine";
    Result<client::Connection> connection = client::Connection::connect(path, hello);
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
    return connection;
}

Ended run_program(const std::vector<std::string>& arguments) {
    const TempDir dir;
    const std::string log = dir.path() + "/log";
    const pid_t child = ::fork();
    if (child == 0) {
        become(arguments, log);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return Ended{exit_status(status), slurp(log)};
}

}  // namespace cxlpool::testing

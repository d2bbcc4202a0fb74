// A real cxlpoold in a directory of its own.
//
// Responsible for: writing its configuration, starting it, waiting until it says READY=1 on its
// notify socket (no polling), stopping it, and what the kernel says about it (descriptors,
// resident memory). Invariant: no process and no file is left behind.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "client/connection.hpp"

namespace cxlpool::testing {

// The path of a program that the build made; set by the test's environment.
std::string program(const char* variable);

class TempDir {
  public:
    TempDir();
    ~TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

struct Ended {
    int status = -1;  // exit status; 128 + signal
    std::string err;  // what it wrote to stderr
};

// The part of a configuration that every test has; `extra` follows it.
std::string basic_config(const std::string& directory, const std::string& mode = "multi",
                         const std::string& extra = "");

class DaemonProcess {
  public:
    DaemonProcess();
    ~DaemonProcess();

    const std::string& directory() const noexcept { return dir_.path(); }
    std::string engine_socket() const { return dir_.path() + "/run/engine.sock"; }
    std::string admin_socket() const { return dir_.path() + "/run/admin.sock"; }

    // Writes `config` and starts; true when it became ready, false when it ended instead.
    bool start(const std::string& config, const std::vector<std::string>& options = {});
    bool running() const noexcept { return pid_ > 0; }
    pid_t pid() const noexcept { return pid_; }
    Ended stop(int signal);
    void write_config(const std::string& config) const;
    // What is started from now on, before the daemon's own arguments; else it is cxlpoold.
    void run_as(std::vector<std::string> command) { command_ = std::move(command); }
    // From now on the descriptors that the daemon stores are kept when it ends, and passed to its
    // next start, as a service manager with FileDescriptorStoreMax= does.
    void keep_descriptors();
    std::vector<std::string> stored_descriptors() const;  // their names
    // A descriptor of the same open file; none when it is not stored.
    UniqueFd stored_descriptor(const std::string& name) const;
    // Forgets what the daemon has told its service manager.
    void drain_notifications(int timeout_ms = 0);
    // Writes `config`, sends SIGHUP and waits until the daemon says what came of it.
    enum class Reloaded : std::uint8_t { taken_on, refused };
    Reloaded reload(const std::string& config);
    // After start() returned false.
    const Ended& ended() const noexcept { return ended_; }

    Result<client::Connection> engine(std::uint64_t tenant, std::uint32_t timeout_ms = 10'000);
    Result<client::Connection> admin();

    std::size_t descriptor_count() const;
    std::uint64_t resident_bytes() const;
    std::string log() const;

  private:
    std::string notification(int timeout_ms);  // the next; empty: none in time
    void manage(int end);                      // the service manager's thread
    void pass_descriptors() const;             // in the child
    void catch_up() const;  // until the service manager has heard all that was said before
    std::vector<std::string> command_;
    TempDir dir_;
    UniqueFd notify_;
    UniqueFd ended_managing_;
    mutable std::mutex mutex_;
    mutable std::condition_variable told_;
    std::deque<std::string> notifications_;
    mutable std::uint64_t marks_said_ = 0;
    std::uint64_t marks_heard_ = 0;
    bool keeps_ = false;
    std::map<std::string, UniqueFd> stored_;
    std::thread manager_;
    pid_t pid_ = 0;
    Ended ended_;
};

// Says hello at `path` as another user, whose group has the same number; takes root.
Result<client::Connection> connect_as(uid_t uid, const std::string& path, std::uint64_t tenant);

// Runs a program to its end. Errors inside the child become status 127.
Ended run_program(const std::vector<std::string>& arguments);

}  // namespace cxlpool::testing

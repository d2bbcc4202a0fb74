// The service manager's end of sd_notify, at an abstract address that the environment names.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/unique_fd.hpp"

namespace cxlpool::test {

class ServiceManager {
  public:
    ServiceManager() {
        const std::string name = "cxlpool-notify-test-" + std::to_string(::getpid());
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address),
                         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
                  0);
        ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
    }
    ~ServiceManager() { ::unsetenv("NOTIFY_SOCKET"); }
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;

    int socket() const noexcept { return socket_.get(); }

  private:
    UniqueFd socket_;
};

}  // namespace cxlpool::test

// A descriptor whose last close blocks: what a hostile peer sends to stop whoever closes it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "base/unique_fd.hpp"

namespace cxlpool::testing {

// The close of `socket` blocks until `peer`, which does not read, is gone; a minute at most.
struct LingeringSocket {
    UniqueFd socket;
    UniqueFd peer;
};

inline LingeringSocket make_lingering_socket() {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    LingeringSocket out{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), UniqueFd()};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener.get(), any, sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), any, &length), 0);
    EXPECT_EQ(::connect(out.socket.get(), any, sizeof address), 0);
    out.peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(out.peer);
    const linger wait{1, 60};
    EXPECT_EQ(::setsockopt(out.socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    const std::vector<char> unsent(1U << 16U);
    while (::send(out.socket.get(), unsent.data(), unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >
           0) {
    }
    return out;
}

}  // namespace cxlpool::testing

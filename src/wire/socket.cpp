#include "wire/socket.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"

namespace cxlpool::wire {
namespace {

// A message of this protocol carries one descriptor at most, but what does not fit here the kernel
// would close on this thread, however long that takes: there is room for the most that it lets one
// message carry (SCM_MAX_FD), and for the credentials that the socket may be set to add.
constexpr std::size_t kControlDescriptors = 253;
constexpr std::size_t kControlBytes =
    CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(kControlDescriptors * sizeof(int));

struct alignas(cmsghdr) Control {
    std::array<std::byte, kControlBytes> bytes;
};

// Headers come in any order, and a socket may be set to add kinds that are of no interest here.
std::vector<UniqueFd> take_descriptors(msghdr& message) {
    std::vector<UniqueFd> taken;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        taken.reserve(taken.size() + count);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            taken.emplace_back(fd);
        }
    }
    return taken;
}

bool peer_is_gone(int os_errno) noexcept {
    return os_errno == EPIPE || os_errno == ECONNRESET || os_errno == ENOTCONN;
}

}  // namespace

Result<Received> receive(int socket, std::span<std::byte> buffer, std::size_t max_descriptors) {
    Control control{};
    iovec piece{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();

    ssize_t size = 0;
    do {
        size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);

    Received received;
    if (size < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return received;
        }
        if (peer_is_gone(errno)) {
            received.io = Io::closed;
            return received;
        }
        return os_error("receiving a message", errno);
    }
    // Owned before anything else is decided, so that no path leaks them.
    received.descriptors = take_descriptors(message);
    const bool control_truncated = (message.msg_flags & MSG_CTRUNC) != 0;
    received.descriptors_came = control_truncated || !received.descriptors.empty();
    received.descriptors_lost = control_truncated || received.descriptors.size() > max_descriptors;
    received.io = size == 0 ? Io::closed : Io::done;
    received.size = static_cast<std::size_t>(size);
    received.truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return received;
}

Result<Io> send(int socket, std::span<const std::byte> message, int descriptor) {
    Control control{};
    // sendmsg does not write through the pointer; its type serves recvmsg too.
    iovec piece{const_cast<std::byte*>(message.data()), message.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
        header.msg_control = control.bytes.data();
        header.msg_controllen = CMSG_SPACE(sizeof(int));
        cmsghdr* rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    }

    ssize_t sent = 0;
    do {
        sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return Io::would_block;
        }
        if (peer_is_gone(errno)) {
            return Io::closed;
        }
        return os_error("sending a message of " + std::to_string(message.size()) + " bytes", errno);
    }
    // A sequenced packet goes whole or not at all.
    CXLPOOL_CHECK(static_cast<std::size_t>(sent) == message.size());
    return Io::done;
}

}  // namespace cxlpool::wire

// Closes descriptors that came from peers, on a thread of its own.
//
// Responsible for: close(2) of what a peer sent or may have filled (its socket), in order of
// arrival. Such a close can block for as long as the peer likes: on a file of a FUSE file system,
// a lingering TCP socket, and on a Unix socket in which descriptors of that kind wait unread.
// Refuses to know: whose they are; whoever buries them bounds them by the backlog. Invariants:
// no call waits for a close; the destructor waits briefly and then leaves a stuck thread behind.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"

namespace cxlpool {

class DescriptorReaper {
  public:
    DescriptorReaper();
    ~DescriptorReaper();
    DescriptorReaper(const DescriptorReaper&) = delete;
    DescriptorReaper& operator=(const DescriptorReaper&) = delete;

    void bury(UniqueFd descriptor);
    void bury(std::vector<UniqueFd> descriptors);
    // Buried and not closed yet, the one that is being closed included.
    std::size_t backlog() const;

  private:
    struct Shared;
    static void work(Shared& shared);

    std::shared_ptr<Shared> shared_;  // the thread's, too: it may outlive this object
    std::thread thread_;
};

}  // namespace cxlpool

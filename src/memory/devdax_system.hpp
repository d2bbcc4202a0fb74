// The system calls that the devdax provider makes on a node, so that tests can stand in for a
// device. Each does what the call of that name does: -1 (MAP_FAILED) and errno on failure.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "base/result.hpp"

namespace cxlpool {

class SegmentProvider;
struct DevdaxOptions;

class DevdaxSystem {
  public:
    virtual ~DevdaxSystem() = default;
    virtual int stat(const char* path, struct stat* out) = 0;
    virtual int open(const char* path, int flags) = 0;
    virtual int fstat(int fd, struct stat* out) = 0;
    virtual void* mmap(std::size_t length, int prot, int flags, int fd, off_t offset) = 0;
    virtual int munmap(void* at, std::size_t length) = 0;
};

// make_devdax_provider() of memory/provider.hpp with other system calls; `system` outlives the
// provider and its segment.
Result<std::unique_ptr<SegmentProvider>> make_devdax_provider(const DevdaxOptions& options,
                                                              DevdaxSystem& system);

}  // namespace cxlpool

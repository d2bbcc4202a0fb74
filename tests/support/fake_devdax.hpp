// A dax device without one: a sealed memfd stands for the node, a scratch tree for sysfs.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "memory/devdax_system.hpp"
#include "memory/provider.hpp"
#include "support/scratch_tree.hpp"

namespace cxlpool::test {

class FakeDevdax final : public DevdaxSystem {
  public:
    static constexpr const char* kPath = "/dev/dax0.0";
    static constexpr unsigned kMajor = 252;

    FakeDevdax(std::uint64_t size_bytes, std::uint64_t align_bytes)
        : memory_(::memfd_create("fake-dax", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        EXPECT_EQ(::ftruncate(memory_.get(), static_cast<off_t>(size_bytes)), 0);
        EXPECT_EQ(::fchmod(memory_.get(), 0600), 0);
        EXPECT_EQ(::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        describe(0, std::to_string(size_bytes) + "\n", std::to_string(align_bytes) + "\n");
    }

    DevdaxOptions options() const {
        DevdaxOptions options;
        options.pool_name = "d0";
        options.device_path = kPath;
        options.sysfs_root = tree.path("sys");
        return options;
    }

    // What sysfs says of 252:MINOR.
    void describe(unsigned minor, const std::string& size, const std::string& align) const {
        tree.write(directory(minor) + "/size", size);
        tree.write(directory(minor) + "/align", align);
        tree.link(directory(minor) + "/subsystem", "../../../bus/dax");
        set_driver("device_dax", minor);
        tree.link("sys/dev/char/" + std::to_string(kMajor) + ":" + std::to_string(minor),
                  "../../devices/dax0." + std::to_string(minor));
    }
    void set_driver(const std::string& name, unsigned minor = 0) const {
        tree.link(directory(minor) + "/driver", "../../../bus/dax/drivers/" + name);
    }
    static std::string directory(unsigned minor) {
        return "sys/devices/dax0." + std::to_string(minor);
    }

    int stat(const char* path, struct stat* out) override {
        if (stat_errno != 0) {
            errno = stat_errno;
            return -1;
        }
        EXPECT_STREQ(path, kPath);
        return fill(*out);
    }
    int open(const char* path, int flags) override {
        opened.emplace_back(path, flags);
        if (open_errno != 0) {
            errno = open_errno;
            return -1;
        }
        const std::string own = "/proc/self/fd/" + std::to_string(memory_.get());
        return ::open(std::strcmp(path, kPath) == 0 ? own.c_str() : path, flags);
    }
    int fstat(int, struct stat* out) override {
        fill(*out);
        out->st_rdev = rdev_when_open != 0 ? rdev_when_open : rdev;
        return 0;
    }
    void* mmap(std::size_t length, int prot, int flags, int fd, off_t offset) override {
        if (mmap_errno != 0) {
            errno = mmap_errno;
            return MAP_FAILED;
        }
        EXPECT_EQ(flags, MAP_SHARED);
        EXPECT_EQ(offset, 0);
        void* const at = ::mmap(nullptr, length, prot, flags, fd, offset);
        mapped.emplace_back(at, length);
        return at;
    }
    int munmap(void* at, std::size_t length) override {
        unmapped.emplace_back(at, length);
        return ::munmap(at, length);
    }

    ScratchTree tree;
    mode_t mode = S_IFCHR | 0660;
    dev_t rdev = makedev(kMajor, 0);
    dev_t rdev_when_open = 0;  // 0: the same
    int stat_errno = 0;
    int open_errno = 0;
    int mmap_errno = 0;
    std::vector<std::pair<std::string, int>> opened;
    std::vector<std::pair<void*, std::size_t>> mapped;
    std::vector<std::pair<void*, std::size_t>> unmapped;

  private:
    int fill(struct stat& out) const {
        out = {};
        out.st_mode = mode;
        out.st_rdev = rdev;
        out.st_uid = 0;
        out.st_gid = 998;
        return 0;
    }

    UniqueFd memory_;
};

}  // namespace cxlpool::test

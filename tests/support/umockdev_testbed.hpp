// A recorded tree in the place of /sys and /dev, for code that knows no other root.
//
// Link umockdev_main.cpp too: it exits with 77 (skipped), and says why, when the program does not
// run under umockdev-wrapper.
#pragma once

#include <umockdev.h>

#include <filesystem>
#include <memory>

#include "support/sysfs_tree.hpp"

namespace cxlpool::test {

struct UnrefTestbed {
    void operator()(UMockdevTestbed* testbed) const noexcept { g_object_unref(testbed); }
};
using UmockdevHandle = std::unique_ptr<UMockdevTestbed, UnrefTestbed>;

// While it lives, /sys and /dev are those of the tree.
class Testbed {
  public:
    explicit Testbed(const SysfsTree& tree, bool with_device_nodes = true)
        : testbed_(umockdev_testbed_new()) {
        const std::unique_ptr<char, decltype(&g_free)> root(
            umockdev_testbed_get_root_dir(testbed_.get()), &g_free);
        root_ = root.get();
        materialise(tree, root_);
        if (with_device_nodes) {
            add_device_nodes(tree, root_);
        }
    }

    const std::filesystem::path& root() const noexcept { return root_; }

  private:
    UmockdevHandle testbed_;
    std::filesystem::path root_;
};

}  // namespace cxlpool::test

// A temporary directory with files and links in it, removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cxlpool::test {

class ScratchTree {
  public:
    ScratchTree() {
        std::string name =
            (std::filesystem::temp_directory_path() / "cxlpool-test.XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            ADD_FAILURE() << "cannot make a directory like " << name;
            std::abort();
        }
        root_ = name;
    }
    ScratchTree(const ScratchTree&) = delete;
    ScratchTree& operator=(const ScratchTree&) = delete;
    ~ScratchTree() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    std::string root() const { return root_.string(); }
    std::string path(const std::string& relative) const { return (root_ / relative).string(); }

    void write(const std::string& relative, const std::string& text) const {
        std::filesystem::create_directories((root_ / relative).parent_path());
        std::ofstream(root_ / relative, std::ios::binary) << text;
    }
    void link(const std::string& relative, const std::string& target) const {
        std::filesystem::create_directories((root_ / relative).parent_path());
        std::filesystem::remove(root_ / relative);
        std::filesystem::create_symlink(target, root_ / relative);
    }
    void remove(const std::string& relative) const {
        std::filesystem::remove_all(root_ / relative);
    }

  private:
    std::filesystem::path root_;
};

}  // namespace cxlpool::test

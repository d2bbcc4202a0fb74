// A recorded sysfs tree, put into a directory for the code under test to read.
//
// Responsible for: the JSON of tests/golden (`files`: path to text, `links`: path to target) and
// its copy on disk. The same copy serves the sysfs reader, which takes a root directory, and an
// umockdev testbed, through which libcxl and libdaxctl read it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace cxlpool::test {

struct SysfsTree {
    std::map<std::string, std::string> files;  // "sys/devices/..." to the attribute's text
    std::map<std::string, std::string> links;  // "sys/bus/..." to the relative target
    std::string document;                      // the JSON it came from, for its `expect`

    // Adds what a device's bus would show, as the fixtures do.
    void file(const std::string& path, const std::string& text) { files[path] = text; }
    void link(const std::string& path, const std::string& target) { links[path] = target; }
};

// Throws std::runtime_error, with the file, when it cannot be read.
SysfsTree load_sysfs_tree(const std::filesystem::path& json_file);

// Writes files and links below `directory`. Targets that the record does not hold become empty
// directories, because libcxl follows links to devices that the record leaves out.
void materialise(const SysfsTree& tree, const std::filesystem::path& directory);

// Adds what umockdev takes for the character devices that the tree's CXL and dax devices have in
// /dev, and the /sys/dev/char links to them.
void add_device_nodes(const SysfsTree& tree, const std::filesystem::path& directory);

// A directory of its own, removed at the end.
class ScratchDirectory {
  public:
    ScratchDirectory();
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;
    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace cxlpool::test

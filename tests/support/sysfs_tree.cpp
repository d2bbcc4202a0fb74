#include "support/sysfs_tree.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace cxlpool::test {
namespace fs = std::filesystem;
namespace {

fs::path below(const fs::path& directory, const std::string& path) {
    const fs::path normal = fs::path(path).lexically_normal();
    if (normal.is_absolute() || *normal.begin() == "..") {
        throw std::runtime_error("the path '" + path + "' leads out of its tree");
    }
    return directory / normal;
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

bool starts_with(const std::string& text, const std::string& prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

std::string node_name(const std::string& device) {
    if (starts_with(device, "mem")) {
        return "cxl/" + device;
    }
    return starts_with(device, "dax") ? device : std::string();
}

}  // namespace

SysfsTree load_sysfs_tree(const fs::path& json_file) {
    std::ifstream file(json_file, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
        throw std::runtime_error("cannot read " + json_file.string());
    }
    SysfsTree tree;
    tree.document = text.str();
    const nlohmann::json document = nlohmann::json::parse(tree.document);
    tree.files = document.at("files").get<std::map<std::string, std::string>>();
    tree.links = document.at("links").get<std::map<std::string, std::string>>();
    return tree;
}

void materialise(const SysfsTree& tree, const fs::path& directory) {
    for (const auto& [path, text] : tree.files) {
        write(below(directory, path), text);
    }
    for (const auto& [path, target] : tree.links) {
        const fs::path link = below(directory, path);
        fs::create_directories(link.parent_path());
        fs::create_symlink(target, link);
    }
    for (const auto& [path, target] : tree.links) {
        const fs::path wanted = below(directory, (fs::path(path).parent_path() / target).string());
        if (!fs::exists(wanted)) {
            fs::create_directories(wanted);
        }
    }
}

void add_device_nodes(const SysfsTree& tree, const fs::path& directory) {
    for (const auto& [path, text] : tree.files) {
        const fs::path attribute(path);
        const std::string name = node_name(attribute.parent_path().filename().string());
        if (attribute.filename() != "dev" || name.empty()) {
            continue;
        }
        const std::string numbers = text.substr(0, text.find_last_not_of("\n") + 1);
        write(directory / "dev" / name, "");
        std::string flat = name;
        for (char& c : flat) {
            c = c == '/' ? '_' : c;
        }
        fs::create_directories(directory / "dev/.node");
        fs::create_symlink(numbers, directory / "dev/.node" / flat);

        const fs::path char_dir = directory / "sys/dev/char";
        fs::create_directories(char_dir);
        fs::create_symlink(fs::path("../../..") / attribute.parent_path(), char_dir / numbers);
        const fs::path subsystem = directory / attribute.parent_path() / "subsystem";
        if (!fs::is_symlink(subsystem)) {
            const std::string bus = starts_with(name, "dax") ? "sys/bus/dax" : "sys/bus/cxl";
            fs::create_symlink(fs::relative(directory / bus, subsystem.parent_path()), subsystem);
        }
    }
}

ScratchDirectory::ScratchDirectory() {
    // A tree is hundreds of small files, for which memory is much faster than most disks.
    const fs::path memory("/dev/shm");
    const fs::path parent =
        ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
    std::string pattern = (parent / "cxlpool-sysfs-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::runtime_error("cannot make a directory like " + pattern);
    }
    path_ = pattern;
}

ScratchDirectory::~ScratchDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace cxlpool::test

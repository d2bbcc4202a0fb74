#include "base/directory.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace cxlpool {

Result<void> check_makeable(const std::string& directory, std::string doing) {
    const std::size_t slash = directory.rfind('/', directory.find_last_not_of('/'));
    const std::string parent = slash == std::string::npos ? "." : directory.substr(0, slash + 1);
    struct stat status {};
    if (::stat(parent.c_str(), &status) != 0 && errno != EACCES) {
        return os_error(std::move(doing), errno);
    }
    return {};
}

}  // namespace cxlpool

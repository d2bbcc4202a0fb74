#include <algorithm>

#include "topology/assess.hpp"
#include "topology/rules.hpp"

namespace cxlpool {
namespace {

void drop_prefix(std::string_view& text, std::string_view prefix) {
    if (text.substr(0, prefix.size()) == prefix) {
        text.remove_prefix(prefix.size());
    }
}

// "/sys/devices/platform/hmem.0/" and "/platform/hmem.0" are one place: daxctl leaves the start
// of the path out.
std::string_view device_path(std::string_view path) {
    while (path.size() > 1 && path.back() == '/') {
        path.remove_suffix(1);
    }
    drop_prefix(path, "/sys");
    drop_prefix(path, "/devices");
    return path;
}

bool same_path(std::string_view a, std::string_view b) {
    return !a.empty() && !b.empty() && device_path(a) == device_path(b);
}

std::string_view last_component(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

class Selection {
  public:
    Selection(const Topology& topology, const Assessment& assessment)
        : topology_(topology), lookup_(topology), assessment_(assessment) {}

    Result<PoolCandidate> by_serial(std::uint64_t serial) {
        what_ = "serial " + std::to_string(serial);
        if (serial == 0) {
            return bad(
                "serial 0 is printed by devices that have none: name the pool by region, "
                "dax device or path");
        }
        std::vector<std::string> memdevs;
        for (const Memdev& memdev : topology_.memdevs) {
            if (memdev.serial == serial) {
                memdevs.push_back(memdev.name);
            }
        }
        if (memdevs.size() > 1) {
            return bad(what_ + " belongs to several devices (" + join(memdevs) +
                       "): name the pool by region, dax device or path");
        }
        return memdevs.empty() ? absent() : by_memdev(memdevs.front());
    }

    Result<PoolCandidate> by_region(const std::string& name) {
        what_ = "region " + name;
        subjects_.push_back(name);
        if (const Region* const region = lookup_.region(name)) {
            add_subjects(*region);
        }
        return one([&](const PoolCandidate& pool) { return pool.region == name; });
    }

    Result<PoolCandidate> by_dax_device(std::string_view name) {
        drop_prefix(name, "/dev/");
        what_ = "dax device " + std::string(name);
        subjects_.emplace_back(name);
        for (const DaxDevice& device : topology_.dax_devices) {
            if (device.name == name && !device.region.empty()) {
                subjects_.push_back(device.region);
                if (const Region* const region = lookup_.region(device.region)) {
                    add_subjects(*region);
                }
            }
        }
        return one([&](const PoolCandidate& pool) { return pool.dax_device == name; });
    }

    Result<PoolCandidate> by_path(const std::string& path) {
        constexpr std::string_view kDaxBus = "/sys/bus/dax/devices/";
        if (path.substr(0, kDaxBus.size()) == kDaxBus) {
            return by_dax_device(last_component(path));
        }
        for (const Memdev& memdev : topology_.memdevs) {
            if (same_path(memdev.sysfs_path, path)) {
                return by_memdev(memdev.name);
            }
        }
        for (const Region& region : topology_.regions) {
            if (same_path(region.sysfs_path, path)) {
                return by_region(region.name);
            }
        }
        what_ = "path " + path;
        std::vector<std::string> devices;
        for (const DaxDevice& device : topology_.dax_devices) {
            if (same_path(device.sysfs_path, path) || same_path(device.region_path, path)) {
                devices.push_back(device.name);
                subjects_.push_back(device.name);
                subjects_.push_back(device.region);
            }
        }
        return one([&](const PoolCandidate& pool) { return contains(devices, pool.dax_device); });
    }

  private:
    Result<PoolCandidate> by_memdev(const std::string& name) {
        subjects_.push_back(name);
        for (const Region& region : topology_.regions) {
            const bool on_it =
                std::any_of(region.mappings.begin(), region.mappings.end(),
                            [&](const RegionMapping& mapping) { return mapping.memdev == name; });
            if (on_it) {
                subjects_.push_back(region.name);
                add_subjects(region);
            }
        }
        return one([&](const PoolCandidate& pool) { return contains(pool.memdevs, name); });
    }

    // Findings about these explain why a device that matches is no pool.
    void add_subjects(const Region& region) {
        for (const RegionMapping& mapping : region.mappings) {
            subjects_.push_back(mapping.memdev);
        }
        for (const DaxDevice& device : topology_.dax_devices) {
            if (device.region == region.name) {
                subjects_.push_back(device.name);
            }
        }
    }

    template <typename Matches>
    Result<PoolCandidate> one(Matches&& matches) {
        std::vector<const PoolCandidate*> found;
        std::vector<std::string> names;
        for (const PoolCandidate& pool : assessment_.pools) {
            if (matches(pool)) {
                found.push_back(&pool);
                names.push_back(pool.name);
            }
        }
        if (found.size() > 1) {
            return bad(what_ + " matches several pools: " + join(names) +
                       "; name one by its dax device");
        }
        if (found.empty()) {
            return absent();
        }
        return *found.front();
    }

    Error bad(std::string message) const {
        return Error{Errc::invalid_argument, std::move(message)};
    }

    // A finding about a device that was asked for. A subject can be several names.
    bool explains(const Finding& finding) const {
        if (finding.severity == Finding::Severity::info && finding.code != "dax_seed" &&
            finding.code != "firmware_system_ram") {
            return false;
        }
        std::string_view rest = finding.subject;
        while (!rest.empty()) {
            const std::string_view name = rest.substr(0, rest.find(", "));
            if (contains(subjects_, name)) {
                return true;
            }
            rest.remove_prefix(std::min(name.size() + 2, rest.size()));
        }
        return false;
    }

    Error absent() const {
        std::string message = "no pool with " + what_;
        for (const Finding& finding : assessment_.findings) {
            if (explains(finding)) {
                message += "; " + finding.message;
                if (!finding.next.empty()) {
                    message += " (" + finding.next + ")";
                }
            }
        }
        std::vector<std::string> names;
        for (const PoolCandidate& pool : assessment_.pools) {
            std::string name = pool.name;
            for (const std::uint64_t serial : pool.serials) {
                name += " serial " + std::to_string(serial);
            }
            names.push_back(std::move(name));
        }
        message += names.empty() ? "; there is none at all" : "; there is: " + join(names);
        return Error{Errc::not_found, std::move(message)};
    }

    const Topology& topology_;
    const Lookup lookup_;
    const Assessment& assessment_;
    std::string what_;
    std::vector<std::string> subjects_;
};

}  // namespace

Result<PoolCandidate> find_pool(const Topology& topology, const Assessment& assessment,
                                const PoolSelector& selector) {
    const int given = (selector.serial ? 1 : 0) + (selector.region.empty() ? 0 : 1) +
                      (selector.dax_device.empty() ? 0 : 1) + (selector.sysfs_path.empty() ? 0 : 1);
    if (given != 1) {
        return Error{Errc::invalid_argument,
                     "name the device of a pool by exactly one of serial, region, dax device and "
                     "path, not by " +
                         std::to_string(given) + " of them"};
    }
    Selection selection(topology, assessment);
    if (selector.serial) {
        return selection.by_serial(*selector.serial);
    }
    if (!selector.region.empty()) {
        return selection.by_region(selector.region);
    }
    if (!selector.dax_device.empty()) {
        return selection.by_dax_device(selector.dax_device);
    }
    return selection.by_path(selector.sysfs_path);
}

}  // namespace cxlpool

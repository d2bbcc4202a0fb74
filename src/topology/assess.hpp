// The parts that assess() is made of. Internal to topology.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "topology/lookup.hpp"
#include "topology/rules.hpp"

namespace cxlpool {

class Findings {
  public:
    void info(std::string code, std::string subject, std::string message, std::string next) {
        add(Finding::Severity::info, std::move(code), std::move(subject), std::move(message),
            std::move(next));
    }
    void warning(std::string code, std::string subject, std::string message, std::string next) {
        add(Finding::Severity::warning, std::move(code), std::move(subject), std::move(message),
            std::move(next));
    }
    void error(std::string code, std::string subject, std::string message, std::string next) {
        add(Finding::Severity::error, std::move(code), std::move(subject), std::move(message),
            std::move(next));
    }
    std::vector<Finding> take() { return std::move(findings_); }

  private:
    void add(Finding::Severity severity, std::string code, std::string subject, std::string message,
             std::string next) {
        findings_.push_back(Finding{severity, std::move(code), std::move(subject),
                                    std::move(message), std::move(next)});
    }
    std::vector<Finding> findings_;
};

// "1 GiB (1073741824 bytes)": for people and for scripts.
std::string bytes_text(std::uint64_t bytes);
// "mem0, mem1".
std::string join(const std::vector<std::string>& names);

// The sum, or the largest number: of foreign sizes, for people to read.
inline std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) noexcept {
    return checked_add(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}

// What memdevs and their windows say: disabled devices, identities, capacity that nobody uses or
// can reach.
void assess_memdevs(const Topology& topology, const Lookup& lookup, Findings& findings);
void assess_unused_memory(const Topology& topology, const Lookup& lookup, Findings& findings);

// The pools, and why the other regions and dax devices are none.
std::vector<PoolCandidate> assess_pools(const Topology& topology, const Lookup& lookup,
                                        Findings& findings);

// The worth of one pool. `device` is null where a region stands for its dax device.
Profile pool_profile(const Topology& topology, const Lookup& lookup, const DaxDevice* device,
                     const Region* region, std::uint64_t capacity_bytes);

// The NUMA nodes with memory, as tiers.
std::vector<Profile> assess_tiers(const Topology& topology, Findings& findings);

// The physical ranges that two things claim. Says who is kept and who is refused.
class Claims {
  public:
    // Claims `ranges` for `name`. Returns the earlier claimant that has a byte of them, or nothing;
    // then the ranges are taken.
    std::optional<std::string> claim(const std::string& name,
                                     const std::vector<PhysicalRange>& ranges);
    // The claimant with a byte of `ranges`, not counting `except`.
    std::optional<std::string> holder(const std::vector<PhysicalRange>& ranges,
                                      std::string_view except) const;

  private:
    struct Claim {
        std::uint64_t end;
        std::string name;
    };
    std::map<std::uint64_t, Claim> taken_;  // by start; they do not overlap
};

}  // namespace cxlpool

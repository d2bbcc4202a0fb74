// Segments in the descriptor store of the service manager (FileDescriptorStoreMax=): memory that
// stays while the daemon is started again.
//
// Responsible for: the names in the store, and giving up what nobody claims after a start. Refuses
// to know what is in a segment. Invariant: a descriptor is offered to the start that it was passed
// to, once; what that start does not take back is removed from the store.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "memory/pool.hpp"

namespace cxlpool {

// "cxlpool-SEGMENT-POOL"
std::string stored_name(const std::string& pool, SegmentId segment);

class SegmentStore : public SegmentKeeper {
  public:
    // Null when no service manager is there.
    static std::shared_ptr<SegmentStore> of_service_manager();

    // By pool and number. Descriptors with other names are removed from the store.
    std::map<std::pair<std::string, std::uint64_t>, UniqueFd> take(
        std::vector<std::pair<std::string, UniqueFd>> stored);
    // Removes what take() gave out and no pool has kept since.
    void drop_unclaimed();

    void keep(const std::string& pool, SegmentId segment, int descriptor) override;
    void give_up(const std::string& pool, SegmentId segment) override;
    // Tells again what the service manager did not take. Called now and then.
    void retry();

  private:
    void remove(const std::string& name);

    std::set<std::string> unclaimed_;
    std::set<std::string> to_remove_;
    std::map<std::string, int> to_store_;  // of segments that are there
};

}  // namespace cxlpool

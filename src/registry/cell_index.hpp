// Cells by a key that several may have.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "base/ids.hpp"
#include "registry/span_hash.hpp"

namespace cxlpool {

template <typename Key>
class CellIndex {
  public:
    // Valid until the next change; empty when there are none.
    std::span<const CellId> find(const Key& key) const {
        const auto at = lists_.find(key);
        return at == lists_.end() ? std::span<const CellId>() : at->second;
    }
    void add(const Key& key, CellId cell) { lists_[key].push_back(cell); }
    // It must be there.
    void remove(const Key& key, CellId cell) {
        const auto at = lists_.find(key);
        CXLPOOL_CHECK(at != lists_.end());
        CXLPOOL_CHECK(std::erase(at->second, cell) == 1);
        if (at->second.empty()) {
            lists_.erase(at);
        }
    }
    // In linear time; for tests.
    std::size_t size() const {
        std::size_t cells = 0;
        for (const auto& [key, list] : lists_) {
            cells += list.size();
        }
        return cells;
    }

  private:
    std::unordered_map<Key, std::vector<CellId>, SpanHash> lists_;
};

}  // namespace cxlpool

// A state directory of its own, and values that no default has.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "state/state_store.hpp"
#include "support/scratch_tree.hpp"

namespace cxlpool::test {

inline constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
// 2026-01-31 23:59:59 UTC
inline constexpr Timestamp kWall{1'769'903'999'000'000'000ULL};

inline TenantRecord extreme_tenant() {
    return TenantRecord{TenantId{kMaxU64}, "extreme", kMaxU64, kMaxWeight, kMaxU64, kMaxU64, true};
}

inline TenantRecord plain_tenant(std::uint64_t id, const std::string& name) {
    TenantRecord out;
    out.id = TenantId{id};
    out.name = name;
    return out;
}

inline TenantRecord after_erasure(std::uint64_t id, const std::string& name) {
    TenantRecord out = plain_tenant(id, name);
    out.incarnation = 1;
    return out;
}

inline CellRecord extreme_cell() {
    CellRecord out;
    out.id = CellId{kMaxU64};
    out.owner = TenantId{kMaxU64};
    out.pool = "cxl0";
    out.segment = kMaxU64;
    out.extent_bytes = 1ULL << 63U;
    out.offset_bytes = kMaxU64 - out.extent_bytes;
    out.length_bytes = out.extent_bytes - 1;
    out.offered = true;
    out.context[Axis::model] = std::string(kAxisValueMaxBytes, 'm');
    out.context[Axis::weights] = "version:18446744073709551615";
    out.span.bytes[0] = 0xFF;
    out.digest.bytes[31] = 1;
    out.recompute_ns = kMaxU64;
    out.quarantined = true;
    out.taint = Taint::poisoned;
    out.admission = Admission::allow;
    out.scope = Scope::fleet;
    out.allow_list = {TenantId{1}, TenantId{kMaxU64}};
    out.adjudicated_epoch = kMaxU64;
    out.adjudication = Adjudication{Judgement::poison, 4'294'967'295U, kWall, kMaxU64};
    out.uid = 4'294'967'294U;
    out.engine = "engine \"7\"\n";
    out.begun_at = kWall;
    out.sealed_at = Timestamp{kWall.ns + 1};
    return out;
}

inline CellRecord plain_cell(std::uint64_t id) {
    CellRecord out;
    out.id = CellId{id};
    out.owner = TenantId{1};
    out.pool = "cxl0";
    out.segment = 1;
    out.extent_bytes = 4096;
    out.length_bytes = 1;
    out.context[Axis::model] = "m";
    out.span.bytes[0] = 1;
    out.digest.bytes[0] = 1;
    return out;
}

class StateTest : public ::testing::Test {
  protected:
    std::string directory() const { return tree_.path("state"); }
    std::string file() const { return directory() + "/state.db"; }

    Result<std::unique_ptr<StateStore>> open(TenancyMode mode = TenancyMode::multi,
                                             OnLoss on_loss = OnLoss::refuse) const {
        return StateStore::open(directory(), mode, kWall, on_loss);
    }
    // For where it must open.
    std::unique_ptr<StateStore> opened(TenancyMode mode = TenancyMode::multi) const {
        auto store = open(mode);
        EXPECT_TRUE(store) << store.error().message();
        return store ? std::move(*store) : nullptr;
    }

    static std::string slurp(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void spill(const std::string& path, const std::string& bytes) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    }

    ScratchTree tree_;
};

}  // namespace cxlpool::test

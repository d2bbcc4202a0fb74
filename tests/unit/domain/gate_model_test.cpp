// Random requesters, cells and contexts: the gate against a second one that is written from
// docs/gate.md with other means, and the laws that no single case shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "domain/gate.hpp"

namespace cxlpool {
namespace {

constexpr int kDraws = 200'000;

struct Question {
    GateRequester requester;
    GateCell cell;
    std::vector<TenantId> allow_list;
    ContextKey wanted;
    Timestamp now;
    TenancyMode mode = TenancyMode::multi;

    Verdict answer() const {
        GateCell view = cell;
        view.allow_list = allow_list;
        return judge(requester, view, wanted, now);
    }
};

// Draws that hit often enough: each field takes a value that passes nine times in ten.
class Draw {
  public:
    explicit Draw(unsigned seed) : random_(seed) {}

    Question question() {
        Question q;
        q.mode = likely() ? TenancyMode::multi : TenancyMode::single;
        q.now = Timestamp{1000 + below(3)};
        q.requester = {likely(), likely(), TenantId{likely() ? 2 : below(4)}, Reach{}};
        q.requester.reach = word<Reach>(1, 4);
        GateCell& cell = q.cell;
        cell.owner = TenantId{likely() ? 1 : below(4)};
        cell.lifecycle = word<Lifecycle>(1, 9);
        cell.taint = word<Taint>(1, 4);
        cell.admission = word<Admission>(1, 7);
        cell.scope = word<Scope>(2, 4);
        cell.admission_quarantined = !likely();
        if (!likely()) {
            cell.expires_at = Timestamp{999 + below(5)};
        }
        while (!likely()) {
            q.allow_list.push_back(TenantId{below(4)});
        }
        cell.owner_epoch = 3;
        cell.adjudicated_epoch = likely() ? 3 : below(5);
        cell.length_bytes = likely() ? 64 : below(2);
        cell.digest_present = likely();
        cell.extent_alive = likely();
        for (std::size_t i = 0; i < kAxisCount; ++i) {
            q.wanted.axes[i] = cell.key.axes[i] = AxisId{1};
        }
        while (!likely()) {
            (likely() ? q.wanted : cell.key).axes[below(kAxisCount)] =
                AxisId{static_cast<std::uint32_t>(below(3))};
        }
        return q;
    }

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

  private:
    bool likely() { return below(10) != 0; }
    template <typename Enum>
    Enum word(unsigned usual, unsigned end) {
        return static_cast<Enum>(likely() ? usual : below(end));
    }
    std::mt19937_64 random_;
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// The gate once more, over words, one sentence of the page after the other.
std::string naive(const Question& q) {
    const GateCell& cell = q.cell;
    const std::string lifecycle(to_word(cell.lifecycle));
    const std::string taint(to_word(cell.taint));
    const std::string scope(to_word(cell.scope));
    const std::string admission(to_word(cell.admission));
    const std::uint64_t who = q.requester.tenant.value;
    if (!q.requester.authenticated || !q.requester.may_act || who == 0) {
        return "not_permitted";
    }
    if (taint == "poisoned" || cell.admission_quarantined || lifecycle == "quarantined") {
        return "quarantined";
    }
    const bool over = cell.expires_at && cell.expires_at->ns <= q.now.ns;
    if (one_of(lifecycle, {"filling", "unknown"})) {
        return "not_sealed";
    }
    if (lifecycle == "expired" || over) {
        return "expired";
    }
    if (one_of(lifecycle, {"evicted", "lost"})) {
        return "lost";
    }
    if (cell.owner.value == who) {
        if (scope == "unknown") {
            return "scope_denied";
        }
        if (admission == "unknown" && cell.admission != Admission::unknown) {
            return "not_admitted";
        }
        if (taint == "unknown") {
            return "untrusted";
        }
    } else {
        const bool named = std::any_of(q.allow_list.begin(), q.allow_list.end(),
                                       [who](TenantId tenant) { return tenant.value == who; });
        if (cell.owner.value == 0 || scope != "fleet" || (!q.allow_list.empty() && !named)) {
            return "scope_denied";
        }
        if (admission != "allow") {
            return "not_admitted";
        }
        if (taint != "trusted") {
            return "untrusted";
        }
        if (cell.adjudicated_epoch == 0 || cell.adjudicated_epoch != cell.owner_epoch) {
            return "stale_epoch";
        }
    }
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (cell.key.axes[i].value == 0 || q.wanted.axes[i].value == 0) {
            return "key_incomplete";
        }
    }
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        if (cell.key.axes[i].value != q.wanted.axes[i].value) {
            return std::string(to_word(static_cast<Axis>(i))) + "_mismatch";
        }
    }
    if (cell.length_bytes == 0 || !cell.digest_present || !cell.extent_alive) {
        return "handle_invalid";
    }
    const std::string reach(to_word(q.requester.reach));
    if (!one_of(reach, {"in_place", "stage"})) {
        return "unreachable";
    }
    return reach == "in_place" && lifecycle != "spilled" ? "hit/in_place" : "hit/stage";
}

// Makes one more check fail, or something less known, shared or alive than it was.
void worsen(Question& q, std::uint64_t way, std::uint64_t axis) {
    GateCell& cell = q.cell;
    switch (way) {
        case 0:
            q.requester.authenticated = false;
            break;
        case 1:
            q.requester.may_act = false;
            break;
        case 2:
            cell.taint = Taint::poisoned;
            break;
        case 3:
            cell.admission_quarantined = true;
            break;
        case 4:
            cell.lifecycle = Lifecycle::lost;
            break;
        case 5:
            cell.expires_at = q.now;
            break;
        case 6:
            cell.scope = cell.scope == Scope::fleet ? Scope::tenant : cell.scope;
            break;
        case 7:
            q.allow_list.push_back(TenantId{77});
            break;
        case 8:
            cell.admission =
                cell.admission == Admission::allow ? Admission::unknown : cell.admission;
            break;
        case 9:
            cell.taint = cell.taint == Taint::trusted ? Taint::tainted : cell.taint;
            break;
        case 10:
            cell.adjudicated_epoch = 0;
            break;
        case 11:
            q.wanted.axes[axis] = AxisId{};
            break;
        case 12:
            q.wanted.axes[axis] = kUnusedAxisValue;
            break;
        case 13:
            cell.length_bytes = 0;
            break;
        case 14:
            cell.extent_alive = false;
            break;
        case 15:
            q.requester.reach = q.requester.reach == Reach::in_place ? Reach::stage : Reach::none;
            break;
        default:
            cell.lifecycle =
                cell.lifecycle == Lifecycle::sealed ? Lifecycle::spilled : Lifecycle::evicted;
            break;
    }
}
constexpr std::uint64_t kWaysToWorsen = 17;

class GateModel : public ::testing::Test {
  protected:
    const unsigned seed_ = std::random_device{}();
    const ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
    Draw draw_{seed_};
};

TEST_F(GateModel, AgreesWithTheNaiveGate) {
    int hits = 0;
    for (int i = 0; i < kDraws; ++i) {
        const Question q = draw_.question();
        const Verdict verdict = q.answer();
        ASSERT_EQ(to_word(verdict), naive(q)) << "draw " << i;
        hits += is_hit(verdict) ? 1 : 0;
    }
    // Both sides of the question were asked.
    EXPECT_GT(hits, kDraws / 20);
    EXPECT_LT(hits, kDraws / 2);
}

TEST_F(GateModel, NothingWorseIsServedWhereBetterWasNot) {
    for (int i = 0; i < kDraws; ++i) {
        Question q = draw_.question();
        const Verdict before = q.answer();
        const std::uint64_t way = draw_.below(kWaysToWorsen);
        // A list on a cell that had none narrows; one more name on a list that stands widens.
        if (way == 7 && !q.allow_list.empty()) {
            continue;
        }
        worsen(q, way, draw_.below(kAxisCount));
        const Verdict after = q.answer();
        ASSERT_TRUE(is_hit(before) || !is_hit(after)) << "draw " << i << ", way " << way;
        ASSERT_TRUE(before == Verdict::hit_in_place || after != Verdict::hit_in_place)
            << "draw " << i << ", way " << way;
    }
}

TEST_F(GateModel, PoisonWinsOverEverythingButCheckOne) {
    for (int i = 0; i < kDraws; ++i) {
        Question q = draw_.question();
        const bool permitted = q.answer() != Verdict::not_permitted;
        q.cell.taint = Taint::poisoned;
        ASSERT_EQ(q.answer(), permitted ? Verdict::quarantined : Verdict::not_permitted)
            << "draw " << i;
    }
}

TEST_F(GateModel, WhatIsToldOfAnothersCellIsAHitOrNothing) {
    for (int i = 0; i < kDraws; ++i) {
        const Question q = draw_.question();
        const Verdict verdict = q.answer();
        const Verdict told = outward(verdict, q.mode, q.requester.tenant, q.cell.owner).verdict();
        ASSERT_TRUE(told == verdict || told == Verdict::miss_absent) << "draw " << i;
        ASSERT_EQ(is_hit(told), is_hit(verdict)) << "draw " << i;
        if (q.mode == TenancyMode::multi && q.requester.tenant != q.cell.owner) {
            ASSERT_TRUE(is_hit(told) || told == Verdict::miss_absent) << "draw " << i;
        }
    }
}

}  // namespace
}  // namespace cxlpool

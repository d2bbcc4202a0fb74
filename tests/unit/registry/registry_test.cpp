#include "registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "fixture.hpp"

namespace cxlpool {
namespace {

using testing::at_ms;
using testing::content_of;
using testing::key_of;
using testing::location_of;
using testing::span_of;

constexpr TenantId kAlpha{1};
constexpr TenantId kBeta{2};

class RegistryTest : public ::testing::Test {
  protected:
    explicit RegistryTest(TenancyMode mode = TenancyMode::multi) : registry_(mode, limits()) {
        EXPECT_TRUE(registry_.add_tenant(kAlpha, "alpha"));
        EXPECT_TRUE(registry_.add_tenant(kBeta, "beta"));
        kernel_pool_ = registry_.add_pool({Isolation::kernel});
        cooperative_pool_ = registry_.add_pool({Isolation::cooperative});
        alpha_ = registry_.open_connection(kAlpha, 1001, "engine-a");
        beta_ = registry_.open_connection(kBeta, 1002, "engine-b");
    }
    ~RegistryTest() override { registry_.check(); }

    static RegistryLimits limits() {
        RegistryLimits out;
        out.leases_per_connection = 4;
        out.filling_bytes_per_uid = 1000;
        out.cell_bytes = 600;
        out.cells_per_span_and_tenant = 2;
        out.cells = 6;
        out.cells_per_tenant = 5;
        out.lease_ttl_ns = 1'000'000'000;
        return out;
    }

    BeginGrant begin(ConnectionId connection, unsigned span, std::uint32_t model = 1,
                     std::uint64_t length = 100) {
        const auto grant =
            registry_.begin(connection, key_of(model), span_of(span),
                            location_of(++last_location_, length, kernel_pool_), now_, at_ms(1));
        EXPECT_TRUE(grant) << (grant ? "" : grant.error().message());
        return grant ? *grant : BeginGrant{};
    }
    Errc begin_code(ConnectionId connection, unsigned span, std::uint32_t model = 1) {
        const auto checked =
            registry_.check_begin(connection, key_of(model), span_of(span), 100, 0);
        return checked ? Errc::ok : checked.error().code();
    }
    BeginGrant sealed(ConnectionId connection, unsigned span, std::uint32_t model = 1) {
        const BeginGrant grant = begin(connection, span, model);
        const auto work = registry_.start_seal(connection, grant.lease);
        EXPECT_TRUE(work);
        EXPECT_TRUE(registry_.finish_seal(*work, content_of(span), copy_for(*work), at_ms(2)));
        registry_.take_ended();
        return grant;
    }
    std::optional<Location> copy_for(const Work& work) {
        if (!work.move) {
            return std::nullopt;
        }
        return location_of(++last_location_ + 1000, work.length_bytes, work.source.pool);
    }
    void share(ConnectionId connection, unsigned span, Scope scope = Scope::fleet,
               std::vector<TenantId> allow = {}, std::uint32_t model = 1) {
        const auto work =
            registry_.start_share(connection, key_of(model), span_of(span), scope, allow);
        ASSERT_TRUE(work) << work.error().message();
        if (work->has_value()) {
            EXPECT_TRUE(registry_.finish_share(**work, content_of(span + 100), copy_for(**work),
                                               scope, allow));
        }
    }
    Result<CellId> adjudicate(unsigned span, Judgement judgement) {
        return registry_.adjudicate(kAlpha, span_of(span), CellId{}, std::nullopt, judgement, 7,
                                    at_ms(3));
    }
    LookupResult look(ConnectionId connection, unsigned span, std::uint32_t model = 1) {
        return registry_.lookup(connection, key_of(model), span_of(span), now_);
    }
    // What the audit log finds out about a lookup of beta that missed.
    Verdict why_beta_missed(unsigned span, std::uint32_t model = 1) {
        const LookupResult found = look(beta_, span, model);
        EXPECT_EQ(found.told, Told());
        EXPECT_FALSE(found.cell && registry_.find(found.cell)->scope != Scope::fleet)
            << "what is not offered is not looked at";
        const LookupResult why = registry_.why_missed(kBeta, key_of(model), span_of(span), now_);
        EXPECT_EQ(why.told, Told());
        return why.verdict;
    }
    LeaseRef lease(ConnectionId connection, unsigned span) {
        const LookupResult found = look(connection, span);
        EXPECT_TRUE(is_hit(found.told.verdict())) << to_word(found.verdict);
        const auto ref = registry_.grant_read(connection, found.cell, now_);
        EXPECT_TRUE(ref);
        return ref ? *ref : LeaseRef{};
    }

    Registry registry_;
    std::size_t kernel_pool_ = 0;
    std::size_t cooperative_pool_ = 0;
    ConnectionId alpha_;
    ConnectionId beta_;
    std::uint64_t last_location_ = 0;
    Timestamp now_ = at_ms(1000);
};

class SingleModeTest : public RegistryTest {
  protected:
    SingleModeTest() : RegistryTest(TenancyMode::single) {}
};

TEST_F(RegistryTest, TheStoryOfOneCellAndTwoTenants) {
    EXPECT_EQ(look(beta_, 1).told.verdict(), Verdict::miss_absent);
    sealed(alpha_, 1);
    EXPECT_EQ(why_beta_missed(1), Verdict::scope_denied);
    share(alpha_, 1);
    EXPECT_EQ(why_beta_missed(1), Verdict::untrusted);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    EXPECT_EQ(look(beta_, 1).told.verdict(), Verdict::hit_in_place);
    EXPECT_EQ(why_beta_missed(1, 9), Verdict::model_mismatch);
    EXPECT_EQ(why_beta_missed(77), Verdict::miss_absent);
    const LeaseRef held = lease(beta_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::poison));
    EXPECT_EQ(why_beta_missed(1), Verdict::quarantined);
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::quarantined) << "the owner is told";
    const auto ended = registry_.take_ended();
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_TRUE(ended[0].revoked);
    EXPECT_EQ(ended[0].index, held.index);
    EXPECT_EQ(registry_.renew(beta_, held, now_).error().code(), Errc::revoked);
}

TEST_F(RegistryTest, NothingIsVisibleToOthersBeforeItIsSealed) {
    begin(alpha_, 1);
    EXPECT_EQ(why_beta_missed(1), Verdict::not_sealed);
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::not_sealed);
}

TEST_F(RegistryTest, TrustNeedsBytesThatTheOwnerCannotWriteAnyMore) {
    sealed(alpha_, 1);
    EXPECT_EQ(adjudicate(1, Judgement::trust).error().code(), Errc::wrong_state);
    share(alpha_, 1);
    EXPECT_TRUE(adjudicate(1, Judgement::trust));
}

TEST_F(RegistryTest, SharingMovesTheBytesAndFreesTheOldOnesWhenTheLastReaderGoes) {
    sealed(alpha_, 1);
    const LeaseRef reading = lease(alpha_, 1);
    const Location before = *registry_.location_of(look(alpha_, 1).cell);
    share(alpha_, 1);
    const Cell& cell = *registry_.find(look(alpha_, 1).cell);
    EXPECT_EQ(cell.digest, content_of(101)) << "the digest of the copy stands";
    EXPECT_NE(registry_.location_of(cell.id)->placement, before.placement);
    EXPECT_TRUE(registry_.location_of(cell.id)->offered);
    EXPECT_TRUE(registry_.take_freed().empty()) << "a lease still refers to the old bytes";
    EXPECT_TRUE(registry_.release(alpha_, reading));
    const auto freed = registry_.take_freed();
    ASSERT_EQ(freed.size(), 1U);
    EXPECT_EQ(freed[0].placement, before.placement);
}

TEST_F(RegistryTest, NarrowingTheScopeNeedsNoMoveAndEndsTheLeasesOfOthers) {
    sealed(alpha_, 1);
    share(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    const LeaseRef held = lease(beta_, 1);
    const auto work = registry_.start_share(alpha_, key_of(1), span_of(1), Scope::agent, {});
    ASSERT_TRUE(work);
    EXPECT_FALSE(work->has_value());
    EXPECT_EQ(why_beta_missed(1), Verdict::scope_denied);
    EXPECT_EQ(registry_.release(beta_, held).error().code(), Errc::revoked);
    EXPECT_EQ(registry_.take_ended().size(), 1U);
}

TEST_F(RegistryTest, AnAllowListNarrowsTheFleet) {
    sealed(alpha_, 1);
    share(alpha_, 1, Scope::fleet, {TenantId{77}});
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    EXPECT_EQ(why_beta_missed(1), Verdict::scope_denied);
    share(alpha_, 1, Scope::fleet, {TenantId{77}, kBeta});
    EXPECT_EQ(look(beta_, 1).verdict, Verdict::hit_in_place);
}

TEST_F(RegistryTest, ShareRefusesWhatMakesNoSense) {
    EXPECT_EQ(registry_.start_share(alpha_, key_of(1), span_of(1), Scope::fleet, {}).error().code(),
              Errc::not_found);
    begin(alpha_, 1);
    EXPECT_EQ(registry_.start_share(alpha_, key_of(1), span_of(1), Scope::fleet, {}).error().code(),
              Errc::wrong_state);
    sealed(alpha_, 2);
    EXPECT_EQ(
        registry_.start_share(alpha_, key_of(1), span_of(2), Scope::tenant, {kBeta}).error().code(),
        Errc::invalid_argument);
    EXPECT_EQ(registry_.start_share(alpha_, key_of(1), span_of(2), Scope::fleet, {TenantId{}})
                  .error()
                  .code(),
              Errc::invalid_argument);
    EXPECT_EQ(registry_.start_share(beta_, key_of(1), span_of(2), Scope::fleet, {}).error().code(),
              Errc::not_found)
        << "somebody else's cell does not exist";
    const auto work = registry_.start_share(alpha_, key_of(1), span_of(2), Scope::fleet, {});
    ASSERT_TRUE(work && work->has_value());
    EXPECT_EQ(registry_.start_share(alpha_, key_of(1), span_of(2), Scope::fleet, {}).error().code(),
              Errc::wrong_state);
    registry_.abandon(**work);
    EXPECT_EQ(look(alpha_, 2).told.verdict(), Verdict::hit_in_place);
}

TEST_F(RegistryTest, AClosedConnectionRollsBackWhatItWasFilling) {
    begin(alpha_, 1);
    sealed(alpha_, 2);
    registry_.close_connection(alpha_);
    alpha_ = registry_.open_connection(kAlpha, 1001, "again");
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::miss_absent);
    EXPECT_EQ(look(alpha_, 2).told.verdict(), Verdict::hit_in_place) << "sealed cells stay";
    EXPECT_EQ(registry_.take_freed().size(), 1U);
    EXPECT_EQ(registry_.counters(kAlpha).cells, 1U);
}

TEST_F(RegistryTest, AConnectionThatClosesWhileItsCellIsSealedLeavesNothing) {
    const BeginGrant grant = begin(alpha_, 1);
    const auto work = registry_.start_seal(alpha_, grant.lease);
    ASSERT_TRUE(work);
    registry_.close_connection(alpha_);
    EXPECT_TRUE(registry_.take_freed().empty()) << "a worker still reads these bytes";
    EXPECT_EQ(registry_.finish_seal(*work, content_of(1), {}, at_ms(2)).error().code(),
              Errc::cancelled);
    EXPECT_EQ(registry_.take_freed().size(), 1U);
    alpha_ = registry_.open_connection(kAlpha, 1001, "again");
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::miss_absent);
}

TEST_F(RegistryTest, PoisonDuringAShareCancelsItAndFreesTheCopy) {
    sealed(alpha_, 1);
    const auto work = registry_.start_share(alpha_, key_of(1), span_of(1), Scope::fleet, {});
    ASSERT_TRUE(work && work->has_value());
    ASSERT_TRUE(adjudicate(1, Judgement::poison));
    const Location copy = *copy_for(**work);
    EXPECT_EQ(registry_.finish_share(**work, content_of(5), copy, Scope::fleet, {}).error().code(),
              Errc::cancelled);
    const auto freed = registry_.take_freed();
    ASSERT_EQ(freed.size(), 1U);
    EXPECT_EQ(freed[0].placement, copy.placement);
    EXPECT_EQ(look(beta_, 1).told.verdict(), Verdict::miss_absent);
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::quarantined);
}

TEST_F(RegistryTest, PoisonIsFinal) {
    sealed(alpha_, 1);
    share(alpha_, 1);
    const Result<CellId> cell = adjudicate(1, Judgement::poison);
    ASSERT_TRUE(cell);
    for (const Judgement judgement : {Judgement::trust, Judgement::taint}) {
        const Result<CellId> lifted = adjudicate(1, judgement);
        ASSERT_FALSE(lifted) << to_word(judgement);
        EXPECT_EQ(lifted.error().code(), Errc::wrong_state);
        EXPECT_NE(lifted.error().message().find("quarantined"), std::string::npos);
        EXPECT_EQ(why_beta_missed(1), Verdict::quarantined);
        EXPECT_EQ(look(alpha_, 1).verdict, Verdict::quarantined);
        EXPECT_EQ(registry_.find(*cell)->adjudication->judgement, Judgement::poison);
    }
    EXPECT_TRUE(adjudicate(1, Judgement::poison)) << "said twice, it is no less true";
}

TEST_F(RegistryTest, AnOwnerFillsItsQuarantinedCellAnew) {
    const BeginGrant bad = sealed(alpha_, 1);
    share(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    lease(beta_, 1);
    registry_.take_freed();
    EXPECT_EQ(begin_code(alpha_, 1), Errc::already_exists) << "a good cell stays";
    ASSERT_TRUE(adjudicate(1, Judgement::poison));
    const Location poisoned = *registry_.location_of(bad.cell);
    EXPECT_TRUE(registry_.take_freed().empty()) << "kept until somebody fills it anew";

    const BeginGrant anew = sealed(alpha_, 1);
    EXPECT_EQ(anew.replaced, bad.cell);
    EXPECT_EQ(registry_.find(bad.cell), nullptr);
    const std::vector<FreedLocation> freed = registry_.take_freed();
    ASSERT_EQ(freed.size(), 1U);
    EXPECT_EQ(freed[0].placement, poisoned.placement) << "to be overwritten";
    EXPECT_EQ(look(alpha_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(why_beta_missed(1), Verdict::scope_denied) << "nothing of the old trust is left";
    EXPECT_EQ(registry_.counters(kAlpha).cells, 1U);
    registry_.check();
}

TEST_F(RegistryTest, NobodyElseAndNoOtherContextReplacesAQuarantinedCell) {
    const BeginGrant bad = sealed(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::poison));
    EXPECT_EQ(begin(beta_, 1).replaced, CellId{});
    EXPECT_EQ(begin(alpha_, 1, 2).replaced, CellId{});
    EXPECT_EQ(registry_.drop_quarantined(beta_, key_of(1), span_of(1)), std::nullopt);
    EXPECT_EQ(registry_.drop_quarantined(alpha_, key_of(2), span_of(1)), std::nullopt);
    EXPECT_NE(registry_.find(bad.cell), nullptr);
    EXPECT_EQ(registry_.drop_quarantined(alpha_, key_of(1), span_of(1)), bad.cell);
    EXPECT_EQ(registry_.drop_quarantined(alpha_, key_of(1), span_of(1)), std::nullopt);
    registry_.check();
}

TEST_F(RegistryTest, AQuarantinedCellMakesWayWhenItsBytesAreStillWorkedOn) {
    const BeginGrant bad = sealed(alpha_, 1);
    const auto work = registry_.start_share(alpha_, key_of(1), span_of(1), Scope::fleet, {});
    ASSERT_TRUE(work && work->has_value());
    ASSERT_TRUE(adjudicate(1, Judgement::poison));
    EXPECT_EQ(begin(alpha_, 1).replaced, bad.cell);
    EXPECT_TRUE(registry_.take_freed().empty()) << "a worker still reads them";
    registry_.abandon(**work);
    EXPECT_EQ(registry_.take_freed().size(), 1U);
    registry_.check();
}

TEST_F(RegistryTest, AQuarantinedCellDoesNotCountAgainstTheOneThatReplacesIt) {
    sealed(alpha_, 1, 1);
    sealed(alpha_, 1, 2);
    EXPECT_EQ(begin_code(alpha_, 1, 3), Errc::limit_exceeded) << "cells of one span";
    ASSERT_TRUE(registry_.adjudicate(kAlpha, span_of(1), look(alpha_, 1, 1).cell, {},
                                     Judgement::poison, 7, at_ms(3)));
    EXPECT_EQ(begin_code(alpha_, 1, 3), Errc::limit_exceeded) << "another context";
    EXPECT_EQ(begin_code(alpha_, 1, 1), Errc::ok);
}

TEST_F(RegistryTest, TaintTakesAwayTheLeasesOfOthers) {
    sealed(alpha_, 1);
    share(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    const LeaseRef others = lease(beta_, 1);
    const LeaseRef own = lease(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::taint));
    EXPECT_EQ(registry_.renew(beta_, others, now_).error().code(), Errc::revoked);
    EXPECT_TRUE(registry_.renew(alpha_, own, now_));
    EXPECT_EQ(why_beta_missed(1), Verdict::untrusted);
}

TEST_F(RegistryTest, ARaisedEpochMakesEarlierAdjudicationsStale) {
    sealed(alpha_, 1);
    share(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    const LeaseRef held = lease(beta_, 1);
    ASSERT_TRUE(registry_.raise_epoch(kAlpha));
    EXPECT_EQ(why_beta_missed(1), Verdict::stale_epoch);
    EXPECT_EQ(registry_.renew(beta_, held, now_).error().code(), Errc::revoked);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    EXPECT_EQ(look(beta_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(registry_.raise_epoch(TenantId{99}).error().code(), Errc::not_found);
}

TEST_F(RegistryTest, AdjudicateRefusesWhatItCannotName) {
    EXPECT_EQ(adjudicate(1, Judgement::trust).error().code(), Errc::not_found);
    begin(alpha_, 1);
    EXPECT_EQ(adjudicate(1, Judgement::poison).error().code(), Errc::wrong_state);
    const BeginGrant a = sealed(alpha_, 2, 1);
    const BeginGrant b = sealed(alpha_, 2, 2);
    const auto ambiguous = adjudicate(2, Judgement::poison);
    ASSERT_FALSE(ambiguous);
    EXPECT_EQ(ambiguous.error().code(), Errc::invalid_argument);
    EXPECT_NE(ambiguous.error().message().find(std::to_string(a.cell.value)), std::string::npos);
    const auto named =
        registry_.adjudicate(kAlpha, span_of(2), b.cell, {}, Judgement::poison, 7, at_ms(3));
    ASSERT_TRUE(named);
    EXPECT_EQ(*named, b.cell);
    EXPECT_EQ(look(alpha_, 2, 1).told.verdict(), Verdict::hit_in_place);
}

TEST_F(RegistryTest, AForgottenTenantIsOneThatNeverHadCells) {
    sealed(alpha_, 1);
    sealed(alpha_, 2);
    share(alpha_, 2);
    ASSERT_TRUE(adjudicate(2, Judgement::trust));
    sealed(alpha_, 3);
    const BeginGrant filling = begin(alpha_, 4);
    const LeaseRef own = lease(alpha_, 1);
    const LeaseRef of_beta = lease(beta_, 2);
    sealed(beta_, 5);
    registry_.take_freed();
    registry_.take_ended();

    ASSERT_TRUE(registry_.start_forget(kAlpha));
    registry_.check();
    EXPECT_EQ(registry_.start_forget(kAlpha).error().code(), Errc::wrong_state);
    EXPECT_EQ(registry_.start_forget(TenantId{9}).error().code(), Errc::not_found);
    EXPECT_EQ(registry_.find(filling.cell), nullptr);
    EXPECT_EQ(registry_.take_ended().size(), 1U) << "of the filling lease";
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), (Remains{2, 2, 2}));
    for (const FreedLocation& freed : registry_.take_freed()) {
        EXPECT_EQ(freed.owner, kAlpha);
    }
    // Nobody gets anything new of it.
    EXPECT_EQ(look(alpha_, 1).verdict, Verdict::handle_invalid);
    EXPECT_EQ(look(alpha_, 3).verdict, Verdict::miss_absent);
    EXPECT_EQ(why_beta_missed(2), Verdict::handle_invalid);
    EXPECT_EQ(begin_code(alpha_, 6), Errc::unavailable);
    EXPECT_EQ(
        registry_.start_share(alpha_, key_of(1), span_of(1), Scope::tenant, {}).error().code(),
        Errc::unavailable);
    EXPECT_EQ(look(beta_, 5).verdict, Verdict::hit_in_place);

    ASSERT_TRUE(registry_.release(alpha_, own));
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), (Remains{1, 1, 1}));
    registry_.revoke_readers(kAlpha);
    EXPECT_EQ(registry_.renew(beta_, of_beta, now_).error().code(), Errc::revoked);
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), Remains{});
    EXPECT_EQ(registry_.take_freed().size(), 2U);
    registry_.end_forget(kAlpha);
    registry_.check();
    EXPECT_FALSE(registry_.settings(kAlpha).had_cells);
    EXPECT_EQ(registry_.counters(kAlpha).cells, 0U);
    EXPECT_EQ(registry_.resident_bytes(kAlpha, kernel_pool_), 0U);
    EXPECT_TRUE(registry_.set_salt(kAlpha, 7));
    sealed(alpha_, 1);
    EXPECT_EQ(look(alpha_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(registry_.counters(kBeta).cells, 1U);
}

TEST_F(RegistryTest, WorkOnForgottenBytesEndsBeforeTheyAreGone) {
    const BeginGrant grant = begin(alpha_, 1);
    const Work seal = *registry_.start_seal(alpha_, grant.lease);
    sealed(alpha_, 2);
    const Work move = **registry_.start_share(alpha_, key_of(1), span_of(2), Scope::fleet, {});
    ASSERT_TRUE(registry_.start_forget(kAlpha));
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), (Remains{0, 0, 2})) << "workers still read them";
    EXPECT_EQ(registry_.finish_seal(seal, content_of(1), {}, at_ms(2)).error().code(),
              Errc::cancelled);
    const Location copy = location_of(77, 100, kernel_pool_);
    EXPECT_EQ(registry_.finish_share(move, content_of(2), copy, Scope::fleet, {}).error().code(),
              Errc::cancelled);
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), Remains{});
    const auto freed = registry_.take_freed();
    ASSERT_EQ(freed.size(), 3U) << "the copy, too";
    for (const FreedLocation& one : freed) {
        EXPECT_EQ(one.owner, kAlpha);
    }
    registry_.end_forget(kAlpha);
}

TEST_F(RegistryTest, AForgottenCellMayBeEvictedMeanwhile) {
    sealed(alpha_, 1);
    const LeaseRef held = lease(alpha_, 1);
    ASSERT_TRUE(registry_.start_forget(kAlpha));
    ASSERT_TRUE(registry_.release(alpha_, held));
    ASSERT_TRUE(registry_.evict_for(kAlpha, kernel_pool_, 100));
    EXPECT_EQ(registry_.sweep_forgotten(kAlpha), Remains{});
    registry_.end_forget(kAlpha);
}

TEST_F(RegistryTest, RestoredCellsAreWhatTheyWere) {
    Cell cell;
    cell.id = CellId{70};
    cell.owner = kAlpha;
    cell.key = key_of(1);
    cell.span = span_of(1);
    cell.lifecycle = Lifecycle::sealed;
    cell.length_bytes = 100;
    cell.digest = content_of(1);
    Cell offered = cell;
    offered.id = CellId{71};
    offered.span = span_of(2);
    offered.scope = Scope::fleet;
    offered.taint = Taint::trusted;
    offered.admission = Admission::allow;
    offered.adjudicated_epoch = 1;
    Cell poisoned = cell;
    poisoned.id = CellId{72};
    poisoned.span = span_of(3);
    poisoned.taint = Taint::poisoned;
    poisoned.lifecycle = Lifecycle::quarantined;
    Location of_all = location_of(2, 100, kernel_pool_);
    of_all.offered = true;
    ASSERT_TRUE(registry_.restore(cell, location_of(1, 100, kernel_pool_)));
    ASSERT_TRUE(registry_.restore(offered, of_all));
    ASSERT_TRUE(registry_.restore(poisoned, location_of(3, 100, kernel_pool_)));
    registry_.check();
    EXPECT_EQ(registry_.counters(kAlpha).cells, 3U);
    EXPECT_EQ(registry_.counters(kAlpha).bytes, 300U);
    EXPECT_EQ(registry_.counters(kAlpha).cells_materialised, 0U) << "not by this process";
    EXPECT_EQ(registry_.resident_bytes(kAlpha, kernel_pool_), 300U);
    EXPECT_TRUE(registry_.settings(kAlpha).had_cells);
    EXPECT_EQ(look(alpha_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(look(beta_, 2).verdict, Verdict::hit_in_place);
    EXPECT_EQ(look(alpha_, 3).verdict, Verdict::quarantined);
    EXPECT_EQ(why_beta_missed(1), Verdict::scope_denied);
    EXPECT_GT(begin(alpha_, 4).cell.value, 72U) << "no number names two cells";
    // The oldest goes first, as if it had been stored just now.
    EXPECT_THAT(registry_.evict_for(kAlpha, kernel_pool_, 100)->cells, ::testing::SizeIs(1));
}

TEST_F(RegistryTest, RestoresNothingThatWasNotAtRest) {
    Cell good;
    good.id = CellId{70};
    good.owner = kAlpha;
    good.key = key_of(1);
    good.span = span_of(1);
    good.lifecycle = Lifecycle::sealed;
    good.length_bytes = 100;
    good.digest = content_of(1);
    const auto code = [&](const std::function<void(Cell&)>& change) {
        Cell cell = good;
        change(cell);
        const Result<void> done = registry_.restore(cell, location_of(1, 100, kernel_pool_));
        return done ? Errc::ok : done.error().code();
    };
    EXPECT_EQ(code([](Cell& c) { c.owner = TenantId{9}; }), Errc::not_found);
    for (const auto& change : std::vector<std::function<void(Cell&)>>{
             [](Cell& c) { c.lifecycle = Lifecycle::filling; },
             [](Cell& c) { c.lifecycle = Lifecycle::evicted; },
             [](Cell& c) { c.taint = Taint::poisoned; },
             [](Cell& c) { c.lifecycle = Lifecycle::quarantined; },
             [](Cell& c) { c.digest = ContentDigest{}; },
             [](Cell& c) { c.id = CellId{}; },
             [](Cell& c) { c.length_bytes = 101; },
         }) {
        EXPECT_EQ(code(change), Errc::invalid_argument);
    }
    EXPECT_EQ(registry_.counters(kAlpha), TenantCounters{});
    ASSERT_EQ(code([](Cell&) {}), Errc::ok);
    EXPECT_EQ(code([](Cell&) {}), Errc::already_exists);
    EXPECT_EQ(code([](Cell& c) { c.id = CellId{71}; }), Errc::already_exists);
}

TEST(KeptPools, SayWhichOfTheirCellsHaveChanged) {
    Registry registry(TenancyMode::multi, {});
    ASSERT_TRUE(registry.add_tenant(kAlpha, "alpha"));
    const std::size_t other = registry.add_pool({});
    const std::size_t kept = registry.add_pool({Isolation::kernel, Tier::cxl, 0, true});
    const ConnectionId alpha = registry.open_connection(kAlpha, 1001, "engine");
    const auto begin = [&](unsigned n, std::size_t pool) {
        return *registry.begin(alpha, key_of(1), span_of(n), location_of(n, 100, pool), {}, {});
    };
    const auto seal = [&](const BeginGrant& grant) {
        const Work work = *registry.start_seal(alpha, grant.lease);
        EXPECT_TRUE(registry.finish_seal(work, content_of(1), {}, {}));
    };
    using ::testing::ElementsAre;
    using ::testing::IsEmpty;
    const BeginGrant a = begin(1, kept);
    const BeginGrant b = begin(2, kept);
    EXPECT_THAT(registry.take_changed(), IsEmpty()) << "nothing is at rest";
    seal(begin(3, other));
    seal(a);
    EXPECT_THAT(registry.take_changed(), ElementsAre(a.cell));
    EXPECT_THAT(registry.take_changed(), IsEmpty());
    ASSERT_TRUE(registry.start_share(alpha, key_of(1), span_of(1), Scope::tenant, {}));
    EXPECT_THAT(registry.take_changed(), ElementsAre(a.cell));
    const Work work = **registry.start_share(alpha, key_of(1), span_of(1), Scope::fleet, {});
    EXPECT_THAT(registry.take_changed(), IsEmpty());
    ASSERT_TRUE(
        registry.finish_share(work, content_of(2), location_of(9, 100, kept), Scope::fleet, {}));
    EXPECT_THAT(registry.take_changed(), ElementsAre(a.cell));
    for (const Judgement judgement : {Judgement::trust, Judgement::taint, Judgement::poison}) {
        ASSERT_TRUE(registry.adjudicate(kAlpha, span_of(1), {}, {}, judgement, 7, {}));
        EXPECT_THAT(registry.take_changed(), ElementsAre(a.cell));
    }
    seal(b);
    ASSERT_TRUE(registry.release(alpha, begin(4, kept).lease));
    EXPECT_THAT(registry.take_changed(), ElementsAre(b.cell)) << "what was never at rest is not";
    ASSERT_TRUE(registry.evict_for(kAlpha, kept, 100));
    EXPECT_THAT(registry.take_changed(), ElementsAre(b.cell));
    EXPECT_EQ(registry.find(b.cell), nullptr);
    ASSERT_TRUE(registry.drop_quarantined(alpha, key_of(1), span_of(1)));
    EXPECT_THAT(registry.take_changed(), ElementsAre(a.cell));
    registry.check();
}

TEST_F(RegistryTest, AJudgementIsOfTheBytesThatWereJudged) {
    const auto judge = [&](const ContentDigest& expected, Judgement judgement) {
        const auto done =
            registry_.adjudicate(kAlpha, span_of(1), CellId{}, expected, judgement, 7, at_ms(3));
        return done ? std::string() : done.error().message();
    };
    sealed(alpha_, 1);
    share(alpha_, 1);
    const std::string others = "the cell's bytes are not those that were judged";
    // Sharing took the digest anew; the one of sealing is of bytes that could still change.
    for (const Judgement judgement : {Judgement::trust, Judgement::taint, Judgement::poison}) {
        EXPECT_EQ(judge(content_of(1), judgement), others);
        EXPECT_EQ(judge(ContentDigest{}, judgement), others) << "no bytes have this digest";
    }
    EXPECT_EQ(why_beta_missed(1), Verdict::untrusted) << "nothing changed";
    EXPECT_EQ(judge(content_of(101), Judgement::trust), "");
    EXPECT_EQ(look(beta_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(judge(content_of(1), Judgement::poison), others);
    EXPECT_EQ(look(beta_, 1).verdict, Verdict::hit_in_place);
    EXPECT_EQ(judge(content_of(101), Judgement::poison), "");
    EXPECT_EQ(why_beta_missed(1), Verdict::quarantined);
}

TEST_F(RegistryTest, BeginRefusals) {
    const auto code = [&](std::uint64_t length, const ContextKey& key, const SpanDigest& span) {
        const auto checked = registry_.check_begin(alpha_, key, span, length, 0);
        return checked ? Errc::ok : checked.error().code();
    };
    EXPECT_EQ(code(0, key_of(1), span_of(1)), Errc::invalid_argument);
    EXPECT_EQ(code(1, key_of(1), SpanDigest{}), Errc::invalid_argument);
    EXPECT_EQ(code(601, key_of(1), span_of(1)), Errc::too_large);
    ContextKey incomplete = key_of(1);
    incomplete.axes[14] = AxisId{};
    EXPECT_EQ(code(1, incomplete, span_of(1)), Errc::key_incomplete);
    begin(alpha_, 1, 1, 600);
    EXPECT_EQ(code(1, key_of(1), span_of(1)), Errc::already_exists);
    EXPECT_EQ(code(401, key_of(1), span_of(2)), Errc::limit_exceeded) << "filling bytes of the uid";
    EXPECT_EQ(code(400, key_of(1), span_of(2)), Errc::ok);
    begin(alpha_, 1, 2);
    EXPECT_EQ(code(1, key_of(3), span_of(1)), Errc::limit_exceeded) << "cells of one span";
    EXPECT_TRUE(registry_.check_begin(beta_, key_of(1), span_of(1), 1, 0))
        << "whether alpha has this cell is nobody's business";
}

TEST_F(RegistryTest, PromisedBytesCountAsFilling) {
    EXPECT_TRUE(registry_.check_begin(alpha_, key_of(1), span_of(1), 400, 600));
    EXPECT_EQ(registry_.check_begin(alpha_, key_of(1), span_of(1), 401, 600).error().code(),
              Errc::limit_exceeded);
}

TEST_F(RegistryTest, LeasesOfOneCellEndInAnyOrder) {
    sealed(alpha_, 1);
    std::vector<LeaseRef> held;
    for (int i = 0; i < 4; ++i) {
        held.push_back(lease(alpha_, 1));
        registry_.check();
    }
    for (const std::size_t which : {1U, 3U, 0U, 2U}) {
        ASSERT_TRUE(registry_.release(alpha_, held[which]));
        registry_.check();
    }
    EXPECT_EQ(registry_.find(look(alpha_, 1).cell)->live_leases, 0U);
}

TEST_F(RegistryTest, CellLimits) {
    for (unsigned n = 1; n <= 5; ++n) {
        sealed(alpha_, n);
    }
    EXPECT_EQ(registry_.check_begin(alpha_, key_of(1), span_of(9), 1, 0).error().code(),
              Errc::limit_exceeded);
    sealed(beta_, 1);
    EXPECT_EQ(registry_.check_begin(beta_, key_of(1), span_of(9), 1, 0).error().code(),
              Errc::limit_exceeded)
        << "all cells together";
}

TEST_F(RegistryTest, OtherLimitsCountForWhatBegins) {
    for (unsigned n = 1; n <= 3; ++n) {
        sealed(alpha_, n);
    }
    RegistryLimits fewer = limits();
    fewer.cells_per_tenant = 2;
    fewer.filling_bytes_per_uid = 10;
    registry_.set_limits(fewer);
    EXPECT_EQ(registry_.counters(kAlpha).cells, 3U) << "what is there stays";
    EXPECT_TRUE(registry_.grant_read(alpha_, look(alpha_, 1).cell, now_));
    EXPECT_EQ(registry_.check_begin(alpha_, key_of(1), span_of(9), 1, 0).error().code(),
              Errc::limit_exceeded);
    EXPECT_EQ(registry_.check_begin(beta_, key_of(1), span_of(9), 11, 0).error().code(),
              Errc::limit_exceeded);
    registry_.set_limits(limits());
    EXPECT_TRUE(registry_.check_begin(alpha_, key_of(1), span_of(9), 600, 0));
}

TEST_F(RegistryTest, LeasesAreBoundedAndTheirGenerationsNeverReturn) {
    sealed(alpha_, 1);
    std::vector<LeaseRef> held;
    for (int i = 0; i < 4; ++i) {
        held.push_back(lease(alpha_, 1));
    }
    const CellId cell = look(alpha_, 1).cell;
    EXPECT_EQ(registry_.grant_read(alpha_, cell, now_).error().code(), Errc::limit_exceeded);
    EXPECT_TRUE(registry_.release(alpha_, held[2]));
    EXPECT_EQ(registry_.release(alpha_, held[2]).error().code(), Errc::stale_lease);
    const LeaseRef again = lease(alpha_, 1);
    EXPECT_EQ(again.index, held[2].index);
    EXPECT_NE(again.generation, held[2].generation);
    EXPECT_EQ(registry_.release(alpha_, held[2]).error().code(), Errc::stale_lease);
    EXPECT_EQ(registry_.release(alpha_, LeaseRef{9999, 1}).error().code(), Errc::stale_lease);
    EXPECT_EQ(registry_.release(beta_, again).error().code(), Errc::stale_lease)
        << "a lease means nothing on another connection";
    EXPECT_EQ(registry_.grant_read(alpha_, CellId{12345}, now_).error().code(), Errc::not_found);
}

TEST_F(RegistryTest, SealRefusals) {
    const BeginGrant grant = begin(alpha_, 1);
    EXPECT_EQ(registry_.start_seal(alpha_, LeaseRef{0, 99}).error().code(), Errc::stale_lease);
    const auto work = registry_.start_seal(alpha_, grant.lease);
    ASSERT_TRUE(work);
    EXPECT_EQ(registry_.start_seal(alpha_, grant.lease).error().code(), Errc::wrong_state);
    EXPECT_EQ(registry_.release(alpha_, grant.lease).error().code(), Errc::wrong_state);
    EXPECT_TRUE(registry_.finish_seal(*work, content_of(1), {}, at_ms(2)));
    EXPECT_EQ(registry_.start_seal(alpha_, grant.lease).error().code(), Errc::stale_lease);
    const LeaseRef reading = lease(alpha_, 1);
    EXPECT_EQ(registry_.start_seal(alpha_, reading).error().code(), Errc::stale_lease);
}

TEST_F(RegistryTest, LeasesEndWhenTheyAreNotRenewed) {
    sealed(alpha_, 1);
    const BeginGrant filling = begin(alpha_, 2);
    const LeaseRef kept = lease(alpha_, 1);
    const LeaseRef forgotten = lease(alpha_, 1);
    registry_.expire(at_ms(1999));
    EXPECT_TRUE(registry_.take_ended().empty()) << "the time to live is 1000 ms";
    ASSERT_TRUE(registry_.renew(alpha_, kept, at_ms(1999)));
    registry_.expire(at_ms(2000));
    EXPECT_EQ(registry_.take_ended().size(), 2U);
    EXPECT_EQ(registry_.renew(alpha_, forgotten, at_ms(2000)).error().code(), Errc::stale_lease);
    EXPECT_TRUE(registry_.renew(alpha_, kept, at_ms(2000)));
    EXPECT_EQ(registry_.start_seal(alpha_, filling.lease).error().code(), Errc::revoked);
    EXPECT_EQ(look(alpha_, 2).told.verdict(), Verdict::miss_absent)
        << "the filling cell is rolled back";
}

TEST_F(RegistryTest, AFillingLeaseDoesNotExpireWhileItsCellIsBeingSealed) {
    const BeginGrant grant = begin(alpha_, 1);
    const auto work = registry_.start_seal(alpha_, grant.lease);
    ASSERT_TRUE(work);
    registry_.expire(at_ms(9000));
    EXPECT_TRUE(registry_.finish_seal(*work, content_of(1), {}, at_ms(2)));
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::hit_in_place);
}

TEST_F(RegistryTest, ReleaseOfAFillingLeaseRollsTheCellBack) {
    const BeginGrant grant = begin(alpha_, 1);
    ASSERT_TRUE(registry_.release(alpha_, grant.lease));
    EXPECT_EQ(look(alpha_, 1).told.verdict(), Verdict::miss_absent);
    EXPECT_EQ(registry_.take_freed().size(), 1U);
    EXPECT_TRUE(registry_.take_ended().empty()) << "the holder asked for it";
}

TEST_F(RegistryTest, OneTenantsOwnCellWinsOverAnothers) {
    sealed(alpha_, 1);
    share(alpha_, 1);
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    const BeginGrant own = sealed(beta_, 1);
    EXPECT_EQ(look(beta_, 1).cell, own.cell);
    EXPECT_EQ(look(beta_, 1).owner, kBeta);
}

TEST_F(RegistryTest, CooperativeBytesStayWhereTheyAre) {
    const auto grant = registry_.begin(alpha_, key_of(1), span_of(1),
                                       location_of(500, 100, cooperative_pool_), now_, at_ms(1));
    ASSERT_TRUE(grant);
    const auto seal = registry_.start_seal(alpha_, grant->lease);
    ASSERT_TRUE(seal);
    ASSERT_TRUE(registry_.finish_seal(*seal, content_of(1), {}, at_ms(2)));
    const auto work = registry_.start_share(alpha_, key_of(1), span_of(1), Scope::fleet, {});
    ASSERT_TRUE(work);
    EXPECT_FALSE(work->has_value());
    ASSERT_TRUE(adjudicate(1, Judgement::trust));
    EXPECT_EQ(look(beta_, 1).told.verdict(), Verdict::hit_in_place);
}

TEST_F(RegistryTest, ExplainPutsTheBestAnswerFirstAndCountsNothing) {
    sealed(alpha_, 1, 1);
    sealed(alpha_, 1, 2);
    share(alpha_, 1, Scope::fleet, {}, 2);
    const auto explained = registry_.explain(kBeta, true, key_of(2), span_of(1), now_);
    ASSERT_EQ(explained.size(), 2U);
    EXPECT_EQ(explained[0].verdict, Verdict::untrusted);
    EXPECT_EQ(explained[1].verdict, Verdict::scope_denied);
    EXPECT_EQ(registry_.explain(kBeta, false, key_of(2), span_of(1), now_)[0].verdict,
              Verdict::not_permitted);
    EXPECT_TRUE(registry_.explain(kBeta, true, key_of(2), span_of(9), now_).empty());
    EXPECT_EQ(registry_.counters(kBeta).misses, 0U);
}

TEST_F(RegistryTest, CountsHitsMissesCellsAndBytes) {
    sealed(alpha_, 1);
    look(alpha_, 1);
    look(alpha_, 2);
    look(beta_, 1);
    const TenantCounters alpha = registry_.counters(kAlpha);
    EXPECT_EQ(alpha.hits, 1U);
    EXPECT_EQ(alpha.misses, 1U);
    EXPECT_EQ(alpha.cells, 1U);
    EXPECT_EQ(alpha.bytes, 100U);
    EXPECT_EQ(registry_.counters(kBeta).misses, 1U);
    EXPECT_EQ(registry_.counters(TenantId{5}).cells, 0U);
}

TEST_F(RegistryTest, TenantsAreAddedOnce) {
    EXPECT_EQ(registry_.add_tenant(kAlpha, "x").error().code(), Errc::already_exists);
    EXPECT_EQ(registry_.add_tenant(TenantId{}, "x").error().code(), Errc::invalid_argument);
    EXPECT_EQ(registry_.tenant_name(kBeta), "beta");
    EXPECT_THAT(registry_.tenants(), ::testing::ElementsAre(kAlpha, kBeta));
}

TEST_F(SingleModeTest, ASealedCellIsForTheFleetAtOnceAndItsBytesMoveFirst) {
    const BeginGrant grant = begin(alpha_, 1);
    const auto work = registry_.start_seal(alpha_, grant.lease);
    ASSERT_TRUE(work);
    EXPECT_TRUE(work->move);
    ASSERT_TRUE(registry_.finish_seal(*work, content_of(1), copy_for(*work), at_ms(2)));
    EXPECT_EQ(look(beta_, 1).told.verdict(), Verdict::hit_in_place);
    EXPECT_EQ(look(beta_, 1, 2).told.verdict(), Verdict::model_mismatch)
        << "single tells the reason";
    EXPECT_TRUE(registry_.location_of(grant.cell)->offered);
}

}  // namespace
}  // namespace cxlpool

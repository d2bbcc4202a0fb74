#include "domain/lifecycle.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace cxlpool {
namespace {

constexpr std::uint64_t kTtl = 1000;  // its last quarter begins at 750
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

LifecycleMoment at(std::uint64_t now, std::optional<std::uint64_t> ttl = kTtl) {
    return LifecycleMoment{Timestamp{now}, ttl, true};
}

CellLife must(const CellLife& life, LifecycleEvent event, const LifecycleMoment& moment) {
    const Result<CellLife> out = apply(life, event, moment);
    EXPECT_TRUE(out) << out.error().message();
    return out ? *out : life;
}

CellLife sealed_at(std::uint64_t now) {
    return must(CellLife{}, LifecycleEvent::seal, at(now));
}

// Every state and every event. "-": refused.
constexpr const char* kTable = R"(
            seal   touch   tick        demote spill   promote evict   quarantine  readmit lose
filling     sealed -       filling     -      -       -       -       -           -       lost
sealed      -      sealed  sealed      sealed spilled sealed  evicted quarantined -       lost
expiring    -      sealed  expiring    sealed spilled sealed  evicted quarantined -       lost
expired     -      -       expired     sealed spilled sealed  evicted quarantined -       lost
spilled     -      spilled spilled     sealed spilled sealed  evicted quarantined -       lost
evicted     -      -       evicted     -      -       -       -       -           -       -
quarantined -      -       quarantined -      -       -       evicted quarantined sealed  lost
lost        -      -       lost        -      -       -       evicted -           -       -
)";

TEST(Lifecycle, EveryStateAndEvent) {
    std::istringstream table(kTable);
    std::vector<std::string> events(kLifecycleEvents.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
        table >> events[i];
        EXPECT_EQ(events[i], to_word(kLifecycleEvents[i]));
    }
    for (const Lifecycle state : kLifecycles) {
        std::string word;
        table >> word;
        EXPECT_EQ(word, to_word(state));
        EXPECT_EQ(parse_lifecycle(word), state);
        for (const LifecycleEvent event : kLifecycleEvents) {
            table >> word;
            SCOPED_TRACE(std::string(to_word(state)) + ", " + std::string(to_word(event)));
            const Result<Lifecycle> to = transition(state, event);
            CellLife life;
            life.state = state;
            const Result<CellLife> applied = apply(life, event, at(0, std::nullopt));
            ASSERT_EQ(to.has_value(), applied.has_value());
            if (to) {
                EXPECT_EQ(to_word(*to), word);
                EXPECT_EQ(applied->state, *to);
            } else {
                EXPECT_EQ(word, "-");
                EXPECT_EQ(to.error().code(), Errc::wrong_state);
                EXPECT_EQ(applied.error().code(), Errc::wrong_state);
                EXPECT_NE(to.error().message().find(to_word(state)), std::string::npos);
                EXPECT_NE(to.error().message().find(to_word(event)), std::string::npos);
            }
        }
    }
}

TEST(Lifecycle, ValuesWithoutAWordAreRefused) {
    for (const LifecycleEvent event : kLifecycleEvents) {
        EXPECT_FALSE(transition(static_cast<Lifecycle>(8), event)) << to_word(event);
    }
    for (const Lifecycle state : kLifecycles) {
        EXPECT_FALSE(transition(state, static_cast<LifecycleEvent>(10))) << to_word(state);
    }
    EXPECT_FALSE(parse_lifecycle("Sealed"));
    EXPECT_FALSE(parse_lifecycle(""));
}

TEST(Lifecycle, AgesByTheTimeToLiveOfItsTier) {
    const CellLife life = sealed_at(100);
    EXPECT_EQ(life.entered_at, Timestamp{100});
    EXPECT_EQ(aged(life, kTtl, Timestamp{849}).state, Lifecycle::sealed);
    EXPECT_EQ(aged(life, kTtl, Timestamp{850}).state, Lifecycle::expiring);
    EXPECT_EQ(aged(life, kTtl, Timestamp{1099}).state, Lifecycle::expiring);
    EXPECT_EQ(aged(life, kTtl, Timestamp{1100}).state, Lifecycle::expired);
    EXPECT_EQ(aged(life, std::nullopt, Timestamp{kMax}).state, Lifecycle::sealed);
    EXPECT_EQ(aged(life, kMax, Timestamp{kMax - 1}).state, Lifecycle::expiring);
    // A time to live too short to have a quarter, and none at all.
    EXPECT_EQ(aged(life, 3, Timestamp{102}).state, Lifecycle::sealed);
    EXPECT_EQ(aged(life, 3, Timestamp{103}).state, Lifecycle::expired);
    EXPECT_EQ(aged(life, 0, Timestamp{100}).state, Lifecycle::expired);
    // A clock that is behind makes nothing older.
    EXPECT_EQ(aged(life, kTtl, Timestamp{0}).state, Lifecycle::sealed);
}

TEST(Lifecycle, NeverGrowsYounger) {
    CellLife life = sealed_at(0);
    life.state = Lifecycle::expiring;
    EXPECT_EQ(aged(life, kTtl, Timestamp{1}).state, Lifecycle::expiring);
    EXPECT_EQ(aged(life, std::nullopt, Timestamp{1}).state, Lifecycle::expiring);
    life.state = Lifecycle::expired;
    EXPECT_EQ(aged(life, kTtl, Timestamp{1}).state, Lifecycle::expired);
}

TEST(Lifecycle, OnlySealedBytesAge) {
    for (const Lifecycle state : {Lifecycle::filling, Lifecycle::evicted, Lifecycle::quarantined,
                                  Lifecycle::lost, Lifecycle::expired}) {
        CellLife life;
        life.state = state;
        EXPECT_EQ(aged(life, kTtl, Timestamp{kMax}), life) << to_word(state);
    }
}

TEST(Lifecycle, ATouchRevivesWhatExpires) {
    const CellLife fresh = must(sealed_at(0), LifecycleEvent::touch, at(700));
    EXPECT_EQ(fresh.state, Lifecycle::sealed);
    EXPECT_EQ(fresh.touches, 1U);
    EXPECT_EQ(fresh.last_touch, Timestamp{700});
    EXPECT_FALSE(fresh.revived_at) << "a touch before the last quarter does not lengthen its life";
    EXPECT_EQ(aged(fresh, kTtl, Timestamp{1000}).state, Lifecycle::expired);

    const CellLife revived = must(fresh, LifecycleEvent::touch, at(999));
    EXPECT_EQ(revived.state, Lifecycle::sealed);
    EXPECT_EQ(revived.touches, 2U);
    EXPECT_EQ(revived.revived_at, Timestamp{999});
    EXPECT_EQ(revived.entered_at, Timestamp{0});
    EXPECT_EQ(aged(revived, kTtl, Timestamp{1748}).state, Lifecycle::sealed);
    EXPECT_EQ(aged(revived, kTtl, Timestamp{1749}).state, Lifecycle::expiring);
    EXPECT_EQ(aged(revived, kTtl, Timestamp{1999}).state, Lifecycle::expired);

    const Result<CellLife> late = apply(fresh, LifecycleEvent::touch, at(1000));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Errc::wrong_state);
    EXPECT_NE(late.error().message().find("expired"), std::string::npos);
}

TEST(Lifecycle, SpilledCellsExpireAreRevivedAndPromoted) {
    const CellLife spilled = must(sealed_at(0), LifecycleEvent::spill, at(500));
    EXPECT_EQ(spilled.state, Lifecycle::spilled);
    EXPECT_TRUE(spilled.staged);
    EXPECT_EQ(spilled.entered_at, Timestamp{500});
    EXPECT_EQ(aged(spilled, kTtl, Timestamp{1499}).state, Lifecycle::spilled);
    EXPECT_EQ(aged(spilled, kTtl, Timestamp{1500}).state, Lifecycle::expired);

    EXPECT_FALSE(must(spilled, LifecycleEvent::touch, at(1249)).revived_at);
    const CellLife revived = must(spilled, LifecycleEvent::touch, at(1250));
    EXPECT_EQ(revived.state, Lifecycle::spilled);
    EXPECT_EQ(revived.revived_at, Timestamp{1250});
    EXPECT_EQ(aged(revived, kTtl, Timestamp{2249}).state, Lifecycle::spilled);

    const CellLife promoted = must(revived, LifecycleEvent::promote, at(1300));
    EXPECT_EQ(promoted.state, Lifecycle::sealed);
    EXPECT_FALSE(promoted.staged);
    EXPECT_EQ(promoted.touches, 0U);
    EXPECT_EQ(promoted.entered_at, Timestamp{1300});
    EXPECT_FALSE(promoted.revived_at);
    EXPECT_EQ(promoted.last_touch, Timestamp{1250});

    LifecycleMoment to_staged_tier = at(1300);
    to_staged_tier.promoted_in_place = false;
    const CellLife warmer = must(revived, LifecycleEvent::promote, to_staged_tier);
    EXPECT_EQ(warmer.state, Lifecycle::spilled);
    EXPECT_TRUE(warmer.staged);
}

TEST(Lifecycle, AMoveServesAnExpiredCellAgain) {
    const CellLife life = sealed_at(0);
    EXPECT_EQ(must(life, LifecycleEvent::demote, at(5000)).state, Lifecycle::sealed);
    EXPECT_EQ(must(life, LifecycleEvent::spill, at(5000)).state, Lifecycle::spilled);
    EXPECT_EQ(must(life, LifecycleEvent::promote, at(5000)).state, Lifecycle::sealed);
    EXPECT_EQ(must(life, LifecycleEvent::demote, at(5000)).entered_at, Timestamp{5000});
}

TEST(Lifecycle, QuarantineKeepsTheAgeAndThePlace) {
    const CellLife spilled = must(sealed_at(0), LifecycleEvent::spill, at(100));
    const CellLife poisoned = must(spilled, LifecycleEvent::quarantine, at(200));
    const CellLife back = must(poisoned, LifecycleEvent::readmit, at(300));
    EXPECT_EQ(back, spilled) << "its bytes still lie where they must be copied from";
    EXPECT_EQ(aged(back, kTtl, Timestamp{1100}).state, Lifecycle::expired);
    EXPECT_EQ(
        must(must(sealed_at(0), LifecycleEvent::quarantine, at(1)), LifecycleEvent::readmit, at(2)),
        sealed_at(0));
}

TEST(Lifecycle, TimeDoesNotRunBackwards) {
    CellLife life =
        must(must(sealed_at(0), LifecycleEvent::touch, at(800)), LifecycleEvent::touch, at(900));
    EXPECT_TRUE(apply(life, LifecycleEvent::tick, at(900)));
    const Result<CellLife> early = apply(life, LifecycleEvent::evict, at(899));
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code(), Errc::invalid_argument);
    EXPECT_NE(early.error().message().find("899"), std::string::npos);
}

TEST(Lifecycle, CountsTouchesUpToTheMaximum) {
    CellLife life = sealed_at(0);
    life.touches = kMax;
    EXPECT_EQ(must(life, LifecycleEvent::touch, at(1)).touches, kMax);
}

// The same events with and without ticks between them come to the same.
TEST(Lifecycle, DoesNotDependOnHowOftenItTicks) {
    constexpr std::uint32_t kSeed = 20260301;
    std::mt19937_64 random(kSeed);
    SCOPED_TRACE(kSeed);
    for (int round = 0; round < 20'000; ++round) {
        CellLife plain = sealed_at(0);
        CellLife ticked = plain;
        std::uint64_t now = 0;
        for (int step = 0; step < 12; ++step) {
            const std::uint64_t later = now + random() % 400;
            for (std::uint64_t between = now; between < later; between += 1 + random() % 100) {
                ticked = must(ticked, LifecycleEvent::tick, at(between));
            }
            now = later;
            const LifecycleEvent event = kLifecycleEvents[random() % kLifecycleEvents.size()];
            const Result<CellLife> a = apply(plain, event, at(now));
            const Result<CellLife> b = apply(ticked, event, at(now));
            ASSERT_EQ(a.has_value(), b.has_value()) << round << ' ' << to_word(event);
            plain = a ? *a : plain;
            ticked = b ? *b : ticked;
            ASSERT_EQ(aged(plain, kTtl, Timestamp{now}), aged(ticked, kTtl, Timestamp{now}))
                << round << ' ' << to_word(event);
            ASSERT_TRUE(plain.staged || plain.state != Lifecycle::spilled);
        }
    }
}

// It went on to grow older while it was in quarantine.
TEST(Lifecycle, ReadmittedIsAsOldAsItIs) {
    const CellLife poisoned = must(sealed_at(0), LifecycleEvent::quarantine, at(500));
    EXPECT_EQ(must(poisoned, LifecycleEvent::readmit, at(600)).state, Lifecycle::sealed);
    EXPECT_EQ(must(poisoned, LifecycleEvent::readmit, at(800)).state, Lifecycle::expiring);
    EXPECT_EQ(must(poisoned, LifecycleEvent::readmit, at(5000)).state, Lifecycle::expired);
}

}  // namespace
}  // namespace cxlpool

// Whose cells go when a pool is full: the laws, a noisy neighbour, and 200,000 random operations
// against a naive model that walks over everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "fixture.hpp"
#include "registry/registry.hpp"

namespace cxlpool {
namespace {

using testing::at_ms;
using testing::content_of;
using testing::key_of;
using testing::location_of;
using testing::span_of;

constexpr TenantId kA{1};
constexpr TenantId kB{2};

// A registry with one pool and no bytes.
class Host {
  public:
    explicit Host(std::uint64_t capacity_bytes, EvictionPolicy policy = EvictionPolicy::fair,
                  TenancyMode mode = TenancyMode::multi)
        : registry(mode, RegistryLimits{}, policy) {
        registry.add_pool({Isolation::kernel, Tier::cxl, capacity_bytes});
        for (std::uint64_t tenant = 1; tenant <= 3; ++tenant) {
            EXPECT_TRUE(registry.add_tenant(TenantId{tenant}, "t"));
            connections.push_back(registry.open_connection(TenantId{tenant}, 1000, "e"));
        }
    }
    ConnectionId of(TenantId tenant) const { return connections[tenant.value - 1]; }
    bool room_for(std::uint64_t bytes) const {
        const PoolResidency pool = registry.residency(0);
        return bytes <= pool.capacity_bytes && pool.used_bytes <= pool.capacity_bytes - bytes;
    }
    // A sealed cell, for which others make room. Errors: those of evict_for and begin.
    Result<CellId> store(TenantId tenant, unsigned span, std::uint64_t bytes,
                         std::uint64_t recompute_ns = 0) {
        while (!room_for(bytes)) {
            const Result<Evicted> gone = registry.evict_for(tenant, 0, bytes);
            if (!gone) {
                return gone.error();
            }
            evicted.push_back(*gone);
        }
        const auto begun =
            registry.begin(of(tenant), key_of(1), span_of(span), location_of(++locations, bytes),
                           at_ms(1), at_ms(1), recompute_ns);
        if (!begun) {
            return begun.error();
        }
        const auto work = registry.start_seal(of(tenant), begun->lease);
        EXPECT_TRUE(work);
        EXPECT_TRUE(registry.finish_seal(*work, content_of(span + 1), std::nullopt, at_ms(1)));
        return begun->cell;
    }
    bool hit(TenantId tenant, unsigned span) {
        return is_hit(registry.lookup(of(tenant), key_of(1), span_of(span), at_ms(1)).verdict);
    }
    LeaseRef lease(TenantId tenant, unsigned span) {
        const LookupResult found = registry.lookup(of(tenant), key_of(1), span_of(span), at_ms(1));
        EXPECT_TRUE(is_hit(found.verdict));
        const auto lease = registry.grant_read(of(tenant), found.cell, at_ms(1));
        EXPECT_TRUE(lease);
        return *lease;
    }

    Registry registry;
    std::vector<ConnectionId> connections;
    std::vector<Evicted> evicted;
    std::uint64_t locations = 0;
};

TEST(Eviction, TheLeastRecentlyTouchedOfATenantGoesFirst) {
    Host host(300);
    for (const unsigned span : {1U, 2U, 3U}) {
        ASSERT_TRUE(host.store(kA, span, 100));
    }
    EXPECT_TRUE(host.hit(kA, 1));
    ASSERT_TRUE(host.store(kA, 4, 100));
    EXPECT_FALSE(host.hit(kA, 2));
    EXPECT_TRUE(host.hit(kA, 1));
    EXPECT_TRUE(host.hit(kA, 3));
    EXPECT_EQ(host.registry.counters(kA).evictions_caused, 1U);
    EXPECT_EQ(host.registry.counters(kA).evictions_suffered, 1U) << "a self-eviction is both";
    EXPECT_EQ(host.registry.take_freed().size(), 1U) << "its bytes are given out for scrubbing";
    host.registry.check();
}

TEST(Eviction, ADearCellStaysLongerAndNotForEver) {
    Host host(300);
    ASSERT_TRUE(host.store(kA, 1, 100, 3'000));  // 30,720 ns a KiB
    for (unsigned span = 2; span < 30; ++span) {
        ASSERT_TRUE(host.store(kA, span, 100, 1'000));  // a third of it
        EXPECT_EQ(host.hit(kA, span), true);
        // Two others fit beside it, so the clock rises by 10,240 every second time.
        if (span < 7) {
            EXPECT_TRUE(host.registry.find(CellId{1}) != nullptr) << span;
        }
    }
    EXPECT_EQ(host.registry.find(CellId{1}), nullptr) << "nobody touched it";
    // Unknown cost ranks as the last known one: then the touch decides.
    ASSERT_TRUE(host.store(kA, 100, 100));
    ASSERT_TRUE(host.store(kA, 101, 100, 1'000));
    ASSERT_TRUE(host.store(kA, 102, 100));
    ASSERT_TRUE(host.store(kA, 103, 100));
    EXPECT_FALSE(host.hit(kA, 100));
    EXPECT_TRUE(host.hit(kA, 101));
    host.registry.check();
}

TEST(Eviction, WhatIsLeasedFilledWorkedOnOrQuarantinedStays) {
    Host host(400);
    for (const unsigned span : {1U, 2U, 3U}) {
        ASSERT_TRUE(host.store(kA, span, 100));
    }
    const LeaseRef lease = host.lease(kA, 1);
    const auto work =
        host.registry.start_share(host.of(kA), key_of(1), span_of(2), Scope::fleet, {});
    ASSERT_TRUE(work && work->has_value());
    ASSERT_TRUE(host.registry.adjudicate(kA, span_of(3), CellId{}, std::nullopt, Judgement::poison,
                                         0, at_ms(1)));
    ASSERT_TRUE(host.registry.begin(host.of(kA), key_of(1), span_of(4), location_of(99, 100),
                                    at_ms(1), at_ms(1)));
    EXPECT_EQ(host.store(kA, 5, 100).error().code(), Errc::capacity);
    EXPECT_EQ(host.store(kB, 5, 100).error().code(), Errc::capacity);
    ASSERT_TRUE(host.registry.release(host.of(kA), lease));
    EXPECT_TRUE(host.store(kB, 5, 100));
    EXPECT_EQ(host.registry.find(CellId{1}), nullptr);
    host.registry.check();
}

TEST(Eviction, ANewcomerHasItsOwnWeight) {
    Host host(1000);
    ASSERT_TRUE(host.registry.set_weight(kB, 10));
    for (unsigned span = 0; span < 10; ++span) {
        ASSERT_TRUE(host.store(kA, span, 100));
    }
    // A share of a tenth as much: 90 beside 910.
    EXPECT_EQ(host.store(kB, 1, 100).error().code(), Errc::capacity) << "more than its share";
    ASSERT_TRUE(host.store(kB, 1, 50));
    host.registry.check();
}

TEST(Eviction, ACellIsChargedWhatItTakesUntilNobodyHoldsIt) {
    Host host(1000);
    Location wide = location_of(1, 10);
    wide.segment_bytes = 200;  // a segment of its own
    const auto begun =
        host.registry.begin(host.of(kA), key_of(1), span_of(1), wide, at_ms(1), at_ms(1));
    ASSERT_TRUE(begun);
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 200U);
    const auto seal = host.registry.start_seal(host.of(kA), begun->lease);
    ASSERT_TRUE(host.registry.finish_seal(*seal, content_of(1), std::nullopt, at_ms(1)));
    const LeaseRef lease = host.lease(kA, 1);
    const auto share =
        host.registry.start_share(host.of(kA), key_of(1), span_of(1), Scope::fleet, {});
    ASSERT_TRUE(share && share->has_value());
    Location copy = location_of(2, 10);
    copy.segment_bytes = 300;
    ASSERT_TRUE(host.registry.finish_share(**share, content_of(1), copy, Scope::fleet, {}));
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 500U) << "a reader holds the old place";
    ASSERT_TRUE(host.registry.release(host.of(kA), lease));
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 300U);
    host.registry.check();
}

TEST(Eviction, ForAnotherTenantAWholeSegmentGoes) {
    Host host(2000);
    // Two segments of four cells each; the cells take turns.
    const auto store = [&](unsigned span) {
        Location location = location_of(1 + span % 2, 100);
        location.placement.extent.offset_bytes = span * 100;
        location.segment_bytes = 1000;
        const auto begun = host.registry.begin(host.of(kA), key_of(1), span_of(span), location,
                                               at_ms(1), at_ms(1));
        ASSERT_TRUE(begun);
        const auto work = host.registry.start_seal(host.of(kA), begun->lease);
        ASSERT_TRUE(host.registry.finish_seal(*work, content_of(1), std::nullopt, at_ms(1)));
    };
    for (unsigned span = 0; span < 8; ++span) {
        store(span);
    }
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 2000U) << "the rest of a segment is nobody's";
    EXPECT_FALSE(host.room_for(1));
    // The least recently touched cell lies in the first segment, where one cell is leased.
    const LeaseRef lease = host.lease(kA, 2);
    const auto gone = host.registry.evict_for(kB, 0, 1);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->victim, kA);
    EXPECT_EQ(gone->cells.size(), 4U);
    EXPECT_EQ(gone->bytes, 400U);
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 1000U);
    EXPECT_EQ(host.registry.counters(kA).evictions_suffered, 4U);
    EXPECT_EQ(host.registry.counters(kB).evictions_caused, 4U);
    for (unsigned span = 0; span < 8; ++span) {
        EXPECT_EQ(host.hit(kA, span), span % 2 == 0) << span;
    }
    EXPECT_EQ(host.registry.evict_for(kB, 0, 1).error().code(), Errc::capacity) << "leased";
    // Who is next most above its share gives instead.
    ASSERT_TRUE(host.store(TenantId{3}, 50, 900));
    EXPECT_EQ(host.registry.evict_for(kB, 0, 1)->victim, TenantId{3});
    // For itself one cell is enough, and for a segment of its own it is not.
    const auto own = host.registry.evict_for(kA, 0, 1);
    ASSERT_TRUE(own);
    EXPECT_EQ(own->cells.size(), 1U);
    EXPECT_EQ(host.registry.evict_for(kA, 0, 1, true).error().code(), Errc::capacity);
    ASSERT_TRUE(host.registry.release(host.of(kA), lease));
    EXPECT_EQ(host.registry.evict_for(kA, 0, 1, true)->cells.size(), 3U);
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 0U);
    host.registry.check();
}

TEST(Reservation, BindsAndIsReclaimed) {
    Host host(1000);
    for (unsigned span = 0; span < 10; ++span) {
        ASSERT_TRUE(host.store(kA, span, 100)) << "all of it, while nobody else asks";
    }
    ASSERT_TRUE(host.registry.set_reservation(kB, 0, 700)) << "occupied now, reclaimed when asked";
    for (unsigned span = 100; span < 107; ++span) {
        ASSERT_TRUE(host.store(kB, span, 100)) << span;
    }
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 300U);
    for (unsigned span = 200; span < 300; ++span) {
        ASSERT_TRUE(host.store(kA, span, 100));
    }
    EXPECT_EQ(host.registry.resident_bytes(kB, 0), 700U);
    EXPECT_EQ(host.registry.counters(kB).evictions_suffered, 0U);
    // The eighth of B is over its reservation, and over what A has above its own.
    ASSERT_TRUE(host.store(kB, 107, 100));
    EXPECT_EQ(host.registry.resident_bytes(kB, 0), 800U) << "100 above against 300";
    host.registry.check();
}

TEST(Reservation, BindsAgainstWhoLeasesAllThatItHolds) {
    Host host(1000);
    ASSERT_TRUE(host.registry.set_reservation(kB, 0, 500));
    // All of it, while B asks for nothing; leased as far as that goes.
    std::vector<LeaseRef> leases;
    for (unsigned span = 0; span < 10; ++span) {
        ASSERT_TRUE(host.store(kA, span, 100));
    }
    for (unsigned span = 0; span < 10; ++span) {
        const LookupResult found =
            host.registry.lookup(host.of(kA), key_of(1), span_of(span), at_ms(1));
        ASSERT_TRUE(is_hit(found.verdict));
        const auto lease = host.registry.grant_read(host.of(kA), found.cell, at_ms(1));
        ASSERT_EQ(lease.has_value(), span < 5) << span;
        if (lease) {
            leases.push_back(*lease);
        } else {
            EXPECT_EQ(lease.error().code(), Errc::capacity);
        }
    }
    for (unsigned span = 100; span < 105; ++span) {
        ASSERT_TRUE(host.store(kB, span, 100)) << span;
        static_cast<void>(host.lease(kB, span));  // its own: within what it has reserved
    }
    EXPECT_EQ(host.registry.resident_bytes(kA, 0), 500U);
    EXPECT_EQ(host.store(kB, 105, 100).error().code(), Errc::capacity) << "A leases the rest";
    EXPECT_EQ(host.store(TenantId{3}, 1, 100).error().code(), Errc::capacity);
    ASSERT_TRUE(host.registry.release(host.of(kA), leases[0]));
    EXPECT_TRUE(host.store(TenantId{3}, 1, 100));
    // A second lease on what is leased already binds nothing more.
    const LookupResult again = host.registry.lookup(host.of(kA), key_of(1), span_of(1), at_ms(1));
    EXPECT_TRUE(host.registry.grant_read(host.of(kA), again.cell, at_ms(1)));
    host.registry.check();
}

TEST(Reservation, FillingIsBoundToo) {
    Host host(1000);
    ASSERT_TRUE(host.registry.set_reservation(kB, 0, 700));
    const auto begin = [&](TenantId tenant, unsigned span) {
        return host.registry.begin(host.of(tenant), key_of(1), span_of(span),
                                   location_of(++host.locations, 100), at_ms(1), at_ms(1));
    };
    for (unsigned span = 0; span < 3; ++span) {
        ASSERT_TRUE(begin(kA, span));
    }
    EXPECT_EQ(begin(kA, 3).error().code(), Errc::capacity);
    for (unsigned span = 0; span < 7; ++span) {
        ASSERT_TRUE(begin(kB, span)) << span;
    }
    host.registry.check();
}

TEST(Reservation, TheSumIsBounded) {
    Host host(1000);
    ASSERT_TRUE(host.registry.set_reservation(kA, 0, 600));
    EXPECT_EQ(host.registry.set_reservation(kB, 0, 401).error().code(), Errc::capacity);
    EXPECT_EQ(host.registry.reserved_bytes(kB, 0), 0U);
    ASSERT_TRUE(host.registry.set_reservation(kB, 0, 400));
    EXPECT_EQ(host.registry.set_reservation(kA, 0, UINT64_MAX).error().code(), Errc::capacity);
    ASSERT_TRUE(host.registry.set_reservation(kA, 0, 0));
    ASSERT_TRUE(host.registry.set_reservation(kB, 0, 1000));
    EXPECT_EQ(host.registry.set_reservation(kB, 1, 1).error().code(), Errc::invalid_argument);
    EXPECT_EQ(host.registry.set_reservation(TenantId{9}, 0, 1).error().code(), Errc::not_found);
    EXPECT_EQ(host.registry.set_weight(kA, 0).error().code(), Errc::invalid_argument);
    host.registry.check();
}

TEST(Salt, ASaltedTenantHasItsOwnKeyspace) {
    Host host(1000, EvictionPolicy::fair, TenancyMode::single);
    ASSERT_TRUE(host.registry.set_salt(kB, 0x5a17));
    // In single every sealed cell is for the whole fleet.
    const auto stored = host.registry.begin(host.of(kA), key_of(1), span_of(1), location_of(1, 10),
                                            at_ms(1), at_ms(1));
    ASSERT_TRUE(stored);
    const auto work = host.registry.start_seal(host.of(kA), stored->lease);
    ASSERT_TRUE(work);
    ASSERT_TRUE(host.registry.finish_seal(*work, content_of(1), location_of(2, 10), at_ms(1)));
    EXPECT_TRUE(host.hit(kA, 1));
    EXPECT_TRUE(host.hit(TenantId{3}, 1)) << "no salt either";
    EXPECT_FALSE(host.hit(kB, 1));
    EXPECT_EQ(host.registry.set_salt(kA, 1).error().code(), Errc::wrong_state);
    EXPECT_TRUE(host.registry.set_salt(kA, 0)) << "as it is";

    const auto salted = host.registry.begin(host.of(kB), key_of(1), span_of(2), location_of(3, 10),
                                            at_ms(1), at_ms(1));
    ASSERT_TRUE(salted);
    const auto sealing = host.registry.start_seal(host.of(kB), salted->lease);
    ASSERT_TRUE(host.registry.finish_seal(*sealing, content_of(2), location_of(4, 10), at_ms(1)));
    EXPECT_TRUE(host.hit(kB, 2)) << "the same salt must still hit";
    EXPECT_FALSE(host.hit(kA, 2));
    EXPECT_EQ(
        host.registry
            .adjudicate(kA, span_of(2), CellId{}, std::nullopt, Judgement::poison, 0, at_ms(1))
            .error()
            .code(),
        Errc::not_found);
    EXPECT_TRUE(host.registry.explain(kA, true, key_of(1), span_of(2), at_ms(1)).empty());
    EXPECT_EQ(host.registry.explain(kB, true, key_of(1), span_of(2), at_ms(1)).size(), 1U);
    // Gone, and still no other salt: what it stored elsewhere would be lost to it.
    ASSERT_TRUE(host.registry.evict_for(kB, 0, 1));
    EXPECT_EQ(host.registry.set_salt(kB, 2).error().code(), Errc::wrong_state);
    host.registry.check();
}

// The hit share of B, which works in 40 cells of 100, in a pool of 100 cells; beside it A stores
// `flood` cells that it never asks for again, for each that B looks up.
double hit_share_of_b(EvictionPolicy policy, unsigned flood, std::uint64_t reserved_cells) {
    constexpr unsigned kSet = 40;
    constexpr unsigned kLookups = 4'000;
    Host host(100 * 100, policy);
    EXPECT_TRUE(host.registry.set_reservation(kB, 0, reserved_cells * 100));
    std::mt19937 random(7);
    unsigned hits = 0;
    unsigned single_use = 1'000'000;
    const auto look = [&](unsigned span) {
        const bool found = host.hit(kB, span);
        if (!found) {
            EXPECT_TRUE(host.store(kB, span, 100));
        }
        return found;
    };
    for (unsigned span = 0; span < kSet; ++span) {
        look(span);
    }
    for (unsigned i = 0; i < kLookups; ++i) {
        for (unsigned n = 0; n < flood; ++n) {
            EXPECT_TRUE(host.store(kA, ++single_use, 100));
        }
        hits += look(static_cast<unsigned>(random() % kSet)) ? 1 : 0;
        static_cast<void>(host.registry.take_freed());
    }
    host.registry.check();
    return static_cast<double>(hits) / kLookups;
}

TEST(NoisyNeighbour, TheFairPolicyDefendsTheWorkingSetOfTheOther) {
    const double alone = hit_share_of_b(EvictionPolicy::fair, 0, 0);
    const double fair = hit_share_of_b(EvictionPolicy::fair, 10, 0);
    const double lru = hit_share_of_b(EvictionPolicy::lru, 10, 0);
    const double lru_reserved = hit_share_of_b(EvictionPolicy::lru, 10, 40);
    const double fair_reserved = hit_share_of_b(EvictionPolicy::fair, 10, 40);
    std::printf(
        "hit share of the quiet tenant: alone %.4f, fair %.4f, lru %.4f, "
        "with a reservation: fair %.4f, lru %.4f\n",
        alone, fair, lru, fair_reserved, lru_reserved);
    EXPECT_EQ(alone, 1.0);
    EXPECT_GE(fair, 0.95 * alone);
    EXPECT_LT(lru, 0.5);
    EXPECT_EQ(fair_reserved, 1.0);
    EXPECT_EQ(lru_reserved, 1.0);
}

// Everything that decides who goes, written down as plainly as possible.
struct ModelCell {
    TenantId owner;
    std::uint64_t bytes = 0;
    std::uint64_t recompute_ns = 0;
    bool sealed = false;
    bool poisoned = false;
    unsigned leases = 0;
    std::uint64_t value = 0;
    std::uint64_t touched = 0;
};

struct Model {
    EvictionPolicy policy;
    std::uint64_t capacity = 0;
    std::map<std::uint64_t, ModelCell> cells;
    std::map<TenantId, std::uint64_t> reserved;
    std::map<TenantId, std::uint64_t> weight;
    std::map<TenantId, std::uint64_t> clock;
    std::map<TenantId, std::uint64_t> known;
    std::map<std::pair<TenantId, TenantId>, std::pair<std::uint64_t, std::uint64_t>> flows;
    std::uint64_t touches = 0;

    std::uint64_t used(TenantId tenant) const {
        std::uint64_t sum = 0;
        for (const auto& [id, cell] : cells) {
            sum += cell.owner == tenant ? cell.bytes : 0;
        }
        return sum;
    }
    void touch(ModelCell& cell) {
        cell.touched = ++touches;
        if (policy == EvictionPolicy::fair) {
            if (cell.recompute_ns != 0) {
                known[cell.owner] = cell.recompute_ns * 1024 / cell.bytes;
            }
            cell.value = clock[cell.owner] + (known.contains(cell.owner) ? known[cell.owner] : 1);
        }
    }
    // What a tenant that holds nothing and has nothing reserved had is forgotten.
    void forget_idle() {
        for (const std::uint64_t n : {1U, 2U, 3U}) {
            const TenantId tenant{n};
            if (used(tenant) == 0 && reserved[tenant] == 0) {
                clock[tenant] = 0;
                known.erase(tenant);
            }
        }
    }
    // Would everybody's leased and filling bytes above their reservations still fit?
    bool may_bind(const ModelCell& more) const {
        std::map<TenantId, std::uint64_t> bound;
        for (const auto& [id, cell] : cells) {
            bound[cell.owner] += !cell.sealed || cell.poisoned || cell.leases > 0 ? cell.bytes : 0;
        }
        bound[more.owner] += more.bytes;
        std::uint64_t above = 0;
        std::uint64_t all_reserved = 0;
        for (const std::uint64_t n : {1U, 2U, 3U}) {
            const auto at = reserved.find(TenantId{n});
            const std::uint64_t floor = at == reserved.end() ? 0 : at->second;
            all_reserved += floor;
            above += bound[TenantId{n}] > floor ? bound[TenantId{n}] - floor : 0;
        }
        // Who stays within its own reservation is asked nothing.
        const auto own = reserved.find(more.owner);
        return bound[more.owner] <= (own == reserved.end() ? 0 : own->second) ||
               above <= capacity - all_reserved;
    }
    // The id of the cell that must go, 0: none.
    std::uint64_t victim(TenantId causer, std::uint64_t needed) {
        std::uint64_t best = 0;
        long double best_level = 0;
        bool best_own = false;
        const auto level = [&](TenantId tenant, std::uint64_t besides) {
            const std::uint64_t held = used(tenant) + besides;
            const std::uint64_t floor = reserved[tenant];
            return held > floor ? static_cast<long double>(held - floor) /
                                      static_cast<long double>(weight[tenant])
                                : 0.0L;
        };
        for (const std::uint64_t n : {1U, 2U, 3U}) {
            const TenantId tenant{n};
            std::uint64_t next = 0;
            for (const auto& [id, cell] : cells) {
                if (cell.owner == tenant && cell.sealed && !cell.poisoned && cell.leases == 0 &&
                    (next == 0 || std::pair(cell.value, cell.touched) <
                                      std::pair(cells[next].value, cells[next].touched))) {
                    next = id;
                }
            }
            if (next == 0) {
                continue;
            }
            const bool own = tenant == causer;
            if (!own && (used(tenant) < cells[next].bytes + reserved[tenant])) {
                continue;
            }
            if (policy == EvictionPolicy::lru) {
                if (best == 0 || cells[next].touched < cells[best].touched) {
                    best = next;
                }
                continue;
            }
            const long double mine = own ? level(tenant, needed) : level(tenant, 0);
            if (!own && !(mine > level(causer, needed))) {
                continue;
            }
            if (best == 0 || mine > best_level || (mine == best_level && own && !best_own)) {
                best = next;
                best_level = mine;
                best_own = own;
            }
        }
        return best;
    }
};

class EvictionModel : public ::testing::TestWithParam<EvictionPolicy> {};

TEST_P(EvictionModel, CountersMatrixAndBytesAddUpAfterEachOfManyOperations) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    constexpr std::uint64_t kCapacity = 4096;
    Host host(kCapacity, GetParam());
    Registry& registry = host.registry;
    Model model;
    model.policy = GetParam();
    model.capacity = kCapacity;
    for (const std::uint64_t n : {1U, 2U, 3U}) {
        model.weight[TenantId{n}] = kDefaultWeight;
    }
    struct Held {
        TenantId tenant;
        LeaseRef lease;
        std::uint64_t cell;
    };
    std::vector<Held> reading;
    std::vector<Held> filling;
    const auto take = [&](std::vector<Held>& list) {
        std::swap(list[pick(static_cast<unsigned>(list.size()))], list.back());
        const Held out = list.back();
        list.pop_back();
        return out;
    };

    for (int step = 0; step < CXLPOOL_MODEL_STEPS; ++step) {
        const TenantId tenant{1 + pick(3)};
        const unsigned span = pick(30);
        switch (pick(9)) {
            case 0:
            case 1:
            case 2: {
                const std::uint64_t bytes = 64ULL << pick(5);
                const std::uint64_t cost = pick(3) == 0 ? 0 : pick(5'000);
                bool room = true;
                while (room && !host.room_for(bytes)) {
                    const std::uint64_t expected = model.victim(tenant, bytes);
                    const Result<Evicted> gone = registry.evict_for(tenant, 0, bytes);
                    ASSERT_EQ(gone ? gone->cells.at(0).value : 0, expected) << "step " << step;
                    room = gone.has_value();
                    if (gone) {
                        const ModelCell was = model.cells[expected];
                        model.cells.erase(expected);
                        ASSERT_EQ(gone->bytes, was.bytes);
                        ASSERT_TRUE(gone->victim == tenant ||
                                    model.used(gone->victim) >= model.reserved[gone->victim]);
                        auto& flow = model.flows[{tenant, was.owner}];
                        ++flow.first;
                        flow.second += was.bytes;
                        model.clock[was.owner] = std::max(model.clock[was.owner], was.value);
                        model.forget_idle();
                    }
                }
                if (!room) {
                    break;
                }
                const auto begun =
                    registry.begin(host.of(tenant), key_of(1), span_of(span),
                                   location_of(++host.locations, bytes), at_ms(1), at_ms(1), cost);
                if (begun) {
                    if (begun->replaced) {
                        ASSERT_EQ(model.cells.erase(begun->replaced.value), 1U);
                        model.forget_idle();
                    }
                    ModelCell& cell = model.cells[begun->cell.value];
                    cell.owner = tenant;
                    cell.bytes = bytes;
                    cell.recompute_ns = cost;
                    cell.leases = 1;
                    model.touch(cell);
                    filling.push_back({tenant, begun->lease, begun->cell.value});
                }
                break;
            }
            case 3:
                if (!filling.empty()) {
                    const Held held = take(filling);
                    if (pick(5) == 0) {
                        ASSERT_TRUE(registry.release(host.of(held.tenant), held.lease));
                        model.cells.erase(held.cell);
                        model.forget_idle();
                        break;
                    }
                    const auto work = registry.start_seal(host.of(held.tenant), held.lease);
                    ASSERT_TRUE(work);
                    ASSERT_TRUE(registry.finish_seal(*work, content_of(1), {}, at_ms(1)));
                    model.cells[held.cell].sealed = true;
                    model.cells[held.cell].leases = 0;
                }
                break;
            case 4:
            case 5: {
                const LookupResult found =
                    registry.lookup(host.of(tenant), key_of(1), span_of(span), at_ms(1));
                if (is_hit(found.verdict)) {
                    ModelCell& cell = model.cells.at(found.cell.value);
                    model.touch(cell);
                    if (reading.size() < 6 && pick(2) == 0) {
                        const auto lease =
                            registry.grant_read(host.of(tenant), found.cell, at_ms(1));
                        ASSERT_EQ(lease.has_value(), cell.leases > 0 || model.may_bind(cell));
                        if (!lease) {
                            break;
                        }
                        ++cell.leases;
                        reading.push_back({tenant, *lease, found.cell.value});
                    }
                }
                break;
            }
            case 6:
                if (!reading.empty()) {
                    const Held held = take(reading);
                    const auto released = registry.release(host.of(held.tenant), held.lease);
                    if (released) {
                        --model.cells.at(held.cell).leases;
                    } else {
                        // Told as revoked until the index is used again.
                        ASSERT_TRUE(released.error().code() == Errc::revoked ||
                                    released.error().code() == Errc::stale_lease);
                    }
                }
                break;
            case 7:
                if (pick(20) == 0) {
                    const auto poisoned = registry.adjudicate(tenant, span_of(span), CellId{}, {},
                                                              Judgement::poison, 0, at_ms(1));
                    if (poisoned) {
                        model.cells.at(poisoned->value).poisoned = true;
                        model.cells.at(poisoned->value).leases = 0;
                    }
                }
                break;
            case 8:
                if (pick(10) == 0) {
                    const std::uint64_t bytes = pick(2) == 0 ? 0 : pick(2 * kCapacity);
                    std::uint64_t others = 0;
                    for (const auto& [who, reserved] : model.reserved) {
                        others += who == tenant ? 0 : reserved;
                    }
                    const auto set = registry.set_reservation(tenant, 0, bytes);
                    ASSERT_EQ(set.has_value(), others + bytes <= kCapacity);
                    if (set) {
                        model.reserved[tenant] = bytes;
                    }
                    model.forget_idle();
                } else if (pick(10) == 0) {
                    const std::uint32_t weight = 1 + pick(400);
                    ASSERT_TRUE(registry.set_weight(tenant, weight));
                    model.weight[tenant] = weight;
                }
                break;
        }
        static_cast<void>(registry.take_freed());
        static_cast<void>(registry.take_ended());
        std::map<TenantId, std::pair<std::uint64_t, std::uint64_t>> evictions;
        const std::vector<EvictionFlow> flows = registry.eviction_flows();
        ASSERT_EQ(flows.size(), model.flows.size());
        for (const EvictionFlow& flow : flows) {
            ASSERT_EQ(std::pair(flow.cells, flow.bytes), (model.flows[{flow.causer, flow.victim}]));
            evictions[flow.causer].first += flow.cells;
            evictions[flow.victim].second += flow.cells;
        }
        for (const std::uint64_t n : {1U, 2U, 3U}) {
            const TenantId who{n};
            const TenantCounters counters = registry.counters(who);
            ASSERT_EQ(registry.resident_bytes(who, 0), model.used(who)) << "step " << step;
            ASSERT_EQ(counters.bytes, model.used(who));
            ASSERT_EQ(counters.evictions_caused, evictions[who].first);
            ASSERT_EQ(counters.evictions_suffered, evictions[who].second);
        }
        ASSERT_LE(registry.residency(0).used_bytes, kCapacity);
        registry.check();
    }
}
INSTANTIATE_TEST_SUITE_P(Policies, EvictionModel,
                         ::testing::Values(EvictionPolicy::fair, EvictionPolicy::lru),
                         [](const auto& policy) { return std::string(to_word(policy.param)); });

}  // namespace
}  // namespace cxlpool

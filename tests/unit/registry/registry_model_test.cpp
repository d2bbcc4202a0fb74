// Random operations against the registry's own walk over everything, and a naive model of what
// each tenant may see.
#include <gtest/gtest.h>

#include <array>
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

struct ModelCell {
    bool sealed = false;
    bool fleet = false;
    bool trusted = false;
    bool poisoned = false;
};

TEST(RegistryModel, RandomOperationsKeepEveryInvariantAndEveryRight) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };

    RegistryLimits limits;
    limits.leases_per_connection = 16;
    limits.cells_per_span_and_tenant = 2;
    Registry registry(TenancyMode::multi, limits);
    for (std::uint64_t tenant = 1; tenant <= 3; ++tenant) {
        ASSERT_TRUE(registry.add_tenant(TenantId{tenant}, "t"));
    }
    registry.add_pool({Isolation::kernel});
    std::map<unsigned, ConnectionId> connections;
    std::map<unsigned, std::vector<LeaseRef>> leases;
    // (owner, span) -> what a naive reader of the rules expects; one context only.
    std::map<std::pair<unsigned, unsigned>, ModelCell> model;
    std::map<std::pair<unsigned, unsigned>, LeaseRef> filling;
    std::map<std::uint64_t, TenantId> alive;  // locations, and whose they are
    std::set<unsigned> leaving;
    unsigned erased = 0;
    std::uint64_t last_location = 0;
    for (unsigned tenant = 1; tenant <= 3; ++tenant) {
        connections[tenant] = registry.open_connection(TenantId{tenant}, 1000 + tenant, "e");
    }

    for (unsigned step = 0; step < 20'000; ++step) {
        const unsigned tenant = 1 + pick(3);
        const unsigned span = 1 + pick(12);
        const std::pair<unsigned, unsigned> name{tenant, span};
        const ConnectionId connection = connections[tenant];
        std::optional<TenantId> ended;
        switch (pick(9)) {
            case 0: {
                const Location location = location_of(++last_location, 64);
                const auto grant = registry.begin(connection, key_of(1), span_of(span), location,
                                                  at_ms(1), at_ms(1));
                if (grant) {
                    ASSERT_EQ(grant->replaced.value != 0, model.contains(name));
                    ASSERT_TRUE(!model.contains(name) || model[name].poisoned);
                    model[name] = {};
                    filling[name] = grant->lease;
                    alive[last_location] = TenantId{tenant};
                } else if (leaving.contains(tenant)) {
                    ASSERT_EQ(grant.error().code(), Errc::unavailable);
                } else {
                    ASSERT_TRUE((model.contains(name) && !model[name].poisoned) ||
                                grant.error().code() == Errc::limit_exceeded);
                }
                break;
            }
            case 1: {
                if (!filling.contains(name)) {
                    break;
                }
                const auto work = registry.start_seal(connection, filling[name]);
                ASSERT_TRUE(work);
                if (pick(4) == 0) {
                    registry.abandon(*work);
                    break;
                }
                ASSERT_TRUE(registry.finish_seal(*work, content_of(step + 1), {}, at_ms(1)));
                model[name].sealed = true;
                filling.erase(name);
                break;
            }
            case 2: {
                const auto work =
                    registry.start_share(connection, key_of(1), span_of(span), Scope::fleet, {});
                const bool may =
                    model.contains(name) && model[name].sealed && !model[name].poisoned;
                ASSERT_EQ(work.has_value(), may);
                if (may && work->has_value()) {
                    const Location copy = location_of(++last_location, 64);
                    alive[last_location] = TenantId{tenant};
                    ASSERT_TRUE(registry.finish_share(**work, content_of(step + 1), copy,
                                                      Scope::fleet, {}));
                }
                if (may) {
                    model[name].fleet = true;
                }
                break;
            }
            case 3: {
                const Judgement judgement =
                    std::array{Judgement::trust, Judgement::trust, Judgement::taint,
                               Judgement::poison}[pick(4)];
                const auto done = registry.adjudicate(TenantId{tenant}, span_of(span), CellId{},
                                                      std::nullopt, judgement, 0, at_ms(1));
                if (leaving.contains(tenant)) {
                    break;  // What is left of it may be judged; nobody finds it either way.
                }
                ASSERT_FALSE(done && model[name].poisoned && judgement != Judgement::poison)
                    << "poison is final";
                if (done) {
                    model[name].trusted = judgement == Judgement::trust;
                    model[name].poisoned = judgement == Judgement::poison;
                }
                break;
            }
            case 4: {
                const LookupResult found =
                    registry.lookup(connection, key_of(1), span_of(span), at_ms(1));
                bool expected = false;
                for (unsigned owner = 1; owner <= 3; ++owner) {
                    const auto at = model.find({owner, span});
                    if (at == model.end() || !at->second.sealed || at->second.poisoned) {
                        continue;
                    }
                    expected |= owner == tenant || (at->second.fleet && at->second.trusted);
                }
                ASSERT_EQ(is_hit(found.told.verdict()), expected) << to_word(found.verdict);
                if (expected) {
                    const auto lease = registry.grant_read(connection, found.cell, at_ms(1));
                    if (lease) {
                        leases[tenant].push_back(*lease);
                    }
                }
                break;
            }
            case 5: {
                if (!leases[tenant].empty()) {
                    static_cast<void>(registry.release(connection, leases[tenant].back()));
                    leases[tenant].pop_back();
                }
                break;
            }
            case 6: {
                if (filling.contains(name)) {
                    ASSERT_TRUE(registry.release(connection, filling[name]));
                    filling.erase(name);
                    model.erase(name);
                }
                break;
            }
            case 7: {
                if (pick(30) != 0) {
                    break;
                }
                const TenantId id{tenant};
                if (leaving.insert(tenant).second) {
                    ASSERT_TRUE(registry.start_forget(id));
                    const auto its = [&](const auto& entry) { return entry.first.first == tenant; };
                    std::erase_if(model, its);
                    std::erase_if(filling, its);
                    break;
                }
                if (pick(2) == 0) {
                    registry.revoke_readers(id);
                    ASSERT_EQ(registry.sweep_forgotten(id), Remains{});
                }
                if (registry.sweep_forgotten(id) == Remains{}) {
                    registry.end_forget(id);
                    leaving.erase(tenant);
                    ++erased;
                    ended = id;
                }
                break;
            }
            default: {
                if (pick(20) != 0) {
                    break;
                }
                registry.close_connection(connection);
                connections[tenant] =
                    registry.open_connection(TenantId{tenant}, 1000 + tenant, "e");
                leases[tenant].clear();
                for (auto at = filling.begin(); at != filling.end();) {
                    if (at->first.first == tenant) {
                        model.erase(at->first);
                        at = filling.erase(at);
                    } else {
                        ++at;
                    }
                }
            }
        }
        for (const FreedLocation& freed : registry.take_freed()) {
            const auto at = alive.find(freed.placement.segment.value);
            ASSERT_NE(at, alive.end()) << "freed twice";
            ASSERT_EQ(at->second, freed.owner);
            alive.erase(at);
        }
        for (const auto& [location, owner] : alive) {
            ASSERT_NE(owner, ended) << "all its bytes have been given out";
        }
        if (step % 16 == 0) {
            registry.check();
        }
        for (const Cell* cell : registry.cells()) {
            ASSERT_TRUE(alive.contains(registry.location_of(cell->id)->placement.segment.value));
        }
    }
    registry.check();
    EXPECT_GT(erased, 0U);
}

}  // namespace
}  // namespace cxlpool

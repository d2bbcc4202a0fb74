// The gate against its corpus, and the corpus against gates that leak.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "gate_corpus.hpp"

namespace cxlpool {
namespace {

using testing::GateCase;

// What a leaky gate may change before, or instead of, asking the real one.
struct Question {
    GateRequester requester;
    GateCell cell;
    ContextKey wanted;
    Timestamp now;

    bool own() const { return requester.tenant == cell.owner; }
};

using Judge = std::function<Verdict(const Question&)>;
using Outward = std::function<Verdict(Verdict, TenancyMode, TenantId, TenantId)>;

struct Gate {
    std::string name;
    Judge judge;
    Outward outward;
};

Verdict ask(const Question& q) {
    return judge(q.requester, q.cell, q.wanted, q.now);
}

const std::vector<GateCase>& corpus() {
    static const std::vector<GateCase> cases =
        testing::read_gate_corpus(CXLPOOL_GOLDEN_DIR "/gate/corpus.txt");
    return cases;
}

Verdict verdict_told(Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
    return outward(v, mode, requester, owner).verdict();
}

// The names of the cases that the gate gets wrong.
std::vector<std::string> failures(const Gate& gate) {
    std::vector<std::string> failed;
    for (const GateCase& c : corpus()) {
        const Verdict inner = gate.judge(Question{c.requester, c.view(), c.wanted, c.now});
        const Verdict told = gate.outward(inner, c.mode, c.requester.tenant, c.cell.owner);
        if (inner != c.inner || told != c.outward) {
            failed.push_back(c.name);
        }
    }
    return failed;
}

// A gate that changes the question first.
Gate leak(std::string name, std::function<void(Question&)> change) {
    return Gate{std::move(name),
                [change = std::move(change)](const Question& asked) {
                    Question q = asked;
                    change(q);
                    return ask(q);
                },
                verdict_told};
}

Gate telling(std::string name, Outward told) {
    return Gate{std::move(name), ask, std::move(told)};
}

constexpr std::size_t kChecks = 11;

// Makes check n of 1 to 11 pass.
void satisfy(std::size_t check, Question& q) {
    GateCell& cell = q.cell;
    switch (check) {
        case 1:
            q.requester.authenticated = q.requester.may_act = true;
            break;
        case 2:
            cell.admission_quarantined = false;
            cell.taint = cell.taint == Taint::poisoned ? Taint::tainted : cell.taint;
            break;
        case 3:
            cell.lifecycle = Lifecycle::sealed;
            cell.expires_at.reset();
            break;
        case 4:
            cell.scope = Scope::fleet;
            cell.allow_list = {};
            break;
        case 5:
            cell.admission = Admission::allow;
            break;
        case 6:
            cell.taint = cell.taint == Taint::poisoned ? cell.taint : Taint::trusted;
            break;
        case 7:
            cell.adjudicated_epoch = cell.owner_epoch = 1;
            break;
        case 8:
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                if (!cell.key.axes[i] || !q.wanted.axes[i]) {
                    cell.key.axes[i] = q.wanted.axes[i] = AxisId{1};
                }
            }
            break;
        case 9:
            for (std::size_t i = 0; i < kAxisCount; ++i) {
                if (cell.key.axes[i] && q.wanted.axes[i]) {
                    cell.key.axes[i] = q.wanted.axes[i];
                }
            }
            break;
        case 10:
            cell.length_bytes = 1;
            cell.digest_present = cell.extent_alive = true;
            break;
        default:
            q.requester.reach = q.requester.reach == Reach::stage ? Reach::stage : Reach::in_place;
            break;
    }
}

// Which check gives a verdict; 0 for a hit.
std::size_t check_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::not_permitted:
            return 1;
        case Verdict::quarantined:
            return 2;
        case Verdict::not_sealed:
        case Verdict::expired:
        case Verdict::lost:
            return 3;
        case Verdict::scope_denied:
            return 4;
        case Verdict::not_admitted:
            return 5;
        case Verdict::untrusted:
            return 6;
        case Verdict::stale_epoch:
            return 7;
        case Verdict::key_incomplete:
            return 8;
        case Verdict::handle_invalid:
            return 10;
        case Verdict::unreachable:
            return 11;
        default:
            return axis_of(verdict) ? 9 : 0;
    }
}

void expect_caught(const std::vector<Gate>& gates) {
    std::set<std::string> names;
    for (const Gate& gate : gates) {
        EXPECT_TRUE(names.insert(gate.name).second) << gate.name;
        EXPECT_FALSE(failures(gate).empty()) << "no case catches: " << gate.name;
    }
}

TEST(GateCorpus, IsLargeAndItsNamesAreUnique) {
    EXPECT_GE(corpus().size(), 300U);
    std::set<std::string> names;
    std::set<Verdict> verdicts;
    for (const GateCase& c : corpus()) {
        EXPECT_TRUE(names.insert(c.name).second) << "line " << c.line << ": " << c.name;
        verdicts.insert(c.inner);
    }
    // Every verdict that the gate can give: two hits, twelve reasons, fifteen axes.
    EXPECT_EQ(verdicts.size(), 2U + 12U + kAxisCount);
    EXPECT_EQ(verdicts.count(Verdict::miss_absent), 0U);
}

TEST(GateCorpus, TheGateAgrees) {
    for (const GateCase& c : corpus()) {
        const Verdict inner = judge(c.requester, c.view(), c.wanted, c.now);
        EXPECT_EQ(to_word(inner), to_word(c.inner)) << "line " << c.line << ": " << c.name;
        EXPECT_EQ(to_word(verdict_told(inner, c.mode, c.requester.tenant, c.cell.owner)),
                  to_word(c.outward))
            << "line " << c.line << ": " << c.name;
    }
    EXPECT_TRUE(failures(Gate{"the gate itself", ask, verdict_told}).empty());
}

TEST(GateCorpus, CatchesAGateThatLacksACheck) {
    std::vector<Gate> gates;
    for (std::size_t check = 1; check <= kChecks; ++check) {
        gates.push_back(leak("without check " + std::to_string(check),
                             [check](Question& q) { satisfy(check, q); }));
    }
    expect_caught(gates);
}

// Asks check `late` before check `early`, for every pair: what tells the reason too much.
TEST(GateCorpus, CatchesEveryPairOfChecksInTheWrongOrder) {
    std::vector<Gate> gates;
    for (std::size_t early = 1; early <= kChecks; ++early) {
        for (std::size_t late = early + 1; late <= kChecks; ++late) {
            gates.push_back(Gate{
                std::to_string(late) + " before " + std::to_string(early),
                [early, late](const Question& q) {
                    Question passed = q;
                    satisfy(early, passed);
                    const Verdict verdict = ask(passed);
                    return check_of(verdict) == late ? verdict : ask(q);
                },
                verdict_told,
            });
        }
    }
    EXPECT_EQ(gates.size(), 55U);
    expect_caught(gates);
}

TEST(GateCorpus, CatchesEveryAxisThatIsIgnored) {
    std::vector<Gate> gates;
    for (std::size_t i = 0; i < kAxisCount; ++i) {
        const std::string axis(to_word(static_cast<Axis>(i)));
        gates.push_back(leak(axis + " ignored", [i](Question& q) {
            if (q.cell.key.axes[i] && q.wanted.axes[i]) {
                q.wanted.axes[i] = q.cell.key.axes[i];
            }
        }));
        gates.push_back(leak("missing " + axis + " accepted when both lack it", [i](Question& q) {
            if (!q.cell.key.axes[i] && !q.wanted.axes[i]) {
                q.cell.key.axes[i] = q.wanted.axes[i] = AxisId{1};
            }
        }));
        gates.push_back(leak("missing " + axis + " matches anything", [i](Question& q) {
            if (!q.wanted.axes[i]) {
                q.wanted.axes[i] = q.cell.key.axes[i];
            }
        }));
        gates.push_back(leak("a cell without " + axis + " matches anything", [i](Question& q) {
            if (!q.cell.key.axes[i]) {
                q.cell.key.axes[i] = q.wanted.axes[i];
            }
        }));
    }
    for (std::size_t i = 0; i + 1 < kAxisCount; ++i) {
        const std::string name = "axis " + std::to_string(i + 1) + " named before the one ahead";
        gates.push_back(Gate{name,
                             [i](const Question& q) {
                                 const Verdict verdict = ask(q);
                                 const auto later = static_cast<Axis>(i + 1);
                                 return verdict == mismatch_of(static_cast<Axis>(i)) &&
                                                q.cell.key.axes[i + 1] != q.wanted.axes[i + 1]
                                            ? mismatch_of(later)
                                            : verdict;
                             },
                             verdict_told});
    }
    expect_caught(gates);
}

TEST(GateCorpus, CatchesLeaksOfSharing) {
    std::vector<Gate> gates{
        leak("scope ignored", [](Question& q) { q.cell.scope = Scope::fleet; }),
        leak("tenant scope serves others",
             [](Question& q) {
                 q.cell.scope = q.cell.scope == Scope::tenant ? Scope::fleet : q.cell.scope;
             }),
        leak("agent scope serves others",
             [](Question& q) {
                 q.cell.scope = q.cell.scope == Scope::agent ? Scope::fleet : q.cell.scope;
             }),
        leak("allow-list ignored", [](Question& q) { q.cell.allow_list = {}; }),
        leak("allow-list widens",
             [](Question& q) {
                 for (const TenantId t : q.cell.allow_list) {
                     q.cell.scope = t == q.requester.tenant ? Scope::fleet : q.cell.scope;
                 }
             }),
        leak("cell of nobody is shared",
             [](Question& q) { q.cell.owner = q.cell.owner ? q.cell.owner : TenantId{99}; }),
        leak("taint ignored", [](Question& q) { satisfy(6, q); }),
        leak("epoch ignored", [](Question& q) { satisfy(7, q); }),
        leak("a later epoch is as good",
             [](Question& q) {
                 q.cell.adjudicated_epoch = std::min(q.cell.adjudicated_epoch, q.cell.owner_epoch);
             }),
        leak("epoch zero is an epoch",
             [](Question& q) {
                 if (q.cell.adjudicated_epoch == q.cell.owner_epoch) {
                     satisfy(7, q);
                 }
             }),
    };
    for (const Admission admission : {Admission::unknown, Admission::deny, Admission::defer,
                                      Admission::require_witness, Admission::transform}) {
        gates.push_back(
            leak(std::string(to_word(admission)) + " still hits", [admission](Question& q) {
                if (q.cell.admission == admission) {
                    q.cell.admission = Admission::allow;
                }
            }));
    }
    expect_caught(gates);
}

TEST(GateCorpus, CatchesLeaksOfStateAndBytes) {
    std::vector<Gate> gates{
        leak("poison ignored",
             [](Question& q) {
                 q.cell.taint = q.cell.taint == Taint::poisoned ? Taint::trusted : q.cell.taint;
             }),
        leak("admission quarantine ignored",
             [](Question& q) { q.cell.admission_quarantined = false; }),
        leak("expired served by lifecycle",
             [](Question& q) {
                 if (q.cell.lifecycle == Lifecycle::expired) {
                     q.cell.lifecycle = Lifecycle::sealed;
                 }
             }),
        leak("expiry time ignored", [](Question& q) { q.cell.expires_at.reset(); }),
        leak("served at its time",
             [](Question& q) {
                 if (q.cell.expires_at == q.now) {
                     q.cell.expires_at.reset();
                 }
             }),
        leak("expiring refused",
             [](Question& q) {
                 if (q.cell.lifecycle == Lifecycle::expiring) {
                     q.cell.lifecycle = Lifecycle::expired;
                 }
             }),
        leak("spilled in place",
             [](Question& q) {
                 if (q.cell.lifecycle == Lifecycle::spilled) {
                     q.cell.lifecycle = Lifecycle::sealed;
                 }
             }),
        leak("no length accepted", [](Question& q) { q.cell.length_bytes = 1; }),
        leak("no digest accepted", [](Question& q) { q.cell.digest_present = true; }),
        leak("dead extent accepted", [](Question& q) { q.cell.extent_alive = true; }),
        leak("stage taken for in place",
             [](Question& q) {
                 if (q.requester.reach == Reach::stage) {
                     q.requester.reach = Reach::in_place;
                 }
             }),
        leak("not authenticated", [](Question& q) { q.requester.authenticated = true; }),
        leak("may not act", [](Question& q) { q.requester.may_act = true; }),
        leak("tenant zero is a tenant",
             [](Question& q) {
                 q.requester.tenant = q.requester.tenant ? q.requester.tenant : TenantId{98};
             }),
    };
    for (const Lifecycle lifecycle :
         {Lifecycle::filling, Lifecycle::evicted, Lifecycle::lost, Lifecycle::quarantined}) {
        gates.push_back(leak(std::string(to_word(lifecycle)) + " served", [lifecycle](Question& q) {
            if (q.cell.lifecycle == lifecycle) {
                q.cell.lifecycle = Lifecycle::sealed;
            }
        }));
    }
    expect_caught(gates);
}

TEST(GateCorpus, CatchesNumbersTakenForWords) {
    const auto unknown = [](auto value) { return to_word(value) == "unknown"; };
    expect_caught({
        leak("unknown scope accepted",
             [unknown](Question& q) {
                 q.cell.scope = unknown(q.cell.scope) ? Scope::fleet : q.cell.scope;
             }),
        leak("unknown admission accepted",
             [](Question& q) {
                 if (q.cell.admission > Admission::transform) {
                     q.cell.admission = Admission::allow;
                 }
             }),
        leak("unknown taint accepted",
             [unknown](Question& q) {
                 q.cell.taint = unknown(q.cell.taint) ? Taint::trusted : q.cell.taint;
             }),
        leak("unknown lifecycle accepted",
             [unknown](Question& q) {
                 if (unknown(q.cell.lifecycle)) {
                     q.cell.lifecycle = Lifecycle::sealed;
                 }
             }),
        leak("unknown reach accepted",
             [unknown](Question& q) {
                 if (unknown(q.requester.reach)) {
                     q.requester.reach = Reach::in_place;
                 }
             }),
    });
}

TEST(GateCorpus, CatchesLeaksAroundTheOwner) {
    std::vector<Gate> gates{
        leak("poisoned served to its owner",
             [](Question& q) {
                 if (q.own() && q.cell.taint == Taint::poisoned) {
                     q.cell.taint = Taint::trusted;
                 }
             }),
        leak("an owner is asked what others are",
             [](Question& q) {
                 if (q.own()) {
                     q.cell.owner = TenantId{97};
                 }
             }),
        leak("an unknown value passes for its owner",
             [](Question& q) {
                 if (q.own()) {
                     satisfy(4, q);
                     satisfy(5, q);
                     satisfy(6, q);
                 }
             }),
        leak("nobody owns what nobody owns",
             [](Question& q) {
                 if (!q.requester.tenant && !q.cell.owner) {
                     q.requester.tenant = q.cell.owner = TenantId{96};
                 }
             }),
    };
    for (const std::size_t check : {1U, 2U, 3U, 8U, 9U, 10U, 11U}) {
        gates.push_back(
            leak("an owner passes check " + std::to_string(check), [check](Question& q) {
                if (q.own()) {
                    satisfy(check, q);
                }
            }));
    }
    expect_caught(gates);
}

TEST(GateCorpus, CatchesWhatATellingAnswerReveals) {
    const auto hidden = [](Verdict v) { return is_hit(v) ? v : Verdict::miss_absent; };
    expect_caught({
        telling("reason revealed", [](Verdict v, TenancyMode, TenantId, TenantId) { return v; }),
        telling("reason revealed to whoever may not act",
                [](Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
                    return requester == owner ? v : verdict_told(v, mode, requester, owner);
                }),
        telling("quarantine revealed",
                [](Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
                    return v == Verdict::quarantined ? v : verdict_told(v, mode, requester, owner);
                }),
        telling("mismatch revealed",
                [](Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
                    return axis_of(v) ? v : verdict_told(v, mode, requester, owner);
                }),
        telling("a refusal that is not the absent one",
                [](Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
                    const Verdict told = verdict_told(v, mode, requester, owner);
                    return told == Verdict::miss_absent ? Verdict::scope_denied : told;
                }),
        telling("unknown mode tells as single does",
                [](Verdict v, TenancyMode mode, TenantId requester, TenantId owner) {
                    return mode == TenancyMode::multi ? verdict_told(v, mode, requester, owner) : v;
                }),
        telling("owner kept in the dark",
                [hidden](Verdict v, TenancyMode mode, TenantId, TenantId) {
                    return mode == TenancyMode::single ? v : hidden(v);
                }),
        telling("single kept in the dark",
                [](Verdict v, TenancyMode, TenantId requester, TenantId owner) {
                    return verdict_told(v, TenancyMode::multi, requester, owner);
                }),
        telling("hits kept in the dark",
                [](Verdict, TenancyMode, TenantId, TenantId) { return Verdict::miss_absent; }),
    });
}

}  // namespace
}  // namespace cxlpool

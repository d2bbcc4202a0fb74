// Reads the table of gate cases in tests/golden/gate/corpus.txt.
#pragma once

#include <string>
#include <vector>

#include "domain/context.hpp"
#include "domain/gate.hpp"

namespace cxlpool::testing {

struct GateCase {
    std::string name;
    int line = 0;
    TenancyMode mode = TenancyMode::multi;
    GateRequester requester;
    GateCell cell;  // its allow_list is set by `view`
    std::vector<TenantId> allow_list;
    ContextKey wanted;
    Timestamp now;
    Verdict inner = Verdict::miss_absent;
    Verdict outward = Verdict::miss_absent;

    GateCell view() const {
        GateCell out = cell;
        out.allow_list = allow_list;
        return out;
    }
};

// All cases; a line that cannot be read fails the running test and is left out.
std::vector<GateCase> read_gate_corpus(const std::string& path);

}  // namespace cxlpool::testing

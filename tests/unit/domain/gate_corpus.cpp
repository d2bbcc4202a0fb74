#include "gate_corpus.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "base/units.hpp"

namespace cxlpool::testing {
namespace {

ContextFields baseline_context() {
    ContextFields f;
    f[Axis::model] = "m-a";
    f[Axis::tokenizer] = "t1";
    f[Axis::serializer] = "chat-1";
    f[Axis::position] = "absolute";
    f[Axis::policy] = "default";
    f[Axis::admitter] = "gate-1";
    f[Axis::weights] = "sha256:" + std::string(64, 'a');
    f[Axis::adapter] = "none";
    f[Axis::dtype] = "bf16";
    f[Axis::kv_quant] = "none";
    f[Axis::rope] = "base=10000,scale=1";
    f[Axis::page_tokens] = "16";
    f[Axis::layers] = "0-31";
    f[Axis::shard] = "0/1";
    f[Axis::layout] = "l1";
    return f;
}

GateCase baseline() {
    GateCase c;
    c.requester.authenticated = true;
    c.requester.may_act = true;
    c.requester.tenant = TenantId{2};
    c.requester.reach = Reach::in_place;
    c.cell.owner = TenantId{1};
    c.cell.lifecycle = Lifecycle::sealed;
    c.cell.taint = Taint::trusted;
    c.cell.admission = Admission::allow;
    c.cell.scope = Scope::fleet;
    c.cell.adjudicated_epoch = 3;
    c.cell.owner_epoch = 3;
    c.cell.length_bytes = 4096;
    c.cell.digest_present = true;
    c.cell.extent_alive = true;
    c.now = Timestamp{1000};
    return c;
}

bool set_number(const std::string& text, std::uint64_t& out) {
    const Result<std::uint64_t> number = parse_u64(text);
    out = number ? *number : out;
    return static_cast<bool>(number);
}

bool set_flag(const std::string& text, const char* yes, const char* no, bool& out) {
    out = text == yes;
    return text == yes || text == no;
}

// A word, or a number that no word has.
template <typename Enum>
bool set_enum(const std::string& text, std::optional<Enum> (*parse)(std::string_view) noexcept,
              Enum& out) {
    if (const std::optional<Enum> value = parse(text)) {
        out = *value;
        return true;
    }
    std::uint64_t number = 0;
    if (!set_number(text, number) || number > std::numeric_limits<std::uint8_t>::max()) {
        return false;
    }
    out = static_cast<Enum>(number);
    return to_word(out) == "unknown";
}

bool set_tenants(const std::string& text, std::vector<TenantId>& out) {
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ',');) {
        TenantId tenant;
        if (!set_number(item, tenant.value)) {
            return false;
        }
        out.push_back(tenant);
    }
    return !out.empty();
}

bool set_axis(const std::string& axis, const std::string& value, ContextFields& out) {
    const std::optional<Axis> parsed = parse_axis(axis);
    if (!parsed) {
        return false;
    }
    out[*parsed] = value == "absent" ? std::nullopt : std::optional<std::string>(value);
    return true;
}

bool set_requester(const std::string& key, const std::string& value, GateCase& c) {
    if (key == "requester") {
        return set_number(value, c.requester.tenant.value);
    }
    if (key == "authenticated") {
        return set_flag(value, "yes", "no", c.requester.authenticated);
    }
    if (key == "may_act") {
        return set_flag(value, "yes", "no", c.requester.may_act);
    }
    if (key == "reach") {
        return set_enum(value, parse_reach, c.requester.reach);
    }
    if (key == "mode") {
        return set_enum(value, parse_tenancy_mode, c.mode);
    }
    return key == "now" && set_number(value, c.now.ns);
}

bool set_cell(const std::string& key, const std::string& value, GateCase& c) {
    GateCell& cell = c.cell;
    if (key == "owner") {
        return set_number(value, cell.owner.value);
    }
    if (key == "lifecycle") {
        return set_enum(value, parse_lifecycle, cell.lifecycle);
    }
    if (key == "taint") {
        return set_enum(value, parse_taint, cell.taint);
    }
    if (key == "admission") {
        return set_enum(value, parse_admission, cell.admission);
    }
    if (key == "admission_quarantined") {
        return set_flag(value, "yes", "no", cell.admission_quarantined);
    }
    if (key == "scope") {
        return set_enum(value, parse_scope, cell.scope);
    }
    if (key == "allow") {
        return set_tenants(value, c.allow_list);
    }
    if (key == "expires_at") {
        cell.expires_at = Timestamp{};
        return set_number(value, cell.expires_at->ns);
    }
    if (key == "adjudicated_epoch") {
        return set_number(value, cell.adjudicated_epoch);
    }
    if (key == "owner_epoch") {
        return set_number(value, cell.owner_epoch);
    }
    if (key == "length") {
        return set_number(value, cell.length_bytes);
    }
    if (key == "digest") {
        return set_flag(value, "yes", "no", cell.digest_present);
    }
    return key == "extent" && set_flag(value, "alive", "dead", cell.extent_alive);
}

// One line of the table, or why it is none.
std::string read_case(const std::string& line, GateCase& c) {
    std::vector<std::string> columns;
    std::istringstream cut(line);
    for (std::string column; std::getline(cut, column, '|');) {
        const std::size_t first = column.find_first_not_of(' ');
        columns.push_back(first == std::string::npos
                              ? ""
                              : column.substr(first, column.find_last_not_of(' ') - first + 1));
    }
    if (columns.size() != 4 || columns[0].empty()) {
        return "four columns are wanted";
    }
    c.name = columns[0];
    ContextFields cell_context = baseline_context();
    ContextFields wanted_context = baseline_context();
    std::istringstream deviations(columns[1]);
    for (std::string deviation; deviations >> deviation;) {
        const std::size_t equals = deviation.find('=');
        if (equals == std::string::npos) {
            return "no '=' in " + deviation;
        }
        const std::string key = deviation.substr(0, equals);
        const std::string value = deviation.substr(equals + 1);
        const bool known = key.rfind("cell.", 0) == 0 ? set_axis(key.substr(5), value, cell_context)
                           : key.rfind("wanted.", 0) == 0
                               ? set_axis(key.substr(7), value, wanted_context)
                               : set_requester(key, value, c) || set_cell(key, value, c);
        if (!known) {
            return "cannot read " + deviation;
        }
    }
    const std::optional<Verdict> inner = parse_verdict(columns[2]);
    const std::optional<Verdict> outward = parse_verdict(columns[3]);
    if (!inner || !outward) {
        return "unknown verdict";
    }
    c.inner = *inner;
    c.outward = *outward;
    // Keys outlive the interner here: ids of one case are only compared with each other.
    ContextInterner interner(2 * kAxisCount, 2 * kAxisCount);
    const Result<ContextKey> cell_key = interner.acquire(cell_context, TenantId{1});
    const Result<ContextKey> wanted_key = interner.acquire(wanted_context, TenantId{1});
    if (!cell_key || !wanted_key) {
        return (cell_key ? wanted_key : cell_key).error().message();
    }
    c.cell.key = *cell_key;
    c.wanted = *wanted_key;
    return {};
}

}  // namespace

std::vector<GateCase> read_gate_corpus(const std::string& path) {
    std::vector<GateCase> cases;
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.empty() || line.front() == '#') {
            continue;
        }
        GateCase c = baseline();
        c.line = number;
        const std::string problem = read_case(line, c);
        EXPECT_EQ(problem, "") << path << ":" << number;
        if (problem.empty()) {
            cases.push_back(std::move(c));
        }
    }
    return cases;
}

}  // namespace cxlpool::testing

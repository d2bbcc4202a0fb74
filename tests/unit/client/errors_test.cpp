// Every function of cxlpool.h, and every error that its documentation lists.
//
// One table says how each function is called and which errors it has besides the common ones. It
// is compared with the header's own text, so that neither can forget an error of the other.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "client/abi_world.hpp"

namespace cxlpool::test {
namespace {

using testing::HasSubstr;
using wire::Type;

const std::map<int, std::string> kNames{
    {CXLPOOL_E_INVALID_ARGUMENT, "INVALID_ARGUMENT"},
    {CXLPOOL_E_UNSUPPORTED_VERSION, "UNSUPPORTED_VERSION"},
    {CXLPOOL_E_TOO_LARGE, "TOO_LARGE"},
    {CXLPOOL_E_UNKNOWN_WORD, "UNKNOWN_WORD"},
    {CXLPOOL_E_OVERFLOW, "OVERFLOW"},
    {CXLPOOL_E_SPAN_EXCEEDS_CAPACITY, "SPAN_EXCEEDS_CAPACITY"},
    {CXLPOOL_E_KEY_INCOMPLETE, "KEY_INCOMPLETE"},
    {CXLPOOL_E_NOT_PERMITTED, "NOT_PERMITTED"},
    {CXLPOOL_E_NOT_FOUND, "NOT_FOUND"},
    {CXLPOOL_E_ALREADY_EXISTS, "ALREADY_EXISTS"},
    {CXLPOOL_E_WRONG_STATE, "WRONG_STATE"},
    {CXLPOOL_E_STALE_LEASE, "STALE_LEASE"},
    {CXLPOOL_E_REVOKED, "REVOKED"},
    {CXLPOOL_E_CAPACITY, "CAPACITY"},
    {CXLPOOL_E_LIMIT_EXCEEDED, "LIMIT_EXCEEDED"},
    {CXLPOOL_E_UNAVAILABLE, "UNAVAILABLE"},
    {CXLPOOL_E_DISCONNECTED, "DISCONNECTED"},
    {CXLPOOL_E_IO, "IO"},
    {CXLPOOL_E_TIMEOUT, "TIMEOUT"},
    {CXLPOOL_E_CANCELLED, "CANCELLED"},
    {CXLPOOL_E_PROTOCOL, "PROTOCOL"},
    {CXLPOOL_E_OUT_OF_MEMORY, "OUT_OF_MEMORY"},
    {CXLPOOL_E_INTERNAL, "INTERNAL"},
};

const std::set<int> kCommon{
    CXLPOOL_E_INVALID_ARGUMENT, CXLPOOL_E_WRONG_STATE,   CXLPOOL_E_NOT_PERMITTED,
    CXLPOOL_E_LIMIT_EXCEEDED,   CXLPOOL_E_DISCONNECTED,  CXLPOOL_E_TIMEOUT,
    CXLPOOL_E_PROTOCOL,         CXLPOOL_E_OUT_OF_MEMORY, CXLPOOL_E_IO,
    CXLPOOL_E_INTERNAL,
};

struct Outcome {
    int code = 0;
    bool untouched = true;  // nothing was written through an output pointer
};

struct Function {
    std::string name;
    Type asks;              // the request that it makes
    std::set<int> special;  // besides the common errors
    std::function<Outcome(World&)> call;
};

template <typename T>
bool is_filled_with(const T& value, int byte) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
    return std::all_of(bytes, bytes + sizeof value, [byte](unsigned char b) { return b == byte; });
}

template <typename T>
T filled_with(int byte) {
    T value;
    std::memset(static_cast<void*>(&value), byte, sizeof value);
    return value;
}

Outcome call_begin(World& w) {
    auto fill = filled_with<cxlpool_fill>(0x77);
    fill.struct_size = sizeof fill;
    const auto before = fill;
    const int code = cxlpool_begin(w.context, &w.fresh, 64, 0, nullptr, &fill);
    return {code, std::memcmp(&fill, &before, sizeof fill) == 0};
}

Outcome call_seal(World& w) {
    auto digest = filled_with<cxlpool_digest>(0x77);
    const auto before = w.fill;
    const int code = cxlpool_seal(w.client, &w.fill, &digest);
    return {code,
            is_filled_with(digest, 0x77) && std::memcmp(&w.fill, &before, sizeof before) == 0};
}

Outcome call_plan(World& w) {
    cxlpool_fleet_question question{};
    question.struct_size = sizeof question;
    question.tenants = 8;
    question.tokens = 4000;
    question.bytes = 64;
    auto plan = filled_with<cxlpool_fleet_plan>(0x77);
    plan.struct_size = sizeof plan;
    const auto before = plan;
    const int code = cxlpool_plan_fleet(w.client, &question, &plan);
    return {code, std::memcmp(&plan, &before, sizeof plan) == 0};
}

Outcome call_statistics(World& w) {
    auto out = filled_with<cxlpool_tenant_statistics>(0x77);
    out.struct_size = sizeof out;
    auto tier = filled_with<cxlpool_tier_statistics>(0x77);
    tier.struct_size = sizeof tier;
    auto refusal = filled_with<cxlpool_refusal_statistics>(0x77);
    refusal.struct_size = sizeof refusal;
    const auto out_before = out;
    const auto tier_before = tier;
    const auto refusal_before = refusal;
    const int code = cxlpool_statistics(w.client, &out, &tier, 1, &refusal, 1);
    return {code, std::memcmp(&out, &out_before, sizeof out) == 0 &&
                      std::memcmp(&tier, &tier_before, sizeof tier) == 0 &&
                      std::memcmp(&refusal, &refusal_before, sizeof refusal) == 0};
}

constexpr cxlpool_placement_tier kTier{CXLPOOL_TIER_DRAM, 0, 0, 64, 0, 0, nullptr};
constexpr cxlpool_placement_cell kCell{
    CXLPOOL_STATE_SEALED, CXLPOOL_TIER_DRAM, 0, 0, 64, 0, 0, 0, 0, 0};

const std::vector<Function> kFunctions{
    {"cxlpool_context_create",
     Type::context_register,
     {CXLPOOL_E_TOO_LARGE},
     [](World& w) {
         auto* context = reinterpret_cast<cxlpool_context*>(&w);
         const cxlpool_axis axis{CXLPOOL_AXIS_MODEL, 0, "n"};
         const int code = cxlpool_context_create(w.client, &axis, 1, &context);
         return Outcome{code, context == reinterpret_cast<cxlpool_context*>(&w)};
     }},
    {"cxlpool_context_destroy",
     Type::context_release,
     {CXLPOOL_E_NOT_FOUND},
     [](World& w) { return Outcome{cxlpool_context_destroy(w.context)}; }},
    {"cxlpool_lookup",
     Type::lookup,
     {CXLPOOL_E_NOT_FOUND},
     [](World& w) {
         auto hit = filled_with<cxlpool_hit>(0x77);
         const int code = cxlpool_lookup(w.context, &w.sealed, 1, &hit);
         return Outcome{code, is_filled_with(hit, 0x77)};
     }},
    {"cxlpool_attend",
     Type::map,
     {CXLPOOL_E_STALE_LEASE},
     [](World& w) {
         const void* data = &w;
         const int code = cxlpool_attend(w.client, &w.hit, &data);
         return Outcome{code, data == &w};
     }},
    {"cxlpool_renew",
     Type::renew,
     {CXLPOOL_E_STALE_LEASE, CXLPOOL_E_REVOKED},
     [](World& w) {
         std::uint32_t ttl_ms = 77;
         const int code = cxlpool_renew(w.client, w.hit.lease, &ttl_ms);
         return Outcome{code, ttl_ms == 77};
     }},
    {"cxlpool_release",
     Type::release,
     {CXLPOOL_E_STALE_LEASE, CXLPOOL_E_REVOKED},
     [](World& w) { return Outcome{cxlpool_release(w.client, w.hit.lease)}; }},
    {"cxlpool_begin",
     Type::begin,
     {CXLPOOL_E_TOO_LARGE, CXLPOOL_E_CAPACITY, CXLPOOL_E_SPAN_EXCEEDS_CAPACITY,
      CXLPOOL_E_KEY_INCOMPLETE, CXLPOOL_E_ALREADY_EXISTS, CXLPOOL_E_NOT_FOUND},
     call_begin},
    {"cxlpool_seal",
     Type::seal,
     {CXLPOOL_E_STALE_LEASE, CXLPOOL_E_CANCELLED, CXLPOOL_E_CAPACITY},
     call_seal},
    {"cxlpool_share",
     Type::share,
     {CXLPOOL_E_NOT_FOUND, CXLPOOL_E_TOO_LARGE, CXLPOOL_E_CAPACITY, CXLPOOL_E_CANCELLED},
     [](World& w) {
         return Outcome{cxlpool_share(w.context, &w.sealed, CXLPOOL_SCOPE_FLEET, nullptr, 0)};
     }},
    {"cxlpool_segment_fd",
     Type::map,
     {CXLPOOL_E_STALE_LEASE},
     [](World& w) {
         int fd = -77;
         const int code = cxlpool_segment_fd(w.client, kFakeSegment, CXLPOOL_ACCESS_READ, &fd);
         return Outcome{code, fd == -77};
     }},
    {"cxlpool_plan_fleet",
     Type::plan_fleet,
     {CXLPOOL_E_SPAN_EXCEEDS_CAPACITY, CXLPOOL_E_OVERFLOW, CXLPOOL_E_TOO_LARGE,
      CXLPOOL_E_NOT_FOUND},
     call_plan},
    {"cxlpool_plan_placement",
     Type::plan_placement,
     {CXLPOOL_E_TOO_LARGE, CXLPOOL_E_NOT_FOUND, CXLPOOL_E_ALREADY_EXISTS},
     [](World& w) {
         auto out = filled_with<cxlpool_placement_directive>(0x77);
         const int code = cxlpool_plan_placement(w.client, &kTier, 1, &kCell, 1, &out);
         return Outcome{code, is_filled_with(out, 0x77)};
     }},
    {"cxlpool_statistics", Type::own_statistics, {CXLPOOL_E_UNKNOWN_WORD}, call_statistics},
};

class EveryFunction : public testing::TestWithParam<Function> {
  protected:
    const Function& function() { return GetParam(); }
    void expect_failure(World& w, int code, const std::string& message = "") {
        const Outcome outcome = function().call(w);
        EXPECT_EQ(outcome.code, code) << cxlpool_last_message();
        EXPECT_TRUE(outcome.untouched);
        EXPECT_THAT(cxlpool_last_message(), HasSubstr(message));
    }
};

TEST_P(EveryFunction, Succeeds) {
    World w;
    const Outcome outcome = function().call(w);
    EXPECT_EQ(outcome.code, CXLPOOL_OK) << cxlpool_last_message();
    const auto requests = w.daemon.take_requests();
    ASSERT_FALSE(requests.empty());
    EXPECT_EQ(wire::type_of(requests[0].body), function().asks);
}

TEST_P(EveryFunction, PassesTheDaemonsRefusalsOn) {
    std::set<int> codes = kCommon;
    codes.insert(function().special.begin(), function().special.end());
    codes.insert(CXLPOOL_E_COOPERATIVE_REFUSED);  // any other that a daemon may think of
    for (const int code : codes) {
        SCOPED_TRACE(code);
        World w;
        w.daemon.refuse(function().asks, static_cast<Errc>(code), "what the daemon says");
        const Outcome outcome = function().call(w);
        EXPECT_EQ(outcome.code, code);
        EXPECT_TRUE(outcome.untouched);
        EXPECT_STREQ(cxlpool_last_message(), "what the daemon says");
    }
}

TEST_P(EveryFunction, Disconnected) {
    World w;
    w.daemon.on(function().asks, [](const wire::Request&) { return Answer{{}, {}, true}; });
    expect_failure(w, CXLPOOL_E_DISCONNECTED, "connect again");
    EXPECT_EQ(cxlpool_lease_live(w.client, w.hit.lease), 0);
}

TEST_P(EveryFunction, TimesOut) {
    World w(300);
    w.daemon.on(function().asks, [](const wire::Request&) { return Answer{}; });
    expect_failure(w, CXLPOOL_E_TIMEOUT, "within 300 ms");
}

TEST_P(EveryFunction, HangsUpOnNonsense) {
    World w;
    w.daemon.on(function().asks,
                [](const wire::Request&) { return Answer{{std::vector<std::byte>(20)}}; });
    expect_failure(w, CXLPOOL_E_PROTOCOL, "broke the protocol");
    EXPECT_EQ(cxlpool_lease_live(w.client, w.hit.lease), 0);
}

TEST_P(EveryFunction, RefusesAFork) {
    World w;
    const pid_t child = ::fork();
    if (child == 0) {
        const Outcome outcome = function().call(w);
        cxlpool_close(w.client);  // allowed, and must not disturb the parent's connection
        ::_exit(outcome.code == CXLPOOL_E_WRONG_STATE && outcome.untouched ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(cxlpool_renew(w.client, w.hit.lease, nullptr), CXLPOOL_OK);
}

INSTANTIATE_TEST_SUITE_P(Header, EveryFunction, testing::ValuesIn(kFunctions),
                         [](const auto& function_info) { return function_info.param.name; });

// --- the same table against the text of the header ----------------------------------------------

struct Documented {
    bool common = false;
    std::set<std::string> special;
};

// The comment in front of each function that returns a code.
std::map<std::string, Documented> documented_errors() {
    std::ifstream file(CXLPOOL_HEADER);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string header = text.str();
    const std::regex declaration(R"(CXLPOOL_API int (cxlpool_\w+)\()");
    const std::regex code(R"(CXLPOOL_E_(\w+))");
    std::map<std::string, Documented> found;
    for (auto at = std::sregex_iterator(header.begin(), header.end(), declaration);
         at != std::sregex_iterator(); ++at) {
        const auto end = header.rfind("*/", static_cast<std::size_t>(at->position()));
        const auto errors = header.rfind("Errors:", end);
        const auto begin = header.rfind("/*", end);
        Documented& entry = found[(*at)[1]];
        if (errors == std::string::npos || errors < begin) {
            continue;
        }
        const std::string list = header.substr(errors, end - errors);
        entry.common = list.find("the common ones") != std::string::npos &&
                       list.find("of the common ones only") == std::string::npos;
        for (auto name = std::sregex_iterator(list.begin(), list.end(), code);
             name != std::sregex_iterator(); ++name) {
            entry.special.insert((*name)[1]);
        }
    }
    return found;
}

TEST(Header, ListsTheErrorsThatAreTested) {
    auto documented = documented_errors();
    // Tested one by one below.
    std::vector<Function> functions = kFunctions;
    functions.push_back(
        {"cxlpool_connect",
         Type::hello,
         {CXLPOOL_E_UNAVAILABLE, CXLPOOL_E_UNSUPPORTED_VERSION, CXLPOOL_E_TOO_LARGE},
         nullptr});
    for (const Function& function : functions) {
        SCOPED_TRACE(function.name);
        std::set<std::string> special;
        for (const int code : function.special) {
            special.insert(kNames.at(code));
        }
        EXPECT_TRUE(documented[function.name].common);
        EXPECT_EQ(documented[function.name].special, special);
        documented.erase(function.name);
    }
    // What is left asks nobody. Those that name spans are tested in span_test.cpp.
    const std::set<std::string> naming{"INVALID_ARGUMENT", "OVERFLOW", "TOO_LARGE",
                                       "OUT_OF_MEMORY"};
    const std::map<std::string, std::set<std::string>> local{
        {"cxlpool_get_info", {}},
        {"cxlpool_lease_live", {}},
        {"cxlpool_context_identity", {"INVALID_ARGUMENT", "TOO_LARGE", "OUT_OF_MEMORY"}},
        {"cxlpool_span_digest", naming},
        {"cxlpool_span_chain", naming},
    };
    std::map<std::string, std::set<std::string>> rest;
    for (const auto& [name, errors] : documented) {
        rest[name] = errors.special;
        EXPECT_FALSE(errors.common) << name;
    }
    EXPECT_EQ(rest, local);
}

TEST(Header, ExplainsTheCommonErrors) {
    std::ifstream file(CXLPOOL_HEADER);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string header = text.str();
    const auto begin = header.find("COMMON ERRORS.");
    const std::string section = header.substr(begin, header.find("BLOCKING.") - begin);
    const std::regex code(R"(\n \*   CXLPOOL_E_(\w+)  )");
    std::set<std::string> found;
    for (auto name = std::sregex_iterator(section.begin(), section.end(), code);
         name != std::sregex_iterator(); ++name) {
        found.insert((*name)[1]);
    }
    std::set<std::string> expected;
    for (const int common : kCommon) {
        expected.insert(kNames.at(common));
    }
    EXPECT_EQ(found, expected);
}

// --- errors that arise on this side --------------------------------------------------------------

class Local : public testing::Test {
  protected:
    void expect_refused(int code, int expected, const std::string& message) {
        EXPECT_EQ(code, expected);
        EXPECT_THAT(cxlpool_last_message(), HasSubstr(message));
        EXPECT_TRUE(w.daemon.take_requests().empty()) << "refused before the daemon was asked";
    }
    World w;
};

TEST_F(Local, NullPointers) {
    cxlpool_context* context = nullptr;
    cxlpool_hit hit{};
    cxlpool_tenant_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    cxlpool_fleet_plan plan{};
    plan.struct_size = sizeof plan;
    cxlpool_placement_directive directive{};
    const void* data = nullptr;
    int fd = -1;
    const int calls[] = {
        cxlpool_connect(nullptr, nullptr),
        cxlpool_get_info(nullptr, nullptr),
        cxlpool_get_info(w.client, nullptr),
        cxlpool_context_create(nullptr, nullptr, 0, &context),
        cxlpool_context_create(w.client, nullptr, 1, &context),
        cxlpool_context_create(w.client, nullptr, 0, nullptr),
        cxlpool_lookup(nullptr, &w.sealed, 1, &hit),
        cxlpool_lookup(w.context, nullptr, 1, &hit),
        cxlpool_lookup(w.context, &w.sealed, 1, nullptr),
        cxlpool_attend(nullptr, &w.hit, &data),
        cxlpool_attend(w.client, nullptr, &data),
        cxlpool_attend(w.client, &w.hit, nullptr),
        cxlpool_renew(nullptr, w.hit.lease, nullptr),
        cxlpool_release(nullptr, w.hit.lease),
        cxlpool_begin(nullptr, &w.fresh, 1, 0, nullptr, &w.fill),
        cxlpool_begin(w.context, nullptr, 1, 0, nullptr, &w.fill),
        cxlpool_begin(w.context, &w.fresh, 1, 0, nullptr, nullptr),
        cxlpool_seal(nullptr, &w.fill, nullptr),
        cxlpool_seal(w.client, nullptr, nullptr),
        cxlpool_share(nullptr, &w.sealed, 0, nullptr, 0),
        cxlpool_share(w.context, nullptr, 0, nullptr, 0),
        cxlpool_share(w.context, &w.sealed, 2, nullptr, 1),
        cxlpool_segment_fd(nullptr, 1, 0, &fd),
        cxlpool_segment_fd(w.client, 1, 0, nullptr),
        cxlpool_plan_fleet(nullptr, nullptr, &plan),
        cxlpool_plan_fleet(w.client, nullptr, &plan),
        cxlpool_plan_placement(nullptr, &kTier, 1, &kCell, 1, &directive),
        cxlpool_plan_placement(w.client, nullptr, 1, &kCell, 1, &directive),
        cxlpool_plan_placement(w.client, &kTier, 1, nullptr, 1, &directive),
        cxlpool_plan_placement(w.client, &kTier, 1, &kCell, 1, nullptr),
        cxlpool_statistics(nullptr, &statistics, nullptr, 0, nullptr, 0),
        cxlpool_statistics(w.client, nullptr, nullptr, 0, nullptr, 0),
        cxlpool_statistics(w.client, &statistics, nullptr, 1, nullptr, 0),
        cxlpool_statistics(w.client, &statistics, nullptr, 0, nullptr, 1),
    };
    for (std::size_t i = 0; i < std::size(calls); ++i) {
        EXPECT_EQ(calls[i], CXLPOOL_E_INVALID_ARGUMENT) << "call " << i;
    }
    EXPECT_EQ(cxlpool_lease_live(nullptr, w.hit.lease), 0);
    EXPECT_EQ(cxlpool_context_destroy(nullptr), CXLPOOL_OK);
    cxlpool_close(nullptr);
    EXPECT_TRUE(w.daemon.take_requests().empty());
}

TEST_F(Local, RowsOfASizeThatThisLibraryDoesNotHave) {
    cxlpool_tenant_statistics out{};
    out.struct_size = sizeof out;
    alignas(8) std::array<unsigned char, 5000> room{};
    auto* const tiers = reinterpret_cast<cxlpool_tier_statistics*>(room.data());
    auto* const refusals = reinterpret_cast<cxlpool_refusal_statistics*>(room.data());
    for (const std::size_t size :
         {std::size_t{0}, sizeof *refusals - 1, sizeof *tiers + 1, std::size_t{4104}, SIZE_MAX}) {
        tiers->struct_size = size;
        EXPECT_EQ(cxlpool_statistics(w.client, &out, tiers, 1, nullptr, 0),
                  CXLPOOL_E_INVALID_ARGUMENT)
            << size;
        EXPECT_EQ(cxlpool_statistics(w.client, &out, nullptr, 0, refusals, 1),
                  CXLPOOL_E_INVALID_ARGUMENT)
            << size;
    }
    out.struct_size = 0;
    EXPECT_EQ(cxlpool_statistics(w.client, &out, nullptr, 0, nullptr, 0),
              CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_TRUE(w.daemon.take_requests().empty());
}

TEST_F(Local, StructuresOfASizeThatThisLibraryDoesNotHave) {
    cxlpool_info info{};
    cxlpool_fill fill{};
    cxlpool_fleet_question question{};
    cxlpool_fleet_plan plan{};
    cxlpool_options options{};
    cxlpool_client* client = nullptr;
    EXPECT_EQ(cxlpool_get_info(w.client, &info), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_begin(w.context, &w.fresh, 1, 0, nullptr, &fill), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_seal(w.client, &fill, nullptr), CXLPOOL_E_INVALID_ARGUMENT);
    EXPECT_EQ(cxlpool_connect(&options, &client), CXLPOOL_E_INVALID_ARGUMENT);
    plan.struct_size = sizeof plan;
    EXPECT_EQ(cxlpool_plan_fleet(w.client, &question, &plan), CXLPOOL_E_INVALID_ARGUMENT);
    question.struct_size = sizeof question;
    for (const std::size_t size : {sizeof plan - 1, std::size_t{4097}, SIZE_MAX}) {
        plan.struct_size = size;
        EXPECT_EQ(cxlpool_plan_fleet(w.client, &question, &plan), CXLPOOL_E_INVALID_ARGUMENT);
    }
    plan.struct_size = sizeof plan;
    for (const std::size_t size : {sizeof question - 1, std::size_t{4097}, SIZE_MAX}) {
        question.struct_size = size;
        EXPECT_EQ(cxlpool_plan_fleet(w.client, &question, &plan), CXLPOOL_E_INVALID_ARGUMENT);
    }
    options.struct_size = sizeof options;
    options.reserved = 1;
    expect_refused(cxlpool_connect(&options, &client), CXLPOOL_E_INVALID_ARGUMENT, "struct_size");
}

// A program built against a newer header: what it leaves at zero is fine, what it asks for and
// this library does not know is not.
TEST_F(Local, LargerStructures) {
    struct {
        cxlpool_fleet_question question;
        std::uint64_t newer;
    } asked{};
    struct {
        cxlpool_fleet_plan plan;
        std::uint64_t newer;
    } said{};
    asked.question.struct_size = sizeof asked;
    asked.question.tenants = 8;
    said.plan.struct_size = sizeof said;
    said.newer = 77;
    EXPECT_EQ(cxlpool_plan_fleet(w.client, &asked.question, &said.plan), CXLPOOL_OK);
    EXPECT_EQ(said.newer, 0U) << "the unknown part is zeroed";
    EXPECT_EQ(said.plan.struct_size, sizeof said);
    static_cast<void>(w.daemon.take_requests());
    asked.newer = 1;
    expect_refused(cxlpool_plan_fleet(w.client, &asked.question, &said.plan),
                   CXLPOOL_E_INVALID_ARGUMENT, "does not know");
}

TEST_F(Local, Axes) {
    cxlpool_context* context = nullptr;
    const cxlpool_axis unknown{CXLPOOL_AXIS_COUNT, 0, "x"};
    expect_refused(cxlpool_context_create(w.client, &unknown, 1, &context),
                   CXLPOOL_E_INVALID_ARGUMENT, "no axis 15");
    const cxlpool_axis reserved{0, 1, "x"};
    expect_refused(cxlpool_context_create(w.client, &reserved, 1, &context),
                   CXLPOOL_E_INVALID_ARGUMENT, "axis 0: reserved is 1, not 0");
    const cxlpool_axis empty{3, 0, nullptr};
    expect_refused(cxlpool_context_create(w.client, &empty, 1, &context),
                   CXLPOOL_E_INVALID_ARGUMENT, "axis 3: its value is NULL");
    const cxlpool_axis twice[] = {{3, 0, "a"}, {3, 0, "a"}};
    expect_refused(cxlpool_context_create(w.client, twice, 2, &context), CXLPOOL_E_INVALID_ARGUMENT,
                   "axis 3 is given twice");
    const std::string text(257, 'x');
    const cxlpool_axis large{3, 0, text.c_str()};
    expect_refused(cxlpool_context_create(w.client, &large, 1, &context), CXLPOOL_E_TOO_LARGE,
                   "257 bytes");
    const cxlpool_axis binary{3, 0, "\x01"};
    expect_refused(cxlpool_context_create(w.client, &binary, 1, &context),
                   CXLPOOL_E_INVALID_ARGUMENT, "printable");
    EXPECT_EQ(context, nullptr);
}

TEST_F(Local, WordsThatDoNotExist) {
    const std::vector<std::uint64_t> many(65, 2);
    const std::uint64_t nobody = 0;
    int fd = -1;
    expect_refused(cxlpool_share(w.context, &w.sealed, 3, nullptr, 0), CXLPOOL_E_INVALID_ARGUMENT,
                   "no such scope");
    expect_refused(cxlpool_share(w.context, &w.sealed, -1, nullptr, 0), CXLPOOL_E_INVALID_ARGUMENT,
                   "no such scope");
    expect_refused(cxlpool_share(w.context, &w.sealed, 2, many.data(), many.size()),
                   CXLPOOL_E_TOO_LARGE, "64 tenants");
    expect_refused(cxlpool_share(w.context, &w.sealed, 2, &nobody, 1), CXLPOOL_E_INVALID_ARGUMENT,
                   "tenant 0");
    expect_refused(cxlpool_segment_fd(w.client, 1, 2, &fd), CXLPOOL_E_INVALID_ARGUMENT,
                   "no such access");
    const std::string pool(65, 'p');
    EXPECT_EQ(cxlpool_begin(w.context, &w.fresh, 1, 0, pool.c_str(), &w.fill), CXLPOOL_E_TOO_LARGE);
    expect_refused(cxlpool_begin(w.context, &w.fresh, 0, 0, nullptr, &w.fill),
                   CXLPOOL_E_INVALID_ARGUMENT, "at least one byte");
    cxlpool_fleet_question question{};
    question.struct_size = sizeof question;
    question.pool = pool.c_str();
    cxlpool_fleet_plan plan{};
    plan.struct_size = sizeof plan;
    expect_refused(cxlpool_plan_fleet(w.client, &question, &plan), CXLPOOL_E_TOO_LARGE, "pool");
}

TEST_F(Local, PlacementsThatCannotBe) {
    const auto refused = [&](auto change, std::size_t n_tiers, std::size_t n, int code,
                             const std::string& message) {
        SCOPED_TRACE(message);
        std::vector<cxlpool_placement_tier> tiers(8, kTier);
        std::vector<cxlpool_placement_cell> cells(257, kCell);
        change(tiers[0], cells[0]);
        std::vector<cxlpool_placement_directive> out(257);
        expect_refused(
            cxlpool_plan_placement(w.client, tiers.data(), n_tiers, cells.data(), n, out.data()),
            code, message);
    };
    const auto nothing = [](auto&, auto&) {};
    constexpr int kNo = CXLPOOL_E_INVALID_ARGUMENT;
    refused(nothing, 8, 1, CXLPOOL_E_TOO_LARGE, "at most 7 tiers");
    refused(nothing, 1, 257, CXLPOOL_E_TOO_LARGE, "256 cells");
    refused(nothing, SIZE_MAX, SIZE_MAX, CXLPOOL_E_TOO_LARGE, "256 cells");
    refused(nothing, 0, 1, kNo, "tiers: 0 items");
    refused(nothing, 1, 0, kNo, "cells: 0 items");
    const std::string pool(65, 'p');
    refused([&](auto& tier, auto&) { tier.pool = pool.c_str(); }, 1, 1, CXLPOOL_E_TOO_LARGE,
            "pool: 65 bytes");
    refused([](auto& tier, auto&) { tier.tier = 0; }, 1, 1, kNo, "tier: no such value");
    refused([](auto& tier, auto&) { tier.tier = 0x101; }, 1, 1, kNo, "tier: no such value");
    refused([](auto& tier, auto&) { tier.flags = 0x100; }, 1, 1, kNo, "no such flag");
    refused([](auto&, auto& cell) { cell.state = 5; }, 1, 1, kNo, "state: no such value");
    refused([](auto&, auto& cell) { cell.flags = 4; }, 1, 1, kNo, "no such flag");
    refused([](auto&, auto& cell) { cell.reserved = 1; }, 1, 1, kNo, "reserved");
}

TEST_F(Local, APlacementOfAnotherNumberOfCellsIsNonsense) {
    w.daemon.on(Type::plan_placement, [](const wire::Request& request) {
        const wire::PlanPlacementReply two{std::vector<wire::PlacementItem>(2)};
        return Answer{{FakeDaemon::encode(Type::plan_placement, request.cookie, two)}};
    });
    auto out = filled_with<cxlpool_placement_directive>(0x77);
    EXPECT_EQ(cxlpool_plan_placement(w.client, &kTier, 1, &kCell, 1, &out), CXLPOOL_E_PROTOCOL);
    EXPECT_TRUE(is_filled_with(out, 0x77));
}

TEST_F(Local, WhatCannotBeAttended) {
    const void* data = nullptr;
    for (const std::uint32_t verdict : {CXLPOOL_HIT_STAGE + 0U, CXLPOOL_MISS_ABSENT + 0U, 0U}) {
        cxlpool_hit hit = w.hit;
        hit.verdict = verdict;
        expect_refused(cxlpool_attend(w.client, &hit, &data), CXLPOOL_E_WRONG_STATE,
                       "hit/in_place");
    }
    w.daemon.revoke({w.hit.lease.index, w.hit.lease.generation});
    expect_refused(cxlpool_attend(w.client, &w.hit, &data), CXLPOOL_E_STALE_LEASE, "has ended");
    EXPECT_EQ(data, nullptr);
}

TEST_F(Local, AFillIsSealedOnce) {
    ASSERT_EQ(cxlpool_seal(w.client, &w.fill, nullptr), CXLPOOL_OK);
    EXPECT_EQ(w.fill.data, nullptr);
    static_cast<void>(w.daemon.take_requests());
    expect_refused(cxlpool_seal(w.client, &w.fill, nullptr), CXLPOOL_E_WRONG_STATE, "begin first");
}

TEST_F(Local, NoAddressSpace) {
    constexpr std::uint64_t kHuge = 1ULL << 50U;
    const auto segment =
        std::make_shared<UniqueFd>(::memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(segment->get(), static_cast<off_t>(kHuge)), 0);
    ASSERT_EQ(::fcntl(segment->get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    w.daemon.on(Type::map, [&](const wire::Request& request) {
        return Answer{{FakeDaemon::encode(Type::map, request.cookie, wire::MapReply{kHuge, 4096})},
                      segment};
    });
    const void* data = nullptr;
    EXPECT_EQ(cxlpool_attend(w.client, &w.hit, &data), CXLPOOL_E_OUT_OF_MEMORY);
    EXPECT_EQ(data, nullptr);
}

// --- connecting ----------------------------------------------------------------------------------

class Connecting : public testing::Test {
  protected:
    int connect() {
        cxlpool_options options{};
        options.struct_size = sizeof options;
        options.socket_path = path.c_str();
        options.engine_name = engine.c_str();
        options.timeout_ms = timeout_ms;
        client = reinterpret_cast<cxlpool_client*>(this);
        const int code = cxlpool_connect(&options, &client);
        if (code == CXLPOOL_OK) {
            cxlpool_close(client);
        } else {
            EXPECT_EQ(client, reinterpret_cast<cxlpool_client*>(this));
        }
        return code;
    }
    FakeDaemon daemon;
    std::string path = daemon.path();
    std::string engine = "e";
    std::uint32_t timeout_ms = 0;
    cxlpool_client* client = nullptr;
};

TEST_F(Connecting, Succeeds) {
    EXPECT_EQ(connect(), CXLPOOL_OK);
}

TEST_F(Connecting, NobodyThere) {
    path += ".missing";
    EXPECT_EQ(connect(), CXLPOOL_E_UNAVAILABLE);
    EXPECT_THAT(cxlpool_last_message(), HasSubstr(path));
}

TEST_F(Connecting, PathsAndNames) {
    path = "";
    EXPECT_EQ(connect(), CXLPOOL_E_INVALID_ARGUMENT);
    path = daemon.path();
    engine = std::string(65, 'e');
    EXPECT_EQ(connect(), CXLPOOL_E_TOO_LARGE);
    engine = "\n";
    EXPECT_EQ(connect(), CXLPOOL_E_INVALID_ARGUMENT);
}

TEST_F(Connecting, TheDaemonsRefusals) {
    std::set<int> codes = kCommon;
    codes.insert(CXLPOOL_E_UNSUPPORTED_VERSION);
    for (const int code : codes) {
        daemon.refuse(Type::hello, static_cast<Errc>(code), "the daemon's words");
        EXPECT_EQ(connect(), code);
        EXPECT_STREQ(cxlpool_last_message(), "the daemon's words");
    }
}

TEST_F(Connecting, TheDaemonHangsUp) {
    daemon.on(Type::hello, [](const wire::Request&) { return Answer{{}, {}, true}; });
    EXPECT_EQ(connect(), CXLPOOL_E_DISCONNECTED);
}

TEST_F(Connecting, TheDaemonIsSilent) {
    daemon.on(Type::hello, [](const wire::Request&) { return Answer{}; });
    timeout_ms = 100;
    EXPECT_EQ(connect(), CXLPOOL_E_TIMEOUT);
}

TEST_F(Connecting, TheDaemonTalksNonsense) {
    daemon.on(Type::hello,
              [](const wire::Request&) { return Answer{{std::vector<std::byte>(20)}}; });
    EXPECT_EQ(connect(), CXLPOOL_E_PROTOCOL);
    daemon.as_usual(Type::hello);
    daemon.greeting.version = 9;
    EXPECT_EQ(connect(), CXLPOOL_E_PROTOCOL);
}

TEST_F(Connecting, TheSocketOfTheEnvironment) {
    ASSERT_EQ(::setenv("CXLPOOL_SOCKET", path.c_str(), 1), 0);
    EXPECT_EQ(cxlpool_connect(nullptr, &client), CXLPOOL_OK) << cxlpool_last_message();
    cxlpool_close(client);
    ASSERT_EQ(::setenv("CXLPOOL_SOCKET", "/nonexistent/engine.sock", 1), 0);
    EXPECT_EQ(cxlpool_connect(nullptr, &client), CXLPOOL_E_UNAVAILABLE);
    EXPECT_THAT(cxlpool_last_message(), HasSubstr("/nonexistent/engine.sock"));
    ASSERT_EQ(::unsetenv("CXLPOOL_SOCKET"), 0);
}

}  // namespace
}  // namespace cxlpool::test

// What `verdict` and the `cell` verbs refuse before they ask the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::HasSubstr;

const std::string kSpan(64, 'a');

Outcome verdict(std::initializer_list<std::string> more, const std::string& input = {}) {
    std::vector<std::string> arguments{
        "verdict", "--requester", "2", "--span", kSpan, "--socket", "/nonexistent/admin.sock"};
    arguments.insert(arguments.end(), more);
    return run_ctl(arguments, input);
}

TEST(Verdict, NamesWhatIsMissing) {
    const Outcome outcome = run_ctl({"verdict"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, HasSubstr("missing: --requester, --span"));
}

TEST(Verdict, RefusesBadAxesBeforeItAsks) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"modle=x", "unknown axis 'modle'"}, {"model", "is not NAME=VALUE"},
        {"=x", "unknown axis ''"},           {"model=", "model"},
        {"weights=latest", "weights"},       {"page_tokens=0", "page_tokens"},
    };
    for (const auto& [axis, message] : wrong) {
        const Outcome outcome = verdict({"--axis", axis});
        EXPECT_EQ(outcome.status, kExitUsage) << axis;
        EXPECT_THAT(outcome.err, HasSubstr(message)) << axis;
    }
}

TEST(Verdict, ReadsAContextFileAndPutsAxesOverIt) {
    const Outcome good = verdict({"--context", "-", "--axis", "model=b"},
                                 R"({"model":"a","weights":"version:3","page_tokens":16})");
    EXPECT_EQ(good.status, kExitNo);  // understood; nobody answers there
    EXPECT_THAT(good.err, HasSubstr("/nonexistent/admin.sock"));
}

TEST(Verdict, RefusesABadContextFileWithItsPlace) {
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"{\"model\":\"a\"\n \"dtype\":\"b\"}", "-:2:"},
        {R"({"modle":"a"})", "unknown axis 'modle'"},
        {R"({"model":null})", "is no text"},
        {R"(["model"])", "one JSON object"},
    };
    for (const auto& [text, message] : wrong) {
        const Outcome outcome = verdict({"--context", "-"}, text);
        EXPECT_EQ(outcome.status, kExitUsage) << text;
        EXPECT_THAT(outcome.err, HasSubstr(message)) << text;
    }
}

TEST(Span, IsExactlyADigest) {
    for (const std::string& span :
         {std::string(63, 'a'), std::string(66, 'a'), std::string(64, 'g'), std::string(64, '0')}) {
        for (const std::vector<std::string>& verb :
             {std::vector<std::string>{"verdict", "--requester", "2"},
              {"cell", "trust", "--owner", "1"}}) {
            std::vector<std::string> arguments = verb;
            arguments.insert(arguments.end(), {"--span", span});
            const Outcome outcome = run_ctl(arguments);
            EXPECT_EQ(outcome.status, kExitUsage) << span;
            EXPECT_THAT(outcome.err, HasSubstr("--span"));
        }
    }
}

TEST(Cell, TheDigestIsExactlyADigest) {
    for (const std::string& digest : {std::string(63, 'a'), std::string(64, '0'), std::string()}) {
        const Outcome outcome =
            run_ctl({"cell", "trust", "--owner", "1", "--span", kSpan, "--digest=" + digest});
        EXPECT_EQ(outcome.status, kExitUsage) << digest;
        EXPECT_THAT(outcome.err, HasSubstr("--digest"));
    }
}

TEST(Cell, RefusesNobodyAndNothing) {
    EXPECT_THAT(run_ctl({"cell", "trust", "--owner", "0", "--span", kSpan}).err,
                HasSubstr("--owner: '0' is not the number of a tenant"));
    EXPECT_THAT(run_ctl({"cell", "poison", "--owner", "1", "--cell", "0", "--span", kSpan}).err,
                HasSubstr("--cell: 0 is no cell"));
    EXPECT_THAT(verdict({"--requester=0"}).err, HasSubstr("given twice"));
    EXPECT_THAT(run_ctl({"verdict", "--requester", "0", "--span", kSpan}).err,
                HasSubstr("--requester: '0' is not the number of a tenant"));
    EXPECT_THAT(run_ctl({"cell", "taint"}).err, HasSubstr("missing: --owner, --span"));
    for (const std::vector<std::string>& verb :
         {std::vector<std::string>{"cell", "trust", "--owner", "9 lives", "--span", kSpan},
          {"verdict", "--requester", "9 lives", "--span", kSpan}}) {
        const Outcome outcome = run_ctl(verb);
        EXPECT_EQ(outcome.status, kExitUsage);
        EXPECT_THAT(outcome.err, HasSubstr("'9 lives' is not the number of a tenant"));
    }
}

TEST(Names, AreAskedForWhenAllElseIsUnderstood) {
    for (std::vector<std::string> verb :
         {std::vector<std::string>{"cell", "trust", "--owner", "alpha", "--span", kSpan},
          {"verdict", "--requester", "alpha", "--span", kSpan}}) {
        verb.insert(verb.end(), {"--socket", "/nonexistent/admin.sock"});
        const Outcome unanswered = run_ctl(verb);
        EXPECT_EQ(unanswered.status, kExitNo);
        EXPECT_THAT(unanswered.err, HasSubstr("/nonexistent/admin.sock"));
        std::replace(verb.begin(), verb.end(), kSpan, std::string("short"));
        EXPECT_EQ(run_ctl(verb).status, kExitUsage);
    }
}

}  // namespace
}  // namespace cxlpool::ctl

#include "cxlpoolctl/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_ctl.hpp"

namespace cxlpool::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> split(std::string_view name) {
    std::vector<std::string> words;
    std::istringstream in{std::string(name)};
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

TEST(Program, HelpListsEveryVerb) {
    const Outcome outcome = run_ctl({"--help"});
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.err, IsEmpty());
    for (const Verb& verb : verbs()) {
        EXPECT_THAT(outcome.out, HasSubstr("  " + std::string(verb.name) + "  "));
    }
}

TEST(Program, EveryVerbExplainsItselfAndRefusesUnknownOptions) {
    for (const Verb& verb : verbs()) {
        std::vector<std::string> help = split(verb.name);
        help.push_back("--help");
        const Outcome explained = run_ctl(help);
        EXPECT_EQ(explained.status, kExitOk) << verb.name;
        EXPECT_THAT(explained.out, StartsWith("usage: cxlpoolctl " + std::string(verb.name) + ' '));
        EXPECT_THAT(explained.out, HasSubstr("\n  --help "));

        help.back() = "--hepl";
        const Outcome refused = run_ctl(help);
        EXPECT_EQ(refused.status, kExitUsage) << verb.name;
        EXPECT_THAT(refused.out, IsEmpty());
        EXPECT_EQ(refused.err,
                  "cxlpoolctl: unknown option '--hepl'; did you mean '--help'?\n"
                  "Try 'cxlpoolctl " +
                      std::string(verb.name) + " --help'.\n");
    }
}

TEST(Program, PrintsItsVersion) {
    const Outcome outcome = run_ctl({"--version"});
    EXPECT_EQ(outcome.status, kExitOk);
    EXPECT_THAT(outcome.out, ::testing::MatchesRegex("cxlpoolctl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, RefusesAnUnknownVerbWithASuggestion) {
    const Outcome outcome = run_ctl({"toplogy", "--json"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err,
                StartsWith("cxlpoolctl: unknown verb 'toplogy'; did you mean 'topology'?"));
    EXPECT_THAT(run_ctl({"plan", "flet"}).err,
                StartsWith("cxlpoolctl: unknown verb 'plan flet'; did you mean 'plan fleet'?"));
    EXPECT_EQ(run_ctl({""}).status, kExitUsage);
}

TEST(Program, WantsTheSecondWordOfAGroup) {
    const Outcome bare = run_ctl({"cell"});
    EXPECT_EQ(bare.status, kExitUsage);
    EXPECT_THAT(bare.err, HasSubstr("'cell' needs a second word: cell list, cell trust"));
    EXPECT_EQ(run_ctl({"cell", "--json"}).status, kExitUsage);
    EXPECT_EQ(run_ctl({"cell", ""}).status, kExitUsage);
    const Outcome help = run_ctl({"cell", "--help"});
    EXPECT_EQ(help.status, kExitOk);
    EXPECT_THAT(help.out, HasSubstr("cell poison"));
    EXPECT_THAT(help.out, ::testing::Not(HasSubstr("topology")));
}

TEST(Program, RefusesAnOptionInFrontOfTheVerb) {
    const Outcome outcome = run_ctl({"--json", "topology"});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.err, HasSubstr("a verb comes first"));
}

TEST(Program, WithoutArgumentsShowsTheHelpAsAnError) {
    const Outcome outcome = run_ctl({});
    EXPECT_EQ(outcome.status, kExitUsage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, StartsWith("usage: cxlpoolctl VERB"));
}

TEST(Program, SaysThatNoDaemonAnswers) {
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"status"},
                                                 {"cell", "list"},
                                                 {"topology", "--daemon"},
                                                 {"profile", "--daemon"}}) {
        std::vector<std::string> arguments = verb;
        arguments.insert(arguments.end(), {"--socket", "/nonexistent/admin.sock"});
        const Outcome outcome = run_ctl(arguments);
        EXPECT_EQ(outcome.status, kExitNo) << verb.front();
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_THAT(outcome.err, StartsWith("cxlpoolctl: "));
        EXPECT_THAT(outcome.err, HasSubstr("/nonexistent/admin.sock"));
    }
}

}  // namespace
}  // namespace cxlpool::ctl

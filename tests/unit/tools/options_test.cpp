#include "cxlpoolctl/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cxlpool::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OptionSet sample() {
    OptionSet set("sample [OPTION...]", "About it.");
    set.value("tenants", "N", "how many")
        .value("bytes", "B", "how large,\nwith a unit")
        .values("axis", "NAME=VALUE", "one axis")
        .values("from", "FILE...", "files", true)
        .flag("json", "JSON");
    return set;
}

std::string refusal(const std::vector<std::string>& arguments) {
    const Result<OptionValues> values = sample().parse(arguments);
    return values ? "accepted" : values.error().message();
}

TEST(OptionSet, ReadsBothSpellingsOfAValue) {
    const Result<OptionValues> values =
        sample().parse(std::vector<std::string>{"--tenants", "8", "--bytes=64MiB", "--json"});
    ASSERT_TRUE(values) << values.error().message();
    EXPECT_EQ(values->value("tenants"), "8");
    EXPECT_EQ(values->number("tenants").value(), std::optional<std::uint64_t>(8));
    EXPECT_EQ(values->bytes("bytes").value(), std::optional<std::uint64_t>(67108864));
    EXPECT_TRUE(values->has("json"));
    EXPECT_FALSE(values->has("from"));
    EXPECT_EQ(values->value("from"), std::nullopt);
    EXPECT_EQ(values->number("from").value(), std::nullopt);
}

TEST(OptionSet, CollectsRepeatedValuesInOrder) {
    const Result<OptionValues> values = sample().parse(std::vector<std::string>{
        "--from", "a", "-", "--json", "--from", "b", "--axis", "x=1", "--axis=y=2=3"});
    ASSERT_TRUE(values) << values.error().message();
    EXPECT_THAT(values->values("from"), ElementsAre("a", "-", "b"));
    EXPECT_THAT(values->values("axis"), ElementsAre("x=1", "y=2=3"));
}

TEST(OptionSet, RefusesWhatItDoesNotKnowAndSuggests) {
    EXPECT_EQ(refusal({"--tenant", "8"}), "unknown option '--tenant'; did you mean '--tenants'?");
    EXPECT_EQ(refusal({"--jsn"}), "unknown option '--jsn'; did you mean '--json'?");
    EXPECT_EQ(refusal({"--colour=never"}), "unknown option '--colour'");
    EXPECT_EQ(refusal({"-x"}), "unknown option '-x'");
    EXPECT_EQ(refusal({"stray"}), "unexpected argument 'stray'");
    EXPECT_EQ(refusal({"--axis", "x=1", "y=2"}), "unexpected argument 'y=2'");
    // An abbreviation would change its meaning when an option is added.
    EXPECT_EQ(refusal({"--tenan", "8"}), "unknown option '--tenan'; did you mean '--tenants'?");
}

TEST(OptionSet, RefusesDoubledAndIncompleteOptions) {
    EXPECT_EQ(refusal({"--tenants", "8", "--tenants", "9"}), "option '--tenants' is given twice");
    EXPECT_EQ(refusal({"--tenants"}), "option '--tenants' needs N");
    EXPECT_EQ(refusal({"--tenants="}), "option '--tenants' needs N");
    EXPECT_EQ(refusal({"--from"}), "option '--from' needs FILE...");
    EXPECT_EQ(refusal({"--json=yes"}), "option '--json' takes no value");
    EXPECT_EQ(refusal({"--json", "--json"}), "option '--json' is given twice");
}

TEST(OptionSet, NamesTheOptionWhoseNumberIsWrong) {
    for (const char* text :
         {"-1", "1.5", "nan", "inf", "0x", "18446744073709551616", "8 tenants"}) {
        const Result<OptionValues> values =
            sample().parse(std::vector<std::string>{std::string("--tenants=") + text});
        ASSERT_TRUE(values) << values.error().message();
        const auto number = values->number("tenants");
        ASSERT_FALSE(number) << text;
        EXPECT_EQ(number.error().code(), Errc::invalid_argument);
        EXPECT_THAT(number.error().message(), HasSubstr("--tenants: '"));
    }
    const Result<OptionValues> values =
        sample().parse(std::vector<std::string>{"--bytes", "64 miB"});
    ASSERT_TRUE(values);
    EXPECT_THAT(values->bytes("bytes").error().message(), HasSubstr("--bytes: '64 miB'"));
}

TEST(OptionSet, HelpListsEveryOptionOnce) {
    EXPECT_EQ(sample().help(),
              "usage: cxlpoolctl sample [OPTION...]\n"
              "\n"
              "About it.\n"
              "\n"
              "  --tenants N        how many\n"
              "  --bytes B          how large,\n"
              "                     with a unit\n"
              "  --axis NAME=VALUE  one axis\n"
              "  --from FILE...     files\n"
              "  --json             JSON\n"
              "  --help             this text\n");
    EXPECT_TRUE(sample().asks_for_help(std::vector<std::string>{"--json", "--help"}));
    EXPECT_TRUE(sample().asks_for_help(std::vector<std::string>{"-h"}));
    EXPECT_FALSE(sample().asks_for_help(std::vector<std::string>{"--json"}));
}

TEST(Missing, NamesWhatWasNotGiven) {
    constexpr std::string_view kWanted[]{"tenants", "bytes", "json"};
    const Result<OptionValues> values = sample().parse(std::vector<std::string>{"--bytes", "1"});
    ASSERT_TRUE(values);
    EXPECT_EQ(missing(*values, kWanted), "--tenants, --json");
    const Result<OptionValues> all =
        sample().parse(std::vector<std::string>{"--bytes", "1", "--tenants", "1", "--json"});
    ASSERT_TRUE(all);
    EXPECT_EQ(missing(*all, kWanted), "");
}

}  // namespace
}  // namespace cxlpool::ctl

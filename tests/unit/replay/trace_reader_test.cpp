#include "replay/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace cxlpool::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kOne = R"({"time_ms":0,"tenant":"a","spans":[1],"tokens":9})";
const std::string kPublished =
    R"({"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[1]})";

Result<Trace> read(const std::string& text, const TraceOptions& options = {}) {
    std::istringstream in(text);
    return read_trace("t", in, options);
}

Trace must(const std::string& text, const TraceOptions& options = {}) {
    Result<Trace> trace = read(text, options);
    EXPECT_TRUE(trace) << trace.error().message();
    return std::move(trace).value();
}

Trace must_file(const char* name) {
    std::ifstream in(std::string(GOLDEN_DIR "/trace/") + name);
    Result<Trace> trace = read_trace(name, in, {});
    EXPECT_TRUE(trace) << trace.error().message();
    return std::move(trace).value();
}

std::vector<std::uint32_t> spans(const Trace& trace, std::size_t request) {
    const auto found = trace.spans_of(trace.requests()[request]);
    return {found.begin(), found.end()};
}

void refused(const std::string& text, Errc code, const std::string& message,
             const TraceOptions& options = {}) {
    const Result<Trace> trace = read(text, options);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code(), code) << trace.error().message();
    EXPECT_THAT(trace.error().message(), StartsWith(message)) << text;
}

TEST(TraceReader, ReadsItsOwnLayout) {
    const Trace trace = must_file("own.jsonl");
    ASSERT_EQ(trace.requests().size(), 4U);
    EXPECT_THAT(trace.tenants(), ElementsAre("chat", "7"));
    EXPECT_THAT(spans(trace, 0), ElementsAre(0, 1));
    EXPECT_THAT(spans(trace, 1), ElementsAre(2));
    EXPECT_THAT(spans(trace, 2), ElementsAre(0, 1, 3));
    EXPECT_THAT(spans(trace, 3), ElementsAre());
    EXPECT_EQ(trace.span_count(), 6U);
    EXPECT_EQ(trace.distinct_spans(), 4U);
    EXPECT_EQ(trace.digest(2).bytes[31], 10U);
    const Trace::Request& second = trace.requests()[1];
    EXPECT_EQ(second.time_ns, 1'500'000U);
    EXPECT_EQ(second.tenant, 1U);
    EXPECT_EQ(second.tokens, 600U);
    EXPECT_EQ(second.output_tokens, 20U);
    EXPECT_EQ(second.bytes_per_span, 65536U);
    EXPECT_EQ(trace.requests()[2].bytes_per_span, 0U);
    EXPECT_EQ(trace.requests()[2].output_tokens, 0U);
    EXPECT_EQ(trace.requests()[3].tenant, 1U);  // 7 and "7" are one name
}

TEST(TraceReader, ReadsThePublishedLayout) {
    const Trace trace = must_file("published.jsonl");
    ASSERT_EQ(trace.requests().size(), 3U);
    EXPECT_THAT(trace.tenants(), ElementsAre("1"));
    EXPECT_THAT(spans(trace, 0), ElementsAre(0, 1));
    EXPECT_THAT(spans(trace, 1), ElementsAre(0));
    EXPECT_EQ(trace.requests()[1].time_ns, 3'000'000U);
    EXPECT_EQ(trace.requests()[2].tokens, 18446U);
    EXPECT_EQ(trace.requests()[2].output_tokens, 12U);
}

TEST(TraceReader, KnowsTheTokensOfEachSpan) {
    TraceOptions options;
    options.block_tokens = 4;
    const Trace trace = must(R"({"time_ms":0,"tenant":1,"spans":[1,2,3],"tokens":9})"
                             "\n"
                             R"({"time_ms":0,"tenant":1,"spans":[1,2,3],"tokens":12})"
                             "\n"
                             R"({"time_ms":0,"tenant":1,"spans":[1,2],"tokens":100})",
                             options);
    const auto tokens = [&](std::size_t request, std::size_t span) {
        return trace.tokens_of(trace.requests()[request], span);
    };
    EXPECT_EQ(tokens(0, 0), 4U);
    EXPECT_EQ(tokens(0, 2), 1U);
    EXPECT_EQ(tokens(1, 2), 4U);
    EXPECT_EQ(tokens(2, 1), 4U);  // what follows has no name yet
}

TEST(TraceReader, AssignsTenantsByAStatedRule) {
    const auto line = [](int id) {
        return R"({"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[)" +
               std::to_string(id) + "]}\n";
    };
    const std::string text = line(5) + line(7) + line(5) + line(6) + line(0);
    const auto assigned = [&](AssignRule rule, std::uint32_t count) {
        TraceOptions options;
        options.assignment = Assignment{rule, count};
        std::vector<std::uint32_t> out;
        const Trace trace = must(text, options);
        EXPECT_EQ(trace.tenants().size(), count);
        for (const Trace::Request& request : trace.requests()) {
            out.push_back(request.tenant);
        }
        return out;
    };
    EXPECT_THAT(assigned(AssignRule::single, 1), ElementsAre(0, 0, 0, 0, 0));
    EXPECT_THAT(assigned(AssignRule::request_modulo, 3), ElementsAre(0, 1, 2, 0, 1));
    EXPECT_THAT(assigned(AssignRule::first_block, 3), ElementsAre(2, 1, 2, 0, 0));
    for (const AssignRule rule :
         {AssignRule::single, AssignRule::request_modulo, AssignRule::first_block}) {
        EXPECT_EQ(*parse_assign_rule(to_word(rule)), rule);
    }
    EXPECT_EQ(parse_assign_rule("random").error().code(), Errc::unknown_word);
}

TEST(TraceReader, ReadsLinesHoweverTheyEndAndHoweverLongTheyAre) {
    EXPECT_EQ(must(kOne).requests().size(), 1U);
    EXPECT_EQ(must("\n \t\r\n" + kOne + "\r\n\n").requests().size(), 1U);
    EXPECT_EQ(must(" { \"time_ms\" : 0 , \"tenant\" : \"a\" ,\t\"spans\" : [ 1 , 2 ] , "
                   "\"tokens\" : 600 } ")
                  .span_count(),
              2U);
    // Longer than one step of reading, and not at its beginning.
    std::string ids = "100000";
    for (int i = 1; i < 30'000; ++i) {
        ids += ", " + std::to_string(i + 100'000);
    }
    std::string text;
    for (int i = 0; i < 5; ++i) {
        text += R"({"timestamp":0,"input_length":15360000,"output_length":1,"hash_ids":[)" + ids +
                "]}\n" + kPublished + "\n";
    }
    const Trace trace = must(text);
    EXPECT_EQ(trace.requests().size(), 10U);
    EXPECT_EQ(trace.span_count(), 150'005U);
    EXPECT_EQ(trace.distinct_spans(), 30'001U);
}

TEST(TraceReader, NamesThePlaceOfWhatIsNoJson) {
    refused("x", Errc::malformed, "t:1:1: 'x' where '{' is wanted");
    refused("\n\n[]", Errc::malformed, "t:3:1: '[' where '{' is wanted");
    refused("{", Errc::malformed, "t:1:2: a key is the end of the line: a string is wanted");
    refused("{}", Errc::malformed, "t:1:1: no \"time_ms\" in this request");
    refused(R"({"time_ms" 0})", Errc::malformed, "t:1:12: '0' where ':' is wanted");
    refused(R"({"time_ms":0)", Errc::malformed, "t:1:13: the end of the line where '}' is wanted");
    refused(R"({"time_ms":0,})", Errc::malformed, "t:1:14: a key is '}': a string is wanted");
    refused(R"({"time_ms)", Errc::malformed, "t:1:2: a key: the string has no end in this line");
    refused(R"({"time\u005fms":0})", Errc::malformed, "t:1:7: a key: escapes");
    refused(kOne + " 5", Errc::malformed, "t:1:51: '5' behind the object");
    refused(kOne + "," + kOne, Errc::malformed, "t:1:50: ',");
    refused(R"({"time_ms":0,"spans":[1,2})", Errc::malformed, "t:1:26: '}' where ']' is wanted");
    refused(R"({"time_ms":0,"spans":[,2]})", Errc::malformed, "t:1:23: a span is ','");
    refused(R"({"time_ms":0,"spans":7})", Errc::malformed, "t:1:22: '7' where '[' is wanted");
    refused(std::string("{\"time_ms\":0\0}", 14), Errc::malformed, "t:1:12: time_ms is '0?'");
}

TEST(TraceReader, NamesThePlaceOfAWrongNumber) {
    const auto with = [](const std::string& time, const std::string& span,
                         const std::string& tokens) {
        return R"({"time_ms":)" + time + R"(,"tenant":1,"spans":[)" + span + R"(],"tokens":)" +
               tokens + "}";
    };
    must(with("4611686018427.387904", "18446744073709551615", "4294967296"));
    refused(with("4611686018427.387905", "1", "1"), Errc::overflow,
            "t:1:12: time_ms is '4611686018427.387905': at most 4611686018427 ms are read");
    refused(with("99999999999999999999999", "1", "1"), Errc::overflow, "t:1:12: time_ms is");
    refused(with("0", "18446744073709551616", "1"), Errc::overflow,
            "t:1:34: a span is '18446744073709551616': at most 18446744073709551615 is read");
    refused(with("0", "1", "4294967297"), Errc::overflow, "t:1:46: tokens is '4294967297'");
    for (const char* time : {"-1", "NaN", "nan", "Infinity", "1e3", "0x10", "01", "1.", ".5", "+1",
                             "1.1234567", "1.5.5", "true", "null", "\"1\"", "[]", "--", "1_0"}) {
        refused(with(time, "1", "1"), Errc::malformed, "t:1:12: time_ms is ");
    }
    for (const char* span :
         {"-1", "NaN", "1.0", "1e3", "00", "null", "true", "[1]", "\"12\"",
          "\"0000000000000000000000000000000000000000000000000000000000000000\"",
          "\"g000000000000000000000000000000000000000000000000000000000000000\"",
          "\"00000000000000000000000000000000000000000000000000000000000000010\""}) {
        refused(with("0", span, "1"), Errc::malformed, "t:1:34: ");
    }
    EXPECT_THAT(read(with("0", "-1", "1")).error().message(),
                HasSubstr("a span is '-1': a whole number from 0 is wanted"));
    EXPECT_THAT(read(with("0", "\"12\"", "1")).error().message(),
                HasSubstr("span '12': 64 hexadecimal digits"));
    for (const char* tokens : {"-1", "NaN", "1.5", "1e3", "00", "null", "\"1\"", "-0"}) {
        refused(with("0", "1", tokens), Errc::malformed, "t:1:46: tokens is ");
    }
}

TEST(TraceReader, RefusesWhatALayoutDoesNotHave) {
    refused(kOne.substr(0, kOne.size() - 1) + R"(,"kind":{"a":[1]}})", Errc::unknown_word,
            "t:1:50: unknown key 'kind': known are time_ms, tenant,");
    refused(R"({"when":3,"time_ms":0,"tenant":"a","spans":[],"tokens":9})", Errc::unknown_word,
            "t:1:2: unknown key 'when'");
    refused(R"({"timestamp":0,"hash_ids":[1],"input_length":9,"tenant":1})", Errc::malformed,
            "t:1:48: key 'tenant' is of the other layout");
    refused(kOne + "\n" + kPublished, Errc::malformed,
            "t:2:2: key 'timestamp' is of the other layout");
    refused(R"({"time_ms":0,"time_ms":0})", Errc::malformed, "t:1:14: key 'time_ms' twice");
    for (const char* member :
         {R"("time_ms":0,)", R"("tenant":"a",)", R"("spans":[1],)", R"(,"tokens":9)"}) {
        std::string text = kOne;
        text.erase(text.find(member), std::string(member).size());
        std::string key = member;
        key = key.substr(key.find('"'));
        refused(text, Errc::malformed,
                "t:1:1: no " + key.substr(0, key.find(':')) + " in this request");
    }
    refused(R"({"timestamp":0,"input_length":9,"hash_ids":[1]})", Errc::malformed,
            "t:1:1: no \"output_length\" in this request");
    refused("", Errc::malformed, "t:1:1: no request in this trace");
    refused("\n\n", Errc::malformed, "t:1:1: no request in this trace");
}

TEST(TraceReader, ReadsOverOtherKeysOfThePublishedLayoutButNotOverBrokenOnes) {
    const auto with = [](const std::string& value) {
        return R"({"x":)" + value + "," + kPublished.substr(1);
    };
    for (const char* value :
         {"0", "-1.5e+3", "\"\"", R"("\\\"}")", "[]", "{}", R"({"a":[1,{"b":null}],"c":true})",
          "[[[[[[[[[[]]]]]]]]]]", "false"}) {
        EXPECT_EQ(must(with(value)).requests().size(), 1U) << value;
    }
    refused(with("NaN"), Errc::malformed, "t:1:6: 'NaN' where a value is wanted");
    refused(with("-"), Errc::malformed, "t:1:6: '-' where a value is wanted");
    refused(with("["), Errc::malformed, "t:1:");
    refused(with("{1:2}"), Errc::malformed, "t:1:7: '1' where '\"' is wanted");
    refused(with("{\"a\" 2}"), Errc::malformed, "t:1:11: '2' where ':' is wanted");
    refused(R"({"x":"abc)", Errc::malformed, "t:1:6: the string has no end in this line");
    refused(R"({"x":"abc\)", Errc::malformed, "t:1:6: the string has no end in this line");
    refused(with(std::string(33, '[')), Errc::too_large, "t:1:38: nested deeper than 32 levels");
    EXPECT_EQ(must(with(std::string(32, '[') + std::string(32, ']'))).requests().size(), 1U);
}

TEST(TraceReader, RefusesTenantsThatAreNoNames) {
    const auto with = [](const std::string& tenant) {
        return R"({"time_ms":0,"tenant":)" + tenant + R"(,"spans":[],"tokens":9})";
    };
    must(with("\"" + std::string(64, 'x') + "\""));
    must(with("18446744073709551615"));
    refused(with("\"\""), Errc::invalid_argument, "t:1:23: tenant is ''");
    refused(with("\"" + std::string(65, 'x') + "\""), Errc::invalid_argument, "t:1:23: tenant is");
    refused(with("\"\xC3\xA9\""), Errc::invalid_argument, "t:1:23: tenant is '?");
    refused(with("\"a\tb\""), Errc::malformed, "t:1:25: tenant: escapes and control characters");
    refused(with("-1"), Errc::malformed, "t:1:23: tenant is '-1'");
    TraceOptions options;
    options.assignment = Assignment{AssignRule::request_modulo, 2};
    refused(kOne, Errc::invalid_argument, "t:1:23: the requests of this trace name their tenants",
            options);
}

TEST(TraceReader, HoldsRequestsAgainstEachOther) {
    refused(R"({"time_ms":5,"tenant":"a","spans":[],"tokens":9})"
            "\n" +
                kOne,
            Errc::invalid_argument, "t:2:12: the request is earlier than the one before it");
    refused(R"({"time_ms":5,"tenant":"a","spans":[1,2],"tokens":512})", Errc::invalid_argument,
            "t:1:35: 2 spans of 512 tokens are more than the 512 tokens of the request");
    must(R"({"time_ms":5,"tenant":"a","spans":[1,2],"tokens":513})");
    refused(R"({"time_ms":5,"tenant":"a","spans":[1],"tokens":0})", Errc::invalid_argument,
            "t:1:35: 1 spans of 512");
    refused(R"({"time_ms":5,"tenant":"a","spans":[],"tokens":0,"bytes_per_span":0})",
            Errc::invalid_argument, "t:1:66: bytes_per_span is 0");
    refused(R"({"time_ms":5,"tenant":"a","spans":[],"tokens":0,"bytes_per_span":4294967297})",
            Errc::overflow, "t:1:66: bytes_per_span is");
}

TEST(TraceReader, IsBoundedInEachDirection) {
    TraceOptions options;
    options.limits = TraceLimits{70, 2, 3, 4, 2};
    const auto line = [](const std::string& tenant, const std::string& ids) {
        return R"({"time_ms":0,"tenant":")" + tenant + R"(","spans":[)" + ids +
               R"(],"tokens":999})" + "\n";
    };
    must(line("a", "1,2") + line("b", "1,2") + line("a", ""), options);
    refused(line("a", "1,2,3"), Errc::limit_exceeded, "t:1:40: more than 2 spans in a request",
            options);
    refused(line("a", "1,2") + line("a", "1,2") + line("a", "1"), Errc::limit_exceeded,
            "t:3:35: at most 4 spans are read: cut the trace", options);
    refused(line("a", "") + line("b", "") + line("c", ""), Errc::limit_exceeded,
            "t:3:23: more than 2 tenants", options);
    refused(line("a", "") + line("a", "") + line("a", "") + line("a", ""), Errc::limit_exceeded,
            "t:4:1: at most 3 requests are read: cut the trace", options);
    const std::string padded = kOne + std::string(70 - kOne.size(), ' ');
    must(padded + "\n" + padded, options);
    refused(padded + " ", Errc::too_large, "t:1:1: the line is longer than 70 B", options);
    refused("\n" + padded + " \n", Errc::too_large, "t:2:1: the line is longer than", options);
    refused(std::string(10'000'000, ' '), Errc::too_large, "t:1:1: the line is longer than");
}

TEST(TraceReader, SaysThatAStreamCannotBeRead) {
    std::ifstream in("/");  // opens, and cannot be read
    const Result<Trace> trace = read_trace("t", in, {});
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code(), Errc::io);
    EXPECT_EQ(trace.error().message(), "t: cannot be read");
}

TEST(TraceReader, TellsHowFarItIs) {
    std::string text;
    for (int i = 0; i < 40'000; ++i) {
        text += kPublished + "\n";
    }
    std::istringstream in(text);
    std::vector<std::uint64_t> told;
    EXPECT_TRUE(read_trace("t", in, {}, [&](std::uint64_t done) { told.push_back(done); }));
    EXPECT_THAT(told, ElementsAre(16384, 32768));
}

}  // namespace
}  // namespace cxlpool::replay

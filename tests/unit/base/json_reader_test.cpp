#include "base/json_reader.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace cxlpool::json {
namespace {

using Kind = Value::Kind;

// The error of a text that must be refused.
Error refused(std::string_view text, const Limits& limits = {}) {
    auto got = parse("f.json", text, limits);
    if (got) {
        ADD_FAILURE() << "accepted: " << text;
        return Error{Errc::ok, ""};
    }
    return std::move(got).error();
}

void expect_refused_at(std::string_view text, const std::string& where) {
    const Error error = refused(text);
    EXPECT_EQ(error.code(), Errc::malformed) << text;
    EXPECT_EQ(error.message().substr(0, where.size()), where) << error.message();
}

TEST(JsonReader, KeepsEveryKindOfValue) {
    const auto got = parse("f", R"({"n":null,"t":true,"f":false,"u":7,"i":-7,"r":1.5,"s":"a\"b",
        "a":[1,[]],"o":{"k":{}}})");
    ASSERT_TRUE(got) << got.error().message();
    ASSERT_TRUE(got->is(Kind::object));
    EXPECT_EQ(got->members.size(), 9U);
    EXPECT_TRUE(got->find("n")->is(Kind::null));
    EXPECT_TRUE(got->find("t")->boolean);
    EXPECT_TRUE(got->find("f")->is(Kind::boolean));
    EXPECT_FALSE(got->find("f")->boolean);
    EXPECT_EQ(got->find("u")->unsigned_number, 7U);
    EXPECT_EQ(got->find("i")->negative_number, -7);
    EXPECT_EQ(got->find("r")->real_number, 1.5);
    EXPECT_EQ(got->find("s")->string, "a\"b");
    ASSERT_EQ(got->find("a")->items.size(), 2U);
    EXPECT_TRUE(got->find("a")->items[1].is(Kind::array));
    EXPECT_TRUE(got->find("o")->find("k")->is(Kind::object));
    EXPECT_EQ(got->find("absent"), nullptr);
    EXPECT_EQ(got->find("s")->find("k"), nullptr);
}

TEST(JsonReader, KeepsMembersInOrder) {
    const auto got = parse("f", R"({"z":1,"a":2,"m":3})");
    ASSERT_TRUE(got);
    EXPECT_EQ(got->members[0].key, "z");
    EXPECT_EQ(got->members[1].key, "a");
    EXPECT_EQ(got->members[2].key, "m");
}

TEST(JsonReader, KnowsWhereEachValueStood) {
    const auto got = parse("f",
                           "{\n"
                           "  \"a\\\"\\\\\": 12,\n"
                           "  \"b\" :\t[ true,\r\n"
                           "null ,\"x\\u0041\", -1e3,{}],\n"
                           "\"c\":{\"d\":\n"
                           "   7}}\n");
    ASSERT_TRUE(got) << got.error().message();
    const auto at = [](const Value& v) { return std::pair{v.position.line, v.position.column}; };
    using At = std::pair<std::uint32_t, std::uint32_t>;
    EXPECT_EQ(at(*got), At(1, 1));
    EXPECT_EQ(at(got->members[0].value), At(2, 12));
    const Value& b = *got->find("b");
    EXPECT_EQ(at(b), At(3, 9));
    EXPECT_EQ(at(b.items[0]), At(3, 11));
    EXPECT_EQ(at(b.items[1]), At(4, 1));
    EXPECT_EQ(at(b.items[2]), At(4, 7));
    EXPECT_EQ(at(b.items[3]), At(4, 18));
    EXPECT_EQ(at(b.items[4]), At(4, 23));
    EXPECT_EQ(at(*got->find("c")), At(5, 5));
    EXPECT_EQ(at(*got->find("c")->find("d")), At(6, 4));
}

TEST(JsonReader, SkipsAByteOrderMark) {
    const auto got = parse("f", "\xEF\xBB\xBF[5]");
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->items[0].unsigned_number, 5U);
    EXPECT_EQ(got->items[0].position.column, 5U);
}

TEST(JsonReader, NumbersAreExactOrRefused) {
    const auto got =
        parse("f", "[18446744073709551615,9947034521128865123,-9223372036854775808,-0,0]");
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->items[0].unsigned_number, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(got->items[1].unsigned_number, 9947034521128865123U);
    EXPECT_EQ(got->items[2].negative_number, std::numeric_limits<std::int64_t>::min());
    EXPECT_TRUE(got->items[3].is(Kind::unsigned_number));
    EXPECT_EQ(got->items[3].unsigned_number, 0U);

    expect_refused_at("[1,\n 18446744073709551616]", "f.json:2:2: the number 18446744073709551616");
    expect_refused_at("[-9223372036854775809]", "f.json:1:2: ");
    expect_refused_at("[1e999]", "f.json:1:");
    expect_refused_at("[NaN]", "f.json:1:2: ");
    expect_refused_at("[Infinity]", "f.json:1:2: ");
    expect_refused_at("[-Infinity]", "f.json:1:3: ");
    expect_refused_at("[01]", "f.json:1:3: ");
    expect_refused_at("[+1]", "f.json:1:2: ");
}

TEST(JsonReader, SyntaxErrorsSayLineAndColumn) {
    expect_refused_at("", "f.json:1:1: ");
    expect_refused_at("  \n", "f.json:2:1: ");
    expect_refused_at("[\n  {\"a\":1}\n  {\"a\":2}\n]", "f.json:3:3: syntax error");
    expect_refused_at("{\"a\": \"open\n}", "f.json:1:12: syntax error");
    expect_refused_at("[1,]", "f.json:1:4: ");
    expect_refused_at("{\"a\":1,}", "f.json:1:8: ");
    expect_refused_at("[1] [2]", "f.json:1:5: ");
    expect_refused_at("[1", "f.json:1:3: ");
    expect_refused_at("{'a':1}", "f.json:1:2: ");
    expect_refused_at("[1] // note", "f.json:1:5: ");
}

TEST(JsonReader, RefusesDuplicateKeysAtTheSecond) {
    expect_refused_at("{\"a\":1,\n \"a\":2}", "f.json:2:2: the key \"a\" stands twice");
    // The same key after unescaping is the same key.
    expect_refused_at("{\"a\":1,\"\\u0061\":2}", "f.json:1:8: the key");
    EXPECT_TRUE(parse("f", "[{\"a\":1},{\"a\":{\"a\":2}}]"));
}

TEST(JsonReader, RefusesBytesThatAreNoText) {
    expect_refused_at("[\"\xff\"]", "f.json:1:3: ");
    expect_refused_at("[\"\xc3(\"]", "f.json:1:4: ");
    expect_refused_at("[\"\\ud800\"]", "f.json:1:");
    expect_refused_at(std::string_view("[1]\n\0garbage", 12), "f.json:2:1: a NUL byte");
    expect_refused_at(std::string_view("[\"\0\"]", 5), "f.json:1:3: a NUL byte");
}

TEST(JsonReader, MessagesCarryNoForeignControlCharacters) {
    const Error error = refused("[\"\x1b[31m\xc3\xa9" + std::string(10000, 'x') + "\n\"]");
    for (const char c : error.message()) {
        EXPECT_TRUE(c >= ' ' && c <= '~');
    }
    EXPECT_LT(error.message().size(), 300U);
}

TEST(JsonReader, LimitsAreExact) {
    const Limits limits{.max_bytes = 20, .max_depth = 3, .max_values = 5};
    EXPECT_TRUE(parse("f", "[[[]]]", limits));
    EXPECT_EQ(refused("[[[[]]]]", limits).code(), Errc::too_large);
    EXPECT_EQ(refused("[[[{}]]]", limits).message(), "f.json:1:4: nested deeper than 3 levels");
    EXPECT_TRUE(parse("f", "[1,2,3,4]", limits));
    EXPECT_EQ(refused("[1,2,3,4,5]", limits).message(), "f.json:1:10: more than 5 values");
    EXPECT_TRUE(parse("f", "[                  ]", limits));
    EXPECT_EQ(refused("[                   ]", limits).code(), Errc::too_large);
}

TEST(JsonReader, ReadsAnObjectOfManyKeysInLinearTime) {
    std::string text = "{";
    for (int i = 0; i < 100000; ++i) {
        text += "\"k" + std::to_string(i) + "\":1,";
    }
    text += "\"last\":2}";
    const auto got = parse("f", text);
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_EQ(got->members.size(), 100001U);
}

TEST(JsonReader, ErrorAtNamesThePlaceOfAValue) {
    const auto got = parse("f", "[\n  -1]");
    ASSERT_TRUE(got);
    const Error error = error_at(Errc::malformed, "f", got->items[0], "must not be negative");
    EXPECT_EQ(error.message(), "f:2:3: must not be negative");
}

TEST(JsonReader, EveryTruncationOfADocumentIsRefused) {
    const std::string text = R"({"a":[1,-2,3.5e1,"x\u00e9\n",true,false,null],"b":{"c":{}}})";
    ASSERT_TRUE(parse("f", text));
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_EQ(refused(text.substr(0, length)).code(), Errc::malformed) << length;
    }
}

TEST(JsonReader, KindsHaveWords) {
    EXPECT_EQ(to_word(Kind::negative_number), "a negative number");
    EXPECT_EQ(to_word(Kind::object), "an object");
}

}  // namespace
}  // namespace cxlpool::json

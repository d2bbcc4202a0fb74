#include "base/text.hpp"

#include <gtest/gtest.h>

namespace cxlpool {
namespace {

TEST(Text, Names) {
    for (const std::string& name :
         {std::string("a"), std::string("Team.b_2-c"), "z" + std::string(63, '9')}) {
        EXPECT_TRUE(is_name(name)) << name;
    }
    for (const std::string& none : {std::string(), std::string("1a"), std::string("-a"),
                                    std::string("a b"), std::string("a/b"), std::string("\u00e9"),
                                    std::string("a\0", 2), "z" + std::string(64, '9')}) {
        EXPECT_FALSE(is_name(none)) << none;
    }
}

TEST(Text, WhatATerminalOnlyShowsPasses) {
    for (const char* text : {"", "pool-0", "a b~", "\u00a0", "\u00e9t\u00e9", "\u6c60", "\u200d",
                             "\u2029", "\u202f", "\u2065", "\u206a", "\U0001f9ea"}) {
        EXPECT_TRUE(shows_safely(text)) << text;
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Text, WhatATerminalActsOnDoesNot) {
    for (const char* unsafe :
         {"\x01", "\t", "\n", "\x1b", "\x1f", "\x7f", "\u0080", "\u009b", "\u009d", "\u009f",
          "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"}) {
        EXPECT_FALSE(shows_safely(unsafe));
        EXPECT_FALSE(shows_safely(std::string("good") + unsafe));
        EXPECT_EQ(printable(std::string("a") + unsafe + "[2Jb"), "a?[2Jb");
    }
    EXPECT_FALSE(shows_safely(std::string_view("\0", 1)));
}

// Cut off in the middle of a character: what is there is shown, and nothing behind it is read.
TEST(Text, BrokenUtf8IsLeftAsItIs) {
    for (const char* text : {"\xc2", "\xe2", "\xe2\x80", "\xff"}) {
        EXPECT_EQ(printable(text), text);
    }
}

}  // namespace
}  // namespace cxlpool

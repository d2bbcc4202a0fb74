// The options of one verb.
//
// Responsible for: reading them with Boost.Program_options, the help text of the verb, and refusing
// what is unknown, doubled or left over. Refuses to know: what a value means; every value is text
// until the verb reads it (the library would turn "-1" into a huge number). Invariant: no exception
// of the library leaves it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

// What the verbs need not see of the library.
namespace boost::program_options {
template <class charT>
class basic_option;
typedef basic_option<char> option;
class invalid_command_line_syntax;
}  // namespace boost::program_options

namespace cxlpool::ctl {

class OptionValues {
  public:
    bool has(const std::string& name) const { return values_.count(name) != 0; }
    // Of an option given at most once.
    std::optional<std::string> value(const std::string& name) const;
    std::vector<std::string> values(const std::string& name) const;

    // A whole number, or nothing when the option is absent. Error: invalid_argument, naming it.
    Result<std::optional<std::uint64_t>> number(const std::string& name) const;
    // A number of bytes with an optional unit. Error: invalid_argument, naming it.
    Result<std::optional<std::uint64_t>> bytes(const std::string& name) const;

    // The words that are no options, in order.
    const std::vector<std::string>& operands() const noexcept { return operands_; }

  private:
    friend class OptionSet;
    std::map<std::string, std::vector<std::string>> values_;
    std::vector<std::string> operands_;
};

class OptionSet {
  public:
    // `synopsis` is what follows "usage: cxlpoolctl "; `about` a few lines below it.
    OptionSet(std::string synopsis, std::string about);

    OptionSet& flag(std::string name, std::string help);
    OptionSet& value(std::string name, std::string placeholder, std::string help);
    // May be given several times. With `many_words`, one option takes several words.
    OptionSet& values(std::string name, std::string placeholder, std::string help,
                      bool many_words = false);
    // Words that are no options, such as file names; without this they are refused.
    OptionSet& operands();

    bool asks_for_help(std::span<const std::string> arguments) const;
    std::string help() const;

    // Errors: invalid_argument (what was wrong, with a suggestion).
    Result<OptionValues> parse(std::span<const std::string> arguments) const;

  private:
    enum class Kind : std::uint8_t { flag, value, values, words };
    struct Option {
        std::string name;
        std::string placeholder;
        std::string help;
        Kind kind;
    };

    const Option* find(std::string_view name) const;
    // Puts one option into `out`, or says why not.
    Result<void> take(const boost::program_options::option& given, OptionValues& out) const;
    Error explain(const boost::program_options::invalid_command_line_syntax& problem) const;

    std::string synopsis_;
    std::string about_;
    std::vector<Option> options_;
    bool takes_operands_ = false;
};

// One line for each option of `options` that is not in `given`: "--tenants, --tokens"; empty when
// nothing is missing.
std::string missing(const OptionValues& given, std::span<const std::string_view> options);

}  // namespace cxlpool::ctl

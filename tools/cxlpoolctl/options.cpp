#include "cxlpoolctl/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "base/units.hpp"
#include "cxlpoolctl/suggest.hpp"

namespace cxlpool::ctl {

namespace po = boost::program_options;

namespace {

// Long options only, spelt out: a guessed abbreviation would change its meaning with a new option.
constexpr int kStyle = po::command_line_style::allow_long |
                       po::command_line_style::long_allow_next |
                       po::command_line_style::long_allow_adjacent;

Result<std::optional<std::uint64_t>> read_number(const OptionValues& values,
                                                 const std::string& name,
                                                 Result<std::uint64_t> (*parse)(std::string_view)) {
    const std::optional<std::string> text = values.value(name);
    if (!text) {
        return std::optional<std::uint64_t>();
    }
    const Result<std::uint64_t> number = parse(*text);
    if (!number) {
        return Error{Errc::invalid_argument, "--" + name + ": " + number.error().message()};
    }
    return std::optional<std::uint64_t>(*number);
}

}  // namespace

std::optional<std::string> OptionValues::value(const std::string& name) const {
    const auto at = values_.find(name);
    if (at == values_.end() || at->second.empty()) {
        return std::nullopt;
    }
    return at->second.front();
}

std::vector<std::string> OptionValues::values(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? std::vector<std::string>() : at->second;
}

Result<std::optional<std::uint64_t>> OptionValues::number(const std::string& name) const {
    return read_number(*this, name, parse_u64);
}

Result<std::optional<std::uint64_t>> OptionValues::bytes(const std::string& name) const {
    return read_number(*this, name, parse_bytes);
}

OptionSet::OptionSet(std::string synopsis, std::string about)
    : synopsis_(std::move(synopsis)), about_(std::move(about)) {}

OptionSet& OptionSet::flag(std::string name, std::string help) {
    options_.push_back({std::move(name), {}, std::move(help), Kind::flag});
    return *this;
}

OptionSet& OptionSet::value(std::string name, std::string placeholder, std::string help) {
    options_.push_back({std::move(name), std::move(placeholder), std::move(help), Kind::value});
    return *this;
}

OptionSet& OptionSet::values(std::string name, std::string placeholder, std::string help,
                             bool many_words) {
    options_.push_back({std::move(name), std::move(placeholder), std::move(help),
                        many_words ? Kind::words : Kind::values});
    return *this;
}

OptionSet& OptionSet::operands() {
    takes_operands_ = true;
    return *this;
}

const OptionSet::Option* OptionSet::find(std::string_view name) const {
    for (const Option& option : options_) {
        if (option.name == name) {
            return &option;
        }
    }
    return nullptr;
}

bool OptionSet::asks_for_help(std::span<const std::string> arguments) const {
    for (const std::string& argument : arguments) {
        if (argument == "--help" || argument == "-h") {
            return true;
        }
    }
    return false;
}

std::string OptionSet::help() const {
    std::ostringstream text;
    text << "usage: cxlpoolctl " << synopsis_ << "\n\n" << about_ << "\n\n";
    std::size_t width = std::string_view("--help").size();
    const auto left = [](const Option& option) {
        return "--" + option.name + (option.placeholder.empty() ? "" : " " + option.placeholder);
    };
    for (const Option& option : options_) {
        width = std::max(width, left(option).size());
    }
    const auto line = [&](const std::string& name, std::string_view help) {
        text << "  " << name << std::string(width - name.size() + 2, ' ');
        for (const char c : help) {
            text << c;
            if (c == '\n') {
                text << std::string(width + 4, ' ');
            }
        }
        text << '\n';
    };
    for (const Option& option : options_) {
        line(left(option), option.help);
    }
    line("--help", "this text");
    return text.str();
}

Result<void> OptionSet::take(const po::option& given, OptionValues& out) const {
    const std::string word =
        given.original_tokens.empty() ? given.string_key : given.original_tokens.front();
    const bool dashed = word.size() > 1 && word.front() == '-';
    if (!dashed && takes_operands_) {
        out.operands_.push_back(word);
        return {};
    }
    if (!dashed) {
        return Error{Errc::invalid_argument, "unexpected argument '" + word + "'"};
    }
    const Option* option = given.unregistered ? nullptr : find(given.string_key);
    if (option == nullptr) {
        std::vector<std::string> spelt{"--help"};
        for (const Option& known : options_) {
            spelt.push_back("--" + known.name);
        }
        const std::vector<std::string_view> known(spelt.begin(), spelt.end());
        const std::string name = word.substr(0, word.find('='));
        return Error{Errc::invalid_argument,
                     "unknown option '" + name + "'" + did_you_mean(name, known)};
    }
    const bool repeats = option->kind == Kind::values || option->kind == Kind::words;
    if (out.has(option->name) && !repeats) {
        return Error{Errc::invalid_argument, "option '--" + option->name + "' is given twice"};
    }
    std::vector<std::string>& values = out.values_[option->name];
    values.insert(values.end(), given.value.begin(), given.value.end());
    return {};
}

Error OptionSet::explain(const po::invalid_command_line_syntax& problem) const {
    const std::string name = problem.get_option_name();
    switch (problem.kind()) {
        case po::invalid_syntax::missing_parameter:
        case po::invalid_syntax::empty_adjacent_parameter: {
            const std::size_t letters = name.find_first_not_of('-');
            const Option* option = letters == std::string::npos
                                       ? nullptr
                                       : find(std::string_view(name).substr(letters));
            return Error{Errc::invalid_argument,
                         "option '" + name + "' needs " +
                             (option == nullptr ? std::string("a value") : option->placeholder)};
        }
        case po::invalid_syntax::extra_parameter:
            return Error{Errc::invalid_argument, "option '" + name + "' takes no value"};
        default:
            return Error{Errc::invalid_argument, problem.what()};
    }
}

Result<OptionValues> OptionSet::parse(std::span<const std::string> arguments) const {
    OptionValues out;
    try {
        po::options_description description;
        for (const Option& option : options_) {
            if (option.kind == Kind::flag) {
                description.add_options()(option.name.c_str(), "");
                continue;
            }
            auto* value = po::value<std::vector<std::string>>();
            if (option.kind == Kind::words) {
                value->multitoken();
            }
            description.add_options()(option.name.c_str(), value);
        }
        const po::parsed_options parsed =
            po::command_line_parser(std::vector<std::string>(arguments.begin(), arguments.end()))
                .options(description)
                .style(kStyle)
                .allow_unregistered()
                .run();
        for (const po::option& given : parsed.options) {
            CXLPOOL_TRY(take(given, out));
        }
    } catch (const po::invalid_command_line_syntax& problem) {
        return explain(problem);
    } catch (const po::error& problem) {
        return Error{Errc::invalid_argument, problem.what()};
    }
    return out;
}

std::string missing(const OptionValues& given, std::span<const std::string_view> options) {
    std::string out;
    for (const std::string_view name : options) {
        if (!given.has(std::string(name))) {
            out += (out.empty() ? "--" : ", --") + std::string(name);
        }
    }
    return out;
}

}  // namespace cxlpool::ctl

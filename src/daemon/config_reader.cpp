#include "daemon/config_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace cxlpool::config {
namespace {

// Letters that are missing, too many, wrong, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min(
                {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

}  // namespace

std::string quoted(std::string_view word) {
    std::string out("'");
    for (const char c : word.substr(0, 64)) {
        out.push_back(c >= ' ' && c <= '~' ? c : '?');
    }
    return out.append(word.size() > 64 ? "...'" : "'");
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& known) {
    std::string_view best;
    // A third of the letters wrong is a guess, not a misspelling.
    std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
    if (word.size() > 64) {
        return best;
    }
    for (const std::string_view candidate : known) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known) {
    const std::string_view near = nearest_word(word, known);
    if (!near.empty()) {
        return "; did you mean '" + std::string(near) + "'?";
    }
    std::string out("; known are ");
    for (std::size_t i = 0; i < known.size(); ++i) {
        out.append(i == 0 ? "" : ", ").append(known[i]);
    }
    return out;
}

Result<void> Reader::check_keys(const Node& table, std::string_view what,
                                const std::vector<Key>& keys) const {
    CXLPOOL_TRY(expect(table, Node::Kind::table, what));
    for (const Member& member : table.members) {
        const auto is_it = [&](const Key& key) { return key.name == member.key; };
        if (std::none_of(keys.begin(), keys.end(), is_it)) {
            std::vector<std::string_view> known;
            for (const Key& key : keys) {
                known.push_back(key.name);
            }
            return error(Errc::unknown_word, member.position,
                         "unknown key " + quoted(member.key) + " in " + std::string(what) +
                             suggestion(member.key, known));
        }
    }
    return {};
}

Result<void> Reader::read_table(const Node& table, std::string_view what,
                                const std::vector<Key>& keys) const {
    CXLPOOL_TRY(check_keys(table, what, keys));
    for (const Member& member : table.members) {
        for (const Key& key : keys) {
            if (key.name == member.key) {
                Result<void> read = key.read(member.value);
                if (!read) {
                    return read;
                }
            }
        }
    }
    return {};
}

Result<void> Reader::expect(const Node& value, Node::Kind kind, std::string_view remedy) const {
    if (value.kind != kind) {
        return invalid(value, std::string(describe(value.kind)) + " where " +
                                  std::string(describe(kind)) + " belongs; write " +
                                  std::string(remedy));
    }
    return {};
}

Result<std::string> Reader::text(const Node& value) const {
    CXLPOOL_TRY(expect(value, Node::Kind::string, "it in quotes"));
    if (value.string.empty()) {
        return invalid(value, "an empty string; write a value or remove the line");
    }
    if (value.string.find('\0') != std::string::npos) {
        return invalid(value, "a NUL byte in a string; remove it");
    }
    return value.string;
}

Result<std::string> Reader::absolute_path(const Node& value) const {
    Result<std::string> path = text(value);
    if (path && path->front() != '/') {
        return invalid(value, quoted(*path) + " is not an absolute path; begin it with /");
    }
    return path;
}

Result<std::string> Reader::name(const Node& value) const {
    CXLPOOL_TRY(expect(value, Node::Kind::string, "a name in quotes"));
    if (!is_name(value.string)) {
        return invalid(value, quoted(value.string) +
                                  " is not a name; use a letter, then letters, digits, '.', '_' "
                                  "or '-', at most 64");
    }
    return value.string;
}

Result<bool> Reader::flag(const Node& value) const {
    CXLPOOL_TRY(expect(value, Node::Kind::boolean, "true or false, without quotes"));
    return value.boolean;
}

Result<std::uint64_t> Reader::number(const Node& value, std::uint64_t min,
                                     std::uint64_t max) const {
    const std::string range = std::to_string(min) + " to " + std::to_string(max);
    CXLPOOL_TRY(expect(value, Node::Kind::integer, "a whole number from " + range));
    const auto number = static_cast<std::uint64_t>(value.integer);
    if (value.integer < 0 || number < min || number > max) {
        return invalid(value, std::to_string(value.integer) + " is out of range; write " + range);
    }
    return number;
}

Result<std::uint64_t> Reader::wide_number(const Node& value) const {
    std::uint64_t number = 0;
    if (value.kind == Node::Kind::string) {
        const Result<std::uint64_t> parsed = parse_u64(value.string);
        if (!parsed) {
            return at(value, parsed.error());
        }
        number = *parsed;
    } else {
        CXLPOOL_TRY(expect(value, Node::Kind::integer, "a whole number, or \"0x...\" in quotes"));
        if (value.integer < 0) {
            return invalid(value, std::to_string(value.integer) +
                                      " is negative; write large numbers in quotes: \"0x...\"");
        }
        number = static_cast<std::uint64_t>(value.integer);
    }
    if (number == 0) {
        return invalid(value, "0 is no identity; write the number that it has");
    }
    return number;
}

Result<std::uint64_t> Reader::bytes(const Node& value) const {
    constexpr std::string_view kRemedy = "a whole number of bytes or a size as in \"64MiB\"";
    std::uint64_t bytes = 0;
    if (value.kind == Node::Kind::string) {
        const Result<std::uint64_t> parsed = parse_bytes(value.string);
        if (!parsed) {
            return at(value, parsed.error());
        }
        bytes = *parsed;
    } else {
        CXLPOOL_TRY(expect(value, Node::Kind::integer, kRemedy));
        if (value.integer < 0) {
            return invalid(value, std::to_string(value.integer) + " is negative; write " +
                                      std::string(kRemedy));
        }
        bytes = static_cast<std::uint64_t>(value.integer);
    }
    if (bytes == 0) {
        return invalid(value, "0 bytes are none; write " + std::string(kRemedy));
    }
    return bytes;
}

Result<std::uint32_t> Reader::file_mode(const Node& value) const {
    constexpr std::string_view kRemedy = "octal digits in quotes, as in \"0660\"";
    CXLPOOL_TRY(expect(value, Node::Kind::string, kRemedy));
    std::string_view digits = value.string;
    if (digits.size() == 4 && digits.front() == '0') {
        digits.remove_prefix(1);
    }
    std::uint32_t mode = 0;
    bool octal = digits.size() == 3;
    for (const char c : digits) {
        octal = octal && c >= '0' && c <= '7';
        mode = octal ? mode * 8 + static_cast<std::uint32_t>(c - '0') : 0;
    }
    if (!octal) {
        return invalid(value,
                       quoted(value.string) + " is not a file mode; write " + std::string(kRemedy));
    }
    return mode;
}

}  // namespace cxlpool::config

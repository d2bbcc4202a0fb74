#include "cxlpoolctl/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>

#include "base/check.hpp"

namespace cxlpool::ctl {
namespace {

// Bytes that begin a character, so that a column of UTF-8 text lines up.
std::size_t shown_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

struct TimeUnit {
    std::uint64_t ns;
    const char* name;
};

// The largest that the time has at least one of.
const TimeUnit& unit_of(std::uint64_t ns) {
    static constexpr std::array kUnits{TimeUnit{1'000'000'000, "s"}, TimeUnit{1'000'000, "ms"},
                                       TimeUnit{1'000, "us"}, TimeUnit{1, "ns"}};
    for (const TimeUnit& unit : kUnits) {
        if (ns >= unit.ns) {
            return unit;
        }
    }
    return kUnits.back();
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
    CXLPOOL_CHECK(cells.size() == columns_.size());
    for (std::string& cell : cells) {
        cell = printable(cell);
    }
    rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        std::size_t width = columns_[i].title.size();
        for (const std::vector<std::string>& row : rows_) {
            width = std::max(width, shown_width(row[i]));
        }
        widths.push_back(width);
    }
    const auto line = [&](const auto& cell_of) {
        std::string text(" ");
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string& cell = cell_of(i);
            const std::string pad(widths[i] - shown_width(cell), ' ');
            text += columns_[i].align == Align::right ? " " + pad + cell : " " + cell + pad;
            text += i + 1 < columns_.size() ? " " : "";
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out << text << '\n';
    };
    line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
    for (const std::vector<std::string>& row : rows_) {
        line([&](std::size_t i) -> const std::string& { return row[i]; });
    }
}

std::string format_ns(std::uint64_t ns) {
    const TimeUnit& unit = unit_of(ns);
    if (ns % unit.ns == 0) {
        return std::to_string(ns / unit.ns) + ' ' + unit.name;
    }
    char text[48];
    std::snprintf(text, sizeof text, "%.2f %s",
                  static_cast<double>(ns) / static_cast<double>(unit.ns), unit.name);
    return text;
}

std::string format_ns_exactly(std::uint64_t ns) {
    const TimeUnit& unit = unit_of(ns);
    std::string text = std::to_string(ns / unit.ns);
    if (const std::uint64_t rest = ns % unit.ns; rest != 0) {
        const std::string decimals = std::to_string(unit.ns + rest).substr(1);  // with its zeros
        text += '.' + decimals.substr(0, decimals.find_last_not_of('0') + 1);
    }
    return text + ' ' + unit.name;
}

}  // namespace cxlpool::ctl

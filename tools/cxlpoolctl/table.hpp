// Text in columns, for people.
//
// Invariant: whatever a file or a peer put into a name, only printable characters reach the
// terminal.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace cxlpool::ctl {

class Table {
  public:
    enum class Align : std::uint8_t { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // As many cells as there are columns.
    void add(std::vector<std::string> cells);
    bool empty() const noexcept { return rows_.empty(); }
    void print(std::ostream& out) const;

  private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

// "8 s", "5.69 ms", "300 ns": at most two decimals; exact values without.
std::string format_ns(std::uint64_t ns);
// The same with as many decimals as there are: "5.692405 ms".
std::string format_ns_exactly(std::uint64_t ns);

}  // namespace cxlpool::ctl

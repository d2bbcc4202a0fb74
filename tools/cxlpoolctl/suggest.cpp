#include "cxlpoolctl/suggest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cxlpool::ctl {
namespace {

// A word longer than this is no misspelling, and the distance costs its square.
constexpr std::size_t kMaxWordBytes = 64;

// Levenshtein, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view given, std::span<const std::string_view> known) {
    if (given.size() > kMaxWordBytes) {
        return {};
    }
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(given.size() / 3, 1) + 1;
    for (const std::string_view word : known) {
        const std::size_t d = distance(given, word);
        if (d < best_distance) {
            best = word;
            best_distance = d;
        }
    }
    return best.empty() ? std::string() : "; did you mean '" + std::string(best) + "'?";
}

}  // namespace cxlpool::ctl

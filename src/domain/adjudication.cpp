#include "domain/adjudication.hpp"

#include <array>

#include "domain/words.hpp"

namespace cxlpool {
namespace {

constexpr std::array kJudgements{
    words::Word<Judgement>{Judgement::trust, "trust"},
    words::Word<Judgement>{Judgement::taint, "taint"},
    words::Word<Judgement>{Judgement::poison, "poison"},
};

}  // namespace

std::string_view to_word(Judgement judgement) noexcept {
    return words::text_of(kJudgements, judgement);
}
std::optional<Judgement> parse_judgement(std::string_view word) noexcept {
    return words::find(kJudgements, word);
}

}  // namespace cxlpool

// What somebody who may judge has said of a cell's bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"

namespace cxlpool {

enum class Judgement : std::uint8_t { trust = 1, taint = 2, poison = 3 };
std::string_view to_word(Judgement judgement) noexcept;
std::optional<Judgement> parse_judgement(std::string_view word) noexcept;

struct Adjudication {
    Judgement judgement = Judgement::taint;
    uid_t uid = 0;
    Timestamp at;  // wall clock
    std::uint64_t epoch = 0;
    bool operator==(const Adjudication&) const = default;
};

}  // namespace cxlpool

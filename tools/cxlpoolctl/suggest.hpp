// "Did you mean": the known word that is nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cxlpool::ctl {

// "; did you mean 'topology'?" or nothing when no known word is near.
std::string did_you_mean(std::string_view given, std::span<const std::string_view> known);

}  // namespace cxlpool::ctl

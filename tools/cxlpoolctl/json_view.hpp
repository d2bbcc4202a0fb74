// Short words for reading a document: what is missing reads as "-" or as empty, never as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace cxlpool::ctl {

// Null when `value` is no object or has no such member.
const json::Value* member(const json::Value& value, std::string_view key);

// "-" for nothing and null; yes/no for truth values; items of an array joined by ", ".
std::string text_of(const json::Value* value);
std::string text_of(const json::Value& value, std::string_view key);

// Numbers as people read them; "-" when unknown.
std::string bytes_text(const json::Value& value, std::string_view key);
std::string ns_text(const json::Value& value, std::string_view key);

std::optional<std::uint64_t> number_of(const json::Value& value, std::string_view key);

// The items of an array member; empty when there is none.
const std::vector<json::Value>& items_of(const json::Value& value, std::string_view key);

}  // namespace cxlpool::ctl

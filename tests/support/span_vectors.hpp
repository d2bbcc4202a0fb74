// Reads the test vectors of docs/span-digest.md out of the page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/context.hpp"
#include "domain/span.hpp"

namespace cxlpool::test {

struct SpanVector {
    std::string name;
    std::string kind;  // span, chain, context, refused
    std::optional<SpanDigest> parent;
    std::vector<std::uint32_t> tokens;
    std::vector<SpanItem> items;
    std::uint32_t page_tokens = 0;     // of a chain
    ContextFields axes;                // of a context
    std::string message;               // in hexadecimal; empty: the page does not say
    std::vector<std::string> digests;  // in hexadecimal; one, unless it is a chain
};

// All vectors, at least one of each kind; what cannot be read fails the running test.
std::vector<SpanVector> read_span_vectors(const std::string& path);

}  // namespace cxlpool::test

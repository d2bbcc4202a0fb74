// The recorded files in tests/golden.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "topology/captured/captured.hpp"

namespace cxlpool::test {

// A file below tests/golden.
inline std::string golden_file(const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(CXLPOOL_GOLDEN_DIR) / name;
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file.good()) << path;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// A captured listing.
inline std::string golden(const std::string& name) {
    return golden_file("captured/" + name);
}

inline Result<Topology> read_texts(const std::vector<std::string>& texts) {
    std::vector<CapturedText> captured;
    for (const std::string& text : texts) {
        captured.push_back(CapturedText{"f", text});
    }
    return read_captured(captured);
}

// The topology of golden files that must be readable.
inline Topology read_golden(std::initializer_list<std::string> names) {
    std::vector<std::string> texts;
    for (const std::string& name : names) {
        texts.push_back(golden(name));
    }
    auto topology = read_texts(texts);
    if (!topology) {
        ADD_FAILURE() << *names.begin() << ": " << topology.error().message();
        return {};
    }
    return *std::move(topology);
}

// The topology of a text that must be readable.
inline Topology read_text(const std::string& text) {
    auto topology = read_texts({text});
    if (!topology) {
        ADD_FAILURE() << topology.error().message();
        return {};
    }
    return *std::move(topology);
}

inline std::vector<const Finding*> with_code(const std::vector<Finding>& findings,
                                             const std::string& code) {
    std::vector<const Finding*> found;
    for (const Finding& finding : findings) {
        if (finding.code == code) {
            found.push_back(&finding);
        }
    }
    return found;
}

inline std::vector<std::string> names_of(const auto& devices) {
    std::vector<std::string> names;
    for (const auto& device : devices) {
        names.push_back(device.name);
    }
    return names;
}

}  // namespace cxlpool::test

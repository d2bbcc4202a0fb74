// Collects what a scan noticed, without letting a broken machine flood the reader.
//
// Responsible for: dropping duplicates, bounding the count, and folding read errors into one
// finding each (the first path and errno, and how many followed). Refuses to know: what the
// attributes mean.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace cxlpool::live {

inline constexpr std::size_t kMaxFindings = 256;

class FindingLog {
  public:
    // Kept unless an equal finding is there already or the log is full.
    void add(Finding finding);

    // An attribute that this user may not read. Physical addresses are the usual case.
    void denied(const std::string& path);

    // An attribute that exists and could not be read, for another reason than rights.
    void failed(const std::string& path, int os_errno);

    // Everything noticed so far, summaries last; leaves the log empty.
    std::vector<Finding> take();

  private:
    std::vector<Finding> findings_;
    std::size_t dropped_ = 0;
    std::string first_denied_;
    std::size_t denied_ = 0;
    std::string first_failed_;
    int first_errno_ = 0;
    std::size_t failed_ = 0;
};

}  // namespace cxlpool::live

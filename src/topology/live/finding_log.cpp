#include "topology/live/finding_log.hpp"

#include <algorithm>
#include <utility>

#include "base/result.hpp"

namespace cxlpool::live {
namespace {

std::string and_others(std::size_t count) {
    return count > 1 ? ", and " + std::to_string(count - 1) + " more" : std::string();
}

}  // namespace

void FindingLog::add(Finding finding) {
    if (std::find(findings_.begin(), findings_.end(), finding) != findings_.end()) {
        return;
    }
    if (findings_.size() >= kMaxFindings) {
        ++dropped_;
        return;
    }
    findings_.push_back(std::move(finding));
}

void FindingLog::denied(const std::string& path) {
    if (denied_++ == 0) {
        first_denied_ = path;
    }
}

void FindingLog::failed(const std::string& path, int os_errno) {
    if (failed_++ == 0) {
        first_failed_ = path;
        first_errno_ = os_errno;
    }
}

std::vector<Finding> FindingLog::take() {
    if (denied_ > 0) {
        findings_.push_back({Finding::Severity::info, "attributes_hidden", first_denied_,
                             "this user may not read " + first_denied_ + and_others(denied_) +
                                 "; the values count as unknown",
                             "run as root to see physical addresses"});
    }
    if (failed_ > 0) {
        const Error error = os_error("reading " + first_failed_, first_errno_);
        findings_.push_back({Finding::Severity::warning, "read_failed", first_failed_,
                             error.message() + and_others(failed_), "see the kernel log (dmesg)"});
    }
    if (dropped_ > 0) {
        findings_.push_back({Finding::Severity::warning, "findings_dropped", "topology",
                             std::to_string(dropped_) + " further findings were not kept",
                             "mend what the first ones say, then read again"});
    }
    dropped_ = denied_ = failed_ = 0;
    return std::exchange(findings_, {});
}

}  // namespace cxlpool::live

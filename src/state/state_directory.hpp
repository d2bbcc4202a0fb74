// The files of a state directory: who may use them, and how they come, go and are kept aside.
//
// Responsible for: making the directory, one user of it at a time, and damaged files that are moved
// out of the way. Refuses to know what is in them. Invariants: nothing is ever deleted or
// overwritten but what this module made itself and did not finish.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace cxlpool::state {

class StateDirectory {
  public:
    // Makes the directory (0700) when it is missing, and holds it until the end. Errors:
    // unavailable (another daemon has it), io.
    static Result<StateDirectory> hold(const std::string& path);

    // To look only: makes and holds nothing.
    static StateDirectory look(const std::string& path);

    const std::string& path() const noexcept { return path_; }
    std::string file() const { return path_ + "/state.db"; }
    // Where a new file is made before it is put in place.
    std::string unfinished_file() const { return path_ + "/state.db.new"; }

    // Is there a file, or what SQLite left beside one?
    Result<bool> has_file() const;
    Result<bool> has_leftovers() const;
    // Names of files that were kept aside earlier, oldest first. Error: io.
    Result<std::vector<std::string>> kept() const;

    // Renames the file and what belongs to it to "state.db.damaged-20260131T235959Z", with the
    // same endings; returns the new name of the file. Error: io.
    Result<std::string> keep_aside(Timestamp wall) const;

    // An empty unfinished file (0600), in the place of an older one. Error: io.
    Result<void> begin_file() const;
    // The unfinished file becomes the file, durably. Error: io (there is a file).
    Result<void> finish_file() const;
    // Of what an earlier version left; durable. Error: io.
    Result<void> remove(const std::string& name) const;

  private:
    StateDirectory(std::string path, UniqueFd fd);
    Result<bool> exists(const std::string& path) const;
    Result<void> sync() const;

    std::string path_;
    UniqueFd fd_;  // locked; none when it only looks
};

}  // namespace cxlpool::state

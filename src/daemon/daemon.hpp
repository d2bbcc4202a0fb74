// cxlpoold: command line and wiring.
#pragma once

#include <functional>
#include <string_view>

namespace cxlpool {

// See StateStore::set_journal_hook(). For tests that end the daemon in the middle of an erasure.
using JournalHook = std::function<void(std::string_view step, bool written)>;

// The exit status.
int run_daemon(int argc, char** argv, JournalHook journal_hook = {});

}  // namespace cxlpool

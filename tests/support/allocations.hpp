// Counts what the program takes from the heap, for what must not take anything.
//
// Replaces the operators new and delete of the whole program that links it.
#pragma once

#include <cstddef>

namespace cxlpool::test {

// Calls of operator new since the start of the program, of all threads.
std::size_t allocations() noexcept;

}  // namespace cxlpool::test

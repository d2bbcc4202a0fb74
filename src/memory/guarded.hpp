// Touching bytes that may be taken away under us.
//
// An engine that may write a segment may also punch a hole in it, a dax device can be destroyed
// under its mapping, and memory can fail: the next touch is then SIGBUS. These functions turn it
// into an error; a SIGBUS anywhere else keeps its ordinary, deadly meaning.
//
// Any thread, whatever its signal mask: SIGBUS is unblocked for the time of the call. The first
// call takes over the process's SIGBUS handler for good.
#pragma once

#include <cstddef>
#include <span>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace cxlpool {

// Overwrites every byte with zero. Errors: io, with the offset of the first byte that is gone; the
// bytes before it have been overwritten.
Result<void> guarded_zero(std::span<std::byte> bytes);

// Whether every byte is zero. Errors: io, malformed with the offset of the first that is not.
Result<void> guarded_check_zero(std::span<const std::byte> bytes);

// `to` and `from` have the same length and do not overlap. Errors: io, when either is gone; `to` is
// then undefined.
Result<void> guarded_copy(std::span<std::byte> to, std::span<const std::byte> from);

// digest_bytes() of memory/digest.hpp. Errors: io.
Result<ContentDigest> guarded_digest(std::span<const std::byte> bytes);

// Runs `work(argument)`; a SIGBUS of this thread on a byte of `one` or `other` ends it there.
// `work` must not own anything that a destructor or another call would have to give back: it is
// left by a jump. Not nested. Errors: io.
Result<void> run_guarded(std::span<const std::byte> one, std::span<const std::byte> other,
                         void (*work)(void*), void* argument);

}  // namespace cxlpool

// The message that is written when a handler has used up its stack.
//
// The guard below a stack turns an overflow into SIGSEGV. A signal handler on a stack of its own then writes a line to
// standard error, and leaves the rest to the handler that would have got the signal otherwise: one that the program had
// installed before, or the default action, with its core dump. All other faults go there too, without a line.
#pragma once

#include <cstddef>

#include <ergon/core/foundations/signal_text.h>

namespace ergon::core {

class Fiber;

// Reports overflows of the calling thread, until the thread ends. The first call in a program installs the signal
// handlers, for SIGSEGV and SIGBUS. Does nothing in a program with a sanitizer, whose report says more, nor for the
// stack of a thread that has an alternate stack already. `current_fiber` runs in a signal handler and returns the fiber
// on which the thread was; null: on its own stack. The first call decides for all. May be called from any thread.
void WatchStackOverflows(const Fiber* (*current_fiber)() noexcept);

// Writes what has used up its stack of `stack_bytes` bytes. Runs in a signal handler, on the thread whose turn it was.
using OverflowReport = void (*)(SignalText& text, std::size_t stack_bytes);
// Sets a report that replaces the line that knows of turns only. May be called from any thread.
void SetOverflowReport(OverflowReport report);

}  // namespace ergon::core

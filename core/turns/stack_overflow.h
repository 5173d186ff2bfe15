// What is said when a handler has used up its stack.
//
// The guard below a stack turns that into SIGSEGV. A signal handler on a stack of its own then writes a
// line to standard error, and leaves the rest to whoever would have got the signal otherwise: a handler
// that the program had installed before, or the default action, with its core dump. All other faults
// go there too, and nothing is said.
#pragma once

#include <cstddef>

#include <ergon/core/foundations/signal_text.h>

namespace ergon::core {

class Fiber;

// Makes the calling thread's overflows known, until it ends. The first call in a program installs the
// signal handlers, for SIGSEGV and SIGBUS. Does nothing in a program with a sanitizer, whose report
// says more, nor for the stack of a thread that has an alternate stack already. `current_fiber` runs in a
// signal handler and tells on which fiber the thread was; null: on its own stack. The first call decides
// for all. Any thread.
void WatchStackOverflows(const Fiber* (*current_fiber)() noexcept);

// Writes what has used up its stack of so many bytes. Runs in a signal handler, on the thread whose
// turn it was.
using OverflowReport = void (*)(SignalText& text, std::size_t stack_bytes);
// Instead of a line that knows of turns only. Any thread.
void SetOverflowReport(OverflowReport report);

}  // namespace ergon::core

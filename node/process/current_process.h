// Which process's turn runs on this thread.
#pragma once

#include <ergon/core/foundations/sanitizers.h>

namespace ergon::node {

class ProcessRunner;

// Returns the process, or null. Out of line on purpose: a fiber may go on on another thread, so the address of the
// thread's variable must not be kept.
[[nodiscard]] ProcessRunner* CurrentProcess() noexcept;
#if ERGON_ASAN || ERGON_TSAN
void SetCurrentProcess(ProcessRunner* process) noexcept;
#endif

namespace detail {
// At a fixed distance from the thread's own register, so that reading it is one instruction, and there
// is no address to be kept.
extern constinit thread_local ProcessRunner* current_process
    __attribute__((tls_model("initial-exec")));
}  // namespace detail

#if !ERGON_ASAN && !ERGON_TSAN
// Sets the process by one store, likewise. A sanitizer would make an address of the store, and keep that.
inline void SetCurrentProcess(ProcessRunner* process) noexcept {
  asm volatile("" ::: "memory");
  detail::current_process = process;
  asm volatile("" ::: "memory");
}
#endif

// Returns whether `process` runs on this thread, for checks at the beginning of a function: one load and a comparison.
// With a sanitizer a call: such a function may be compiled into one that has waited before.
[[nodiscard]] inline bool IsCurrentProcess(const ProcessRunner* process) noexcept {
#if ERGON_ASAN || ERGON_TSAN
  return CurrentProcess() == process;
#else
  return detail::current_process == process;
#endif
}

}  // namespace ergon::node

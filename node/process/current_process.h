// Which process's turn runs on this thread.
#pragma once

namespace ergon::node {

class Process;

// Out of line on purpose: a fiber may go on on another thread, so the address of the thread's
// variable must not be kept.
[[nodiscard]] Process* CurrentProcess() noexcept;
void SetCurrentProcess(Process* process) noexcept;

namespace detail {
// At a fixed distance from the thread's own register, so that reading it is one instruction, and there
// is no address to be kept.
extern constinit thread_local Process* current_process __attribute__((tls_model("initial-exec")));
}  // namespace detail

// For checks at the beginning of a function, where it may be compared with nothing but one load.
[[nodiscard]] inline bool IsCurrentProcess(const Process* process) noexcept {
  return detail::current_process == process;
}

}  // namespace ergon::node

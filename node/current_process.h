// Which process's turn runs on this thread.
#pragma once

namespace ergon::node {

class Process;

// Out of line on purpose: a fiber may go on on another thread, so the address of the thread's
// variable must not be kept.
[[nodiscard]] Process* CurrentProcess() noexcept;
void SetCurrentProcess(Process* process) noexcept;

}  // namespace ergon::node

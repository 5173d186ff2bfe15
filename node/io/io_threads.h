// Which threads are those of nodes' I/O: they fire timers, and complete operations and calls.
#pragma once

namespace ergon::node {

// Makes the calling thread one of them, until it ends: that of `io`.
void BecomeIoThread(const void* io) noexcept;

// Returns whether the calling thread is one of them. A function that waits there would wait for its own thread.
[[nodiscard]] bool IsIoThread() noexcept;
// Returns whether it is that of `io`.
[[nodiscard]] bool IsThreadOf(const void* io) noexcept;

}  // namespace ergon::node

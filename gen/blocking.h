// A stretch of a handler that blocks its thread.
#pragma once

#include <cstddef>

namespace ergon::gen {

// While one lives, the handler runs on a thread that is lent to it, and its worker goes on with other
// processes:
//
//   {
//     gen::Blocking blocking;
//     row = database.Query(...);  // waits for a socket
//   }
//
// Both its constructor and its destructor may continue the handler on another thread, as a Call does;
// no lock may be held across either (see gen::Mutex). Inside a stretch handlers may do what they may do elsewhere, and
// exceptions pass through it. What would end the process is noticed when the handler suspends itself
// or returns, as always; a node that stops waits for it in the same way.
//
// It does nothing inside another one, in detached processes, outside of turns, and on a dispatcher
// without threads (simulations), where everything has to happen in the one thread. When all
// NodeOptions::blocking_threads are lent, the handler stays where it is and delays others, which
// NodeInfo::blocking_refused counts.
//
// A local variable of a handler, or of a function below it; nothing else.
class [[nodiscard]] Blocking {
 public:
  Blocking() noexcept;
  ~Blocking();
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

 private:
  void* lent_;  // to whom a thread was lent; null: to nobody
};

// For the runtime: what the guard calls.
struct BlockingRuntime {
  // For the process whose handler runs on this thread; null: nothing was done.
  void* (*begin)() noexcept;
  // With what `begin` returned.
  void (*end)(void* lent) noexcept;
};
// The same one for all nodes of the program.
void SetBlockingRuntime(const BlockingRuntime& runtime) noexcept;

}  // namespace ergon::gen

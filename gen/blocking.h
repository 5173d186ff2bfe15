// A stretch of a handler that blocks its thread.
#pragma once

#include <cstddef>

namespace ergon::gen {

// While a Blocking lives, the handler runs on a thread that is lent to it, and its worker goes on with other processes:
//
//   {
//     gen::Blocking blocking;
//     row = database.Query(...);  // waits for a socket
//   }
//
// Both its constructor and its destructor may continue the handler on another thread, as a Call does; no lock may be
// held across either (see gen::Mutex). Inside a stretch handlers may do what they may do elsewhere, and exceptions pass
// through it. A request to end the process is noticed when the handler suspends itself or returns, as always; a node
// that stops waits for the stretch in the same way.
//
// It does nothing inside another stretch, in detached processes, outside of turns, and on a dispatcher without threads
// (simulations), where everything has to happen in the one thread. When all NodeOptions::blocking_threads are lent, the
// handler stays where it is and delays others, which NodeInfo::blocking_refused counts.
//
// Only as a local variable of a handler, or of a function that it calls.
class [[nodiscard]] Blocking {
 public:
  Blocking() noexcept;
  ~Blocking();
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

 private:
  void* lent_;  // the process that a thread was lent to; null: none
};

// For the runtime: the functions that the guard calls.
struct BlockingRuntime {
  // Begins a stretch for the process whose handler runs on this thread; null: nothing was done.
  void* (*begin)() noexcept;
  // Ends a stretch. `lent` is what `begin` returned.
  void (*end)(void* lent) noexcept;
};
// Sets the runtime, which is the same for all nodes of the program.
void SetBlockingRuntime(const BlockingRuntime& runtime) noexcept;

}  // namespace ergon::gen

// Where a debugger finds whose turn runs on which thread, and the stack of a parked turn.
#pragma once

#include <cstddef>

#include <ergon/core/turns/fiber.h>
#include <ergon/core/turns/worker.h>

namespace ergon::core {

// Offsets in bytes.
struct TurnLayout {
  static constexpr std::size_t kFiberContext = offsetof(Fiber, context_);
  static constexpr std::size_t kFiberStack = offsetof(Fiber, stack_);
  static constexpr std::size_t kFiberStackBytes = offsetof(Fiber, stack_bytes_);
// A class with virtual functions, but without virtual bases: the compilers know its offsets.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static constexpr std::size_t kWorkerRunning = offsetof(Worker, running_);
  static constexpr std::size_t kWorkerFiber = offsetof(Worker, current_);
#pragma GCC diagnostic pop
};

}  // namespace ergon::core

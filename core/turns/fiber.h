// A stack of its own for a turn, so that the turn can wait without blocking its thread.
#pragma once

#include <cstddef>
#include <memory>

namespace ergon::core {

class Schedulable;
class Worker;

class Fiber {
 public:
  // What a fiber runs; never returns.
  using Body = void (*)(Fiber& self);
  // Runs on `to` right after a switch, when the context of `from` has been saved.
  using AfterSwitch = void (*)(void* context, Fiber& from, Fiber& to);

  // The guard below each stack: code that leaves its stack by less than this meets the guard, and not another stack.
  static constexpr std::size_t kGuardBytes = 64 * 1024;

  // Makes a fiber with a new stack and a guard below it; nullptr if the system gives no more.
  static std::unique_ptr<Fiber> Create(std::size_t stack_bytes, Body body);

  // Stands for the code that is running now, on whatever stack: something to switch back to.
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // The fiber must be suspended. Objects on its stack are not destroyed.
  ~Fiber();

  // Leaves this fiber, which must be the running one, for `to`, which must be suspended. Returns when another fiber
  // switches back, perhaps on another thread.
  void SwitchTo(Fiber& to, AfterSwitch after, void* context);

  // Returns the worker that the fiber runs on, or ran on last.
  Worker* worker() const { return worker_; }

  // For a fiber with a stack of its own.
  std::size_t stack_bytes() const { return stack_bytes_; }
  bool IsInGuard(const void* address) const {
    return address >= mapping_ && address < stack_ && mapping_ != nullptr;
  }
  // Returns how much of its stack is left. The caller must run on this fiber.
  [[nodiscard]] std::size_t StackLeft() const {
    return static_cast<std::size_t>(static_cast<const char*>(__builtin_frame_address(0)) -
                                    static_cast<const char*>(stack_));
  }

 private:
  friend class FiberCache;
  friend class FiberPool;
  friend struct TurnLayout;
  friend class Worker;

  struct Handover;
  struct Entry;  // the function a new stack starts with

  // fiber_switch.h
  // Makes the context of a fiber that has not run yet.
  static void* NewContext(void* stack_top, std::size_t stack_bytes);
  void SwitchInPlace(Fiber& to, AfterSwitch after, void* context);
  void Arrive(const Handover& handover, void* from_context);

  void* context_ = nullptr;                   // saved registers while suspended
  void* exceptions_[2] = {nullptr, nullptr};  // the C++ runtime's exception state while suspended
  void* thread_exceptions_ = nullptr;         // where the thread it runs on keeps that state
  Worker* worker_ = nullptr;
  Schedulable* turn_of_ = nullptr;  // the one whose turn it runs, or ran when it was parked
  Body body_ = nullptr;
  void* mapping_ = nullptr;  // guard and stack; null for a thread's own
  std::size_t mapping_bytes_ = 0;
  const void* stack_ = nullptr;  // lowest usable address
  std::size_t stack_bytes_ = 0;
  void* tsan_fiber_ = nullptr;
  void* fake_stack_ = nullptr;
  unsigned valgrind_stack_ = 0;
  Fiber* next_cached_ = nullptr;  // owned by the cache that holds it
  Fiber* next_live_ = nullptr;    // owned by its pool
  Fiber* previous_live_ = nullptr;
};

}  // namespace ergon::core

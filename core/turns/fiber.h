// A stack of its own for a turn, so that the turn can wait without its thread.
//
// A switch keeps what belongs to the running code and not to the thread: registers (Boost.Context),
// the C++ runtime's list of caught exceptions, and the sanitizers' idea of the current stack.
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

  // Below each stack: whoever leaves it by less than this meets the guard, and not a foreign stack.
  static constexpr std::size_t kGuardBytes = 64 * 1024;

  // A fiber with a new stack and a guard below it; nullptr if the system gives no more.
  static std::unique_ptr<Fiber> Create(std::size_t stack_bytes, Body body);

  // Stands for the code that is running now, on whatever stack: something to switch back to.
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // Must be suspended. What lives on its stack is not destroyed.
  ~Fiber();

  // Leaves this fiber, which must be the running one, for `to`, which must be suspended. Returns
  // when somebody switches back, perhaps on another thread.
  void SwitchTo(Fiber& to, AfterSwitch after, void* context);

  // The worker it runs on, or ran on last.
  Worker* worker() const { return worker_; }

  // Of one with a stack of its own.
  std::size_t stack_bytes() const { return stack_bytes_; }
  bool IsInGuard(const void* address) const {
    return address >= mapping_ && address < stack_ && mapping_ != nullptr;
  }
  // How much of its stack is left for what the caller, who runs on it, calls.
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
  // What a fiber has saved that has not run yet.
  static void* NewContext(void* stack_top, std::size_t stack_bytes);
  void SwitchInPlace(Fiber& to, AfterSwitch after, void* context);
  void Arrive(const Handover& handover, void* from_context);

  void* context_ = nullptr;                   // saved registers while suspended
  void* exceptions_[2] = {nullptr, nullptr};  // the C++ runtime's exception state while suspended
  void* thread_exceptions_ = nullptr;         // where the thread it runs on keeps that state
  Worker* worker_ = nullptr;
  Schedulable* turn_of_ = nullptr;  // whose turn it runs, or ran when it was parked
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

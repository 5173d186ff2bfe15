// Puts what one thread makes ready, one by one, into a dispatcher's queue together.
#pragma once

#include <array>
#include <cstddef>

#include <ergon/core/schedulable.h>

namespace ergon::core {

// While one lives, what its thread schedules without being a worker waits here until Release, which the end of the hold
// calls, too. For a thread that has many messages to deliver at once: the first of them would wake a worker, which
// handles it, finds nothing more, and goes to sleep before the next one has come.
//
// On the stack of its thread. The thread must not wait for a turn meanwhile, but with Dispatcher::Wait and WaitFor,
// which release what waits. So does one that has no room for more, one that there is no room for here, and one of
// another dispatcher.
class InjectionHold {
 public:
  // A dispatcher: where it goes.
  class Target {
   public:
    virtual void InjectAtOnce(Schedulable* const* batch, std::size_t count) = 0;

   protected:
    ~Target() = default;
  };

  // Does nothing if the thread holds already.
  InjectionHold() noexcept;
  ~InjectionHold();
  InjectionHold(const InjectionHold&) = delete;
  InjectionHold& operator=(const InjectionHold&) = delete;

  // That of the calling thread; null: there is none.
  [[nodiscard]] static InjectionHold* Current() noexcept { return current; }
  // Release for that, if there is one.
  static void ReleaseCurrent();

  void Add(Target& dispatcher, Schedulable& schedulable);
  // What waits is ready.
  void Release();

 private:
  static constexpr std::size_t kMost = 64;

  static thread_local InjectionHold* current;

  Target* dispatcher_ = nullptr;  // of all that waits
  std::array<Schedulable*, kMost> waiting_{};
  std::size_t size_ = 0;
};

}  // namespace ergon::core

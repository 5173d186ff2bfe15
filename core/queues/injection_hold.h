// Collects what one thread makes ready, one by one, and puts it into a dispatcher's queue together.
#pragma once

#include <array>
#include <cstddef>

#include <ergon/core/schedulable.h>

namespace ergon::core {

// While a hold lives, the schedulables that its thread schedules (if it is not a worker) wait here until Release, which
// the end of the hold calls, too. For a thread that has many messages to deliver at once: the first message would
// otherwise wake a worker, which handles it, finds nothing more, and goes to sleep before the next message has come.
//
// On the stack of its thread. The thread must not wait for a turn meanwhile, except with Dispatcher::Wait and WaitFor,
// which release what waits. A schedulable that has no room for more, one for which there is no room here, and one of
// another dispatcher release it, too.
class InjectionHold {
 public:
  // A dispatcher: where the schedulables go.
  class Target {
   public:
    virtual void InjectAtOnce(Schedulable* const* batch, std::size_t count) = 0;

   protected:
    ~Target() = default;
  };

  // Does nothing if the thread has a hold already.
  InjectionHold() noexcept;
  ~InjectionHold();
  InjectionHold(const InjectionHold&) = delete;
  InjectionHold& operator=(const InjectionHold&) = delete;

  // Returns the hold of the calling thread; null: there is none.
  [[nodiscard]] static InjectionHold* Current() noexcept { return current; }
  // Releases the hold of the calling thread, if there is one.
  static void ReleaseCurrent();

  void Add(Target& dispatcher, Schedulable& schedulable);
  // Makes everything that waits here ready.
  void Release();

 private:
  static constexpr std::size_t kMost = 64;

  static thread_local InjectionHold* current;

  Target* dispatcher_ = nullptr;  // of all that waits
  std::array<Schedulable*, kMost> waiting_{};
  std::size_t size_ = 0;
};

}  // namespace ergon::core

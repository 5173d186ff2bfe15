// A lock for what handlers share with each other, which finds out when a process would be suspended
// with it.
#pragma once

#include <mutex>

namespace ergon::gen {

// A std::mutex, used in the same way: std::lock_guard<gen::Mutex>. Any thread, inside of handlers and
// outside.
//
// A handler that suspends its process while it holds a lock stops more than itself: whoever wants the
// lock blocks a worker's thread meanwhile, and when all are blocked so, nobody is left to go on with
// the one that holds it. With this lock such a Call, Inspect, Sleep, Yield, Spawn or node::Await throws
// std::logic_error before anything has happened; the text names the function, the process and the
// message being handled. In a handler that ends the process with the reason "panic: <text>", and gives
// the lock back on the way. A gen::Blocking that begins while the lock is held lends no thread; one
// that ends while it is held ends the program.
//
// A lock in a handler delays all that the worker would do meanwhile: hold it for a few instructions,
// or give the data to a process and send it messages instead.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  [[nodiscard]] bool try_lock();
  // Ends the program on a thread that holds no lock: it was locked on another one.
  void unlock();

 private:
  std::mutex mutex_;
};

namespace detail {
// How many of them this thread holds.
[[nodiscard]] int HeldMutexes() noexcept;
}  // namespace detail

}  // namespace ergon::gen

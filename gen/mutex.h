// A lock for data that handlers share, which detects that a process would be suspended while it holds the lock.
#pragma once

#include <mutex>

namespace ergon::gen {

// A std::mutex, used in the same way: std::lock_guard<gen::Mutex>. May be used on any thread, inside of handlers and
// outside.
//
// A handler that suspends its process while it holds a lock stops more than itself: every handler that wants the lock
// blocks a worker's thread meanwhile, and when all workers are blocked so, no thread is left to resume the process that
// holds the lock. With this lock such a Call, Inspect, Receive, Sleep, Yield, Spawn, SendOrWait, node::Await, or
// MonitorEvent or LinkEvent with another node, throws std::logic_error before anything has happened; the text names the
// function, the process and the message being handled. In a handler this exception ends the process with the reason
// "panic: <text>", and releases the lock on the way. A gen::Blocking that begins while the lock is held lends no
// thread; one that ends while it is held ends the program. A Send to another node is refused instead of waiting, and
// one with ProcessOptions::yield_on_send does not give way.
//
// A lock in a handler delays everything that the worker would do meanwhile: hold it for a few instructions, or give the
// data to a process and send it messages instead.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock();
  [[nodiscard]] bool try_lock();
  // Unlocks. Ends the program on a thread that holds no lock: the lock was taken on another thread.
  void unlock();

 private:
  std::mutex mutex_;
};

namespace detail {
// Returns how many of these locks this thread holds.
[[nodiscard]] int HeldMutexes() noexcept;
}  // namespace detail

}  // namespace ergon::gen

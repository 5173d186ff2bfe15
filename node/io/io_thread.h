// The node's one thread for timers and signals, on Asio, and who owns that of another library.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ergon/core/time/timer_queue.h>
#include <ergon/gen/result.h>
#include <ergon/node/io/other_io.h>

namespace asio {
class io_context;
}

namespace ergon::node {

// Sleeps until the earliest deadline and fires what is due. Makes no system call per timer: only an
// earlier deadline than the one it sleeps for wakes it.
class IoThread {
 public:
  // `timers` must outlive it. Throws std::system_error when there are no file descriptors, or no
  // thread.
  explicit IoThread(core::TimerQueue& timers);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Calls `on_signal` on the thread for each of these signals from now on, until Stop. Again for the
  // same ones: with another function. Any thread. kNodeTerminated: the thread has been stopped; kInternal:
  // signals cannot be caught, the text says why.
  gen::Result<void> StartSignals(std::vector<int> which, std::function<void(int signal)> on_signal);

  // Calls `on_set` on the thread each time that the machine's clock was set, or the machine was suspended, from now on,
  // until Stop. Once. Any thread. kNodeTerminated: the thread has been stopped; kInternal: the text says why not, and
  // so does `on_failure`, which is called on the thread when that is known later.
  gen::Result<void> WatchClock(std::function<void()> on_set,
                               std::function<void(const gen::Error&)> on_failure);

  // Returns whether the calling thread is this one. Any thread.
  [[nodiscard]] bool IsCurrent() const noexcept;

  // What the thread runs.
  [[nodiscard]] asio::io_context& context();

  // What `make` has made the first time, and its thread beside this one. Any thread; throws what `make`
  // throws. After Stop it has no thread any more.
  [[nodiscard]] OtherIo& Other(MakeOtherIo make);

  // Ends the thread, and that of the other I/O; what is armed does not fire any more. May be called again.
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::node

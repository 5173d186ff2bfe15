// One operation outside of the runtime (Asio's, say) that a process waits for; see await.h and boost_await.h,
// which are what users include.
//
// The operation writes to buffers on the stack of the handler that waits for it, so the handler must not go on before
// the operation has completed: when the process is being ended, or the time is up, the operation is cancelled, and then
// the handler waits for it whatever signals come.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/core/foundations/sync.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/gen/pid.h>
#include <ergon/node/io/other_io.h>

namespace asio {
class io_context;
}

namespace ergon::node {

class IoThread;
class ProcessRunner;

class AsyncOperation {
 public:
  AsyncOperation(const AsyncOperation&) = delete;
  AsyncOperation& operator=(const AsyncOperation&) = delete;
  virtual ~AsyncOperation() = default;

  // Returns whether no operation may begin any more, because the process is being ended, or, `until_stop`, was asked to
  // stop. Who waits for operations that complete at once learns of that only here. Inside a handler.
  [[nodiscard]] static bool MustEnd(bool until_stop);
  // Logs that a time-out is negative. Inside a handler.
  static void LogNegative(std::chrono::nanoseconds timeout);

  // Notes that the operation has completed, or never will. Call it exactly once, from one of the node's I/O threads.
  void Completed();

  enum class End : std::uint8_t {
    kCompleted,
    kTimedOut,     // it was cancelled, and has completed then
    kInterrupted,  // likewise, because the process is being ended, or asked to
    kNoStack,      // likewise, because there was no stack left for one more suspended process
  };
  // Suspends the process until the operation, which was started, has completed. The time-out is not negative;
  // gen::kInfinite: none. `until_stop`: only until the process is asked to stop.
  [[nodiscard]] End Wait(std::chrono::nanoseconds timeout, bool until_stop);

 protected:
  // For the process whose handler runs on this thread. Throws std::logic_error outside of handlers; aborts the program
  // when the node has a clock of its own, because a simulation would not be repeatable any more.
  AsyncOperation();

  // The node's I/O.
  [[nodiscard]] asio::io_context& io_context() const;
  [[nodiscard]] OtherIo& other_io(MakeOtherIo make) const;

 private:
  [[nodiscard]] IoThread& io() const;
  // Makes the operation complete soon. Called by the waiting process, at most once.
  virtual void Cancel() = 0;
  // Returns false if the operation has completed: then there is nothing to wait for.
  [[nodiscard]] bool BeginWait();

  ProcessRunner& process_;
  const gen::PID pid_;
  core::Event done_;
  // The word to the process, made here: without memory for it on a thread of the I/O the process would wait for ever.
  core::EnvelopePtr signal_;
  core::SpinLock lock_;
  std::uint64_t id_ = 0;  // of the wait that the operation ends; 0: nobody waits yet
  bool completed_ = false;
};

}  // namespace ergon::node

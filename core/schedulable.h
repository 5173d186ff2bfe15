// What a dispatcher runs: one method.
#pragma once

namespace ergon::core {

// How a turn ended; tells the worker what to do with the schedulable it has just run.
enum class TurnEnd {
  kYielded,    // it has more to do: the worker puts it at the tail of its queue
  kIdle,       // it must not be touched any more: it is idle, parked, or already running elsewhere
  kCompleted,  // it has ended for good and must not be touched any more
  kResumes,    // what Worker::Resume returns
};

// Something that gets turns from a dispatcher. At most one worker runs it at a time: its owner
// calls `Dispatcher::Schedule` only on the transition from idle to scheduled (see
// dispatch_state.h).
class Schedulable {
 public:
  Schedulable() = default;
  Schedulable(const Schedulable&) = delete;
  Schedulable& operator=(const Schedulable&) = delete;

  // Runs one turn on the current worker. User code inside may block with `Worker::Park`. Code after such a call may run
  // on another worker, so nothing about the worker may be cached across it.
  virtual TurnEnd RunTurn() = 0;

  // Returns false if what arrives for it before its turn could be refused for want of room: see
  // queues/injection_hold.h. May be called from any thread.
  [[nodiscard]] virtual bool HasRoomForMore() const noexcept { return true; }

 protected:
  ~Schedulable() = default;

 private:
  friend class InjectionQueue;
  Schedulable* next_in_queue_ = nullptr;  // owned by the queue that holds it
};

}  // namespace ergon::core

// The right to cancel a delayed or periodic send.
#pragma once

#include <memory>
#include <utility>

namespace ergon::gen {

// Copyable; destroying it does not cancel the timer. May be used from any thread.
class TimerHandle {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool Cancel() = 0;
  };

  TimerHandle() = default;
  explicit TimerHandle(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // SendAfter: returns true if it was in time: the message will not be sent. Returns false if the message has been
  // sent, is being sent, or was cancelled before. SendEvery: returns true if no tick will be handled from now on,
  // including ticks that were sent already, unless a handler runs just now. Returns false if the timer was cancelled
  // before, or has ended by itself.
  bool Cancel() const { return state_ && state_->Cancel(); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ergon::gen

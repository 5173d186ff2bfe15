// The right to cancel a delayed or periodic send.
#pragma once

#include <memory>
#include <utility>

namespace ergon::gen {

// Copyable; letting it go does not cancel. Any thread.
class TimerHandle {
 public:
  class State {
   public:
    virtual ~State() = default;
    virtual bool Cancel() = 0;
  };

  TimerHandle() = default;
  explicit TimerHandle(std::shared_ptr<State> state) : state_(std::move(state)) {}

  // SendAfter: true: in time, the message will not be sent. False: it has been sent, is being sent,
  // or was cancelled before.
  // SendEvery: no tick will be handled from now on, also none that was sent already, if its handler
  // does not run just now. False: it was cancelled before, or has ended by itself.
  bool Cancel() const { return state_ && state_->Cancel(); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ergon::gen

// The right to cancel a delayed send.
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

  // True: in time, the message will not be sent. False: it has been sent, is being sent, or was
  // cancelled before.
  bool Cancel() const { return state_ && state_->Cancel(); }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ergon::gen

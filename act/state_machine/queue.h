// The order in which a state machine handles what does not come straight from its mailbox.
//
// Pure bookkeeping, without a process. Events that were raised come before everything else.
// Postponed ones are put aside, and when the state has changed they return before what waits in the
// mailbox, and also before what was raised earlier and still waits:
//
//   raised by the change | postponed, oldest first | raised before | the mailbox
//
// The middle two go through the mailbox, so that messages there keep their deadlines and their
// place in the lists; a mark behind them tells when they have been handled.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include <ergon/act/state_event.h>

namespace ergon::act {

class StateQueue {
 public:
  // What has to be put behind the postponed events, before they all return to the mailbox.
  struct Behind {
    std::vector<OwnStateEvent> events;  // oldest first
    bool mark = false;                  // and then a mark: say RetriesEnded when it comes
  };

  // To be handled next, in this order.
  void Raise(std::vector<OwnStateEvent> events);
  // The next event that was raised.
  [[nodiscard]] std::optional<OwnStateEvent> TakeRaised();

  // The event that was handled was put aside.
  void Postponed() { ++postponed_; }
  // The state has changed. Nothing: no event is postponed.
  [[nodiscard]] std::optional<Behind> StateChanged();
  void RetriesEnded() { retrying_ = false; }

  // Nothing but the mailbox has anything to handle: due time-outs are next.
  [[nodiscard]] bool IsEmpty() const noexcept { return raised_.empty() && !retrying_; }
  // Since the last change of the state.
  [[nodiscard]] std::size_t postponed() const noexcept { return postponed_; }

 private:
  std::deque<OwnStateEvent> raised_;
  std::size_t postponed_ = 0;
  bool retrying_ = false;  // the mark is in the mailbox, or put aside
};

}  // namespace ergon::act

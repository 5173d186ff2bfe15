// The order in which a state machine handles events that do not come straight from its mailbox.
//
// Pure bookkeeping, without a process. Raised events come before everything else. Postponed events are stashed. When
// the state has changed they return before the messages that wait in the mailbox, and also before events that were
// raised earlier and still wait:
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
  // What the caller has to put behind the postponed events, before they all return to the mailbox.
  struct Behind {
    std::vector<OwnStateEvent> events;  // oldest first
    bool mark = false;                  // and then a mark: say RetriesEnded when it comes
  };

  // Adds events that are handled next, in this order.
  void Raise(std::vector<OwnStateEvent> events);
  // Takes the next raised event.
  [[nodiscard]] std::optional<OwnStateEvent> TakeRaised();

  // Notes that the event that was handled has been stashed.
  void Postponed() { ++postponed_; }
  // Notes that the state has changed. Returns nothing if no event is postponed.
  [[nodiscard]] std::optional<Behind> StateChanged();
  void RetriesEnded() { retrying_ = false; }

  // Returns whether only the mailbox has something to handle. Then due time-outs are next.
  [[nodiscard]] bool IsEmpty() const noexcept { return raised_.empty() && !retrying_; }
  // Returns how many events have been postponed since the last change of the state.
  [[nodiscard]] std::size_t postponed() const noexcept { return postponed_; }

 private:
  std::deque<OwnStateEvent> raised_;
  std::size_t postponed_ = 0;
  bool retrying_ = false;  // the mark is in the mailbox, or stashed
};

}  // namespace ergon::act

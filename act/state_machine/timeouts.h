// The time-outs of a state machine: which are set, what cancels them, and which of those that fire still
// count.
//
// Pure bookkeeping, without processes and clocks: what happened goes in, commands to start and to cancel
// timers come out (TakeCommands). The id of a timer tells a timer that could not be cancelled any more from a
// later one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ergon/act/state_event.h>
#include <ergon/act/state_transition.h>
#include <ergon/core/foundations/keyed_list.h>

namespace ergon::act {

class StateTimeouts {
 public:
  using Id = std::uint64_t;  // of a timer; never used again

  struct Command {
    bool start = false;  // else: cancel
    Id id = 0;
    std::chrono::nanoseconds delay{0};  // with `start`; more than 0
  };

  // Notes that an event of any kind is about to be handled: this cancels the event time-out.
  void OnEvent() { Cancel({StateEventKind::kEventTimeout}); }
  // Notes that the state has changed: this cancels the state time-out.
  void OnStateChange() { Cancel({StateEventKind::kStateTimeout}); }
  // Applies the changes of a handler. Of several changes of one time-out the last one counts.
  void Apply(std::vector<TimeoutChange> changes);

  // Returns the event of a timer that has run out. Returns nothing if it was cancelled or replaced meanwhile.
  [[nodiscard]] std::optional<OwnStateEvent> Fired(Id id);
  // Takes the next time-out with a delay of 0 or less. Such time-outs fire as soon as no event of the machine's own
  // waits, in the order in which they were set.
  [[nodiscard]] std::optional<OwnStateEvent> TakeDue();

  // Takes the commands that are to be carried out now, in this order.
  [[nodiscard]] std::vector<Command> TakeCommands();

  [[nodiscard]] std::size_t size() const noexcept { return set_.size(); }
  // Returns the time-outs that are set, as in "state, probe", in the order in which they were set.
  [[nodiscard]] std::string ToString() const;

 private:
  struct Timeout {
    TimeoutKey key;
    Id id = 0;  // of its timer; of one that is due, its number in due_
    bool is_due = false;
    gen::OwnedMessage value;
  };
  struct KeyOf {
    TimeoutKey operator()(const Timeout& timeout) const { return timeout.key; }
  };
  struct Running {
    Id id = 0;
    TimeoutKey key;
  };
  struct IdOf {
    Id operator()(const Running& running) const { return running.id; }
  };

  // Removes the time-out with that key.
  OwnStateEvent TakeEventOf(const TimeoutKey& key);
  void Cancel(const TimeoutKey& key);
  void Set(const TimeoutKey& key, std::chrono::nanoseconds delay, gen::OwnedMessage value);

  core::KeyedList<Timeout, KeyOf> set_;  // in order
  core::KeyedList<Running, IdOf> running_;
  std::map<std::uint64_t, TimeoutKey> due_;  // in order
  std::vector<Command> commands_;
  Id last_id_ = 0;
  std::uint64_t last_due_ = 0;
};

}  // namespace ergon::act

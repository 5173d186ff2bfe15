// The time-outs of a state machine: which are set, which are cancelled by what, and which of those
// that fire still count.
//
// Pure bookkeeping, without processes and clocks: what happened goes in, which timers to start and
// to cancel comes out (TakeCommands). A timer that cannot be cancelled any more is told from a
// later one by its id.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ergon/act/state_event.h>
#include <ergon/act/state_transition.h>

namespace ergon::act {

class StateTimeouts {
 public:
  using Id = std::uint64_t;  // of a timer; never used again

  struct Command {
    bool start = false;  // else: cancel
    Id id = 0;
    std::chrono::nanoseconds delay{0};  // with `start`; more than 0
  };

  // An event is about to be handled, of whatever kind: there is no event time-out any more.
  void OnEvent() { Cancel({StateEventKind::kEventTimeout}); }
  // The state is another one: there is no state time-out any more.
  void OnStateChange() { Cancel({StateEventKind::kStateTimeout}); }
  // Of several changes of one time-out the last one counts.
  void Apply(std::vector<TimeoutChange> changes);

  // The timer has run out. Nothing: it was cancelled or replaced meanwhile.
  [[nodiscard]] std::optional<OwnStateEvent> Fired(Id id);
  // The next one with a delay of 0. Those fire as soon as no event of the machine's own waits, in
  // the order in which they were set.
  [[nodiscard]] std::optional<OwnStateEvent> TakeDue();

  // What is to be done now, in this order.
  [[nodiscard]] std::vector<Command> TakeCommands();

  [[nodiscard]] std::size_t size() const noexcept { return set_.size(); }
  // Those that are set, as in "state, probe", in the order in which they were.
  [[nodiscard]] std::string ToString() const;

 private:
  struct Timeout {
    TimeoutKey key;
    Id id = 0;  // 0: due, without a timer
    gen::OwnedMessage value;
  };

  [[nodiscard]] std::vector<Timeout>::iterator Find(const TimeoutKey& key);
  OwnStateEvent Take(std::vector<Timeout>::iterator timeout);
  void Cancel(const TimeoutKey& key);
  void Set(const TimeoutKey& key, std::chrono::nanoseconds delay, gen::OwnedMessage value);

  std::vector<Timeout> set_;  // in order
  std::vector<Command> commands_;
  Id last_id_ = 0;
};

}  // namespace ergon::act

// What a supervisor does when children end: which children are restarted, in which order, and when it gives up.
//
// Pure policy, without processes and threads: what happened goes in, what to do comes out
// (TakeActions). Times are in nanoseconds of any clock.
//
//   ended --Start--> starting --Started--> running --> ended
//                       |                     |
//                       +---- stopping <------+
//
// A restart of several children is a round: the running children are stopped, and when all have ended,
// the children that shall run again are started in order, each when the one before has started. The end of a child
// that the round has stopped is not a failure. A failure of another child, or of a child that the round has
// started already, counts, and makes the round begin anew with the same rules.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <ergon/act/supervisor_spec.h>
#include <ergon/gen/reason.h>
#include <ergon/gen/result.h>

namespace ergon::act {

class SupervisionStrategy {
 public:
  using Key = std::uint64_t;  // of a child, in the order in which children were added

  enum class State : std::uint8_t { kEnded, kStarting, kRunning, kStopping };

  struct Child {
    gen::Atom name;
    SupervisorStrategy strategy = SupervisorStrategy::kPermanent;
    bool significant = false;
    bool forgotten_when_ended = false;      // of a template: gone when it is not restarted
    bool forgotten_unless_started = false;  // gone when its first start fails
    State state = State::kEnded;
    bool disabled = false;
    bool must_stop = false;   // will be stopped when its turn comes
    bool must_start = false;  // will be started when nothing is in its way
    bool restarting = false;  // its start is a restart, whose failure counts
    std::uint64_t restarts = 0;
  };

  enum class ActionKind : std::uint8_t {
    kStart,   // start its process; then say Started or Ended
    kStop,    // ask its process to end; then say Ended
    kKill,    // end its process at once; then say Ended
    kForget,  // forget the child; its key is not valid any more
    kEnd,     // no child is left: end with end_reason()
  };
  struct Action {
    ActionKind kind;
    Key key;  // 0 with kEnd
    friend bool operator==(const Action&, const Action&) = default;
  };
  // What follows when a child has been stopped by a command.
  enum class Then : std::uint8_t { kStay, kDisable, kStart };

  SupervisionStrategy(SupervisorType type, const SupervisorRestart& restart,
                      SupervisorAutoShutdown auto_shutdown);

  // -- commands: errors are kNotAllowed, kChildRunning or kChildDisabled, and nothing has changed --

  // Returns success if commands are possible now: not while a round is under way, or the supervisor is ending.
  [[nodiscard]] gen::Result<void> MayCommand() const;
  // Adds a child that is not started yet. `child` has its first five fields set.
  Key Add(const Child& child);
  // Removes a child that has ended.
  gen::Result<void> Remove(Key key);
  gen::Result<void> Start(Key key);
  // Stops a child. If the child has ended already, only `then` is left to do.
  gen::Result<void> Stop(Key key, Then then);
  gen::Result<void> Enable(Key key);
  // Ends all children in reverse order. The reason of the first call counts.
  void End(const gen::Reason& reason);

  // -- what happened --

  void Started(Key key);
  // Notes that a child has ended. If it was starting, its start has failed, whatever the reason.
  void Ended(Key key, const gen::Reason& reason, std::int64_t now);

  // Takes the actions that are to be done now, in this order.
  [[nodiscard]] std::vector<Action> TakeActions();

  // -- how it is --

  [[nodiscard]] const Child* Find(Key key) const;
  [[nodiscard]] const std::map<Key, Child>& children() const { return children_; }
  // Returns whether the child runs, or will run without a further command.
  [[nodiscard]] bool WillRun(Key key) const;
  [[nodiscard]] bool ending() const { return ending_; }
  [[nodiscard]] const gen::Reason& end_reason() const { return end_reason_; }
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  // Returns how many restarts there were within the period before `now`.
  [[nodiscard]] std::size_t RecentRestarts(std::int64_t now) const;

 private:
  [[nodiscard]] gen::Result<void> MayCommand(Key key) const;
  void Forget(Key key);
  [[nodiscard]] static bool IsAlive(const Child& child) { return child.state != State::kEnded; }
  void Do(ActionKind kind, Key key) { actions_.push_back({kind, key}); }
  void Launch(Key key, Child& child);
  void Halt(Key key, Child& child);

  void EndedByItself(Key key, Child& child, bool failed, const gen::Reason& reason,
                     std::int64_t now);
  void EndedForGood(Key key, Child& child);
  void BeginRestart(Key key, Child& child);
  [[nodiscard]] bool Exceeded(std::int64_t now);

  // Does what the plans of the children (must_stop, must_start) allow now.
  void Advance();
  bool AdvanceStops(bool one_by_one);
  void AdvanceStarts();

  static constexpr Key kBehindAll = std::numeric_limits<Key>::max();

  const SupervisorType type_;
  const SupervisorRestart restart_;
  const SupervisorAutoShutdown auto_shutdown_;

  std::map<Key, Child> children_;
  std::vector<Action> actions_;
  std::deque<std::int64_t> recent_;  // times of restarts, oldest first, at most intensity + 1
  Key last_key_ = 0;
  std::size_t alive_ = 0;
  std::set<Key> stopping_;
  // There may be very many children, and each end or start of one goes on from here: no child from this one on must be
  // stopped; and no child before this one must be started, or is waited for.
  Key stopped_from_ = kBehindAll;
  Key started_to_ = 0;
  bool in_round_ = false;
  Key round_first_ = 0;  // the first child of the round, which all after it belong to
  bool ending_ = false;
  bool gave_up_ = false;
  bool end_told_ = false;
  gen::Reason end_reason_;
};

}  // namespace ergon::act

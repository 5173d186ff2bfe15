// The supervisor at work: reports what happened to the policy (SupervisionStrategy) and does what the policy
// decides.
//
// The supervisor learns of a child's end by the exit signal of the link or, if the child has cut the link, by the
// notice of a monitor. Nothing here waits for a child, except the start of the supervisor itself and
// the commands of its own handlers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <ergon/act/supervisor/children.h>
#include <ergon/act/supervisor/commands.h>
#include <ergon/act/supervisor/strategy.h>
#include <ergon/act/supervisor_behavior.h>
#include <ergon/gen/host/process_host.h>
#include <ergon/gen/notices.h>

namespace ergon::act {

class SupervisorRunner {
 public:
  using Key = SupervisionStrategy::Key;

  // `spec` is valid. `callbacks` and `host` outlive it.
  SupervisorRunner(gen::ProcessHost& host, SupervisorBehavior& callbacks, SupervisorSpec spec);

  // Starts the children. If one fails, returns Stop with its error when the children that had started have
  // ended again.
  gen::Status Start();
  // Handles one envelope. `trap_exit`: the user wants to see exit signals of processes other than children.
  gen::Status OnEnvelope(core::Envelope& envelope, bool trap_exit);
  gen::Status BeginStop(const gen::Reason& reason);
  // Ends the supervisor now, whatever is left.
  void Terminate();

  // -- for the supervisor's own handlers --

  [[nodiscard]] SupervisorCommands& commands() { return commands_; }
  // Carries out a command that has returned `key`, and returns when the child has started.
  gen::Result<gen::PID> FinishStart(const gen::Result<Key>& key);
  // Carries out a command that has returned `key`, without waiting.
  gen::Result<void> Finish(const gen::Result<Key>& key);
  [[nodiscard]] std::vector<SupervisorChild> Children() const { return children_.List(strategy_); }

 private:
  // A start or an end of a child that the user's handlers will be told of.
  struct Notice {
    bool started;
    gen::Atom name;
    gen::PID pid;
    gen::Reason reason;
  };

  // A message to itself: a restart that was postponed.
  struct StartTimer {
    Key key;
    std::uint64_t number;
  };

  // -- what arrives --
  gen::Status OnOwn(core::Envelope& envelope, bool trap_exit);
  gen::Status OnExit(core::Envelope& envelope, bool trap_exit);
  gen::Status OnDown(core::Envelope& envelope);
  // Returns false if supervisors do not answer this request themselves.
  bool OnRequest(core::Envelope& envelope);
  // Answers at once, or when the child has started or ended, or when all children of a template have ended.
  void AnswerLater(const core::Envelope& envelope, const SupervisorCommands::Outcome& outcome);
  void Answer(core::Envelope& envelope);

  // -- children --
  void CarryOutActions();
  // Carries out what is to be done, and returns when the child `key` has started.
  gen::Result<gen::PID> StartNow(Key key);
  void StartProcess(Key key);
  // Tries a failed start again in another turn, so that what arrives meanwhile is handled first.
  void PostponeStart(Key key);
  void StartPostponed(const StartTimer& timer);
  // Cancels the postponed start of a child that is to be ended. Returns false if no start is postponed.
  bool CancelStart(Key key);
  void StopProcess(Key key);
  // Kills a child whose time to end is up.
  void KillLate(gen::PID child);
  void Started(Key key);
  // Notes that a child has ended, or could not even begin to start; then `error` says why.
  void Gone(Key key, const gen::Reason& reason, const gen::Error* error = nullptr);
  void StopStarted();
  // Tells that a child has ended by itself, and what follows. `pid` is PID() if its start could not even begin.
  void TellEnd(Key key, gen::Atom name, gen::PID pid, bool started, const gen::Reason& reason);
  gen::Status Settle();

  gen::ProcessHost& host_;
  SupervisorBehavior& callbacks_;
  const SupervisorSpec spec_;
  SupervisionStrategy strategy_;
  SupervisorChildren children_;
  SupervisorCommands commands_;
  std::deque<Notice> notices_;
  Key start_now_ = 0;  // the child whose Init this process waits for
  std::uint64_t last_postponed_ = 0;
  std::optional<gen::Error> start_error_;  // the error of that start
  bool done_ = false;                      // no child is left, and none will be
};

}  // namespace ergon::act

// The supervisor at work: brings what happened to the policy (SupervisionStrategy) and does what
// that decides.
//
// A child's end is known by the exit signal of its link; should the child have cut that, by the
// notice of a monitor. Nothing here waits for a child, except the start of the supervisor itself and
// what its own handlers ask for.
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

  // Starts the children; if one fails, it stops with its error when those that had started have
  // ended again.
  gen::Status Start();
  // One envelope; `trap_exit`: the user wants to see exit signals of others than children.
  gen::Status OnEnvelope(core::Envelope& envelope, bool trap_exit);
  gen::Status BeginStop(const gen::Reason& reason);
  // The process ends now, whatever is left.
  void Terminate();

  // -- for the supervisor's own handlers --

  [[nodiscard]] SupervisorCommands& commands() { return commands_; }
  // After a command: does what it asked for, and returns when the child has started.
  gen::Result<gen::PID> FinishStart(const gen::Result<Key>& key);
  // After a command: does what it asked for, without waiting.
  gen::Result<void> Finish(const gen::Result<Key>& key);
  [[nodiscard]] std::vector<SupervisorChild> Children() const { return children_.List(strategy_); }

 private:
  // What the user will be told.
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
  // False: not a request that supervisors answer.
  bool OnRequest(core::Envelope& envelope);
  // Answers at once, or when the child has started or ended, or all of a template have ended.
  void AnswerLater(const core::Envelope& envelope, const SupervisorCommands::Outcome& outcome);
  void Answer(core::Envelope& envelope);

  // -- children --
  void Obey();
  void StartProcess(Key key);
  // A start that has failed is tried again in another turn, so that others are heard meanwhile.
  void PostponeStart(Key key);
  void StartPostponed(const StartTimer& timer);
  // A child that is to be ended and has no process yet: it has ended. False: it has one.
  bool CancelStart(Key key);
  void StopProcess(Key key);
  void Started(Key key);
  // It has ended, or could not even begin to start: then `error` says why.
  void Gone(Key key, const gen::Reason& reason, const gen::Error* error = nullptr);
  void StopStarted();
  // That a child has ended by itself, and what follows; `pid` is nobody's if its start could not even begin.
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
  std::optional<gen::Error> start_error_;  // its
  bool done_ = false;                      // no child is left, and none will be
};

}  // namespace ergon::act

// The pool at work: brings what happened to the policy (PoolRouting) and does what that decides.
//
//   running --BeginStop--> draining --nothing waits here--> ending --last worker ended--> done
//
// While draining, what waits at the pool, in its Main lane and in its queue, still goes to the workers;
// mostly there is nothing, and the phase is skipped. Ending, the workers handle what they have, and
// leave. What one leaves behind that crashes then, or the last one that drains, goes to a new worker.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include <ergon/act/pool/counters.h>
#include <ergon/act/pool/forwarder.h>
#include <ergon/act/pool/inspection.h>
#include <ergon/act/pool/routing.h>
#include <ergon/act/pool/shortage.h>
#include <ergon/act/pool/spawner.h>
#include <ergon/act/pool_behavior.h>
#include <ergon/act/pool_change.h>
#include <ergon/act/pool_options.h>
#include <ergon/gen/host/pool_host.h>
#include <ergon/gen/notices.h>

namespace ergon::act {

class PoolRunner {
 public:
  // `options` are valid. `callbacks` and `host` outlive it.
  PoolRunner(gen::PoolHost& host, PoolBehavior& callbacks, PoolOptions options);

  // Starts the workers; if one fails, it stops with its error and none is left.
  gen::Status Start();

  // One envelope; `trap_exit`: the user wants to see exit signals of others than workers.
  gen::Status OnEnvelope(core::Envelope& envelope, bool trap_exit);
  gen::Status BeginStop(const gen::Reason& reason);
  // The same, and nobody is replaced any more: what nobody can take is dropped at once.
  gen::Status GiveUp(const gen::Reason& reason);
  // The process ends now, whatever is left.
  void Terminate();

  gen::Result<std::int64_t> AddWorkers(int count);
  gen::Result<std::int64_t> RemoveWorkers(int count, bool drain);

  // All or nothing.
  gen::Result<void> Change(const PoolChange& change);

  [[nodiscard]] bool running() const noexcept { return phase_ == Phase::kRunning; }
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::vector<gen::PID> Workers() const;
  // What its inspection tells.
  [[nodiscard]] PoolFigures Observe();

 private:
  enum class Phase : std::uint8_t { kStarting, kRunning, kDraining, kEnding };

  // What its timers bring.
  struct ReplaceTimer {
    std::uint64_t member;
  };
  struct ShutdownTimer {};

  // -- what arrives --
  gen::Status OnOwn(core::Envelope& envelope, bool trap_exit);
  gen::Status OnTimer(core::Envelope& envelope);
  gen::Status OnInheritance(gen::MessageInheritance& left, gen::PID from);
  gen::Status OnExit(core::Envelope& envelope, bool trap_exit);
  // What the user's handlers handle.
  gen::Status OnUsers(core::Envelope& envelope);
  void Answer(core::Envelope& envelope);
  void ChangeAndAnswer(const core::Envelope& envelope, const PoolChange& change);

  // -- workers --
  void Join(const std::vector<gen::PID>& workers);
  gen::Status Obey(PoolRouting::Decision decision);
  void CountEnded(const gen::MessageInheritance& left, gen::PID from);
  void Enter(PoolRouting::Entrance entrance);
  void KillAll();

  // -- the end --
  void MainIsDone();
  // What is left behind then goes to a new worker.
  gen::Status FillGap(bool left_something);
  void TellWorkers();
  void EndNow();
  gen::Status Settle();

  gen::PoolHost& host_;
  PoolBehavior& callbacks_;
  PoolOptions options_;
  PoolSpawner spawner_;
  PoolRouting routing_;
  PoolCounters counters_;
  std::unique_ptr<PoolForwarder> forwarder_;
  PoolShortage shortage_;
  Phase phase_ = Phase::kStarting;
  bool time_is_up_ = false;    // ending: nothing is waited for but the workers' ends
  bool has_given_up_ = false;  // nobody is replaced any more
  bool main_is_done_ = false;  // draining: nothing waits in the Main lane that was sent before
  gen::Reason stop_reason_;
  std::int64_t pace_ = 0;  // see PoolFigures
  // As last shown. The rotation's count includes messages that are still being tried and may be
  // refused; the count of what was seen at workers misses some. The smaller one never goes down.
  std::uint64_t forwarded_ = 0;
  // As last shown. When a worker that is a pool is killed, what its workers had handled is known again when
  // each of them has ended.
  std::uint64_t handled_ = 0;
  gen::TimerHandle shutdown_timer_;
  std::map<std::uint64_t, gen::TimerHandle> replace_timers_;  // by member
  // Workers that are gone, but whose exit signal has not arrived yet.
  std::deque<gen::PID> gone_;
};

}  // namespace ergon::act

// The pool at work: reports what happened to the policy (PoolReplacement) and does what the policy decides.
//
//   running --BeginStop--> draining --nothing waits here--> ending --last worker ended--> done
//
// While draining, messages that wait at the pool, in its Main lane and in its queue, still go to the workers;
// mostly there are none, and the phase is skipped. While ending, the workers handle what they have, and
// leave. Messages that a worker leaves behind when it crashes then, or that the last draining worker leaves, go to a
// new worker.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <ergon/act/pool/autoscaler.h>
#include <ergon/act/pool/counters.h>
#include <ergon/act/pool/forwarder.h>
#include <ergon/act/pool/inspection.h>
#include <ergon/act/pool/replacement.h>
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

  // Starts the workers. If one fails, returns Stop with its error, and no worker is left.
  gen::Status Start();

  // Handles one envelope. `trap_exit`: the user wants to see exit signals of processes other than workers.
  gen::Status OnEnvelope(core::Envelope& envelope, bool trap_exit);
  gen::Status BeginStop(const gen::Reason& reason);
  // Begins to stop and replaces no worker any more: messages that no worker can take are dropped at once.
  gen::Status GiveUp(const gen::Reason& reason);
  // Ends the pool now, whatever is left.
  void Terminate();

  gen::Result<std::int64_t> AddWorkers(int count);
  gen::Result<std::int64_t> RemoveWorkers(int count, bool drain);

  // All or nothing.
  gen::Result<void> Change(const PoolChange& change);

  [[nodiscard]] bool running() const noexcept { return phase_ == Phase::kRunning; }
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] std::vector<gen::PID> Workers() const;
  // Returns the figures of the pool's inspection.
  [[nodiscard]] PoolFigures Observe();

 private:
  enum class Phase : std::uint8_t { kStarting, kRunning, kDraining, kEnding };

  // The messages of the pool's timers.
  struct ReplaceTimer {
    std::uint64_t member;
  };
  struct ShutdownTimer {};
  struct LookTimer {
    std::uint64_t number;
  };

  // -- what arrives --
  gen::Status OnOwn(core::Envelope& envelope, bool trap_exit);
  gen::Status OnTimer(core::Envelope& envelope);
  gen::Status OnInheritance(gen::MessageInheritance& left, gen::PID from);
  gen::Status OnExit(core::Envelope& envelope, bool trap_exit);
  // Calls the user's handlers.
  gen::Status OnUsers(core::Envelope& envelope);
  void Answer(core::Envelope& envelope);
  // Answers a request for a change, or for a look at one. Returns false for another request.
  bool TakeChange(core::Envelope& envelope);
  [[nodiscard]] PoolOptions OptionsNow() const;
  [[nodiscard]] gen::Result<PoolOptions> Wanted(const PoolChange& change) const;
  // Logs the options that have changed, a line for each.
  void LogDifferences(const PoolOptions& before);

  // -- the pool that sizes itself (PoolOptions::autoscale) --
  void BeginScaling();
  void EndScaling();
  void Look();
  void ArmLook();
  // A message for the workers has come here.
  void WakeUp();
  void Scale(int workers);
  // A user has changed the number of workers, or the bounds.
  void ResizedByOthers();
  [[nodiscard]] PoolMeasure MeasureNow();
  // Returns an error if the pool may not have so many workers.
  [[nodiscard]] gen::Result<void> CheckBounds(const char* function, std::int64_t workers) const;
  // Adds the last decisions.
  void Tell(gen::Inspection& inspection) const;

  // -- workers --
  // Called for users and by the pool itself, which have made sure that the pool may have so many workers. Grow returns
  // the error of a spawn.
  gen::Result<std::int64_t> Grow(int count);
  gen::Result<std::int64_t> Reduce(int count, bool drain);
  void Join(const std::vector<gen::PID>& workers);
  gen::Status CarryOut(PoolReplacement::Decision decision);
  void CountEnded(const gen::MessageInheritance& left, gen::PID from);
  void Enter(PoolReplacement::Entrance entrance);
  void KillAll();

  // -- the end --
  void MainIsDone();
  // While the pool ends: starts a new worker for messages that were left behind, if one is needed.
  gen::Status FillGap(bool left_something);
  void TellWorkers();
  void EndNow();
  gen::Status Settle();

  gen::PoolHost& host_;
  PoolBehavior& callbacks_;
  PoolOptions options_;
  PoolSpawner spawner_;
  PoolReplacement replacement_;
  PoolCounters counters_;
  std::unique_ptr<PoolForwarder> forwarder_;
  PoolShortage shortage_;
  Phase phase_ = Phase::kStarting;
  bool time_is_up_ = false;          // ending: the pool waits only for the ends of its workers
  bool has_given_up_ = false;        // no worker is replaced any more
  std::set<std::uint64_t> fillers_;  // members that were made at the end, for what others had left
  bool main_is_done_ = false;        // draining: no message sent before waits in the Main lane
  gen::Reason stop_reason_;
  std::int64_t pace_ = 0;  // see PoolFigures
  // As last shown. The rotation's count includes messages that are still being tried and may be
  // refused; the count of messages seen at workers misses some. The smaller of both never goes down.
  std::uint64_t forwarded_ = 0;
  // As last shown. After a worker that is a pool has been killed, the number of messages that its workers had handled
  // is known again only when each of them has ended.
  std::uint64_t handled_ = 0;
  gen::TimerHandle shutdown_timer_;
  std::optional<PoolAutoscaler> autoscaler_;
  gen::TimerHandle look_timer_;
  std::uint64_t look_number_ = 0;  // of the last timer: one that was cancelled may be on its way
  bool is_resting_ = false;        // it looks again when a message comes
  std::map<std::uint64_t, gen::TimerHandle> replace_timers_;  // by member
  // Workers that are gone, but whose exit signal has not arrived yet.
  std::deque<gen::PID> gone_;
};

}  // namespace ergon::act

// One address, many workers: a pool forwards what it is sent to identical processes, which handle
// it in parallel, and keeps their number up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ergon/act/pool_behavior.h>
#include <ergon/act/pool_change.h>
#include <ergon/act/pool_options.h>
#include <ergon/act/pool_stats.h>
#include <ergon/act/process_api.h>
#include <ergon/gen/node.h>  // a pool's size is often Node().Info().workers

namespace ergon::act {

class PoolRunner;

//   class ThumbnailPool : public act::Pool {
//     gen::Result<act::PoolOptions> Init(const gen::Args&) override {
//       return act::PoolOptions{.pool_size = 5,
//                               .worker_factory = gen::Factory<ThumbnailWorker>(),
//                               .worker_mailbox_size = 100};
//     }
//   };
//
// Forwarded are messages, requests and events of normal priority. Workers see the original sender,
// and their answers go straight to the caller. Everything of high and max priority, exit signals,
// down notices and inspections are the pool's own: HandleMessage, HandleCall, HandleInspect.
//
// Which worker gets a message: PoolOptions::strategy. What follows is said of the default, the rotation; the
// others promise the same but for the order, see PoolStrategy.
//
// Order. The workers stand in one queue; the head takes a message and goes to the back, a full one
// goes to the back too and the next is tried, at most once round. So messages of one sender are
// *started* in the order sent as long as no worker is full, and they are handled in the order sent
// if the pool has one worker, also when that is replaced.
//
// All full. A send returns ErrProcessMailboxFull, a Call too, at once. So it is with kOverloaded and
// PoolOptions::admission_limit. The log tells once when that begins, and once when it is over.
//
// A worker ends, for whatever reason: it is replaced, by one with the same factory and arguments, at once
// if it had handled a message, or lived for a second. One that fails earlier, again and again, is replaced
// more and more slowly (PoolOptions); none is given up. What waited in its mailbox goes to the others as far as they
// have room, and to its successor; it is never dropped for want of room, nor is another for it, whatever
// worker_mailbox says of new ones. The message it was handling is not handled again; a caller gets the error
// at once.
//
// While workers are missing, the pool itself takes as many messages as they would, less what it keeps for
// them; then senders get ErrProcessMailboxFull, also of a pool that drops. So no more messages wait than the size times the bound
// of a mailbox, however many workers crash, and one or two that were on their way.
//
// The pool is asked to end: it takes nothing more, its workers handle what there is, at most for
// PoolOptions::shutdown_timeout. What waits for a worker that is missing, or is left by one that crashes
// meanwhile, goes to another, a new one if need be. A killed pool ends at once. Workers never outlive
// their pool. A pool that is a worker of another one leaves to that what its own workers had not begun.
//
// act::Stats(node, pool) tells what a pool does in numbers. Inspection answers the same as texts, besides what
// HandleInspect adds ("worker" stands for all "worker.<n>"):
//   pool_size                workers, including those being replaced
//   worker_behavior          class name
//   strategy                 as in "least loaded"
//   worker_mailbox_size      0: unbounded
//   worker_restarts          replacements made
//   messages_forwarded       accepted for the workers, each counted once
//   messages_unhandled       refused or dropped: all were full or would have taken too long, or the pool
//                            was ending
//   messages_overloaded      of those, refused because of PoolOptions::admission_limit
//   workers_ready, workers_busy, workers_starting, workers_leaving
//   messages_queued          waiting, at workers and at the pool
//   messages_handled         by workers, also those that have ended; by the workers of those that are pools
//   messages_expired         requests that were skipped because their caller had stopped waiting; they
//                            count as handled, those in the pool's own mailbox as unhandled
//   messages_salvaged        taken over from workers that had ended
//   messages_drained         handled by workers after RemoveWorkers had taken them out
//   messages_lost            accepted but not handled, the sum of
//   messages_lost_crashed      being handled when the worker failed
//   messages_lost_full         dropped for want of room, by a worker_mailbox that drops
//   messages_lost_missed       copies of a broadcast for workers that were full, others were not
//   messages_lost_failed       their key function, copy constructor or mailbox threw
//   messages_lost_terminated   left over when the pool ended
//   queue_wait_estimate_us   how long a message waits, by the pace of late; see PoolStats
//   state                    running, stopping
//   worker.<n>               as in "<demo@localhost.12.1> queued=3 handled=40 busy"
// At rest messages_forwarded = messages_handled + messages_queued + messages_lost.
class Pool : public ProcessApi, protected PoolBehavior {
 public:
  Pool();
  ~Pool() override;

 protected:
  gen::Result<PoolOptions> Init(const gen::Args& args) override = 0;
  // Only what has high or max priority; also down notices, and exit signals if SetTrapExit(true).
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  // The outcome of a Request of the pool's own handlers.
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;
  // Adds to the pool's own keys, which it cannot change.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;
  void Terminate(const gen::Reason& reason) override;

  // -- size: in the pool's own handlers, after Init and until it is asked to end --
  //
  // They return the new number of workers. Errors, which change nothing:
  //   kIncorrect   `count` is less than 1 or too large; the text says what is allowed
  //   kNotAllowed  from elsewhere
  //   AddWorkers:  what the spawn of a worker returned

  // Starts `count` more, which come last in the queue, and returns when all have started; if one
  // fails, none is added.
  gen::Result<std::int64_t> AddWorkers(int count);
  // Takes out `count`, those whose turn is next. They get nothing more, handle what they have
  // queued and end with reason normal. At least one has to stay.
  gen::Result<std::int64_t> RemoveWorkers(int count);
  // The same, but they are killed: a running handler finishes, what is queued goes to the others.
  gen::Result<std::int64_t> RemoveWorkersNow(int count);

  // Changes what is given, all or nothing, and logs each value with the one before. kIncorrect: a value out of range,
  // or one that does not go with the others; the text names field and value. Errors as of AddWorkers besides.
  gen::Result<void> Change(const PoolChange& change);

  // Workers, including those being replaced; 0 before the end of Init. Own handlers only; throws
  // std::logic_error elsewhere.
  [[nodiscard]] std::int64_t WorkerCount() const;
  // What Inspect tells, as numbers; from outside: act::Stats. Own handlers only, as WorkerCount; all zero
  // before the end of Init.
  [[nodiscard]] PoolStats Stats() const;
  // The workers that are alive, the oldest place first. Own handlers only, as WorkerCount.
  [[nodiscard]] std::vector<gen::PID> Workers() const;

  // Concerns exit signals of others than workers.
  void SetTrapExit(bool trap) override;
  [[nodiscard]] bool TrapExit() const override;

 private:
  // What comes back from a stash waits in the Main lane, which is the workers'.
  using ProcessApi::Stash;
  using ProcessApi::UnstashAll;

  gen::Status ProcessInit(gen::ProcessHost& host, const gen::Args& args) final;
  gen::Status ProcessMessage(core::Envelope& envelope) final;
  gen::Status ProcessStop(const gen::Reason& reason) final;
  void ProcessTerminate(const gen::Reason& reason) final;

  void CheckOwnTurn() const;
  [[nodiscard]] gen::Result<void> MayResize(const char* function) const;

  bool trap_exit_ = false;              // what the user wishes
  std::unique_ptr<PoolRunner> runner_;  // from Init on
};

}  // namespace ergon::act

// One address, many workers: a pool forwards messages to identical processes, which handle them in
// parallel, and replaces the processes that end.
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
// The pool forwards messages, requests and events of normal priority. Workers see the original sender,
// and their answers go straight to the caller. The pool itself handles everything of high and max priority,
// exit signals, down notices and inspections: HandleMessage, HandleCall, HandleInspect. What the pool sends itself is
// no exception: SendAfter(Self(), Tick{}, 1s, gen::MessagePriority::kHigh).
//
// Choice. PoolOptions::strategy decides which worker gets a message. The following describes the default, the
// rotation. The other strategies promise the same, except for the order; see PoolStrategy.
//
// Order. The workers stand in one queue. The head takes a message and goes to the back; a full worker
// goes to the back too and the next one is tried, at most once round. So messages of one sender are
// *given to workers* in the order sent as long as no worker is full. They are handled in the order sent
// if the pool has one worker, also when that worker is replaced.
//
// Refused. A send or a Call returns at once, with
//   ErrProcessMailboxFull    all workers are full. Logged once when this begins, and once when it is over
//   kOverloaded              the message would wait longer than PoolOptions::admission_limit allows; logged likewise
//   ErrProcessTerminated     the pool has ended, or was asked to
//   kDeadlock                only the worker that calls could answer the request: it would wait for itself
//   kInternal, kApplication  a key function, a copy or a mailbox of the user's threw: that message only
//
// End of a worker. A worker that ends for whatever reason is replaced, by one with the same factory and arguments,
// at once if it had handled a message or had lived for a second. A worker that ends earlier, again and again, is
// replaced more and more slowly (PoolOptions), but the pool never gives its place up. The messages that waited in
// its mailbox go to the other workers as far as they have room, and to its successor. They are never dropped for
// want of room, and no other message is dropped to make room for them, whatever worker_mailbox says of new messages
// (except by a Mailbox::Custom, which alone knows when it is full).
// The message that the worker was handling is not handled again; if it was a request, its caller gets the error at
// once.
//
// While workers are missing, their places are at the pool: as many messages may wait there as in their mailboxes,
// those of dead workers included. Beyond that senders get ErrProcessMailboxFull, also from a pool that drops. So no
// more messages wait than the size of the pool times the bound of a mailbox, however many workers crash, plus one or
// two that were on their way.
//
// End of the pool. A pool that is asked to end accepts nothing more, and its workers handle what it has accepted, for
// at most PoolOptions::shutdown_timeout. Messages that wait for a missing worker, or that a worker leaves when it
// crashes meanwhile, go to another worker, to a new one if need be. A killed pool ends at once, and so do its workers;
// one that is in a handler ends when it waits or returns. A pool that is a worker of another pool leaves to that pool
// what its own workers had not begun, except for copies of a broadcast of its own: they are dropped.
//
// act::Stats(node, pool) returns what a pool does in numbers. Inspect answers the same as texts, besides what
// HandleInspect adds (the item "worker" asks for all "worker.<n>"):
//   pool_size                workers, including those being replaced
//   worker_behavior          class name
//   strategy                 as in "least loaded"
//   worker_mailbox_size      0: unbounded
//   worker_restarts          replacements made
//   messages_forwarded       accepted for the workers, each counted once
//   messages_unhandled       refused or dropped: all were full, or a worker's stash, or would have taken too long, or
//                            the pool was ending
//   messages_overloaded      of those, refused because of PoolOptions::admission_limit
//   workers_ready, workers_busy, workers_starting
//                            pool_size = ready + starting; starting: in Init, or waiting for a replacement; busy, of
//                            both: in a handler or in Init, or about to be, or ended and not cleared up yet
//   workers_leaving          taken out by RemoveWorkers, handling what they have queued; not in the three before
//   messages_queued          waiting, at workers and at the pool
//   messages_handled         by workers, also those that have ended. If a worker is a pool: all that it has come to an
//                            end with, also what it has lost or refused (its own numbers say how much), and each copy
//                            of a broadcast
//   messages_expired         requests that were skipped because their time was up, or because their callers on other
//                            nodes had stopped waiting; they count as handled, those in the pool's own mailbox as
//                            unhandled. Those that workers of workers have skipped are not counted
//   messages_salvaged        taken over from workers that had ended
//   messages_drained         handled by workers after RemoveWorkers had taken them out
//   messages_lost            accepted but not handled, the sum of
//   messages_lost_crashed      being handled when the worker failed
//   messages_lost_full         dropped for want of room, by a worker_mailbox that drops
//   messages_lost_missed       copies of a broadcast for workers that were full, others were not
//   messages_lost_failed       their key function, copy constructor or mailbox threw
//   messages_lost_terminated   left over when the pool ended, or a worker of a Broadcast left
//   queue_wait_estimate_us   how long a message waits, as far as the workers' latest pace tells; see PoolStats
//   state                    running, stopping
//   autoscale                with PoolOptions::autoscale: as in "2..16 workers, a wait of 10 ms"; then ", at rest"
//                            while it looks only once a second, or not before a message comes
//   autoscale.<n>            its last twenty decisions, 1 is the newest, as in "2.500 s ago: 4 -> 8 workers: messages
//                            wait longer than 10 ms (250.0/s arrive, handling 20 ms, wait 34 ms)"
//   worker.<n>               as in "<demo@localhost.12.1> queued=3 handled=40 busy"
// At rest messages_forwarded = messages_handled + messages_queued + messages_lost, unless a worker is a pool that
// broadcasts.
class Pool : public ProcessApi, protected PoolBehavior {
 public:
  Pool();
  ~Pool() override;

 protected:
  gen::Result<PoolOptions> Init(const gen::Args& args) override = 0;
  // These two handle messages and requests of high and max priority. HandleMessage also handles down notices, and
  // exit signals after SetTrapExit(true).
  gen::Status HandleMessage(gen::PID from, gen::Message& message) override;
  gen::CallResult HandleCall(gen::PID from, gen::Ref ref, gen::Message& request) override;
  // Handles the outcome of a Request that the pool's own handlers have made.
  gen::Status HandleResponse(gen::Ref ref, gen::Response& response) override;
  gen::Status HandleEvent(const gen::MessageEvent& event) override;
  // Adds keys to the pool's own keys, which it cannot change.
  gen::Inspection HandleInspect(gen::PID from, const std::vector<std::string>& items) override;
  void Terminate(const gen::Reason& reason) override;

  // -- size: in the pool's own handlers, after Init and until it is asked to end --
  //
  // These functions return the new number of workers. An error changes nothing:
  //   kIncorrect   `count` is less than 1 or too large, or the pool would leave the bounds of PoolOptions::autoscale;
  //                the text says what is allowed
  //   kNotAllowed  called from elsewhere, before the end of Init, or when the pool is ending
  //   AddWorkers:  what the spawn of a worker returned
  //
  // A pool that sizes itself continues from the new number: it takes no worker out until fewer have been enough for
  // `shrink_after` again, and adds workers when messages wait too long.
  //
  // Each change is a line of the log, as in "pool_size: 7, was 5", as PoolChange describes.

  // Starts `count` more workers, which come last in the queue, and returns when all have started. If one
  // fails, none is added. A pool has at most kMaxPoolSize workers.
  gen::Result<std::int64_t> AddWorkers(int count);
  // Takes out the `count` workers whose turn is next. They get nothing more, handle what they have
  // queued and end with reason normal. At least one worker has to stay.
  gen::Result<std::int64_t> RemoveWorkers(int count);
  // Takes out `count` workers as RemoveWorkers does, but kills them: a running handler finishes, and the messages
  // that are queued go to the other workers.
  gen::Result<std::int64_t> RemoveWorkersNow(int count);

  // Applies all fields that are given, or none, and logs each new value with the former one (PoolChange). Returns
  // kIncorrect if a value is out of range, or does not go with the others; the text names field and value. Further
  // errors as AddWorkers.
  gen::Result<void> Change(const PoolChange& change);

  // Returns the number of workers, including those being replaced; 0 before the end of Init. Own handlers only; throws
  // std::logic_error elsewhere.
  [[nodiscard]] std::int64_t WorkerCount() const;
  // Returns what Inspect returns, as numbers; all zero before the end of Init. For own handlers only, as WorkerCount;
  // other processes use act::Stats.
  [[nodiscard]] PoolStats Stats() const;
  // Returns the workers that are alive, the oldest place first. For own handlers only, as WorkerCount.
  [[nodiscard]] std::vector<gen::PID> Workers() const;

  // Says whether HandleMessage gets the exit signals of processes other than workers.
  void SetTrapExit(bool trap) override;
  [[nodiscard]] bool TrapExit() const override;

 private:
  // Not for pools: messages that return from a stash would wait in the pool's own mailbox, whose messages of normal
  // priority belong to the workers.
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

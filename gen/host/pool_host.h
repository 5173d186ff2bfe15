// What the runtime offers to authors of pools, beyond gen::ProcessHost: an address whose senders find workers
// themselves, and workers that leave the messages they have not handled to the pool.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <ergon/gen/host/process_host.h>
#include <ergon/gen/pool_change.h>

namespace ergon::core {
class Rotation;
}

namespace ergon::gen {

// Which worker senders to a pool try first. Then they try the others, in the order of their turns.
enum class SenderChoice : std::uint8_t {
  kRotation,     // the worker whose turn it is
  kLeastLoaded,  // the worker with the least to do; among equals, the one whose turn it is
  kRandom,
  kPool,  // none: all messages go to the pool, which places them itself
};
struct SenderRules {
  SenderChoice choice = SenderChoice::kRotation;
  std::uint64_t seed = 0;  // for kRandom
  // A worker at which a message would wait longer than this, as its kMeasure says, counts as full. If all workers are
  // full, the sender gets kOverloaded. 0: no limit. Not for kPool.
  std::chrono::nanoseconds admission_limit{0};
};

// What a worker does for its pool with each message that came through the pool.
enum class WorkerDuty : std::uint8_t {
  kNone,
  kReport,  // sends a kProgress envelope to its parent when it has handled the message, or stashed it
  kMeasure,  // keeps the mean time of its handling (WorkerProgress::mean_handling)
};

// How far a worker is with the messages that came through its pool. Exact when the worker is at rest.
struct WorkerProgress {
  std::uint64_t handled = 0;  // messages of the pool; if the worker is a pool, by its workers
  // Of the messages it was given, those that the pool need not wait for: handled, or passed on to workers of its own.
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;  // of those, the ones dropped because the stash was full
  std::uint64_t queued = 0;   // normal priority, waiting or stashed
  bool busy = false;          // handles a message, or is about to
  bool current = false;       // handles a message that came through the pool
  bool ended = false;         // the process is gone; what it left behind may still be on its way
  bool has_mail = false;      // something waits in its own mailbox; an order to end counts, too
  bool passes_on = false;     // it is a pool: its own workers handle what it is given
  std::uint64_t expired = 0;  // of those handled, the requests skipped because their time was up
  std::uint64_t aside = 0;    // of those queued, the ones that it has stashed, or holds as a pool
  // Changes when it puts back what it has stashed; if the worker is a pool, whenever it passes a message on.
  std::uint64_t stash_changes = 0;
  std::chrono::nanoseconds mean_handling{0};  // moving average, with WorkerDuty::kMeasure
  // Mean time from one message to the next while messages wait, of late, of the worker or of all workers of a pool; 0:
  // not known.
  std::chrono::nanoseconds pace{0};
  std::chrono::nanoseconds lasted{
      0};  // what it does now, if it is busy, since it waited last; in whole ms
};

// A request of high priority that a pool answers itself, and that changes nothing: the answer is the values that the
// change would replace, or the error that it would return.
struct PoolChangeCheck {
  using Reply = PoolChange;
  PoolChange change;
};

class PoolHost : public ProcessHost {
 public:
  // Returns the options that NodeOptions::pools has for a pool with this process's name.
  [[nodiscard]] virtual PoolChange GivenChange() const = 0;
  // Writes a line of this process's log, of level info, about what is changed of the pool: whatever the levels of the
  // process and of the node, unless the node's is off.
  virtual void LogChange(std::string_view text) = 0;

  // -- envelopes --

  // Passes an envelope on, with its sender and ref; `envelope` is null after success. With `routed` the envelope is
  // marked as one that came through this process as a pool.
  virtual Result<void> Forward(PID to, core::EnvelopePtr& envelope, bool routed) = 0;
  // As Forward with `routed`, to a worker that may drop another message to make room, as its mailbox prescribes.
  virtual Result<void> ForwardMakingRoom(PID worker, core::EnvelopePtr& envelope) = 0;
  // Counts a message that this process has made in the name of another process (`from` is set) as sent and as held by
  // this process, which then passes it on by Forward, or ends it by Drop.
  virtual void Adopt(core::Envelope& envelope) = 0;
  // Leaves a message that this process holds to its heir when it ends, with the messages that wait in its mailbox.
  // Returns false, and does nothing, if this process has no heir.
  virtual bool LeaveToHeir(core::EnvelopePtr& envelope) = 0;

  // Requests. A handler begins with a request or the request times out, never both, and the caller's error says which
  // it was. The runtime notes the beginning before it gives a request to the behaviour.

  // Stops the runtime from noting the beginning of requests of normal priority: the processes to which this process
  // forwards them begin with them.
  virtual void LeaveBeginningToOthers() = 0;
  // After that, notes the beginning of a request that this process handles itself after all. Returns false if the
  // caller was told that the request will not be handled: it is to be dropped as expired.
  [[nodiscard]] virtual bool Begin(const core::Envelope& request) = 0;

  // -- workers --

  // As Spawn, linked and with this process as heir: the messages that the child has not handled when it ends arrive as
  // a MessageInheritance, just before the exit signal.
  virtual Result<PID> SpawnWorker(const ProcessFactory& factory, const ProcessOptions& options,
                                  const Args& args) = 0;
  // As SpawnWorker, without waiting for Init. When Init is done, this process gets a MessageStarted; if it fails, the
  // exit signal.
  virtual Result<PID> SpawnWorkerAsync(const ProcessFactory& factory, const ProcessOptions& options,
                                       const Args& args) = 0;
  // Sets the worker's duty, before the first message is forwarded to it. Does nothing if the process is gone.
  virtual void SetDuty(PID worker, WorkerDuty duty) = 0;
  // Sets how many messages of normal priority may wait at a worker; 0: any number. What waits already stays, and
  // senders that wait for room at this pool are served. Does nothing if the process is gone.
  virtual void SetWorkerMailboxSize(PID worker, std::uint32_t messages) = 0;
  // Resumes a worker that is suspended (Node::Suspend). Does nothing if the process is gone.
  virtual void ResumeWorker(PID worker) = 0;
  // Returns how far a worker is; all zero and `ended` when it is gone.
  [[nodiscard]] virtual WorkerProgress Progress(PID worker) const = 0;

  // -- the pool's address --

  // Returns whether the process has a mailbox that keeps its own order (Mailbox::HasQueue): it cannot be a pool then.
  [[nodiscard]] virtual bool HasQueue() const = 0;
  // Sets what senders do when all workers are full: with true the next worker makes room by dropping a message as its
  // mailbox prescribes, with false the sender gets an error.
  virtual void SetPoolMakesRoom(bool makes_room) = 0;

  // Sets how senders choose among the workers. Call it before the Main lane is redirected for the first time;
  // afterwards only admission_limit may differ.
  virtual void SetSenderRules(const SenderRules& rules) = 0;
  // Returns where in the rotation the next message tries first, by these rules (Rotation::TakeAt).
  [[nodiscard]] virtual std::uint64_t FirstChoice() const = 0;
  // Returns how many messages senders refused with kOverloaded.
  [[nodiscard]] virtual std::uint64_t OverloadedCount() const = 0;
  // Returns how many messages that came through this pool were dropped by workers for want of room: by their mailboxes,
  // to make room, or because a stash was full.
  [[nodiscard]] virtual std::uint64_t OverflowedCount() const = 0;
  // Notes that a message was refused or dropped because no worker has room; senders call it, too. The first call sends
  // this process a kShortage envelope; later calls do nothing until TryEndShortage.
  virtual void NoteShortage() = 0;
  // Returns false, and the shortage goes on, while senders wait for room.
  [[nodiscard]] virtual bool TryEndShortage() = 0;
  // With kPool, instead of TryRedirectMain: closes the Main lane. From now on senders get ErrProcessMailboxFull, or
  // kOverloaded if `retry_after` is not 0. Returns false, and changes nothing, while messages wait in the Main lane.
  // AcceptMain opens the lane again.
  [[nodiscard]] virtual bool TryCloseMain(std::chrono::nanoseconds retry_after) = 0;

  // Returns the rotation that senders to this process use while its Main lane is redirected.
  [[nodiscard]] virtual core::Rotation& GetRotation() = 0;
  // For a pool that may be a worker itself: sets how many messages that came through it have come to their end, as far
  // as it knows from workers that have ended, and how many of those it has given to no worker.
  virtual void SetSettled(std::uint64_t settled, std::uint64_t never_given) = 0;
  // Makes senders forward to the rotation themselves from now on. Returns false, and changes nothing, while messages
  // wait in the Main lane: handle those first, so that order is kept.
  [[nodiscard]] virtual bool TryRedirectMain() = 0;
  // Makes Main messages come here from now on, also those of senders that have been redirected but have not yet found a
  // worker in the rotation. To be called before workers join the rotation that shall not get these messages first.
  virtual void AcceptMain() = 0;
  [[nodiscard]] virtual bool IsMainRedirected() const = 0;
  // Returns how many messages are on their way back here from a former worker's slot; see MessageInheritance::late.
  [[nodiscard]] virtual std::uint64_t ReturningMessages() = 0;
  // Refuses Main messages with kProcessTerminated from now on: for a pool that ends. Those that wait there come, held
  // or not, and nothing comes behind them; then ProcessStop is called once more.
  virtual void RefuseMain() = 0;
};

}  // namespace ergon::gen

// What the runtime offers to those who write pools, beyond gen::ProcessHost: an address whose senders
// find workers themselves, and workers that leave to the pool what they have not handled.
#pragma once

#include <chrono>
#include <cstdint>

#include <ergon/gen/host/process_host.h>

namespace ergon::core {
class Rotation;
}

namespace ergon::gen {

// Whom senders to a pool try first; then the others, in the order of their turns.
enum class SenderChoice : std::uint8_t {
  kRotation,     // whose turn it is
  kLeastLoaded,  // who has least to do; among equals, whose turn it is
  kRandom,
  kPool,  // nobody: all messages go to the pool, which places them itself
};
struct SenderRules {
  SenderChoice choice = SenderChoice::kRotation;
  std::uint64_t seed = 0;  // of kRandom
  // A worker at which a message would wait longer, as its kMeasure says, counts as full; if all do, the
  // sender gets kOverloaded. 0: none. Not for kPool.
  std::chrono::nanoseconds admission_limit{0};
};

// What a worker does for its pool with each message that came through that.
enum class WorkerDuty : std::uint8_t {
  kNone,
  kReport,   // sends a kProgress envelope to its parent when it has handled it, or put it aside
  kMeasure,  // keeps the mean time that it takes (WorkerProgress::mean_handling)
};

// How far a worker is with what came through its pool. Exact when it is at rest.
struct WorkerProgress {
  std::uint64_t handled = 0;  // messages that came through the pool; by a pool: by its workers
  // Of those it was given, the ones that the pool need not wait for: handled, or passed on to workers of its own.
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;  // of those, the ones for which its stash had no room
  std::uint64_t queued = 0;   // normal priority, waiting or stashed
  bool busy = false;          // handles a message, or is about to
  bool current = false;       // handles one that came through the pool
  bool ended = false;         // the process is gone; what it left behind may still be on its way
  std::uint64_t expired = 0;  // of those handled, the requests skipped because their time was up
  std::uint64_t aside = 0;    // of those queued, the ones that it has stashed, or holds as a pool
  std::chrono::nanoseconds mean_handling{0};  // moving average, with WorkerDuty::kMeasure
  // From one message to the next when some wait, of late, by a worker or all workers of one; 0: not known.
  std::chrono::nanoseconds pace{0};
  std::chrono::nanoseconds lasted{
      0};  // what it does now, if it is busy, since it waited last; in whole ms
};

class PoolHost : public ProcessHost {
 public:
  // -- envelopes --

  // Passes an envelope on, with its sender and ref; `envelope` is null after success. `routed` marks the
  // envelope as having come through this process as a pool.
  virtual Result<void> Forward(PID to, core::EnvelopePtr& envelope, bool routed) = 0;
  // As Forward with `routed`, to a worker that may drop a message for it as its mailbox prescribes.
  virtual Result<void> ForwardMakingRoom(PID worker, core::EnvelopePtr& envelope) = 0;
  // Counts a message that this process has made, in the name of another (`from` is set), as one that was
  // sent and that this process holds: to be passed on by Forward, or ended by Drop.
  virtual void Adopt(core::Envelope& envelope) = 0;
  // Leaves a message that this process holds to its heir, when it ends, with what waits in its mailbox. False,
  // and nothing has happened: this process has no heir.
  virtual bool Bequeath(core::EnvelopePtr& envelope) = 0;

  // Requests. Beginning with one and its time-out exclude each other, and the caller's error says which
  // it was. The runtime notes the beginning before it gives a request to the behaviour.

  // From now on the runtime does not for requests of normal priority: the processes to which this process
  // forwards them begin with them.
  virtual void LeaveBeginningToOthers() = 0;
  // Then: for a request that this process handles itself after all. False: the caller was told that the
  // request will not be handled; to be dropped as expired.
  [[nodiscard]] virtual bool Begin(const core::Envelope& request) = 0;

  // -- workers --

  // As Spawn, linked and with this process as heir: what the child has not handled when it ends arrives
  // as a MessageInheritance, just before the exit signal.
  virtual Result<PID> SpawnWorker(const ProcessFactory& factory, const ProcessOptions& options,
                                  const Args& args) = 0;
  // As SpawnWorker, without waiting for its Init. When that is done, this process gets a
  // MessageStarted; if it fails, the exit signal.
  virtual Result<PID> SpawnWorkerAsync(const ProcessFactory& factory, const ProcessOptions& options,
                                       const Args& args) = 0;
  // Before the first message is forwarded to the worker. Nothing happens if the process is gone.
  virtual void SetDuty(PID worker, WorkerDuty duty) = 0;
  // How many messages of normal priority may wait at a worker; 0: any number. What waits already stays, and senders
  // that wait for room at this pool are served. Nothing happens if the process is gone.
  virtual void SetWorkerMailboxSize(PID worker, std::uint32_t messages) = 0;
  // All zero and `ended` when the worker is gone.
  [[nodiscard]] virtual WorkerProgress Progress(PID worker) const = 0;

  // -- the pool's address --

  // The process has a mailbox that keeps its own order (Mailbox::HasQueue): it cannot be a pool.
  [[nodiscard]] virtual bool HasQueue() const = 0;
  // What senders do when all workers are full: have the next one make room, by dropping a message as
  // its mailbox prescribes (then with true), or get an error.
  virtual void SetPoolMakesRoom(bool makes_room) = 0;

  // How senders choose among the workers. Before the Main lane is redirected for the first time; later only the limit
  // may be another one.
  virtual void SetSenderRules(const SenderRules& rules) = 0;
  // Where in the rotation the next message tries first, by these rules (Rotation::TakeAt).
  [[nodiscard]] virtual std::uint64_t FirstChoice() const = 0;
  // Messages refused with kOverloaded by senders.
  [[nodiscard]] virtual std::uint64_t OverloadedCount() const = 0;
  // Messages that came through this pool, dropped by workers for want of room: by their mailboxes, to make
  // room, or because a stash was full.
  [[nodiscard]] virtual std::uint64_t OverflowedCount() const = 0;
  // A message was refused or dropped because no worker has room; senders call it, too. The first call
  // sends this process a kShortage envelope, later ones do nothing until EndShortage.
  virtual void NoteShortage() = 0;
  virtual void EndShortage() = 0;
  // With kPool, instead of TryRedirectMain: from now on senders get ErrProcessMailboxFull, or kOverloaded
  // with a `retry_after` that is not 0. False, and nothing has changed, while messages wait in the
  // Main lane. AcceptMain ends it.
  [[nodiscard]] virtual bool TryCloseMain(std::chrono::nanoseconds retry_after) = 0;

  // The rotation that senders to this process use while its Main lane is redirected.
  [[nodiscard]] virtual core::Rotation& GetRotation() = 0;
  // Of a pool that may be a worker itself: how many messages that came through it have come to their end, as
  // far as it knows from workers that have ended, and how many of those it has given to nobody.
  virtual void SetSettled(std::uint64_t settled, std::uint64_t never_given) = 0;
  // From now on senders forward to the rotation themselves. False, and nothing has changed, while
  // messages wait in the Main lane: handle those first, so that order is kept.
  [[nodiscard]] virtual bool TryRedirectMain() = 0;
  // From now on Main messages come here, also those of senders that have been redirected and had
  // not found a worker in the rotation yet. To be called before workers join the rotation that
  // shall not get them first.
  virtual void AcceptMain() = 0;
  [[nodiscard]] virtual bool IsMainRedirected() const = 0;
  // Messages on their way back here from a former worker's slot; see MessageInheritance::late.
  [[nodiscard]] virtual std::uint64_t ReturningMessages() = 0;
  // From now on Main messages are refused with kProcessTerminated: for a pool that ends. False, and
  // nothing has changed, while messages wait in the Main lane.
  [[nodiscard]] virtual bool TryRefuseMain() = 0;
};

}  // namespace ergon::gen

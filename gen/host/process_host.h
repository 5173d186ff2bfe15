// What the runtime offers to those who write behaviours (act::Actor and the like), beyond
// gen::Process. What only pools need is a PoolHost's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include <ergon/gen/dropped_message.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/process.h>
#include <ergon/gen/status.h>

namespace ergon::gen {

class PoolHost;

class ProcessHost : public Process {
 public:
  // The same process with what a pool needs.
  [[nodiscard]] virtual PoolHost& ForPool() = 0;

  // -- envelopes --

  // Takes the envelope being handled out of the runtime's hands.
  [[nodiscard]] virtual core::EnvelopePtr Detach(core::Envelope& envelope) = 0;
  // As Detach, for a message of which this process makes a request of its own (RequestEnvelope): for
  // the pool that the message came through, it has been handled.
  [[nodiscard]] virtual core::EnvelopePtr DetachForRequest(core::Envelope& envelope) = 0;
  // Passes the message or request being handled on, with its sender and ref, and its deadline: what
  // becomes of it is the receiver's affair. After an error this process still handles the message.
  //   kNotAllowed  a notice or an event, or a request that has been answered, or not what is being handled
  virtual Result<void> PassOn(PID to, core::Envelope& envelope) = 0;
  // Makes `to` the holder of a request that this process holds: of the one being handled, or of one whose
  // handler has left it open. If `to` ends before the request is answered, its caller is told.
  //   kResponseIgnored  nobody waits for the answer any more
  //   kNotAllowed       this process does not hold the request
  virtual Result<void> HandOver(PID to, PID from, Ref ref) = 0;
  // Ends an envelope that nobody will handle: a request's caller gets `error`, others are counted.
  virtual void Drop(core::EnvelopePtr envelope, DropReason reason, const Error& error) = 0;

  // Puts the message or request being handled aside, until UnstashAll. False: the stash is full, and
  // the message was dropped: counted, and answered with kProcessMailboxFull. Throws std::logic_error
  // when another message is being handled, or this one has been answered.
  virtual bool Stash(core::Envelope& envelope) = 0;
  // Puts what is stashed back into the Main lane, before everything else there (at a priority mailbox:
  // before its equals), in the order in which it was stashed. Returns how many.
  virtual std::size_t UnstashAll() = 0;
  // As Stash, for an envelope of the behaviour's own, made or detached, that is no message: it
  // returns among the others, with the kind kOwnTimer. It counts in stash_size, but is never
  // dropped for want of room. To a mailbox with an order of its own it returns before everything.
  virtual void StashOwn(core::EnvelopePtr envelope) = 0;
  // Puts such an envelope at the end of the Main lane, beyond the lane's bound; from a mailbox with an
  // order of its own it comes back at once.
  virtual void EnqueueOwn(core::EnvelopePtr envelope) = 0;

  // The Receive that goes on in a process that Receives; null: none. What is given to ProcessMessage
  // meanwhile is what it wants, or of a kind that none may want.
  [[nodiscard]] virtual Receiver* CurrentReceiver() = 0;

  // What is called when the handler that runs has returned Status::Next(), and for a request its answer is on its
  // way, before anything else is handled; after Init in the first turn. It may go on in the same way.
  virtual void SetNext(std::function<Status()> next) = 0;
  // Another number after each message that was taken out of the mailbox, whatever became of it.
  [[nodiscard]] virtual std::uint64_t WorkMark() const = 0;
  // Messages wait in the Main lane, or are held by the behaviour: stashed, for instance.
  [[nodiscard]] virtual bool HasWork() const = 0;

  // -- children --

  // For behaviours that trap exits to outlive their children, and end with others' signals: a signal that
  // would end a process that does not trap exits ends what this process waits for (Call, Sleep, ...), too,
  // unless it is a child's.
  virtual void SetHeedExits(bool heed) = 0;

  // Starts a child with a name (empty: none) without waiting for its Init. When that is done, this process
  // gets a MessageStarted; if it fails, the exit signal of the link, which there always is. What the child
  // has not handled when it ends is answered and counted then.
  virtual Result<PID> SpawnChildAsync(Atom name, const ProcessFactory& factory,
                                      const ProcessOptions& options, const Args& args) = 0;
  // Asks a process to end with `reason` after what waits in its Main lane now.
  virtual Result<void> StopAfterQueue(PID pid, const Reason& reason) = 0;
  // Ends a process at once: the handler that runs is its last.
  virtual Result<void> Kill(PID pid) = 0;
  // Suspends this process until the other one has ended. kTimeout: it has not within `timeout`, which
  // must not be negative (kIncorrect; 0: only looks);
  // kProcessTerminated: this one is being ended itself.
  virtual Result<void> AwaitEnd(PID pid, std::chrono::nanoseconds timeout) = 0;

  // -- the Main lane --

  // While true, Main messages stay in the mailbox (and count against its bound).
  virtual void HoldMain(bool hold) = 0;
  virtual void SetMailboxSize(std::uint32_t messages) = 0;
  [[nodiscard]] virtual std::uint64_t MainQueued() const = 0;
  // Requests whose time was up before their handler could run.
  [[nodiscard]] virtual std::uint64_t ExpiredRequests() const = 0;

  // Whether the calling thread is inside a turn of this process. Any thread.
  [[nodiscard]] virtual bool InOwnTurn() const = 0;

  // -- time --

  // A kOwnTimer envelope to itself, before all that waits, after `delay`: for behaviours' own
  // timers. It is no message: when the process has ended nobody misses it.
  template <class T>
  TimerHandle SendSelfAfter(T&& value, std::chrono::nanoseconds delay) {
    auto envelope =
        core::MakeEnvelope<StoredType<T>>(static_cast<std::uint8_t>(EnvelopeKind::kOwnTimer),
                                          core::Lane::kUrgent, std::forward<T>(value));
    auto handle = SendEnvelopeAfter(Self(), std::move(envelope), delay);
    return handle ? *handle : TimerHandle();
  }
};

}  // namespace ergon::gen

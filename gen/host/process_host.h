// What the runtime offers to authors of behaviours (act::Actor and the like), beyond gen::Process. What only pools need
// is in PoolHost.
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
  // Returns the same process, with what a pool needs.
  [[nodiscard]] virtual PoolHost& ForPool() = 0;

  // -- envelopes --

  // Detaches the envelope being handled from the runtime: it belongs to the behaviour.
  [[nodiscard]] virtual core::EnvelopePtr Detach(core::Envelope& envelope) = 0;
  // As Detach, for a message from which this process makes a request of its own (RequestEnvelope): the pool that the
  // message came through sees it as handled.
  [[nodiscard]] virtual core::EnvelopePtr DetachForRequest(core::Envelope& envelope) = 0;
  // Passes on the message or request being handled, with its sender, ref and deadline: the receiver is responsible for
  // it from then on. After an error this process still handles the message. `may_wait`: suspends the process as long as
  // too much waits for the receiver's node, as a send does; otherwise that is kBusy.
  //   kNotAllowed  a notice or an event, or a request that has been answered, or not what is being handled
  virtual Result<void> PassOn(PID to, core::Envelope& envelope, bool may_wait) = 0;
  // Makes `to` the holder of a request that this process holds: the request being handled, or one that its handler has
  // left open. If `to` ends before the request is answered, the caller gets an error.
  //   kResponseIgnored  the caller has stopped waiting for the answer
  //   kNotAllowed       this process does not hold the request
  virtual Result<void> HandOver(PID to, PID from, Ref ref) = 0;
  // Forgets the request `id` of this process's own, which it has made to answer `ref` of `from`, if nobody waits for that
  // answer any more. Returns whether it has: then the request has no outcome.
  virtual bool ForgetIfAbandoned(std::uint64_t id, PID from, Ref ref) = 0;
  // Ends an envelope that will not be handled: the caller of a request gets `error`, other messages are counted as
  // dropped.
  virtual void Drop(core::EnvelopePtr envelope, DropReason reason, const Error& error) = 0;

  // Stashes the message or request being handled, until UnstashAll. Returns false if the stash is full, and the message
  // was dropped: counted, and answered with kProcessMailboxFull. Throws std::logic_error when another message is being
  // handled, or this one has been answered.
  virtual bool Stash(core::Envelope& envelope) = 0;
  // Puts the stashed messages back into the Main lane, before everything else there (at a priority mailbox: before
  // their equals), in the order in which they were stashed. Returns how many there were.
  virtual std::size_t UnstashAll() = 0;
  // As Stash, for an envelope of the behaviour's own, made or detached, that is not a message. It returns among the
  // others, with the kind kOwnTimer. It counts in stash_size, but is never dropped for want of room. To a mailbox with
  // an order of its own it returns before everything else.
  virtual void StashOwn(core::EnvelopePtr envelope) = 0;
  // Puts such an envelope at the end of the Main lane, beyond the lane's bound. From a mailbox with an order of its own
  // it comes back at once.
  virtual void EnqueueOwn(core::EnvelopePtr envelope) = 0;

  // Returns the Receive that waits in a process that Receives; null: none. ProcessMessage meanwhile gets only what that
  // Receive wants, or kinds that no Receive may want.
  [[nodiscard]] virtual Receiver* CurrentReceiver() = 0;

  // Sets the function that is called when the running handler has returned Status::Next(), and the answer to a request
  // is on its way, before anything else is handled; after Init, in the first turn. The function may set a next one in
  // the same way.
  virtual void SetNext(std::function<Status()> next) = 0;
  // Returns a number that changes with each message taken out of the mailbox, whatever became of the message.
  [[nodiscard]] virtual std::uint64_t WorkMark() const = 0;
  // Returns whether messages wait in the Main lane, or are held by the behaviour, stashed for instance, or requests
  // have no outcome yet: own ones, or those of others that this process has taken.
  [[nodiscard]] virtual bool HasWork() const = 0;

  // -- children --

  // For behaviours that trap exits to outlive their children, and end with the signals of other processes. With true, a
  // signal that would end a process that does not trap exits also ends what this process waits for (Call, Sleep, ...),
  // unless the signal is a child's.
  virtual void SetHeedExits(bool heed) = 0;

  // Starts a child with a name (empty: none) without waiting for its Init. When Init is done, this process gets a
  // MessageStarted; if it fails, the exit signal of the link, which there always is. When the child ends, the messages
  // that it has not handled are answered and counted.
  virtual Result<PID> SpawnChildAsync(Atom name, const ProcessFactory& factory,
                                      const ProcessOptions& options, const Args& args) = 0;
  // Asks a process to end with `reason` after the messages that wait in its Main lane now.
  virtual Result<void> StopAfterQueue(PID pid, const Reason& reason) = 0;
  // Ends a process at once: the handler that runs is its last.
  virtual Result<void> Kill(PID pid) = 0;
  // Suspends this process until the other one has ended. Returns kTimeout if it has not ended within `timeout`, 0 or
  // more (0: only looks), kIncorrect for a negative `timeout`, and kProcessTerminated if this process is being ended
  // itself.
  virtual Result<void> AwaitEnd(PID pid, std::chrono::nanoseconds timeout) = 0;

  // -- the Main lane --

  // While true, Main messages stay in the mailbox (and count against its bound).
  virtual void HoldMain(bool hold) = 0;
  virtual void SetMailboxSize(std::uint32_t messages) = 0;
  [[nodiscard]] virtual std::uint64_t MainQueued() const = 0;
  // Returns how many requests timed out before their handler could run.
  [[nodiscard]] virtual std::uint64_t ExpiredRequests() const = 0;

  // Returns whether the calling thread is inside a turn of this process. May be called from any thread.
  [[nodiscard]] virtual bool InOwnTurn() const = 0;

  // -- time --

  // Sends a kOwnTimer envelope to this process after `delay`, before all that waits: for behaviours' own timers. It is
  // not a message, so it is not counted when the process has ended.
  template <class T>
  TimerHandle SendSelfAfter(T&& value, std::chrono::nanoseconds delay) {
    auto envelope =
        core::MakeEnvelope<StoredType<T>>(static_cast<std::uint8_t>(EnvelopeKind::kOwnTimer),
                                          core::Lane::kUrgent, std::forward<T>(value));
    auto handle = SendEnvelopeAfter(Self(), envelope, delay);
    return handle ? *handle : TimerHandle();
  }
};

}  // namespace ergon::gen

// How messages get from a pool to its workers when the senders do not bring them there themselves.
//
// With a strategy that senders follow (PoolRotationForwarder) the pool forwards the messages that they could not
// place; with the others (PoolQueueForwarder, PoolBroadcastForwarder) it forwards all messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include <ergon/act/pool/counters.h>
#include <ergon/act/pool/replacement.h>
#include <ergon/act/pool_options.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/rotation.h>
#include <ergon/gen/host/limited_lines.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::act {

class PoolForwarder {
 public:
  // How often messages that wait for a full worker are offered again. A worker that has room again
  // does not report it, and the senders that would notice have been told to wait themselves.
  static constexpr std::chrono::nanoseconds kRetry = std::chrono::milliseconds(1);
  // The message to itself that makes the pool call Retry.
  struct RetryTimer {};

  PoolForwarder(const PoolForwarder&) = delete;
  PoolForwarder& operator=(const PoolForwarder&) = delete;
  virtual ~PoolForwarder() = default;

  // At the end of the pool: tells how many lines of the log were left out last.
  void TellRest() const {
    failed_lines_.TellRest(host_, "messages that could not be given to a worker");
  }

  // Returns whether a pool forwards such a message.
  [[nodiscard]] static bool IsForwarded(const core::Envelope& envelope);

  // Takes a message of the Main lane that the pool is handling.
  virtual void Arrived(core::Envelope& envelope) = 0;
  // Takes the messages that a worker left behind when it ended or, if `worker` is PID(), messages that were on their
  // way to a worker. They go before everything that waits here, because they were sent before.
  virtual void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) = 0;
  // Takes messages that come without the news of an end: they were on their way to `worker` when it ended (`late`), or
  // have come past it from a worker of its own. It may have ended long ago.
  virtual void CameFrom(gen::PID worker, bool late, std::vector<core::EnvelopePtr> messages) = 0;
  // Takes the copies of a broadcast out of what has come past a pool that is a worker, and drops them: other workers of
  // that pool have had theirs, and nobody waits for its requests.
  void LoseCopies(std::vector<core::EnvelopePtr>& messages);
  // Drops what a worker has left that nobody shall have, before Inherited is told of its end.
  void Lose(std::vector<core::EnvelopePtr> messages);
  // Notes that a worker that replaces another has become ready.
  virtual void WorkerReady() = 0;
  // Notes that workers have joined or are leaving.
  virtual void Resized() = 0;
  // With true, senders bring their messages to the pool, whatever the strategy, until it is told false: the pool wants
  // to know of the next one. Only while all workers are there and none has anything to do.
  virtual void LetMessagesCome(bool /*come*/) {}
  // The options are others now.
  virtual void OptionsChanged() {}
  // A worker's report (gen::WorkerDuty::kReport).
  virtual void Progressed(gen::PID worker) = 0;
  // Takes the answer to a request. Returns false, and does nothing, if this forwarder did not make the request.
  virtual bool Answered(core::Envelope& /*envelope*/) { return false; }
  // Takes the arrival of a RetryTimer.
  virtual void Retry() = 0;
  // Brings the Main lane into the state that is needed now, and sees to it that waiting messages are offered again.
  // Called after each of the above, until End.
  virtual void Settle() = 0;

  // Begins the end of the pool. Messages that wait still go to the workers.
  virtual void Drain() = 0;
  // After Drain: stops accepting messages.
  virtual void Close() = 0;
  // After Drain: returns whether no message waits here. Messages of workers that crash may wait again.
  [[nodiscard]] bool HasDrained() const { return held() == 0; }
  // Ends the time for what is left. From now on everything is dropped.
  virtual void End() = 0;

  // When all workers have ended: returns whether no answer that a caller waits for is on its way here.
  [[nodiscard]] virtual bool HasFinished() const { return true; }
  // The pool ends now, whatever is left.
  virtual void Finish() {}

  // Returns how many messages wait here.
  [[nodiscard]] virtual std::size_t held() const = 0;
  // Returns how many of the held messages a worker had before.
  [[nodiscard]] virtual std::size_t held_given() const = 0;
  // Returns how long a worker takes for a message that it was given here, ns; 0: not known.
  [[nodiscard]] virtual std::int64_t mean_handling() const { return 0; }
  // Returns how many messages were accepted for the workers and are not held any more, each counted once.
  [[nodiscard]] std::uint64_t forwarded() const noexcept {
    return rotation_.Given() + counters_.never_given;
  }
  // Returns how many messages were refused by senders for want of room or of time, or were dropped; without expired
  // requests.
  [[nodiscard]] std::uint64_t unhandled() const {
    return rotation_.RefusedCount() + host_.OverflowedCount() + counters_.lost_terminated;
  }
  // Returns how many of those were not accepted before: forwarded() and held() have none of them.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return rotation_.RefusedCount() - dropped_here_;
  }
  // Returns how many requests were skipped here because their time was up.
  [[nodiscard]] std::uint64_t expired() const noexcept { return expired_; }
  // Returns how many messages were refused with kOverloaded, here and by senders.
  [[nodiscard]] std::uint64_t overloaded() const { return overloaded_ + host_.OverloadedCount(); }

 protected:
  enum class Mode : std::uint8_t { kRunning, kDraining, kEnded };

  struct Held {
    core::EnvelopePtr envelope;
    bool given = false;                          // a worker has had it; it is counted as forwarded
    std::vector<core::EnvelopePtr> copies = {};  // of a broadcast, for the other workers
    bool is_copy = false;                        // the other workers have had theirs
  };

  PoolForwarder(gen::PoolHost& host, PoolReplacement& replacement, PoolCounters& counters)
      : host_(host),
        rotation_(host.GetRotation()),
        replacement_(replacement),
        counters_(counters) {}

  static constexpr std::string_view kOnlyWorker = "the pool's only worker";

  // Returns the error for a worker, named by `who`, that calls the pool and would have to answer itself.
  [[nodiscard]] static gen::Error WaitsForItself(std::string_view who);
  [[nodiscard]] static std::size_t CountGiven(const std::deque<Held>& messages);
  // Makes senders bring all messages to the pool instead of looking for a worker themselves.
  void LetSendersBringAll();
  // Takes over a message that a worker left behind. Returns false, and the message is gone, if it is not a message to
  // be handled, or if the pool has ended.
  [[nodiscard]] bool Salvage(Held& message);
  // The first part of that: returns false, and the message is gone, if it is not one to be handled.
  [[nodiscard]] bool IsForHandler(Held& message);
  // Forwards a message to a worker that is not from the rotation. If it `may_drop`, the worker's mailbox makes room.
  // The message is counted first, and the count is taken back if this fails: the host tells an outer pool that waits
  // for this pool, and the outer pool looks at the count.
  gen::Result<void> GiveTo(gen::PID worker, Held& message, bool may_drop = false);
  // All workers are full, and their mailboxes make room: the next one drops a message, or takes this one for the
  // oldest. Returns false if this message has to be held; always for one that a worker has had, and when the pool ends.
  bool MakeRoom(Held& message);
  // Ends a request whose caller has stopped waiting. Returns false if the message is no such request.
  bool DropExpired(Held& message);
  // Begins a request from which the pool makes requests of its own. Returns false if the request has ended because
  // its caller has stopped waiting.
  [[nodiscard]] bool Begin(Held& message);
  // Answers a request that cannot be taken.
  void Refuse(Held message, const gen::Error& error);
  // Drops a message for want of room, as the policy of the workers' mailboxes says.
  void DropFull(Held message);
  // Drops a copy of a broadcast for a worker that is full while others have room.
  void DropMissed(Held message);
  void DropTerminated(Held& message);
  // Marks the message as one of the copies of a broadcast, or as none.
  static void MarkCopy(core::Envelope& envelope, bool is_copy) noexcept;
  // Returns whether a pool, this one or an outer one, has given the message to a worker.
  [[nodiscard]] static bool IsMarked(const core::Envelope& envelope) {
    return (envelope.flags & core::Envelope::kFlagRouted) != 0;
  }
  // Returns whether a worker did not take the message because of the message itself: the user's mailbox threw.
  [[nodiscard]] static bool IsOwnFault(const gen::Error& error) {
    return error.code() == gen::ErrorCode::kInternal;
  }
  [[nodiscard]] static bool IsOwnFault(const gen::Result<void>& sent) {
    return !sent && IsOwnFault(sent.error());
  }
  // Returns whether a worker that lives has no room; one that is a pool may have a limit of its own.
  [[nodiscard]] static bool HasNoRoom(const gen::Result<void>& sent) {
    return !sent &&
           (sent.error() == gen::ErrProcessMailboxFull || sent.error() == gen::ErrOverloaded);
  }
  // Ends a message that cannot be placed because a function of the user's threw. Its caller is told, and no other
  // message is harmed.
  void Fail(Held message, const gen::Error& error);
  // Does the same inside of a catch (...); the text is as in "the pool's key function threw: out of range".
  void FailThrown(Held message, std::string_view what);
  void ArmRetry();
  void CancelRetry();
  void RetryArrived() { retry_is_armed_ = false; }
  void HoldMain(bool hold);

  gen::PoolHost& host_;
  core::Rotation& rotation_;
  PoolReplacement& replacement_;
  PoolCounters& counters_;
  Mode mode_ = Mode::kRunning;
  std::uint64_t overloaded_ = 0;

 private:
  void DropForRoom(Held message, std::uint64_t& counter);
  void Expire(Held& message);

  bool main_is_held_ = false;
  bool retry_is_armed_ = false;
  gen::TimerHandle retry_timer_;
  std::uint64_t expired_ = 0;
  std::uint64_t dropped_here_ = 0;  // of those that the rotation counts as refused: accepted before
  gen::LimitedLines failed_lines_;  // the messages of others decide how many fail
};

}  // namespace ergon::act

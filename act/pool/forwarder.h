// How messages get from a pool to its workers when the senders do not bring them there themselves.
//
// With a strategy that senders follow (PoolRotationForwarder) the pool forwards what they could not place;
// with the others (PoolQueueForwarder, PoolBroadcastForwarder) everything.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include <ergon/act/pool/counters.h>
#include <ergon/act/pool/routing.h>
#include <ergon/act/pool_options.h>
#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/rotation.h>
#include <ergon/gen/host/pool_host.h>

namespace ergon::act {

class PoolForwarder {
 public:
  // Messages that wait for a full worker are offered again so often. A worker that has room again
  // tells nobody; the senders that would notice are told to wait themselves.
  static constexpr std::chrono::nanoseconds kRetry = std::chrono::milliseconds(1);
  // The message to itself that makes the pool call Retry.
  struct RetryTimer {};

  PoolForwarder(const PoolForwarder&) = delete;
  PoolForwarder& operator=(const PoolForwarder&) = delete;
  virtual ~PoolForwarder() = default;

  // Whether a pool forwards such a message.
  [[nodiscard]] static bool IsForwarded(const core::Envelope& envelope);

  // A message of the Main lane, being handled by the pool.
  virtual void Arrived(core::Envelope& envelope) = 0;
  // What a worker left behind when it ended, or (nobody) what was on its way to one: it goes before
  // everything that waits here, because it was sent before.
  virtual void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) = 0;
  // A worker that replaces another has become ready.
  virtual void WorkerReady() = 0;
  // Workers have joined, or leave.
  virtual void Resized() = 0;
  // The options are others now.
  virtual void OptionsChanged() {}
  // A worker's report (gen::WorkerDuty::kReport).
  virtual void Progressed(gen::PID worker) = 0;
  // The answer to a request: false, and nothing has happened, if this did not make it.
  virtual bool Answered(core::Envelope& /*envelope*/) { return false; }
  // A RetryTimer has arrived.
  virtual void Retry() = 0;
  // Makes the state of the Main lane fit, and sees to it that what waits is offered again. After each of
  // the above, until End.
  virtual void Settle() = 0;

  // The pool is asked to end. What waits still goes to the workers.
  virtual void Drain() = 0;
  // After Drain: nothing more is accepted.
  virtual void Close() = 0;
  // After Drain: nothing waits here any more. What workers leave behind that crash may wait again.
  [[nodiscard]] bool HasDrained() const { return held() == 0; }
  // Time is up. From now on everything is dropped.
  virtual void End() = 0;

  // When all workers have ended: nothing is on its way here any more that somebody waits for.
  [[nodiscard]] virtual bool HasFinished() const { return true; }
  // The pool ends now, whatever is left.
  virtual void Finish() {}

  [[nodiscard]] virtual std::size_t held() const = 0;
  // Of those, the ones that a worker had before.
  [[nodiscard]] virtual std::size_t held_given() const = 0;
  // How long a message takes a worker, of those that it was given here, ns; 0: not known.
  [[nodiscard]] virtual std::int64_t mean_handling() const { return 0; }
  // Messages accepted for the workers and not held any more, each counted once.
  [[nodiscard]] std::uint64_t forwarded() const noexcept {
    return rotation_.Given() + counters_.never_given;
  }
  // Messages refused by senders for want of room or of time, or dropped; without expired requests.
  [[nodiscard]] std::uint64_t unhandled() const noexcept {
    return rotation_.RefusedCount() + counters_.lost_terminated;
  }
  // Requests skipped here because their time was up.
  [[nodiscard]] std::uint64_t expired() const noexcept { return expired_; }
  // Refused with kOverloaded, here and by senders.
  [[nodiscard]] std::uint64_t overloaded() const { return overloaded_ + host_.OverloadedCount(); }

 protected:
  enum class Mode : std::uint8_t { kRunning, kDraining, kEnded };

  struct Held {
    core::EnvelopePtr envelope;
    bool given = false;                          // a worker has had it: it is counted as forwarded
    std::vector<core::EnvelopePtr> copies = {};  // for the other workers, of a broadcast
  };

  PoolForwarder(gen::PoolHost& host, PoolRouting& routing, PoolCounters& counters)
      : host_(host), rotation_(host.GetRotation()), routing_(routing), counters_(counters) {}

  static constexpr std::string_view kOnlyWorker = "the pool's only worker";

  // What `who` gets, a worker that calls the pool and would be the one to answer.
  [[nodiscard]] static gen::Error WaitsForItself(std::string_view who);
  [[nodiscard]] static std::size_t CountGiven(const std::deque<Held>& messages);
  // Senders do not look for a worker themselves.
  void LetSendersBringAll();
  // Of what a worker left behind: false, and it is gone, for what is no message to be handled, and when
  // the pool has ended.
  [[nodiscard]] bool Salvage(Held& message);
  // Forwards to a worker that is not from the rotation; if it `may_drop`, the worker's mailbox makes room. Counted
  // first, and taken back if it fails: the host tells an outer pool that waits for this one, and that looks at
  // the count.
  gen::Result<void> GiveTo(gen::PID worker, Held& message, bool may_drop = false);
  // Ends a request whose caller has stopped waiting; false: it is none.
  bool DropExpired(Held& message);
  // The pool makes requests of its own of this one. False: as DropExpired, it has ended.
  [[nodiscard]] bool Begin(Held& message);
  // Answers a request that cannot be taken.
  void Refuse(Held message, const gen::Error& error);
  // Drops a message for want of room, as the policy of the workers' mailboxes says.
  void DropFull(Held message);
  // The same for a copy of a broadcast, which others have room for.
  void DropMissed(Held message);
  void DropTerminated(Held& message);
  // Whether it was the message's own fault that a worker did not take it: a mailbox of the user's threw.
  [[nodiscard]] static bool IsOwnFault(const gen::Error& error) {
    return error.code() == gen::ErrorCode::kInternal;
  }
  [[nodiscard]] static bool IsOwnFault(const gen::Result<void>& sent) {
    return !sent && IsOwnFault(sent.error());
  }
  // Ends a message that cannot be placed because a function of the user's threw: its caller is told, and no other
  // is harmed.
  void Fail(Held message, const gen::Error& error);
  // The same inside of a catch (...); as in "the pool's key function threw: out of range".
  void FailThrown(Held message, std::string_view what);
  void ArmRetry();
  void CancelRetry();
  void RetryArrived() { retry_is_armed_ = false; }
  void HoldMain(bool hold);

  gen::PoolHost& host_;
  core::Rotation& rotation_;
  PoolRouting& routing_;
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
};

}  // namespace ergon::act

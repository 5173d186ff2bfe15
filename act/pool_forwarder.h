// How messages get from a pool to its workers when the senders do not bring them there themselves.
//
// Most of the time senders do: the Main lane is *redirected*, and they use the rotation. The pool
// forwards what arrived before that, what could not be placed by its sender because workers were
// dead, and what a worker left behind when it ended. A message that nobody takes while a worker is
// being replaced is *held*; then newer ones stay in the mailbox, so that order is kept, and count
// against its bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <ergon/act/pool_counters.h>
#include <ergon/act/pool_routing.h>
#include <ergon/core/envelope.h>
#include <ergon/gen/process_host.h>

namespace ergon::act {

class PoolForwarder {
 public:
  // Messages that wait for a full worker are offered again so often. A worker that has room again
  // tells nobody; the senders that would notice are told to wait themselves.
  static constexpr std::chrono::nanoseconds kRetry = std::chrono::milliseconds(1);
  // The message to itself that makes the pool call Retry.
  struct RetryTimer {};

  // `makes_room`: when all workers are full, one of them drops a message for a new one.
  PoolForwarder(gen::ProcessHost& host, PoolRouting& routing, PoolCounters& counters,
                bool makes_room)
      : host_(host),
        rotation_(host.GetRotation()),
        routing_(routing),
        counters_(counters),
        makes_room_(makes_room) {}

  // Whether a pool forwards such a message.
  [[nodiscard]] static bool IsForwarded(const core::Envelope& envelope);

  // A message of the Main lane, being handled by the pool.
  void Arrived(core::Envelope& envelope);
  // What a worker left behind: it goes before everything that waits here, because it was sent
  // before.
  void Inherited(std::vector<core::EnvelopePtr> messages);
  // Offers what is held, after a worker has become ready or the pool has become smaller.
  void Flush();
  // As Flush, when a RetryTimer has arrived.
  void Retry();
  // Makes the state of the Main lane fit: held, redirected, or neither. After each of the above.
  void SettleMain();

  // The pool is asked to end. From now on what nobody takes is dropped; what is held, now.
  void Drain();
  // The workers have been told to end. From now on everything is dropped.
  void End();

  [[nodiscard]] std::size_t held() const noexcept { return held_.size(); }
  // Of those, the ones that a worker had before.
  [[nodiscard]] std::size_t held_given() const noexcept;
  // Messages accepted for the workers and not held any more, each counted once.
  [[nodiscard]] std::uint64_t forwarded() const noexcept {
    return rotation_.Given() + counters_.never_given;
  }
  // Messages refused by senders for want of room, or dropped.
  [[nodiscard]] std::uint64_t unhandled() const noexcept {
    return rotation_.RefusedCount() + counters_.lost_terminated;
  }

 private:
  enum class Mode : std::uint8_t { kRunning, kDraining, kEnded };
  enum class Outcome : std::uint8_t { kTaken, kHold };

  struct Held {
    core::EnvelopePtr envelope;
    bool given = false;  // a worker has had it: it is counted as forwarded
  };

  // Whom a message has met that nobody took; the others were full.
  struct Met {
    bool dead = false;
    bool caller = false;
  };

  // Tries the workers, at most once round. False: nobody took it.
  bool Offer(Held& message, Met& met);
  // Offers, and decides what becomes of it when nobody takes it.
  Outcome Place(Held& message);
  // False: nobody has, or the workers' mailboxes refuse.
  bool MakeRoom(Held& message);
  void Refuse(Held& message, const gen::Error& error);
  void LogRefusal();
  void DropTerminated(Held& message);

  gen::ProcessHost& host_;
  core::Rotation& rotation_;
  PoolRouting& routing_;
  PoolCounters& counters_;
  const bool makes_room_;
  Mode mode_ = Mode::kRunning;
  std::deque<Held> held_;
  bool main_is_held_ = false;
  bool retry_is_armed_ = false;
  gen::TimerHandle retry_timer_;
  // Refusals are logged once a second.
  std::int64_t last_log_ = 0;
  std::uint64_t refused_since_log_ = 0;
  bool has_logged_ = false;
};

}  // namespace ergon::act

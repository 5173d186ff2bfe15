// The pool's part when its senders choose the workers themselves.
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

#include <ergon/act/pool_forwarder.h>

namespace ergon::act {

class PoolRotationForwarder final : public PoolForwarder {
 public:
  PoolRotationForwarder(gen::ProcessHost& host, PoolRouting& routing, PoolCounters& counters,
                        const PoolOptions& options);

  void Arrived(core::Envelope& envelope) override;
  void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) override;
  void WorkerReady() override;
  void Resized() override;
  void Progressed(gen::PID /*worker*/) override {}
  void Retry() override;
  void Settle() override;
  // What nobody takes at once is dropped from now on.
  void Drain() override;
  void Close() override {}
  [[nodiscard]] bool HasDrained() const override { return true; }
  void End() override;

  [[nodiscard]] std::size_t held() const override { return held_.size(); }
  [[nodiscard]] std::size_t held_given() const override { return CountGiven(held_); }

 private:
  enum class Outcome : std::uint8_t { kTaken, kHold };

  // Whom a message has met that nobody took; the others were full.
  struct Met {
    bool dead = false;
    bool caller = false;
  };

  void SetDuties();
  // Offers what is held.
  void Flush();
  // Tries the workers, at most once round. False: nobody took it.
  bool Offer(Held& message, Met& met);
  // Offers, and decides what becomes of it when nobody takes it.
  Outcome Place(Held& message);
  // False: nobody has, or the workers' mailboxes refuse.
  bool MakeRoom(Held& message);

  // When all workers are full, one of them drops a message for a new one.
  const bool makes_room_;
  const bool measures_;
  std::deque<Held> held_;
};

}  // namespace ergon::act

// The pool's part when its senders choose the workers themselves (node/delivery/pool_delivery.cc). Both offer a message to
// the workers with the same loop, core/messages/offer_in_turn.h.
//
// Most of the time senders do: the Main lane is *redirected*, and they use the rotation. The pool
// forwards what arrived before that, what could not be placed by its sender because workers were
// dead, and what a worker left behind when it ended. A message that nobody takes is *held* until
// somebody has room for it, and no other gives way to it; newer ones stay in the mailbox meanwhile, so that
// order is kept.
//
// Accepted is kept, and memory is bounded: the pool itself takes as many messages as the workers
// that are being replaced would, less what it holds for them. So what it has finds room when they
// are there, and all together never have more than their number times their bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <ergon/act/pool/forwarder.h>

namespace ergon::act {

class PoolRotationForwarder final : public PoolForwarder {
 public:
  PoolRotationForwarder(gen::PoolHost& host, PoolRouting& routing, PoolCounters& counters,
                        const PoolOptions& options);

  void Arrived(core::Envelope& envelope) override;
  void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) override;
  void WorkerReady() override;
  void Resized() override;
  void OptionsChanged() override;
  void Progressed(gen::PID /*worker*/) override {}
  void Retry() override;
  void Settle() override;
  void Drain() override;
  void Close() override { accepts_ = false; }
  void End() override;

  [[nodiscard]] std::size_t held() const override { return held_.size(); }
  [[nodiscard]] std::size_t held_given() const override { return CountGiven(held_); }

 private:
  // Whom a message has met that nobody took; the others were full.
  struct Met {
    bool dead = false;
    bool caller = false;
    std::optional<gen::Error> failed;  // a worker's mailbox threw
  };

  void SetDuties();
  // Offers what is held.
  void Flush();
  // Tries the workers, at most once round. False: nobody took it; true: somebody did, or it has failed.
  bool Offer(Held& message, Met& met);
  // False: it has to be held.
  bool Place(Held& message);
  // For one that has just arrived, and that Place has found no place for. False: the policy of the workers'
  // mailboxes does not say so, or workers are missing.
  bool MakeRoom(Held& message);
  void LimitMain();

  const PoolOptions& options_;
  bool has_measured_ = false;  // workers have a duty, or had one
  std::deque<Held> held_;
  bool accepts_ = true;
  bool all_full_ = false;  // nobody took what is held, and nobody was dead
};

}  // namespace ergon::act

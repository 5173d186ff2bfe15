// The pool's part when its senders choose the workers themselves (node/delivery/pool_delivery.cc). Both offer a message
// to the workers with the same loop, core/messages/offer_in_turn.h.
//
// Most of the time senders do: the Main lane is *redirected*, and they use the rotation. The pool
// forwards messages that arrived before that, messages that their senders could not place because workers were
// dead, and messages that a worker left behind when it ended. A message that no worker takes is *held* until
// a worker has room for it, and no other message is dropped for it. Newer messages stay in the mailbox meanwhile,
// so that the order is kept.
//
// Accepted messages are kept, and memory is bounded: the pool itself takes as many messages as the workers
// that are being replaced would, less those that it holds for them. So its messages find room when the replacements
// are ready, and pool and workers together never have more messages than the number of workers times their bound.
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
  PoolRotationForwarder(gen::PoolHost& host, PoolReplacement& replacement, PoolCounters& counters,
                        const PoolOptions& options);

  void Arrived(core::Envelope& envelope) override;
  void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) override;
  void CameFrom(gen::PID worker, bool late, std::vector<core::EnvelopePtr> messages) override;
  void WorkerReady() override;
  void Resized() override;
  void LetMessagesCome(bool come) override;
  void OptionsChanged() override;
  void Progressed(gen::PID /*worker*/) override {}
  void Retry() override;
  void Settle() override;
  void Drain() override;
  void Close() override { accepts_ = false; }
  void End() override;

  [[nodiscard]] std::size_t held() const override { return held_.size() + set_aside_.size(); }
  [[nodiscard]] std::size_t held_given() const override {
    return CountGiven(held_) + CountGiven(set_aside_);
  }

 private:
  // What an unplaced message has met.
  struct Met {
    bool full = false;
    bool dead = false;
    bool caller = false;
    std::optional<gen::Error> failed;  // a worker's mailbox threw
  };

  // Takes over messages that go before those that wait here, but for the first `behind` of these.
  void TakeOver(std::vector<core::EnvelopePtr> messages, std::size_t behind);
  void SetDuties();
  // Offers the held messages, and first what is set aside.
  void Flush();
  // Tries the workers, at most once round. Returns true if a worker took the message, or if the message has failed.
  bool Offer(Held& message, Met& met);
  // Returns false if the message has to be held.
  bool Place(Held& message);
  // Does the same, but sets a request aside that only its own worker could take now.
  bool PlaceOrSetAside(Held& message);
  void LimitMain();

  const PoolOptions& options_;
  bool has_measured_ = false;  // workers have a duty, or had one
  std::deque<Held> held_;
  // Requests of workers to this pool that wait for another worker, of which none is there: what comes behind them may go
  // to the worker that asks.
  std::deque<Held> set_aside_;
  bool waits_for_other_ = false;  // the last message that was not placed is such a request
  bool accepts_ = true;
  bool all_full_ = false;   // no worker took the held messages, and none was dead
  bool wants_all_ = false;  // see LetMessagesCome
  // Since then, while messages come here: so many more may, which is the room that the workers have. 0: not so.
  std::size_t room_of_idle_ = 0;
};

}  // namespace ergon::act

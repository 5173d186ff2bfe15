// The pool's part when it places all messages itself: they wait in a PoolQueue, and each worker is given
// one at a time.
//
// A worker reports when it is done with a message, or has stashed it. Until the queue has reached its bound
// the Main lane is open; then it is *closed*, so that senders get an error at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <ergon/act/pool/forwarder.h>
#include <ergon/act/pool/queue.h>

namespace ergon::act {

class PoolQueueForwarder final : public PoolForwarder {
 public:
  PoolQueueForwarder(gen::PoolHost& host, PoolReplacement& replacement, PoolCounters& counters,
                     const PoolOptions& options);

  void Arrived(core::Envelope& envelope) override;
  void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) override;
  void CameFrom(gen::PID worker, bool late, std::vector<core::EnvelopePtr> messages) override;
  void WorkerReady() override { Resized(); }
  void Resized() override;
  void Progressed(gen::PID worker) override;
  void Retry() override;
  void Settle() override;
  void Drain() override;
  void Close() override { accepts_ = false; }
  void End() override;

  [[nodiscard]] std::size_t held() const override { return queue_.waiting(); }
  [[nodiscard]] std::size_t held_given() const override { return queue_.waiting_given(); }
  [[nodiscard]] std::int64_t mean_handling() const override { return mean_handling_; }

 private:
  // What the pool knows about the worker of a member.
  struct Place {
    gen::PID worker;
    std::uint64_t given = 0;          // messages
    std::uint64_t stashed = 0;        // of these, when it was free last
    std::uint64_t stash_changes = 0;  // then; see gen::WorkerProgress
    std::int64_t given_at = 0;        // the last one; ns
    bool busy = false;
  };

  [[nodiscard]] std::size_t Bound() const;
  // For a pool that drops: returns whether it drops the oldest message, else it drops the newest.
  [[nodiscard]] bool DropsOldest() const;
  // Returns how much longer than the admission limit a message would wait; 0: not longer.
  [[nodiscard]] std::chrono::nanoseconds ExcessWait() const;
  // Returns false if the user's key function threw; then the message has failed.
  bool FindKey(Held& message, std::optional<std::uint64_t>& key);
  // Returns true, and answers the request with an error, if it cannot be taken although there is room.
  bool RefuseRequest(Held& message, std::optional<std::uint64_t> key);
  // Returns the member whose worker has sent the request; 0: somebody else has, or it is none.
  [[nodiscard]] std::uint64_t MemberThatAsks(const core::Envelope& request) const;
  // Returns whether a request of this member would wait for the member itself.
  [[nodiscard]] bool WaitsForAsker(std::uint64_t member, std::optional<std::uint64_t> key) const;
  void RefuseOfAsker(Held message, std::optional<std::uint64_t> key);
  // Refuses requests that came when somebody else could answer them.
  void RefuseLeftAlone();
  // Returns those that a worker can still have, with their keys.
  std::vector<PoolQueue::Item> TakeOver(std::vector<core::EnvelopePtr> messages);
  void GiveAll();
  void Give(PoolQueue::Turn turn);
  // Checks whether the worker is done with the messages that it was given.
  void Look(std::uint64_t member, Place& place);
  // A worker has taken so long for a message.
  void NoteHandled(std::int64_t nanoseconds);
  void LookAgain(std::uint64_t member);
  void SettleMain();
  void Welcome(const PoolMember& member);
  void DropAll(std::vector<PoolQueue::Item> items);

  const PoolOptions& options_;
  PoolQueue queue_;
  std::unordered_map<std::uint64_t, Place> places_;           // by member
  std::unordered_map<std::uint64_t, std::uint64_t> members_;  // by the worker's id
  // Members whose worker has messages from other senders, which keep it from taking the next one.
  std::vector<std::uint64_t> look_again_;
  bool accepts_ = true;
  bool may_have_own_ = false;       // requests of workers may wait
  std::int64_t mean_handling_ = 0;  // ns, moving average
  std::int64_t measured_ = 0;       // messages that it is of, up to those that count
};

}  // namespace ergon::act

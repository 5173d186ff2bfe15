// The pool's part when each message goes to all workers.
//
// A worker whose mailbox is full misses a message, which is counted. Only if all are full the message waits here, and
// newer messages wait in the pool's mailbox, as many as in a worker's. Messages that a worker leaves behind when it
// ends go to its replacement, because the other workers have had them. A request becomes one request to each worker,
// in the pool's name; when all have answered or failed, the caller gets the answers together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include <ergon/act/broadcast_answers.h>
#include <ergon/act/pool/forwarder.h>
#include <ergon/gen/ref.h>

namespace ergon::act {

class PoolBroadcastForwarder final : public PoolForwarder {
 public:
  PoolBroadcastForwarder(gen::PoolHost& host, PoolReplacement& replacement, PoolCounters& counters,
                         const PoolOptions& options);

  void Arrived(core::Envelope& envelope) override;
  void Inherited(gen::PID worker, std::vector<core::EnvelopePtr> messages) override;
  void CameFrom(gen::PID worker, bool late, std::vector<core::EnvelopePtr> messages) override;
  void WorkerReady() override;
  void Resized() override;
  void OptionsChanged() override;
  void Progressed(gen::PID /*worker*/) override {}
  bool Answered(core::Envelope& envelope) override;
  void Retry() override;
  void Settle() override;
  void Drain() override;
  void Close() override { accepts_ = false; }
  void End() override;
  // The last answers of a worker arrive after the news of its end.
  [[nodiscard]] bool HasFinished() const override { return asked_.empty(); }
  void Finish() override;

  [[nodiscard]] std::size_t held() const override;
  [[nodiscard]] std::size_t held_given() const override;

 private:
  // A request, and the answers to it that have arrived.
  struct Question {
    gen::PID from;
    gen::Ref ref;
    BroadcastAnswers answers;
    std::size_t open = 0;
  };
  static constexpr std::size_t kQuestions = 64;
  struct Asked {
    std::uint64_t question = 0;
    std::size_t entry = 0;
  };

  // Each returns false if no worker can take the message now.
  bool Place(Held& message);
  bool PlaceOne(Held& message);
  bool Spread(Held& message);
  bool Ask(Held& message);
  // Makes copies for all but one of so many workers. Returns false if a copy could not be made; then the message has
  // failed.
  bool MakeCopies(Held& message, std::size_t workers);
  [[nodiscard]] std::vector<PoolMember> Receivers() const;
  // Gives a message to a worker, puts it behind the messages that wait for this worker already, or fails it.
  bool Give(const PoolMember& member, Held& message);
  // Takes over what was for the worker of this member; 0: not known.
  void TakeOver(std::uint64_t member, bool late, std::vector<core::EnvelopePtr> messages);
  // A pool among the workers may have ended long before the workers of its own do.
  static constexpr std::size_t kRemembered = 2 * std::size_t{kMaxPoolSize};
  void Remember(std::uint64_t worker, std::uint64_t member);
  void Flush();
  void FlushPending(const PoolMember& member);
  // Returns whether a message waits for workers that are full; see kRetry.
  [[nodiscard]] bool NeedsRetry() const;
  void Reply(std::uint64_t number);
  // Forgets each request that was made for a caller that waits no more, and has no outcome yet.
  void ForgetAbandoned();
  [[nodiscard]] std::chrono::nanoseconds TimeFor(const core::Envelope& request) const;

  const PoolOptions& options_;
  std::deque<Held> held_;                              // messages that no worker could take
  std::map<std::uint64_t, std::deque<Held>> pending_;  // by member: for it alone; never empty
  std::unordered_map<std::uint64_t, std::uint64_t> members_;  // by the worker's id
  std::unordered_map<std::uint64_t, std::uint64_t> former_;   // likewise, of those that have ended
  std::deque<std::uint64_t> former_in_order_;                 // their ids, the oldest first
  std::map<std::uint64_t, Question> questions_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by the ref of the pool's own request
  std::uint64_t last_question_ = 0;
  std::size_t questions_limit_ = kQuestions;  // with so many it looks for abandoned ones
  bool accepts_ = true;
};

}  // namespace ergon::act

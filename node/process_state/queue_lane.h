// The Main lane of a process whose mailbox has a queue of its own (gen::MailboxQueue): ordered by priority, dropping
// its oldest, or a user's. Senders and the process share the queue under a lock; the lock-free lane of core::Mailbox is
// redirected here, so that plain mailboxes pay nothing for it.
//
// Belongs to a slot and is never freed while the node lives: a late sender may still lock it. Such a sender finds
// another generation then, or a closed lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include <ergon/core/messages/envelope.h>
#include <ergon/core/messages/mailbox.h>
#include <ergon/gen/mailbox.h>

namespace ergon::node {

class QueueLane {
 public:
  enum class Outcome : std::uint8_t {
    kQueued,  // the envelope is the lane's
    kFull,    // it is still the caller's
    kClosed,  // it is still the caller's: the process has ended, or takes nothing more
  };

  // -- senders: any thread --

  // Returns whether this is the lane of the process of this generation, not of a later or former one.
  [[nodiscard]] bool IsOf(std::uint32_t generation) const noexcept {
    return generation_.load(std::memory_order_relaxed) == generation;
  }
  // Pushes an envelope. `dropped` gets the message that was dropped for it, maybe the envelope itself. With
  // `only_if_room` nothing is dropped: the lane is full then. Throws what the queue throws.
  Outcome Push(std::uint32_t generation, bool only_if_room, core::EnvelopePtr& envelope,
               core::EnvelopePtr& dropped, core::Mailbox& mailbox);
  // Takes nothing more from now on, and hands out `stop` when all that waits has been handled. When called again, the
  // first `stop` counts.
  Outcome Stop(std::uint32_t generation, core::EnvelopePtr& stop, core::Mailbox& mailbox);

  // Sets the bound, in messages, of a queue that is no user's; 0: none. What waits stays.
  void SetBound(std::uint32_t bound);

  // -- the one with the right to run the process --

  // Hands out `notice` after as many messages as wait now.
  void PutBehind(core::EnvelopePtr notice, core::Mailbox& mailbox);
  // `bound` in messages; 0: none, or known to the queue only.
  void Open(std::uint32_t generation, std::unique_ptr<gen::MailboxQueue> queue, std::size_t bound);
  // Takes out the next message; null if there is none.
  [[nodiscard]] core::EnvelopePtr Pop(core::Mailbox& mailbox);
  // Puts back messages that were popped, oldest first, before all others of their rank. Throws what the queue throws:
  // then those are left that it was not given, and `given`, an envelope without a value, says whose message it was
  // given last, and what counts that. That one is in `lost`, which has room for one: its destructor may send to this
  // process.
  void Return(std::vector<core::EnvelopePtr>& envelopes, core::Envelope& given,
              std::vector<core::EnvelopePtr>& lost, core::Mailbox& mailbox);
  // Closes the lane and returns all that waits, in the order in which it would have been handled.
  [[nodiscard]] std::vector<core::EnvelopePtr> Close(core::Mailbox& mailbox);

 private:
  friend class DebuggerLayout;

  void NoteSize(core::Mailbox& mailbox);

  std::mutex mutex_;
  std::atomic<std::uint32_t> generation_{0};  // written under mutex_
  // -- guarded by mutex_ --
  std::size_t bound_ = 0;
  std::unique_ptr<gen::MailboxQueue> queue_;  // null: closed
  core::EnvelopePtr stop_;
  struct Notice {
    core::EnvelopePtr envelope;
    std::uint64_t after;  // when so many messages have been handed out, since Open
  };
  std::deque<Notice> notices_;
  std::uint64_t handed_out_ = 0;
  bool stopping_ = false;
};

}  // namespace ergon::node

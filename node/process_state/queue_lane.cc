#include <ergon/node/process_state/queue_lane.h>

#include <algorithm>
#include <utility>

#include <ergon/core/foundations/fatal.h>
#include <ergon/core/foundations/tell_thrown.h>

namespace ergon::node {
namespace {

// What a queue has refused, or has not taken since it threw, is its sender's again.
core::EnvelopePtr GiveBack(gen::OwnedMessage& message) {
  if (message) return message.Release();
  core::Fatal("a mailbox of your own",
              "Enqueue has taken a message, and yet returned false, or thrown");
}

}  // namespace

void QueueLane::NoteSize(core::Mailbox& mailbox) {
  mailbox.SetQueued(static_cast<std::uint32_t>(queue_->size() + notices_.size()) +
                    (stop_ != nullptr ? 1 : 0));
}

QueueLane::Outcome QueueLane::Push(std::uint32_t generation, bool only_if_room,
                                   core::EnvelopePtr& envelope, core::EnvelopePtr& dropped,
                                   core::Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  if (queue_ == nullptr || !IsOf(generation) || stopping_) return Outcome::kClosed;
  if (only_if_room && bound_ != 0 && queue_->size() >= bound_) return Outcome::kFull;
  core::Envelope* const newest = envelope.get();
  gen::OwnedMessage message(std::move(envelope));
  gen::OwnedMessage loser;
  bool taken = false;
  try {
    taken = queue_->Enqueue(message, loser);
  } catch (...) {
    dropped = loser.Release();  // the queue may have made room before
    envelope = GiveBack(message);
    NoteSize(mailbox);
    throw;
  }
  dropped = loser.Release();
  if (!taken) {
    envelope = GiveBack(message);
    NoteSize(mailbox);
    return Outcome::kFull;
  }
  if (dropped.get() == newest && (newest->flags & core::Envelope::kFlagImportant) != 0) {
    envelope = std::move(dropped);
    return Outcome::kFull;
  }
  NoteSize(mailbox);
  return Outcome::kQueued;
}

QueueLane::Outcome QueueLane::Stop(std::uint32_t generation, core::EnvelopePtr& stop,
                                   core::Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  if (queue_ == nullptr || !IsOf(generation)) return Outcome::kClosed;
  if (stopping_) return Outcome::kQueued;  // it is on its way to the end: `stop` is not needed
  stopping_ = true;
  stop_ = std::move(stop);
  NoteSize(mailbox);
  return Outcome::kQueued;
}

void QueueLane::Open(std::uint32_t generation, std::unique_ptr<gen::MailboxQueue> queue,
                     std::size_t bound) {
  std::lock_guard lock(mutex_);
  generation_.store(generation, std::memory_order_relaxed);
  queue_ = std::move(queue);
  bound_ = bound;
  stopping_ = false;
  handed_out_ = 0;
}

void QueueLane::SetBound(std::uint32_t bound) {
  std::lock_guard lock(mutex_);
  if (queue_ == nullptr) return;  // closed
  if (gen::Mailbox::SetBoundOf(*queue_, static_cast<int>(bound))) bound_ = bound;
}

core::EnvelopePtr QueueLane::Pop(core::Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  core::EnvelopePtr envelope;
  const auto take_notice = [&] {
    envelope = std::move(notices_.front().envelope);
    notices_.pop_front();
  };
  const bool is_due = !notices_.empty() && notices_.front().after <= handed_out_;
  if (is_due) {  // NOLINT(bugprone-branch-clone): the order counts
    take_notice();
  } else if (envelope = queue_->Dequeue().Release(); envelope != nullptr) {
    ++handed_out_;
  } else if (!notices_.empty()) {  // some of those before it were dropped
    take_notice();
  } else {
    envelope = std::move(stop_);
  }
  NoteSize(mailbox);
  return envelope;
}

void QueueLane::PutBehind(core::EnvelopePtr notice, core::Mailbox& mailbox) {
  std::lock_guard lock(mutex_);
  notices_.push_back({std::move(notice), handed_out_ + queue_->size()});
  NoteSize(mailbox);
}

void QueueLane::Return(std::vector<core::EnvelopePtr>& envelopes, core::Envelope& given,
                       std::vector<core::EnvelopePtr>& lost, core::Mailbox& mailbox) {
  const gen::detail::LeftMessages left(lost);
  std::lock_guard lock(mutex_);
  // More stand before the notices now.
  const auto note = [&, before = queue_->size()] {
    const std::size_t now = std::max(queue_->size(), before);
    for (Notice& notice : notices_) notice.after += now - before;
    NoteSize(mailbox);
  };
  try {
    while (!envelopes.empty()) {
      core::EnvelopePtr last = std::move(envelopes.back());
      envelopes.pop_back();
      given.kind = last->kind;
      given.flags = static_cast<std::uint8_t>(
          last->flags & (core::Envelope::kFlagRouted | core::Envelope::kFlagStamped));
      given.from = last->from;
      given.ref = last->ref;
      given.generation = last->generation;
      given.deadline = last->deadline;
      queue_->Return(gen::OwnedMessage(std::move(last)));
    }
  } catch (...) {
    note();  // of those before
    throw;
  }
  note();
}

std::vector<core::EnvelopePtr> QueueLane::Close(core::Mailbox& mailbox) {
  // The queue, which may be a user's, is destroyed outside of the lock.
  std::unique_ptr<gen::MailboxQueue> queue;
  {
    std::lock_guard lock(mutex_);
    queue = std::move(queue_);
    stop_.reset();
    notices_.clear();
    mailbox.SetQueued(0);
  }
  std::vector<core::EnvelopePtr> rest;
  // What it has not given out is there when it is destroyed, or when Dequeue throws.
  const gen::detail::LeftMessages left(rest);
  try {
    while (gen::OwnedMessage message = queue->Dequeue()) rest.push_back(message.Release());
  } catch (...) {
    static std::atomic<bool> told{false};
    core::TellThrown("Dequeue of a mailbox", told);
  }
  queue.reset();
  return rest;
}

}  // namespace ergon::node

// What a process does with its own mailbox: its kind, the stash, and whether messages have to wait.
#include <algorithm>
#include <mutex>
#include <stdexcept>

#include <fmt/core.h>

#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/thrown_text.h>

namespace ergon::node {

gen::Result<std::unique_ptr<gen::MailboxQueue>> Process::MakeQueue(const gen::Mailbox& mailbox) {
  std::unique_ptr<gen::MailboxQueue> queue;
  if (!mailbox.HasQueue()) return queue;
  try {
    queue = mailbox.MakeQueue();
  } catch (...) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      fmt::format("mailbox: its factory threw {}", ThrownText()));
  }
  if (queue == nullptr) {
    return gen::Error(gen::ErrorCode::kIncorrect, "mailbox: its factory returned null");
  }
  return queue;
}

void Process::OpenMailbox(const gen::ProcessOptions& options,
                          std::unique_ptr<gen::MailboxQueue> queue) {
  const gen::Mailbox& mailbox = options.mailbox;
  if (mailbox.bound() != 0 || mailbox.HasQueue() || options.stash_size != 0) {
    ProcessCold& cold = Cold();
    std::lock_guard lock(cold.lock);
    cold.mailbox = mailbox;
    cold.overflow = mailbox.overflow();
    cold.stash_limit = static_cast<std::size_t>(options.stash_size);
  }
  has_queue_ = queue != nullptr;
  if (!has_queue_) {
    mailbox_.Open(static_cast<std::uint32_t>(options.mailbox_size != 0 ? options.mailbox_size
                                                                       : mailbox.bound()));
    return;
  }
  QueueLane* lane = GetQueueLane();
  if (lane == nullptr) {
    lane = new QueueLane;
    Cold().queue_lane.store(lane, std::memory_order_release);  // partner: GetQueueLane
  }
  lane->Open(generation_.load(std::memory_order_relaxed), std::move(queue),
             static_cast<std::size_t>(mailbox.bound()));
  mailbox_.OpenQueued();
}

core::Mailbox::Rest Process::CloseMailbox(std::vector<core::EnvelopePtr>& waiting) {
  waiting = TakeStash();
  core::Mailbox::Rest rest = mailbox_.Close();
  if (has_queue_) {
    // After the mailbox was closed: whoever pushes from now on finds the lane closed.
    for (auto& envelope : GetQueueLane()->Close(mailbox_)) {
      waiting.push_back(std::move(envelope));
    }
    has_queue_ = false;
  }
  return rest;
}

core::Envelope* Process::NextInQueue() {
  // A late sender to the slot's former process may have ended the redirection to the queue.
  if (!mailbox_.IsRedirected()) (void)mailbox_.TryRedirect();
  return TakesMain() && mailbox_.HasQueued() ? GetQueueLane()->Pop(mailbox_).release() : nullptr;
}

bool Process::Stash(core::Envelope& envelope) {
  MustBeInOwnTurn("Stash");
  if (current_ != &envelope || !IsMessage(envelope) || answered_) {
    throw std::logic_error(
        "Stash: only the message being handled, and not answered, can be stashed");
  }
  ProcessCold& cold = Cold();
  core::EnvelopePtr message = TakeOver(envelope);
  if (cold.stash_limit != 0 && cold.stash.size() >= cold.stash_limit) {
    runtime_->CountOverflow(*this, Parent(), *message);
    if ((message->flags & core::Envelope::kFlagRouted) != 0) cold.counts.routed_unstashed.Add();
    Drop(std::move(message), gen::DropReason::kMailboxFull,
         gen::Error(gen::ErrorCode::kProcessMailboxFull, "its stash is full"));
    return false;
  }
  cold.stash.push_back(std::move(message));
  return true;
}

std::vector<core::EnvelopePtr> Process::TakeStash() {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return {};
  Hold(-std::count_if(cold->stash.begin(), cold->stash.end(),
                      [](const core::EnvelopePtr& envelope) { return IsMessage(*envelope); }));
  return std::exchange(cold->stash, {});
}

std::size_t Process::UnstashAll() {
  MustBeInOwnTurn("UnstashAll");
  std::vector<core::EnvelopePtr> stash = TakeStash();
  const std::size_t count = stash.size();
  if (count == 0) return 0;
  if (has_queue_) {
    // It knows messages only.
    const auto own = std::stable_partition(
        stash.begin(), stash.end(),
        [](const core::EnvelopePtr& envelope) { return IsMessage(*envelope); });
    for (auto envelope = own; envelope != stash.end(); ++envelope) WaitInLine(std::move(*envelope));
    stash.erase(own, stash.end());
  }
  for (auto& envelope : stash) envelope->lane = core::Lane::kMain;
  if (has_queue_) {
    GetQueueLane()->Return(std::move(stash), mailbox_);
    return count;
  }
  CountOwnInMain(std::count_if(stash.begin(), stash.end(), [](const core::EnvelopePtr& envelope) {
    return !IsMessage(*envelope);
  }));
  for (std::size_t i = 1; i < count; ++i) stash[i - 1]->next = stash[i].get();
  core::Envelope* const first = stash.front().get();
  core::Envelope* const last = stash.back().get();
  for (auto& envelope : stash) (void)envelope.release();
  mailbox_.ReturnToMain(first, last, static_cast<std::uint32_t>(count));
  return count;
}

void Process::MakeOwn(core::Envelope& envelope) const {
  envelope.kind = static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer);
  envelope.from = Self().ToAddress();
  envelope.generation = generation_.load(std::memory_order_relaxed);
}

void Process::PutAside(core::EnvelopePtr envelope) {
  MakeOwn(*envelope);
  Cold().stash.push_back(std::move(envelope));
}

void Process::WaitInLine(core::EnvelopePtr envelope) {
  MakeOwn(*envelope);
  // Inside of a turn: the mailbox is open, and will be looked at.
  core::PushOutcome outcome;
  if (has_queue_) {
    envelope->lane = core::Lane::kUrgent;
    outcome = mailbox_.Push(envelope.get());
  } else {
    CountOwnInMain(1);
    envelope->lane = core::Lane::kMain;
    outcome = mailbox_.PushBeyondBound(envelope.get());
  }
  if (outcome == core::PushOutcome::kPushed) (void)envelope.release();
}

void Process::SetSuspended(core::Envelope& envelope) {
  const bool suspend = static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kSuspend;
  // Sequentially consistent, and the look at the stop too; partner: Runtime::StopAfterQueue. One of the
  // two sees that a process that was asked to end must not be held.
  suspended_.store(suspend, std::memory_order_seq_cst);
  if (suspend && IsAskedToStop()) suspended_.store(false, std::memory_order_relaxed);
  (void)runtime_->Respond(
      gen::PID::FromAddress(envelope.from), envelope.ref,
      core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kResponse), core::Lane::kMain));
}

}  // namespace ergon::node

// Messages that a process puts aside, and how many its behaviour holds.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include <ergon/core/foundations/thrown_text.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/process/process.h>

namespace ergon::node {
namespace {

// What is put aside afterwards is not lost for want of memory.
void MakeRoomIn(std::vector<core::EnvelopePtr>& stash) {
  if (stash.size() == stash.capacity()) stash.reserve(std::max<std::size_t>(4, 2 * stash.size()));
}

}  // namespace

void ProcessRunner::Hold(std::int64_t messages) {
  auto& held = Cold().counts.held;
  held.store(held.load(std::memory_order_relaxed) + messages, std::memory_order_relaxed);
}

void ProcessRunner::CountOwnInMain(std::int64_t envelopes) {
  auto& own = Cold().counts.own_in_main;
  own.store(own.load(std::memory_order_relaxed) + envelopes, std::memory_order_release);
}

std::vector<core::EnvelopePtr> ProcessRunner::TakeStash() {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return {};
  Hold(-std::count_if(cold->stash.begin(), cold->stash.end(),
                      [](const core::EnvelopePtr& envelope) { return IsMessage(*envelope); }));
  return std::exchange(cold->stash, {});
}

core::EnvelopePtr ProcessRunner::DetachHeld(core::Envelope& envelope) {
  mailbox_.Detach(&envelope);
  if (IsMessage(envelope)) Hold(1);
  if (IsRequest(envelope)) rooms_.call_edges.NoteTaken(envelope, CallEdge::Stage::kPassedOn);
  if (current_ == &envelope) current_ = nullptr;
  return core::EnvelopePtr(&envelope);
}

bool Process::Stash(core::Envelope& envelope) {
  MustBeInOwnTurn("Stash");
  if (current_ != &envelope || !IsMessage(envelope) || answered_) {
    throw std::logic_error(
        "Stash: only the message being handled, and not answered, can be stashed");
  }
  ProcessCold& cold = Cold();
  const bool is_full = cold.stash_limit != 0 && cold.stash.size() >= cold.stash_limit;
  if (!is_full) MakeRoomIn(cold.stash);
  core::EnvelopePtr message = DetachHeld(envelope);
  if (is_full) {
    rooms_.delivery.CountOverflow(*this, Parent(), *message);
    if (IsRouted(*message)) cold.counts.routed_unstashed.Add();
    Drop(std::move(message), gen::DropReason::kMailboxFull,
         gen::Error(gen::ErrorCode::kProcessMailboxFull,
                    fmt::format("the stash of {} is full", Self())));
    return false;
  }
  cold.stash.push_back(std::move(message));
  return true;
}

std::size_t Process::UnstashAll() {
  MustBeInOwnTurn("UnstashAll");
  std::vector<core::EnvelopePtr> stash = TakeStash();
  const std::size_t count = stash.size();
  if (count == 0) return 0;
  Cold().counts.unstashings.Add();
  if (taking_.HasQueue()) {
    // It knows messages only.
    const auto own = std::stable_partition(
        stash.begin(), stash.end(),
        [](const core::EnvelopePtr& envelope) { return IsMessage(*envelope); });
    for (auto envelope = own; envelope != stash.end(); ++envelope) EnqueueOwn(std::move(*envelope));
    stash.erase(own, stash.end());
  }
  for (auto& envelope : stash) envelope->lane = core::Lane::kMain;
  if (taking_.HasQueue()) {
    ReturnToQueue(std::move(stash));
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

// The queue may be the user's, and throw: then it has destroyed the message that it was given, and the head alone tells
// whose that was.
void Process::ReturnToQueue(std::vector<core::EnvelopePtr> stash) {
  core::EnvelopePtr head;  // made before anything is given away
  std::vector<core::EnvelopePtr>
      lost;  // its destructor may send to this process, so it goes at the end
  try {
    lost.reserve(1);
    head =
        core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kMessage), core::Lane::kMain);
    GetQueueLane()->Return(stash, *head, lost, mailbox_);
  } catch (...) {
    const bool is_lost = head != nullptr;
    Hold(static_cast<std::int64_t>(stash.size()) + (is_lost ? 1 : 0));
    Cold().stash = std::move(stash);
    if (!is_lost) throw;  // there was no memory for it
    if (IsRouted(*head)) Cold().counts.routed_unstashed.Add();
    Drop(std::move(head), gen::DropReason::kFailed,
         gen::Error(gen::ErrorCode::kInternal, "Return of a mailbox threw: " + core::ThrownText()));
    throw;
  }
}

std::uint64_t Process::WorkMark() const {
  // Main messages when they are taken, others when they have been handled.
  return counts_.handled() + mailbox_.TakenApprox();
}

bool Process::HasWork() const {
  if (mailbox_.MainDepthApprox() != 0 || Rare().held.load(std::memory_order_relaxed) != 0)
    return true;
  const ProcessCold* const cold = ColdIfAny();
  if (cold == nullptr) return false;
  // Its own requests, whose outcomes have not come, and those of others that it has not answered.
  return !cold->awaited.IsEmpty() ||
         std::ranges::any_of(cold->open_requests, [&](const auto& open) {
           return rooms_.delivery.IsAwaited(open.second.from, open.first);
         });
}

void Process::MakeOwn(core::Envelope& envelope) const {
  envelope.kind = static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer);
  envelope.from = Self().ToAddress();
  envelope.generation = generation_.load(std::memory_order_relaxed);
}

void Process::StashOwn(core::EnvelopePtr envelope) {
  MakeOwn(*envelope);
  Cold().stash.push_back(std::move(envelope));
}

void Process::EnqueueOwn(core::EnvelopePtr envelope) {
  MakeOwn(*envelope);
  // Inside of a turn: the mailbox is open, and will be looked at.
  if (taking_.HasQueue()) {
    envelope->lane = core::Lane::kUrgent;
    if (mailbox_.Push(envelope.get()) != core::PushOutcome::kPushed) return;
  } else {
    CountOwnInMain(1);
    envelope->lane = core::Lane::kMain;
    mailbox_.PutLast(envelope.get());
  }
  (void)envelope.release();
}

}  // namespace ergon::node

#include <ergon/core/messages/mailbox.h>

#include <cassert>

namespace ergon::core {
namespace {

// Turns round the envelopes of a stack from `newest` down to the one above `until`; returns the oldest.
Envelope* Reverse(Envelope* newest, const Envelope* until) noexcept {
  Envelope* reversed = nullptr;
  while (newest != until) {
    Envelope* const older = newest->next;
    newest->next = reversed;
    reversed = newest;
    newest = older;
  }
  return reversed;
}

}  // namespace

PushOutcome Mailbox::PushTogether(Envelope* envelope, std::uint32_t messages) noexcept {
  return state_.Push(envelope, capacity_.load(std::memory_order_relaxed), taken_, messages);
}

PushOutcome Mailbox::PushBeyondBound(Envelope* envelope) noexcept {
  return state_.Push(envelope, 0, taken_);
}

PushOutcome Mailbox::PushAndAccept(Envelope* envelope) noexcept {
  return state_.PushAndAccept(envelope);
}

void Mailbox::SetQueued(std::uint32_t messages) noexcept {
  queued_.store(messages, std::memory_order_seq_cst);
}

PushOutcome Mailbox::PushExpress(Envelope* envelope) noexcept {
  Envelope* top = express_.load(std::memory_order_relaxed);
  do {
    if (top == ClosedExpress()) return PushOutcome::kClosed;
    envelope->next = top;
    // Sequentially consistent: Dekker's pattern with TryIdle (dispatch_state.h). Also releases the
    // envelope's content to CollectExpress.
  } while (!express_.compare_exchange_weak(top, envelope, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
  return state_.WakeIfIdle() ? PushOutcome::kMustSchedule : PushOutcome::kPushed;
}

void Mailbox::CollectExpress() noexcept {
  has_unvisited_ = true;
  // Only the consumer removes, so the stack is not closed here.
  AppendExpress(express_.exchange(nullptr, std::memory_order_seq_cst));
}

Envelope* Mailbox::PopExpress() noexcept {
  // What is on the stack comes behind what is urgent already, and stays there, unvisited.
  if (urgent_.empty() && express_.load(std::memory_order_relaxed) != nullptr) CollectExpress();
  if (!urgent_.empty()) return urgent_.PopFront();
  return system_.empty() ? nullptr : system_.PopFront();
}

Envelope* Mailbox::PopExpressOf(std::uint8_t kind) noexcept {
  if (HasExpress()) CollectExpress();
  for (EnvelopeList* const lane : {&urgent_, &system_}) {
    Envelope* before = nullptr;
    for (Envelope* envelope = lane->head; envelope != nullptr; envelope = envelope->next) {
      if (envelope->kind == kind) {
        (before == nullptr ? lane->head : before->next) = envelope->next;
        if (lane->tail == envelope) lane->tail = before;
        return envelope;
      }
      before = envelope;
    }
  }
  return nullptr;
}

void Mailbox::AppendExpress(Envelope* newest) noexcept {
  for (Envelope* envelope = Reverse(newest, nullptr); envelope != nullptr;) {
    Envelope* const next = envelope->next;
    EnvelopeList& lane = envelope->lane == Lane::kUrgent ? urgent_ : system_;
    lane.Append(envelope, envelope);
    envelope = next;
  }
}

void Mailbox::AppendMain() noexcept {
  if (is_draining_) FinishDraining();
  Envelope* const newest = state_.Top();
  if (newest == marker_) return;
  main_.Append(Reverse(newest, marker_), newest);
  SetMarker(newest);
}

Envelope* Mailbox::PopArrived() noexcept {
  while (!DrainMain()) {
    if (Envelope* const express = PopExpress()) return express;
  }
  CountTaken();
  return main_.PopFront();
}

bool Mailbox::DrainMain() noexcept {
  if (!is_draining_) {
    // The newest stays the tail; until the end its `next` is the one to go on with.
    main_.head = main_.tail = state_.Top();
    is_draining_ = true;
  }
  Envelope* const newest = main_.tail;
  const Envelope* const until = marker_;
  Envelope* first = main_.head;
  Envelope* envelope = newest->next;
  int steps = kStepsAtOnce;
  while (envelope != until) {
    Envelope* older = envelope->next;
    envelope->next = first;
    first = envelope;
    envelope = older;
    if (--steps == 0) [[unlikely]] {
      steps = kStepsAtOnce;
      if (express_.load(std::memory_order_relaxed) == nullptr) continue;
      main_.head = first;
      newest->next = envelope;
      return false;
    }
  }
  main_.head = first;
  newest->next = nullptr;
  is_draining_ = false;
  SetMarker(newest);
  return true;
}

void Mailbox::FinishDraining() noexcept {
  while (!DrainMain()) {
  }
}

void Mailbox::Detach(Envelope* envelope) noexcept {
  if (envelope != marker_) return;
  // Either nothing is above it and the state forgets it, or something is, which becomes the marker.
  while (marker_ == envelope) {
    if (state_.TryForget(envelope)) {
      marker_ = nullptr;
    } else {
      AppendMain();
    }
  }
}

bool Mailbox::TryRedirect() noexcept {
  if (!main_.empty()) return false;
  if (!state_.TryRedirect(marker_)) return false;
  SetMarker(nullptr);
  return true;
}

void Mailbox::RefuseMain() noexcept {
  while (!state_.TryRefuse(marker_)) AppendMain();
  SetMarker(nullptr);
}

void Mailbox::PutLast(Envelope* envelope) noexcept {
  assert(!IsClosed());
  // Its process is running: the push finds no idle state.
  if (!IsMainRefused() && PushBeyondBound(envelope) == PushOutcome::kPushed) return;
  if (is_draining_) FinishDraining();
  main_.Append(envelope, envelope);
  NoteWaiting();
}

void Mailbox::ReturnToMain(Envelope* first, Envelope* last, std::uint32_t count) noexcept {
  if (is_draining_) FinishDraining();
  last->next = main_.head;
  main_.head = first;
  if (last->next == nullptr) main_.tail = last;
  // They wait again. Release, as in Pop; the bound may be exceeded by them.
  taken_.store(taken_.load(std::memory_order_relaxed) - count, std::memory_order_release);
}

void Mailbox::Unfold(Envelope* envelope, EnvelopeList messages, std::uint32_t missing) noexcept {
  if (messages.empty()) {
    taken_.store(taken_.load(std::memory_order_relaxed) + missing, std::memory_order_release);
  } else {
    ReturnToMain(messages.head, messages.tail, 0 - missing);
  }
  Release(envelope);
}

void Mailbox::OpenQueued() noexcept {
  Prepare(0);
  state_.Open(true);
}

void Mailbox::Open(std::uint32_t capacity) noexcept {
  Prepare(capacity);
  state_.Open();
}

void Mailbox::Prepare(std::uint32_t capacity) noexcept {
  capacity_.store(capacity, std::memory_order_relaxed);
  taken_.store(state_.CountApprox(), std::memory_order_relaxed);
  marker_ = nullptr;
  marker_released_ = false;
  is_draining_ = false;
  main_ = system_ = urgent_ = EnvelopeList{};
  has_unvisited_ = false;
  express_.store(nullptr, std::memory_order_relaxed);
  queued_.store(0, std::memory_order_relaxed);
}

Mailbox::Rest Mailbox::Close() noexcept {
  if (is_draining_) FinishDraining();
  Envelope* top = state_.Close();
  // Acquires what the senders released; closes for them.
  Envelope* express = express_.exchange(ClosedExpress(), std::memory_order_seq_cst);

  if (top != nullptr && top != marker_) main_.Append(Reverse(top, marker_), top);
  SetMarker(nullptr);

  Rest rest;
  rest.main = main_.head;
  AppendExpress(express);
  if (!urgent_.empty() && !system_.empty()) urgent_.tail->next = system_.head;
  rest.express = !urgent_.empty() ? urgent_.head : system_.head;
  main_ = system_ = urgent_ = EnvelopeList{};
  // Without the owner's queue, which is still open: senders change its count while this looks.
  rest.main_messages = (state_.CountApprox() - taken_.load()) & DispatchState::kCountMask;
  return rest;
}

}  // namespace ergon::core

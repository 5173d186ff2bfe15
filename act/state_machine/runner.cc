#include <ergon/act/state_machine/runner.h>

#include <iterator>
#include <stdexcept>

#include <ergon/act/message_loop.h>
#include <ergon/gen/envelope_kind.h>

namespace ergon::act {
namespace {

// A timer has run out; its time-out waits in line then as a Due, behind what was there before it.
struct Fired {
  StateTimeouts::Id id;
};
struct Due {
  StateTimeouts::Id id;
};
// What was postponed before the state changed has been handled.
struct Mark {};

template <class T>
core::EnvelopePtr MakeOwn(T value) {
  return core::MakeEnvelope<T>(static_cast<std::uint8_t>(gen::EnvelopeKind::kOwnTimer),
                               core::Lane::kMain, std::move(value));
}

}  // namespace

StateRunner::~StateRunner() {
  for (const Timer& timer : timers_) timer.handle.Cancel();
}

gen::Status StateRunner::Start(Transition first) {
  return HandleRaised(Follow(std::move(first), nullptr));
}

gen::Status StateRunner::OnEnvelope(core::Envelope& envelope) {
  return HandleRaised(Dispatch(envelope));
}

void StateRunner::Describe(gen::Inspection& inspection) const {
  inspection.insert_or_assign("state", table_.NameOf(row_));
  inspection.insert_or_assign("postponed", std::to_string(queue_.postponed()));
  inspection.insert_or_assign("timeouts", timeouts_.ToString());
}

// -- events --

gen::Status StateRunner::Dispatch(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
    case gen::EnvelopeKind::kDown:
    case gen::EnvelopeKind::kExit:
      return HandleEnvelope(envelope, StateEventKind::kMessage);
    case gen::EnvelopeKind::kRequest:
      return HandleEnvelope(envelope, StateEventKind::kRequest);
    case gen::EnvelopeKind::kEvent:
      return HandleEnvelope(envelope, StateEventKind::kPublished);
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      return HandleResponse(envelope);
    case gen::EnvelopeKind::kOwnTimer:
      return HandleOwnEnvelope(envelope);
    default:  // the runtime's, or of other behaviours
      return gen::Continue();
  }
}

gen::Status StateRunner::HandleEnvelope(core::Envelope& envelope, StateEventKind kind) {
  StateEvent event(kind, SenderOf(envelope), RefOf(envelope), {}, gen::Message(envelope));
  return Handle({event, &envelope, nullptr});
}

gen::Status StateRunner::HandleResponse(core::Envelope& envelope) {
  const gen::PID self = host_.Self();
  StateEvent event(StateEventKind::kResponse, SenderOf(envelope),
                   {envelope.ref, self.node, self.creation}, {}, gen::Message(envelope));
  return Handle({event, &envelope, nullptr});
}

gen::Status StateRunner::HandleOwnEnvelope(core::Envelope& envelope) {
  if (const auto* fired = envelope.ValueAs<Fired>()) {
    ForgetTimer(fired->id, false);
    host_.EnqueueOwn(MakeOwn(Due{fired->id}));
  } else if (const auto* due = envelope.ValueAs<Due>()) {
    if (auto timeout = timeouts_.Fired(due->id)) return HandleOwn(std::move(*timeout));
  } else if (auto* own = envelope.ValueAs<OwnStateEvent>()) {
    return HandleOwn(std::move(*own));
  } else {
    queue_.RetriesEnded();
  }
  return gen::Continue();
}

gen::Status StateRunner::HandleOwn(OwnStateEvent own) {
  StateEvent event(own.kind, own.from, own.ref, own.name, own.value.View());
  return Handle({event, nullptr, &own});
}

gen::Status StateRunner::Handle(const Current& current) {
  timeouts_.OnEvent();
  return Follow(table_.At(row_).handler(current.event), &current);
}

gen::Status StateRunner::HandleRaised(gen::Status status) {
  constexpr int kAtOnce = 64;  // then others that are ready go first
  for (int handled = 1; !status.stops(); ++handled) {
    std::optional<OwnStateEvent> next = queue_.TakeRaised();
    if (!next && queue_.IsEmpty()) next = timeouts_.TakeDue();
    if (!next) break;
    if (handled % kAtOnce == 0) host_.Yield();
    // A process that is being ended handles nothing more; what is raised dies with it.
    if (!host_.Sleep(std::chrono::nanoseconds::zero())) break;
    status = HandleOwn(std::move(*next));
  }
  return status;
}

// -- what handlers want --

gen::Status StateRunner::Follow(Transition transition, const Current* current) {
  SendResponses(transition.responses(), current);
  if (transition.status().stops()) return transition.status();
  if (transition.postpones()) Postpone(*current);
  const bool changes = transition.kind() == Transition::Kind::kGoTo && transition.state() != row_;
  const std::size_t from = row_ == StateTable::kNone ? transition.state() : row_;
  if (changes) {
    row_ = transition.state();
    timeouts_.OnStateChange();
  }
  std::vector<TimeoutChange> timeouts = std::move(transition.timeouts());
  if (changes || transition.kind() == Transition::Kind::kRepeat) {
    gen::Status entered = Enter(from, timeouts);
    if (entered.stops()) return entered;
  }
  if (changes) RetryPostponed();
  queue_.Raise(std::move(transition.raised()));
  timeouts_.Apply(std::move(timeouts));
  RunTimers();
  return gen::Continue();
}

gen::Status StateRunner::Enter(std::size_t from, std::vector<TimeoutChange>& timeouts) {
  if (!table_.At(row_).entry) return gen::Continue();
  Entry entry = table_.At(row_).entry(from);
  SendResponses(entry.responses(), nullptr);
  std::move(entry.timeouts().begin(), entry.timeouts().end(), std::back_inserter(timeouts));
  return entry.status();
}

void StateRunner::Postpone(const Current& current) {
  if (!current.event.message()) throw std::logic_error("Postpone: the event has been forwarded");
  if (current.event.taken()) {
    throw std::logic_error("Postpone: the event's value has been taken out of it");
  }
  if (current.own != nullptr) {
    host_.StashOwn(MakeOwn(std::move(*current.own)));
  } else if (gen::IsUserMessage(static_cast<gen::EnvelopeKind>(current.envelope->kind))) {
    if (!host_.Stash(*current.envelope)) {
      if (const auto more = dropped_lines_.Take(host_)) {
        host_.Log().Warning(
            "an event was dropped that was to be postponed: stash_size is reached{}", *more);
      }
      return;
    }
  } else {  // a notice or an answer: the runtime has done its part, and must not look at it again
    host_.StashOwn(
        MakeOwn(OwnStateEvent{.kind = current.event.kind(),
                              .from = current.event.from(),
                              .ref = current.event.ref(),
                              .value = gen::OwnedMessage(host_.Detach(*current.envelope))}));
  }
  queue_.Postponed();
}

void StateRunner::RetryPostponed() {
  auto behind = queue_.StateChanged();
  if (!behind) return;
  for (OwnStateEvent& event : behind->events) host_.StashOwn(MakeOwn(std::move(event)));
  if (behind->mark) host_.StashOwn(MakeOwn(Mark{}));
  (void)host_.UnstashAll();
}

void StateRunner::SendResponses(std::vector<StateResponse>& responses, const Current* current) {
  for (StateResponse& response : responses) {
    if (!response.to && current == nullptr) throw std::logic_error("Reply: there is no request");
    if (!response.to && current->event.kind() == StateEventKind::kMessage) {  // anybody may send it
      if (const auto more = unasked_lines_.Take(host_)) {
        host_.Log().Warning("an answer was dropped: nobody waits for one to {}{}",
                            current->event.ToString(), *more);
      }
      continue;
    }
    const Caller to = response.to ? *response.to : current->event.Caller();
    auto sent = host_.SendResponseEnvelope(to.from, to.ref, std::move(response.response));
    // A caller that has stopped waiting is everyday life.
    if (!sent && sent.error() != gen::ErrResponseIgnored) {
      host_.Log().Debug("no answer to {}: {}", to.from, sent.error());
    }
  }
}

void StateRunner::RunTimers() {
  for (const StateTimeouts::Command& command : timeouts_.TakeCommands()) {
    if (command.start) {
      timers_.push_back({command.id, host_.SendSelfAfter(Fired{command.id}, command.delay)});
    } else {
      ForgetTimer(command.id, true);
    }
  }
}

void StateRunner::ForgetTimer(StateTimeouts::Id id, bool cancel) {
  const std::optional<Timer> timer = timers_.Take(id);
  if (timer && cancel) timer->handle.Cancel();
}

}  // namespace ergon::act

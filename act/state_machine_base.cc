#include <ergon/act/state_machine_base.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include <ergon/act/message_loop.h>
#include <ergon/act/shared/inspection_items.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/notices.h>

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

StateMachineBase::~StateMachineBase() {
  for (const auto& [id, timer] : timers_) timer.Cancel();
}

gen::Inspection StateMachineBase::HandleInspect(gen::PID /*from*/,
                                                const std::vector<std::string>& /*items*/) {
  return {};
}

void StateMachineBase::Terminate(const gen::Reason& /*reason*/) {}

Transition StateMachineBase::Delegate(const gen::Target& to, StateEvent& event) {
  auto forwarded = Forward(to, event.message());
  return forwarded ? Keep() : Keep().ReplyError(std::move(forwarded.error()));
}

Transition StateMachineBase::Unhandled(const StateEvent& event) {
  if (event.kind() == StateEventKind::kResponse) {
    // Who makes requests without looking at the answers means it.
    Log().Debug("unhandled {} in state '{}'", event.ToString(), StateName());
    return Keep();
  }
  Log().Warning("unhandled {} in state '{}'", event.ToString(), StateName());
  if (!event.IsRequest()) return Keep();
  return Keep().ReplyError(
      gen::Error(gen::ErrorCode::kUnsupported,
                 fmt::format("request {} in state '{}'", event.TypeName(), StateName())));
}

const std::string& StateMachineBase::StateName() const {
  static const std::string kNoName;
  return row_ == kNone ? kNoName : rows_[row_].name;
}

void StateMachineBase::SetProblem(std::string problem) {
  if (problem_.empty()) problem_ = std::move(problem);
}

// -- the process --

std::string StateMachineBase::Check(const Transition& first) const {
  if (!problem_.empty()) return problem_;
  for (const Row& row : rows_) {
    if (!row.handler) return fmt::format("state '{}': must have a handler", row.name);
  }
  if (first.kind() != Transition::Kind::kGoTo || first.postpones()) {
    return "Init: must return GoTo(the first state), or Stop";
  }
  return {};
}

gen::Status StateMachineBase::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  SetHost(host);
  Transition first = Init(args);
  if (first.status().stops()) return first.status();
  std::string problem = Check(first);
  if (!problem.empty()) return gen::Stop(gen::Reason::Error(std::move(problem)));
  return HandleRaised(Follow(std::move(first), nullptr));
}

gen::Status StateMachineBase::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
    case gen::EnvelopeKind::kDown:
    case gen::EnvelopeKind::kExit:
      return HandleRaised(HandleEnvelope(envelope, StateEventKind::kMessage));
    case gen::EnvelopeKind::kRequest:
      return HandleRaised(HandleEnvelope(envelope, StateEventKind::kRequest));
    case gen::EnvelopeKind::kEvent:
      return HandleRaised(HandleEnvelope(envelope, StateEventKind::kPublished));
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      return HandleRaised(HandleResponse(envelope));
    case gen::EnvelopeKind::kOwnTimer:
      return HandleRaised(HandleOwnEnvelope(envelope));
    case gen::EnvelopeKind::kInspect:
      Inspect(envelope);
      return gen::Continue();
    default:  // the runtime's, or of other behaviours
      return gen::Continue();
  }
}

void StateMachineBase::ProcessTerminate(const gen::Reason& reason) { Terminate(reason); }

// -- events --

gen::Status StateMachineBase::HandleEnvelope(core::Envelope& envelope, StateEventKind kind) {
  StateEvent event(kind, SenderOf(envelope), RefOf(envelope), {}, gen::Message(envelope));
  return Handle({event, &envelope, nullptr});
}

gen::Status StateMachineBase::HandleResponse(core::Envelope& envelope) {
  const gen::PID self = Self();
  StateEvent event(StateEventKind::kResponse, SenderOf(envelope),
                   {envelope.ref, self.node, self.creation}, {}, gen::Message(envelope));
  return Handle({event, &envelope, nullptr});
}

gen::Status StateMachineBase::HandleOwnEnvelope(core::Envelope& envelope) {
  if (const auto* fired = envelope.ValueAs<Fired>()) {
    ForgetTimer(fired->id, false);
    Host().WaitInLine(MakeOwn(Due{fired->id}));
  } else if (const auto* due = envelope.ValueAs<Due>()) {
    if (auto timeout = timeouts_.Fired(due->id)) return HandleOwn(std::move(*timeout));
  } else if (auto* own = envelope.ValueAs<OwnStateEvent>()) {
    return HandleOwn(std::move(*own));
  } else {
    queue_.RetriesEnded();
  }
  return gen::Continue();
}

gen::Status StateMachineBase::HandleOwn(OwnStateEvent own) {
  StateEvent event(own.kind, own.from, own.ref, own.name, own.value.View());
  return Handle({event, nullptr, &own});
}

gen::Status StateMachineBase::Handle(const Current& current) {
  timeouts_.OnEvent();
  return Follow(rows_[row_].handler(current.event), &current);
}

gen::Status StateMachineBase::HandleRaised(gen::Status status) {
  while (!status.stops()) {
    std::optional<OwnStateEvent> next = queue_.Next();
    if (!next && queue_.IsEmpty()) next = timeouts_.TakeDue();
    if (!next) break;
    status = HandleOwn(std::move(*next));
  }
  return status;
}

// -- what handlers want --

gen::Status StateMachineBase::Follow(Transition transition, const Current* current) {
  SendReplies(transition.replies(), current);
  if (transition.status().stops()) return transition.status();
  if (transition.postpones()) PutAside(*current);
  const bool changes = transition.kind() == Transition::Kind::kGoTo && transition.state() != row_;
  const std::size_t from = row_ == kNone ? transition.state() : row_;
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

gen::Status StateMachineBase::Enter(std::size_t from, std::vector<TimeoutChange>& timeouts) {
  if (!rows_[row_].entry) return gen::Continue();
  Entry entry = rows_[row_].entry(from);
  SendReplies(entry.replies(), nullptr);
  std::move(entry.timeouts().begin(), entry.timeouts().end(), std::back_inserter(timeouts));
  return entry.status();
}

void StateMachineBase::PutAside(const Current& current) {
  if (!current.event.message()) throw std::logic_error("Postpone: the event has been forwarded");
  if (current.event.message().taken()) {
    throw std::logic_error("Postpone: the event's value has been taken out of it");
  }
  if (current.own != nullptr) {
    Host().PutAside(MakeOwn(std::move(*current.own)));
  } else if (gen::IsUserMessage(static_cast<gen::EnvelopeKind>(current.envelope->kind))) {
    if (!Host().Stash(*current.envelope)) {
      Log().Warning("an event was dropped that was to be postponed: stash_size is reached");
      return;
    }
  } else {  // a notice or response: the runtime has done its part, and must not look at it again
    Host().PutAside(
        MakeOwn(OwnStateEvent{.kind = current.event.kind(),
                              .from = current.event.from(),
                              .ref = current.event.ref(),
                              .value = gen::OwnedMessage(Host().Detach(*current.envelope))}));
  }
  queue_.Postponed();
}

void StateMachineBase::RetryPostponed() {
  auto behind = queue_.StateChanged();
  if (!behind) return;
  for (OwnStateEvent& event : behind->events) Host().PutAside(MakeOwn(std::move(event)));
  if (behind->mark) Host().PutAside(MakeOwn(Mark{}));
  (void)Host().UnstashAll();
}

void StateMachineBase::SendReplies(std::vector<StateReply>& replies, const Current* current) {
  for (StateReply& reply : replies) {
    if (!reply.to && current == nullptr) throw std::logic_error("Reply: there is no request");
    const Caller to = reply.to ? *reply.to : current->event.Caller();
    auto sent = Host().SendResponseEnvelope(to.from, to.ref, std::move(reply.response));
    // A caller that has stopped waiting is everyday life.
    if (!sent && sent.error() != gen::ErrResponseIgnored) {
      Log().Debug("no response to {}: {}", to.from, sent.error());
    }
  }
}

void StateMachineBase::RunTimers() {
  for (const StateTimeouts::Command& command : timeouts_.TakeCommands()) {
    if (command.start) {
      timers_.emplace_back(command.id, Host().SendSelfAfter(Fired{command.id}, command.delay));
    } else {
      ForgetTimer(command.id, true);
    }
  }
}

void StateMachineBase::ForgetTimer(StateTimeouts::Id id, bool cancel) {
  const auto found = std::find_if(timers_.begin(), timers_.end(),
                                  [id](const auto& one) { return one.first == id; });
  if (found == timers_.end()) return;
  if (cancel) found->second.Cancel();
  timers_.erase(found);
}

void StateMachineBase::Inspect(core::Envelope& envelope) {
  const auto* question = envelope.ValueAs<gen::InspectRequest>();
  if (question == nullptr) return;
  gen::Inspection all = HandleInspect(SenderOf(envelope), question->items);
  all.insert_or_assign("state", StateName());
  all.insert_or_assign("postponed", std::to_string(queue_.postponed()));
  all.insert_or_assign("timeouts", timeouts_.ToString());
  KeepAskedFor(all, question->items);
  AnswerInspection(Host(), envelope, std::move(all));
}

}  // namespace ergon::act

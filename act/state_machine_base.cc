#include <ergon/act/state_machine_base.h>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/act/state_machine/runner.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/notices.h>

namespace ergon::act {

StateMachineBase::StateMachineBase() = default;
StateMachineBase::~StateMachineBase() = default;

gen::Inspection StateMachineBase::HandleInspect(gen::PID /*from*/,
                                                const std::vector<std::string>& /*items*/) {
  return {};
}

void StateMachineBase::Terminate(const gen::Reason& /*reason*/) {}

Transition StateMachineBase::Delegate(const gen::Target& to, StateEvent& event) {
  auto forwarded = Forward(to, event.message());
  if (forwarded) return Keep();
  if (event.IsRequest()) return Keep().ReplyError(std::move(forwarded.error()));
  if (const auto more = UnhandledLines().Take(Host())) {
    Log().Warning("{} in state '{}' is lost: {}{}", event.ToString(), StateName(),
                  forwarded.error(), *more);
  }
  return Keep();
}

Transition StateMachineBase::Unhandled(const StateEvent& event) {
  // Who makes requests without looking at the answers means it; that the producer of an event ends is everyday life.
  if (event.kind() == StateEventKind::kResponse || event.Is<gen::MessageDownEvent>()) {
    Log().Debug("unhandled {} in state '{}'", event.ToString(), StateName());
    return Keep();
  }
  if (const auto more = UnhandledLines().Take(Host())) {
    Log().Warning("unhandled {} in state '{}'{}", event.ToString(), StateName(), *more);
  }
  if (!event.IsRequest()) return Keep();
  return Keep().ReplyError(
      gen::Error(gen::ErrorCode::kUnsupported,
                 fmt::format("request {} in state '{}'", event.Describe(), StateName())));
}

std::size_t StateMachineBase::row() const noexcept {
  return runner_ == nullptr ? StateTable::kNone : runner_->row();
}

// -- the process --

gen::Status StateMachineBase::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  SetHost(host);
  Transition first = Init(args);
  if (first.status().stops()) return first.status();
  std::string problem = table_.Check(first);
  if (!problem.empty()) return gen::Stop(gen::Reason::Error(std::move(problem)));
  runner_ = std::make_unique<StateRunner>(host, table_);
  return runner_->Start(std::move(first));
}

gen::Status StateMachineBase::ProcessMessage(core::Envelope& envelope) {
  if (static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kInspect) {
    Inspect(envelope);
    return gen::Continue();
  }
  return runner_->OnEnvelope(envelope);
}

void StateMachineBase::ProcessTerminate(const gen::Reason& reason) {
  TellUnhandled(Host(), UnhandledLines());
  if (runner_ != nullptr) runner_->TellRest();
  Terminate(reason);
}

void StateMachineBase::Inspect(core::Envelope& envelope) {
  const auto* question = envelope.ValueAs<gen::InspectRequest>();
  if (question == nullptr) return;
  gen::Inspection all = HandleInspect(SenderOf(envelope), question->items);
  runner_->Describe(all);
  gen::KeepAskedFor(all, question->items);
  AnswerInspection(Host(), envelope, std::move(all));
}

}  // namespace ergon::act

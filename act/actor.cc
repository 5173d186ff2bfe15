#include <ergon/act/actor.h>

#include <utility>

#include <ergon/act/actor/idle_time.h>
#include <ergon/act/actor/process_items.h>
#include <ergon/act/actor/split_handle.h>
#include <ergon/core/foundations/number_text.h>

namespace ergon::act {

Actor::Actor() = default;
Actor::~Actor() = default;

gen::Status Actor::Init(const gen::Args& /*args*/) { return gen::Continue(); }

gen::Status Actor::HandleMessage(gen::PID from, gen::Message& message) {
  return UnhandledMessage(Host(), UnhandledLines(), from, message);
}

gen::CallResult Actor::HandleCall(gen::PID from, gen::Ref /*ref*/, gen::Message& request) {
  return UnhandledRequest(Host(), UnhandledLines(), from, request);
}

gen::Status Actor::HandleMessageName(gen::Atom /*name*/, gen::PID from, gen::Message& message) {
  return HandleMessage(from, message);
}

gen::Status Actor::HandleMessageAlias(gen::Alias /*alias*/, gen::PID from, gen::Message& message) {
  return HandleMessage(from, message);
}

gen::CallResult Actor::HandleCallName(gen::Atom /*name*/, gen::PID from, gen::Ref ref,
                                      gen::Message& request) {
  return HandleCall(from, ref, request);
}

gen::CallResult Actor::HandleCallAlias(gen::Alias /*alias*/, gen::PID from, gen::Ref ref,
                                       gen::Message& request) {
  return HandleCall(from, ref, request);
}

gen::Status Actor::HandleResponse(gen::Ref ref, gen::Response& response) {
  return UnhandledResponse(Log(), ref, response);
}

gen::Status Actor::HandleEvent(const gen::MessageEvent& event) {
  return UnhandledEvent(Host(), UnhandledLines(), event);
}

gen::Inspection Actor::HandleInspect(gen::PID /*from*/, const std::vector<std::string>& /*items*/) {
  return ProcessItems(Host());
}

void Actor::Terminate(const gen::Reason& /*reason*/) {}

gen::Result<void> Actor::SetIdleTimeout(std::chrono::nanoseconds idle) {
  if (idle < std::chrono::nanoseconds::zero()) {
    return gen::Error(gen::ErrorCode::kIncorrect,
                      "idle: " + core::ExactTime(idle) + ", must not be negative");
  }
  if (!Host().InOwnTurn()) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      "SetIdleTimeout: only in the process's own handlers");
  }
  const bool is_limited = idle != std::chrono::nanoseconds::zero() && idle != gen::kInfinite;
  idle_ = is_limited ? std::make_unique<IdleTime>(Host(), idle) : nullptr;
  return {};
}

gen::Status Actor::HandleIdle() { return gen::Stop(gen::Reason::Normal()); }

void Actor::Become(HandlerSet handlers) { handlers_.Replace(std::move(handlers)); }

void Actor::BecomeStacked(HandlerSet handlers) { handlers_.Push(std::move(handlers)); }

bool Actor::Unbecome() { return handlers_.Pop(); }

gen::Status Actor::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  SetHost(host);
  gen::Status status = Init(args);
  initialized_ = !status.stops();
  return status;
}

gen::Status Actor::ProcessMessage(core::Envelope& envelope) {
  // Nearly always: a plain actor, which needs no look at what else there is.
  if (split_handle_ || !handlers_.empty()) [[unlikely]]
    return ProcessOther(envelope);
  if (static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kMessage) [[likely]] {
    gen::Message message(envelope);
    return HandleMessage(SenderOf(envelope), message);
  }
  if (idle_ != nullptr) return ProcessOther(envelope);
  return Dispatch(Host(), *this, envelope);
}

gen::Status Actor::ProcessOther(core::Envelope& envelope) {
  if (idle_ != nullptr && idle_->IsOver(envelope)) return HandleIdle();
  if (split_handle_) {
    act::SplitHandle split(*this, Self());
    return handlers_.empty() ? Dispatch(Host(), split, envelope)
                             : handlers_.Dispatch(Host(), split, envelope);
  }
  if (!handlers_.empty()) return handlers_.Dispatch(Host(), *this, envelope);
  return Dispatch(Host(), *this, envelope);
}

void Actor::ProcessTerminate(const gen::Reason& reason) {
  if (!initialized_) return;
  TellUnhandled(Host(), UnhandledLines());
  Terminate(reason);
}

}  // namespace ergon::act

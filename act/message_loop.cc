#include <ergon/act/message_loop.h>

#include <utility>

#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/notices.h>

namespace ergon::act {
namespace {

[[gnu::cold, gnu::noinline]] void TellUnsent(gen::ProcessHost& host, gen::PID from,
                                             const gen::Error& error) {
  // A caller that has stopped waiting is everyday life.
  if (error != gen::ErrResponseIgnored) host.Log().Debug("no answer to {}: {}", from, error);
}

gen::Status DispatchRequest(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope,
                            bool* forwarded) {
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  gen::Message request(envelope);
  gen::CallResult result = callbacks.HandleCall(from, ref, request);
  if (forwarded != nullptr) *forwarded = !request;
  if (result.response()) {
    const auto sent = host.SendResponseEnvelope(from, ref, std::move(result.response()));
    if (!sent) [[unlikely]]
      TellUnsent(host, from, sent.error());
  }
  return result.status();
}

// Dispatch, of all that is no request: a function of its own, so that a request saves no registers for it.
[[gnu::noinline]] gen::Status DispatchOther(gen::ProcessHost& host, Callbacks& callbacks,
                                            core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kMessage:
    case gen::EnvelopeKind::kDown:
    case gen::EnvelopeKind::kExit: {
      gen::Message message(envelope);
      return callbacks.HandleMessage(SenderOf(envelope), message);
    }
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError: {
      const gen::PID self = host.Self();
      gen::Response response(envelope);
      return callbacks.HandleResponse({envelope.ref, self.node, self.creation}, response);
    }
    case gen::EnvelopeKind::kEvent: {
      const auto* event = envelope.ValueAs<gen::MessageEvent>();
      return event == nullptr ? gen::Continue() : callbacks.HandleEvent(*event);
    }
    case gen::EnvelopeKind::kInspect: {
      const auto* question = envelope.ValueAs<gen::InspectRequest>();
      if (question == nullptr) return gen::Continue();
      gen::Inspection all = callbacks.HandleInspect(SenderOf(envelope), question->items);
      gen::KeepAskedFor(all, question->items);
      AnswerInspection(host, envelope, std::move(all));
      return gen::Continue();
    }
    default:  // the runtime's, or of special behaviours
      return gen::Continue();
  }
}

}  // namespace

gen::Status Dispatch(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope,
                     bool* forwarded) {
  if (IsRequest(envelope)) return DispatchRequest(host, callbacks, envelope, forwarded);
  return DispatchOther(host, callbacks, envelope);
}

gen::Status DispatchToUser(gen::ProcessHost& host, Callbacks& callbacks, core::Envelope& envelope) {
  // Looked at before: the handler may forward the envelope, and then another process answers it.
  const bool is_request = IsRequest(envelope);
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  bool forwarded = false;
  gen::Status status = Dispatch(host, callbacks, envelope, &forwarded);
  // Not if another process holds the request: to hand it over to itself, this process has to hold it.
  if (status.stops() && is_request && !forwarded && host.HandOver(host.Self(), from, ref)) {
    (void)host.SendResponseError(
        from, ref, gen::Error(gen::ErrorCode::kProcessTerminated, status.reason().ToString()));
  }
  return status;
}

void AnswerInspection(gen::ProcessHost& host, const core::Envelope& envelope,
                      gen::Inspection inspection) {
  // Whether somebody still waits does not matter to the one who answers.
  (void)host.SendResponse(SenderOf(envelope), RefOf(envelope), std::move(inspection));
}

gen::Status UnhandledMessage(gen::Process& process, gen::LimitedLines& lines, gen::PID from,
                             const gen::Message& message) {
  // Who subscribes to an event wants its values; that its producer ends is everyday life.
  if (message.Is<gen::MessageDownEvent>()) {
    process.Log().Debug("unhandled message {} from {}", message.TypeName(), from);
    return gen::Continue();
  }
  if (const auto more = lines.Take(process)) {
    process.Log().Warning("unhandled message {} from {}{}", message.Describe(), from, *more);
  }
  return gen::Continue();
}

gen::Status UnhandledEvent(gen::Process& process, gen::LimitedLines& lines,
                           const gen::MessageEvent& event) {
  if (const auto more = lines.Take(process)) {
    process.Log().Warning("unhandled event {} with {}{}", event.event(), event.TypeName(), *more);
  }
  return gen::Continue();
}

gen::Status UnhandledResponse(gen::Log log, gen::Ref ref, const gen::Response& response) {
  if (response.ok()) {
    log.Debug("unhandled answer {} with {}", ref, response.TypeName());
  } else {
    log.Debug("unhandled answer {}: {}", ref, response.error());
  }
  return gen::Continue();
}

gen::CallResult UnhandledRequest(gen::Process& process, gen::LimitedLines& lines, gen::PID from,
                                 const gen::Message& request) {
  if (const auto more = lines.Take(process)) {
    process.Log().Warning("unhandled request {} from {}{}", request.Describe(), from, *more);
  }
  return gen::ReplyError(gen::Error(gen::ErrorCode::kUnsupported, "request " + request.Describe()));
}

void TellUnhandled(gen::Process& process, const gen::LimitedLines& lines) {
  lines.TellRest(process, "messages that nobody handles");
}

}  // namespace ergon::act

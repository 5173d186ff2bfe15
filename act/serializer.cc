#include <ergon/act/serializer.h>

#include <utility>
#include <vector>

#include <fmt/core.h>

#include <ergon/act/message_loop.h>
#include <ergon/act/options/option_checks.h>
#include <ergon/act/pool_options.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/gen/envelope_kind.h>
#include <ergon/gen/host/child_end.h>
#include <ergon/gen/host/drop_reason_of.h>
#include <ergon/gen/inspection_items.h>
#include <ergon/gen/notices.h>

namespace ergon::act {

std::string SerializerOptions::Validate() const {
  using std::chrono::nanoseconds;
  for (const std::string& wrong :
       {CheckRange("max_waiting", max_waiting, 0, kMaxMailboxSize),
        CheckAtLeast("service_timeout", service_timeout, nanoseconds(1)),
        CheckAtLeast("shutdown_timeout", shutdown_timeout, nanoseconds(0))}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

gen::ProcessFactory Serializer::Of(gen::ProcessFactory service, SerializerOptions options) {
  return gen::Factory<Serializer>(std::move(service), std::move(options));
}

Serializer::Serializer(gen::ProcessFactory service, SerializerOptions options)
    : factory_(std::move(service)), options_(std::move(options)) {}

gen::Status Serializer::ProcessInit(gen::ProcessHost& host, const gen::Args& args) {
  host_ = &host;
  std::string problem = factory_ ? options_.Validate() : "service: the factory is empty";
  if (!problem.empty()) return gen::Stop(gen::Reason::Error(std::move(problem)));
  host.SetTrapExit(true);  // to end with the service whatever its reason is
  gen::ProcessOptions service_options = options_.service_options;
  service_options.link_parent = true;
  auto service = host.Spawn(factory_, service_options, args);
  if (!service) return gen::Stop(service.error());
  service_ = *service;
  (void)host.Monitor(service_);  // tells of its end, too, should it cut the link
  if (options_.max_waiting != 0) {
    host.SetMailboxSize(static_cast<std::uint32_t>(options_.max_waiting));
  }
  return gen::Continue();
}

gen::Status Serializer::ProcessMessage(core::Envelope& envelope) {
  switch (static_cast<gen::EnvelopeKind>(envelope.kind)) {
    case gen::EnvelopeKind::kRequest:
      if (envelope.lane == core::Lane::kMain) {
        Enter(envelope);
      } else {
        Pass(envelope);
      }
      return gen::Continue();
    case gen::EnvelopeKind::kMessage:
      Pass(envelope);
      return gen::Continue();
    case gen::EnvelopeKind::kResponse:
    case gen::EnvelopeKind::kError:
      Leave(envelope);
      return gen::Continue();
    case gen::EnvelopeKind::kInspect:
      if (const auto* question = envelope.ValueAs<gen::InspectRequest>()) {
        AnswerInspection(*host_, envelope, Inspect(question->items));
      }
      return gen::Continue();
    case gen::EnvelopeKind::kExit:
      return OnExit(envelope);
    case gen::EnvelopeKind::kDown:
      return OnDown(envelope);
    case gen::EnvelopeKind::kOwnTimer:
      return gen::Stop(stop_reason_);
    default:
      return gen::Continue();
  }
}

void Serializer::Enter(core::Envelope& envelope) {
  const gen::PID from = SenderOf(envelope);
  const gen::Ref ref = RefOf(envelope);
  const core::TypeDescriptor* const type = envelope.type;
  // The caller's deadline travels with the request; the hold does not end with it.
  core::EnvelopePtr request = host_->DetachForRequest(envelope);
  const std::int64_t since = host_->Now();  // not after the time-out has begun
  gen::Result<gen::Ref> entered = gen::ErrProcessTerminated;
  try {
    entered = host_->RequestEnvelope(service_, request, options_.service_timeout);
  } catch (...) {  // no memory; this ends the serializer, and nobody else knows of the request
    if (request) {
      host_->Drop(std::move(request), gen::DropReason::kFailed, gen::ErrProcessTerminated);
    }
    throw;
  }
  if (!entered && entered.error() != gen::ErrProcessTerminated) {
    ++requests_refused_;
    host_->Drop(std::move(request), gen::DropReasonOf(entered.error()), entered.error());
    return;
  }
  inside_ = Inside{from, ref, entered ? entered->id : 0, since, type, std::move(request)};
  host_->HoldMain(true);
}

void Serializer::Leave(core::Envelope& envelope) {
  if (!inside_ || envelope.ref != inside_->entered_as) return;
  const Inside left = std::move(*inside_);
  inside_.reset();
  const bool late = host_->Now() - left.since >= options_.service_timeout.count();
  if (late && static_cast<gen::EnvelopeKind>(envelope.kind) == gen::EnvelopeKind::kError) {
    ++service_timeouts_;
    host_->Log().Warning("the service has not answered {} from {} within {}",
                         left.type == nullptr ? "a request" : left.type->TagOrName(), left.from,
                         core::RoundTime(options_.service_timeout));
  } else {
    ++requests_answered_;
  }
  // Whether the caller still waits does not matter here.
  (void)host_->SendResponseEnvelope(left.from, left.ref, host_->Detach(envelope));
  if (!stopping_) host_->HoldMain(false);
}

void Serializer::Pass(core::Envelope& envelope) {
  const bool is_request = IsRequest(envelope);
  auto passed = host_->PassOn(service_, envelope, false);
  if (passed) {
    ++messages_passed_;
    return;
  }
  ++(is_request ? requests_refused_ : messages_dropped_);
  host_->Drop(host_->DetachForRequest(envelope), gen::DropReasonOf(passed.error()), passed.error());
}

gen::Status Serializer::OnExit(const core::Envelope& envelope) {
  const auto* exit = envelope.ValueAs<gen::MessageExitPID>();
  const gen::Reason* reason = ReasonOfExit(envelope);
  if (reason == nullptr) return gen::Continue();
  // Others' signals as for processes that do not trap exits.
  const bool of_service = exit != nullptr && exit->pid == service_;
  const bool ignored = !of_service && reason->IsNormal() && envelope.ref != gen::kExplicitExit;
  if (ignored) return gen::Continue();
  return of_service ? gen::Status(gen::Stop(*reason)) : ProcessStop(*reason);
}

gen::Status Serializer::OnDown(const core::Envelope& envelope) {
  const auto* down = envelope.ValueAs<gen::MessageDownPID>();
  if (down == nullptr || down->pid != service_ || gen::IsExitToCome(*host_, *down)) {
    return gen::Continue();
  }
  return gen::Stop(down->reason);
}

gen::Status Serializer::ProcessStop(const gen::Reason& reason) {
  // With a request inside it is an exit signal: a stop that keeps its place in line comes later.
  const bool at_once =
      inside_ || stopping_ || options_.shutdown_timeout == std::chrono::nanoseconds::zero();
  if (at_once || !host_->StopAfterQueue(service_, reason)) return gen::Stop(reason);
  stopping_ = true;
  stop_reason_ = reason;
  host_->HoldMain(true);
  shutdown_timer_ = host_->SendSelfAfter(ShutdownTimer{}, options_.shutdown_timeout);
  return gen::Continue();  // the exit signal of the service, or the timer, ends it
}

void Serializer::ProcessTerminate(const gen::Reason& reason) {
  (void)shutdown_timer_.Cancel();
  if (!inside_) return;
  gen::Error error(gen::ErrorCode::kProcessTerminated, reason.ToString());
  if (inside_->unsent != nullptr) {
    host_->Drop(std::move(inside_->unsent), gen::DropReason::kTerminated, error);
  } else {
    (void)host_->SendResponseError(inside_->from, inside_->ref, std::move(error));
  }
}

gen::Inspection Serializer::Inspect(const std::vector<std::string>& items) const {
  const std::int64_t inside_ns = inside_ ? host_->Now() - inside_->since : 0;
  gen::Inspection all{
      {"state", stopping_ ? "stopping" : "running"},
      {"service", service_.ToString()},
      {"service_behavior", factory_.TypeName()},
      {"inside", inside_ ? "1" : "0"},
      {"inside_us", fmt::format("{}", inside_ns / 1000)},
      {"waiting", fmt::format("{}", host_->MainQueued())},
      {"max_waiting", fmt::format("{}", options_.max_waiting)},
      {"requests_answered", fmt::format("{}", requests_answered_)},
      {"requests_expired", fmt::format("{}", host_->ExpiredRequests())},
      {"requests_refused", fmt::format("{}", requests_refused_)},
      {"service_timeouts", fmt::format("{}", service_timeouts_)},
      {"messages_passed", fmt::format("{}", messages_passed_)},
      {"messages_dropped", fmt::format("{}", messages_dropped_)},
  };
  gen::KeepAskedFor(all, items);
  return all;
}

}  // namespace ergon::act

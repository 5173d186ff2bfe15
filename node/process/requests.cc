// Requests whose answers come to HandleResponse, and requests that others answer.
#include <utility>

#include <fmt/format.h>

#include <ergon/core/clock.h>
#include <ergon/core/foundations/number_text.h>
#include <ergon/core/time/deadline.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/former_mark.h>
#include <ergon/node/delivery/request_claims.h>
#include <ergon/node/delivery/ticks.h>
#include <ergon/node/delivery/withdrawn_requests.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {
namespace {

// Both run on the timer thread. The slot outlives every timer, and the id is unique, so a late one finds nobody waiting.
void ExpireHere(void* context, std::uint64_t id) {
  auto* const process = static_cast<Process*>(context);
  process->rooms().delivery.ExpireRequest(*process, id);
}

// Whether another node has begun with it nobody knows here.
void ExpireElsewhere(void* context, std::uint64_t id) {
  auto* const process = static_cast<Process*>(context);
  process->rooms().delivery.RespondError(
      process->Self(), id,
      gen::Error(gen::ErrorCode::kTimeout,
                 "the request was for a process of another node; whether the request is handled "
                 "is not known"));
}

}  // namespace

gen::Result<gen::Ref> Process::RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                               std::chrono::nanoseconds timeout) {
  return InTurn("Request", [&]() -> gen::Result<gen::Ref> {
    if (timeout <= std::chrono::nanoseconds::zero()) {
      return Incorrect(fmt::format("timeout: {}, has to be more than 0", core::ExactTime(timeout)));
    }
    AwaitedResponses& awaited = Cold().awaited;
    const std::uint64_t id = NextRequestId();
    const std::int64_t deadline =
        timeout == gen::kInfinite ? 0 : core::DeadlineAfter(Now(), timeout);
    // Somebody else's, which this process has kept: it has a ref, and counts as sent already.
    const bool kept = request->ref != 0;
    const core::Address former_from = std::exchange(request->from, Self().ToAddress());
    const std::uint64_t former_ref = std::exchange(request->ref, id);
    const std::int64_t former_deadline = request->deadline;
    // Who keeps it stops waiting at `deadline`, whoever waits for that one at the former.
    if (!kept || former_deadline == 0 || (deadline != 0 && deadline < former_deadline)) {
      request->deadline = deadline;
    }
    const auto take_back = [&] {
      (void)awaited.Take(id, rooms_.timers);
      request->from = former_from;
      request->ref = former_ref;
      request->deadline = former_deadline;
    };
    gen::Result<void> sent;
    try {
      if (marks_.any()) Mark(*request, to);
      awaited.Add(id, generation_.load(std::memory_order_relaxed));
      ++sends_;
      sent = rooms_.delivery.Deliver(to, request);
    } catch (...) {
      if (request != nullptr) take_back();
      throw;
    }
    if (!sent) take_back();
    if (!sent) return std::move(sent.error());
    if (deadline != 0) {
      const bool is_local = to.node == rooms_.addresses.node();
      awaited.Arm(id, rooms_.timers, deadline, is_local ? &ExpireHere : &ExpireElsewhere, this);
    }
    if (kept) {
      Hold(-1);
    } else {
      counts_.Sent();
    }
    MaybeYield();
    return rooms_.addresses.RefOf(id);
  });
}

core::EnvelopePtr Process::Detach(core::Envelope& envelope) {
  if (IsTick(envelope)) rooms_.ticks.WaitsAgain(envelope);
  return DetachHeld(envelope);
}

void Process::Drop(core::EnvelopePtr envelope, gen::DropReason reason, const gen::Error& error) {
  if (IsMessage(*envelope)) Hold(-1);
  rooms_.delivery.Drop(std::move(envelope), Self(), reason, error);
}

core::EnvelopePtr Process::DetachForRequest(core::Envelope& envelope) {
  if (IsRouted(envelope)) {
    UnmarkRouted(envelope);
    routed_work_.EndHandled();
  }
  return Detach(envelope);
}

gen::Result<void> Process::PassOn(gen::PID to, core::Envelope& envelope, bool may_wait) {
  return InTurn("Forward", [&]() -> gen::Result<void> {
    const auto kind = KindOf(envelope);
    const char* problem =
        current_ != &envelope ? "it is not the message being handled"
        : answered_           ? "the request has been answered"
        : kind != gen::EnvelopeKind::kMessage && kind != gen::EnvelopeKind::kRequest
            ? "notices and exit signals are for this process only"
            : nullptr;
    if (problem != nullptr) return gen::Error(gen::ErrorCode::kNotAllowed, problem);
    const bool routed = IsRouted(envelope);
    const FormerMark mark(envelope);
    if (routed) UnmarkRouted(envelope);
    const core::Envelope head = envelope;  // delivered, it may be gone
    // It was addressed to this process by a name; the other one gets it by its PID.
    const auto tagged = static_cast<std::uint8_t>(envelope.flags & core::Envelope::kFlagTagged);
    envelope.flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagTagged);
    mailbox_.Detach(&envelope);
    core::EnvelopePtr passed(&envelope);
    ++sends_;
    if (marks_.any()) [[unlikely]]
      RecordSend(to, envelope);
    if (IsTick(envelope)) rooms_.ticks.WaitsAgain(envelope);
    const auto stays_here = [&] {
      (void)passed.release();  // still the one being handled
      envelope.flags |= tagged;
      envelope.generation = head.generation;  // who refused it has written its own
      if (routed) mark.PutBack(envelope);
      if (IsTick(envelope)) (void)rooms_.ticks.NoteTaken(envelope);
    };
    const auto has_gone = [&] {
      if (IsRequest(head)) rooms_.call_edges.NoteTaken(head, CallEdge::Stage::kPassedOn);
      current_ = nullptr;
      if (routed) routed_work_.EndHandled();
    };
    gen::Result<void> sent;
    try {
      sent = DeliverForwarded(to, passed, may_wait);
    } catch (...) {  // no memory
      passed == nullptr ? has_gone() : stays_here();
      throw;
    }
    sent ? has_gone() : stays_here();
    return sent;
  });
}

gen::Result<void> Process::DeliverForwarded(gen::PID to, core::EnvelopePtr& envelope,
                                            bool may_wait) {
  auto sent = rooms_.delivery.Deliver(to, envelope);
  if (!sent && may_wait && sent.error() == gen::ErrBusy) {
    sent = DeliverWhenThereIsRoom(to, envelope);
  }
  if (!sent && WantsConfirmation(to, envelope)) sent = SendConfirmed(to, envelope, 0);
  return sent;
}

gen::Result<void> Process::HandOver(gen::PID to, gen::PID from, gen::Ref ref) {
  return InTurn("HandOver", [&]() -> gen::Result<void> {
    const bool is_current = current_ != nullptr && IsRequest(*current_) && !answered_ &&
                            current_->ref == ref.id &&
                            gen::PID::FromAddress(current_->from) == from;
    ProcessCold* const cold = ColdIfAny();
    if (!is_current && (cold == nullptr || !cold->open_requests.contains(ref))) {
      return gen::Error(gen::ErrorCode::kNotAllowed,
                        fmt::format("HandOver: this process does not hold the request {}", ref));
    }
    if (!rooms_.delivery.IsAwaited(from, ref)) return gen::ErrResponseIgnored;
    if (to == Self()) return {};
    auto notice = core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kHandedOver),
                                   core::Lane::kUrgent);
    notice->from = from.ToAddress();
    notice->ref = ref.id;
    ++sends_;
    // From here on one of the two holds it: the notice of a process that ends is answered.
    auto handed = rooms_.delivery.Deliver(to, notice);
    if (!handed) return handed;
    if (is_current) {
      answered_ = true;  // by somebody else
      rooms_.call_edges.NoteTaken(*current_, CallEdge::Stage::kPassedOn);
    } else {
      cold->open_requests.erase(ref);
    }
    return {};
  });
}

bool Process::ForgetIfAbandoned(std::uint64_t id, gen::PID from, gen::Ref ref) {
  if (rooms_.delivery.IsAwaited(from, ref)) return false;
  (void)rooms_.withdrawn.TakeNote(ref.id);  // as with an answer: nobody else will
  // An outcome that somebody has taken already is on its way.
  return Cold().awaited.Take(id, rooms_.timers).generation != 0;
}

}  // namespace ergon::node

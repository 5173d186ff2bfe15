// Requests whose answers come to HandleResponse: Process::Request.
#include <utility>

#include <fmt/format.h>

#include <ergon/node/lifecycle/runtime.h>
#include <ergon/node/options/option_checks.h>
#include <ergon/node/process/process.h>
#include <ergon/node/process/unique_id.h>
#include <ergon/node/time/deadline.h>

namespace ergon::node {

gen::Result<gen::Ref> Process::RequestEnvelope(gen::PID to, core::EnvelopePtr& request,
                                               std::chrono::nanoseconds timeout) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Request");
  if (timeout <= std::chrono::nanoseconds::zero()) {
    return Incorrect(fmt::format("timeout: {} ns, has to be more than 0", timeout.count()));
  }
  const std::uint64_t id = NextRequestId();
  const std::int64_t deadline = timeout == gen::kInfinite ? 0 : DeadlineAfter(Now(), timeout);
  // Somebody else's, which this process has kept: it has a ref, and counts as sent already.
  const bool kept = request->ref != 0;
  const core::Address former_from = std::exchange(request->from, Self().ToAddress());
  const std::uint64_t former_ref = std::exchange(request->ref, id);
  const std::int64_t former_deadline = request->deadline;
  // Who keeps it stops waiting at `deadline`, whoever waits for that one at the former.
  if (!kept || former_deadline == 0 || (deadline != 0 && deadline < former_deadline)) {
    request->deadline = deadline;
  }
  MarkImportant(*request);
  AwaitedResponses& awaited = Cold().awaited;
  awaited.Add(id, generation_.load(std::memory_order_relaxed));
  ++sends_;
  auto sent = runtime_->Deliver(to, request);
  if (!sent) {
    (void)awaited.Take(id, runtime_->timers());
    request->from = former_from;
    request->ref = former_ref;
    request->deadline = former_deadline;
    return std::move(sent.error());
  }
  if (deadline != 0) awaited.Arm(id, runtime_->timers(), deadline, &RequestTimeIsUp, this);
  if (kept) {
    Hold(-1);
  } else {
    counts_.Sent();
  }
  MaybeYield();
  return gen::Ref{id, runtime_->Name(), runtime_->creation()};
}

bool Process::AcceptResponse(std::uint64_t id, core::EnvelopePtr response) {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return false;
  const auto awaited = cold->awaited.Take(id, runtime_->timers());
  return awaited.generation != 0 && TellOutcome(id, awaited.generation, std::move(response));
}

bool Process::TellOutcome(std::uint64_t id, std::uint64_t generation, core::EnvelopePtr response) {
  response->ref = id;
  response->lane = core::Lane::kSystem;
  // Not Self(): the slot may have a later process by now.
  const gen::PID pid{generation << 32 | index_, runtime_->Name(), runtime_->creation()};
  return runtime_->Deliver(pid, response).has_value();
}

// Runs on the timer thread. The slot outlives every timer, and the id is unique, so a late one
// finds nobody waiting.
void Process::RequestTimeIsUp(void* context, std::uint64_t id) {
  static_cast<Process*>(context)->ExpireRequest(id);
}

void Process::ExpireRequest(std::uint64_t id) {
  ProcessCold* cold = ColdIfAny();
  if (cold == nullptr) return;
  const auto awaited = cold->awaited.Take(id, runtime_->timers());
  if (awaited.generation == 0) return;
  (void)TellOutcome(
      id, awaited.generation,
      core::MakeEnvelope<gen::Error>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kError), core::Lane::kSystem,
          gen::Error(gen::ErrorCode::kTimeout,
                     awaited.begun ? "it was being handled" : "it will not be handled")));
}

bool Process::NoteBegun(std::uint64_t id) {
  if (!IsRequestId(id)) return await_.NoteBegun(id);
  ProcessCold* cold = ColdIfAny();
  return cold != nullptr && cold->awaited.NoteBegun(id);
}

bool Process::AwaitsResponse(std::uint64_t id) const {
  const ProcessCold* cold = ColdIfAny();
  return cold != nullptr && cold->awaited.Contains(id);
}

// ---- passing on

core::EnvelopePtr Process::Keep(core::Envelope& envelope) {
  if ((envelope.flags & core::Envelope::kFlagRouted) != 0) {
    UnmarkRouted(envelope);
    NoteRoutedHandled();
  }
  return Detach(envelope);
}

gen::Result<void> Process::PassOn(gen::PID to, core::Envelope& envelope) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("Forward");
  const auto kind = static_cast<gen::EnvelopeKind>(envelope.kind);
  const char* problem = current_ != &envelope ? "it is not the message being handled"
                        : answered_           ? "the request has been answered"
                        : kind != gen::EnvelopeKind::kMessage && kind != gen::EnvelopeKind::kRequest
                            ? "notices and exit signals are for this process only"
                            : nullptr;
  if (problem != nullptr) return gen::Error(gen::ErrorCode::kNotAllowed, problem);
  const bool routed = (envelope.flags & core::Envelope::kFlagRouted) != 0;
  const std::uint64_t pool = envelope.ref;
  if (routed) UnmarkRouted(envelope);
  if (IsRequest(envelope)) runtime_->NoteTaken(envelope, CallEdge::Stage::kPassedOn);
  // It was addressed to this process by a name; the other one gets it by its PID.
  const auto tagged = static_cast<std::uint8_t>(envelope.flags & core::Envelope::kFlagTagged);
  envelope.flags &= static_cast<std::uint8_t>(~core::Envelope::kFlagTagged);
  mailbox_.Detach(&envelope);
  core::EnvelopePtr passed(&envelope);
  ++sends_;
  if (IsTick(envelope)) runtime_->periodic_sends().WaitsAgain(envelope);
  auto sent = runtime_->Deliver(to, passed);
  if (sent) {
    current_ = nullptr;
    if (routed) NoteRoutedHandled();
  } else {
    (void)passed.release();  // still the one being handled
    envelope.flags |= tagged;
    if (routed) MarkRouted(envelope, pool);
    if (IsTick(envelope)) (void)runtime_->periodic_sends().Take(envelope);
  }
  return sent;
}

gen::Result<void> Process::HandOver(gen::PID to, gen::PID from, gen::Ref ref) {
  if (!InOwnTurn()) [[unlikely]]
    return NotInOwnTurn("HandOver");
  const bool is_current = current_ != nullptr && IsRequest(*current_) && !answered_ &&
                          current_->ref == ref.id && gen::PID::FromAddress(current_->from) == from;
  ProcessCold* const cold = ColdIfAny();
  if (!is_current && (cold == nullptr || !cold->open_requests.contains(ref))) {
    return gen::Error(gen::ErrorCode::kNotAllowed,
                      fmt::format("HandOver: this process does not hold the request {}", ref));
  }
  if (!runtime_->IsAwaited(from, ref)) return gen::ErrResponseIgnored;
  if (to == Self()) return {};
  auto notice = core::MakeSignal(static_cast<std::uint8_t>(gen::EnvelopeKind::kHandedOver),
                                 core::Lane::kUrgent);
  notice->from = from.ToAddress();
  notice->ref = ref.id;
  ++sends_;
  // From here on one of the two holds it: the notice of a process that ends is answered.
  auto handed = runtime_->Deliver(to, notice);
  if (!handed) return handed;
  if (is_current) {
    answered_ = true;  // by somebody else
    runtime_->NoteTaken(*current_, CallEdge::Stage::kPassedOn);
  } else {
    cold->open_requests.erase(ref);
  }
  return {};
}

void Process::TakeOverRequest(const core::Envelope& notice) {
  const gen::PID from = gen::PID::FromAddress(notice.from);
  // It may have been answered before the notice came.
  if (runtime_->IsAwaited(from, {notice.ref, from.node, from.creation})) NoteOpenRequest(notice);
}

}  // namespace ergon::node

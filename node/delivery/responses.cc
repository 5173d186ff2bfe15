// Answers, on their way to those who wait for them.
#include <utility>

#include <ergon/gen/status.h>
#include <ergon/node/delivery/answer_call.h>
#include <ergon/node/delivery/delivery.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/delivery/transport.h>
#include <ergon/node/process_state/unique_id.h>

namespace ergon::node {

gen::Result<void> Delivery::Respond(gen::PID from, std::uint64_t ref, core::EnvelopePtr response) {
  if (AnswerCall(needs_.addresses, from, ref, response)) [[likely]]
    return {};
  return RespondOtherwise(from, ref, response);
}

gen::Result<void> Delivery::RespondOtherwise(gen::PID from, std::uint64_t ref,
                                             core::EnvelopePtr& response) {
  auto sent = RespondToWithdrawn(from, ref, std::move(response));
  // Its caller may have been told of a deadlock just then, or before: nobody else will take that note.
  if (!sent) (void)needs_.withdrawn.TakeNote(ref);
  return sent;
}

gen::Result<void> Delivery::RespondToWithdrawn(gen::PID from, std::uint64_t ref,
                                               core::EnvelopePtr response) {
  if (AnswerCall(needs_.addresses, from, ref, response)) return {};
  if (from.node != needs_.addresses.node()) {
    Transport* const transport = needs_.addresses.TransportTo(from);
    return transport == nullptr ? gen::Result<void>(needs_.addresses.WhyUnreachable(from))
                                : transport->Respond(from, ref, std::move(response));
  }
  if (from.id == Addresses::kNodeId) {
    return needs_.pending_calls.Complete(ref, std::move(response)) ? gen::Result<void>()
                                                                   : gen::ErrResponseIgnored;
  }
  ProcessSlot* process = needs_.addresses.table().Find(from.id);
  if (process == nullptr || !IsRequestId(ref) ||
      !AcceptResponse(*process, ref, std::move(response))) {
    return gen::ErrResponseIgnored;
  }
  return {};
}

void Delivery::RespondError(gen::PID from, std::uint64_t ref, const gen::Error& error) {
  (void)Respond(from, ref, gen::detail::MakeErrorResponse(error));
}

bool Delivery::IsAwaited(gen::PID from, gen::Ref ref) const {
  if (from.node != needs_.addresses.node()) {
    const Transport* const transport = needs_.addresses.TransportTo(from);
    return transport != nullptr && transport->IsAwaited(from, ref.id);
  }
  if (from.id == Addresses::kNodeId) return needs_.pending_calls.IsAwaited(ref.id);
  const ProcessSlot* process = needs_.addresses.table().Find(from.id);
  if (process == nullptr) return false;
  return process->Awaits(ref.id);
}

bool Delivery::AcceptResponse(ProcessSlot& caller, std::uint64_t id, core::EnvelopePtr response) {
  ProcessCold* cold = caller.ColdIfAny();
  if (cold == nullptr) return false;
  const auto awaited = cold->awaited.Take(id, needs_.timers);
  return awaited.generation != 0 &&
         TellOutcome(caller, awaited.generation, id, std::move(response));
}

bool Delivery::TellOutcome(const ProcessSlot& caller, std::uint32_t generation, std::uint64_t id,
                           core::EnvelopePtr response) {
  response->ref = id;
  response->lane = core::Lane::kSystem;
  // The slot may have a later process by now.
  return Deliver(needs_.addresses.PidIn(caller, generation), response).has_value();
}

void Delivery::ExpireRequest(ProcessSlot& caller, std::uint64_t id) {
  ProcessCold* cold = caller.ColdIfAny();
  if (cold == nullptr) return;
  const auto awaited = cold->awaited.Take(id, needs_.timers);
  if (awaited.generation == 0) return;
  (void)TellOutcome(
      caller, awaited.generation, id,
      core::MakeEnvelope<gen::Error>(
          static_cast<std::uint8_t>(gen::EnvelopeKind::kError), core::Lane::kSystem,
          gen::Error(gen::ErrorCode::kTimeout, awaited.begun ? "the request was being handled"
                                                             : "the request will not be handled")));
}

void Delivery::ExpireWaitFor(const core::Envelope& request) {
  const gen::PID from = gen::PID::FromAddress(request.from);
  if (from.node != needs_.addresses.node()) return;
  if (from.id == Addresses::kNodeId) {
    needs_.pending_calls.Expire(request.ref);
  } else if (ProcessSlot* caller = needs_.addresses.table().Find(from.id)) {
    if (IsRequestId(request.ref)) {
      ExpireRequest(*caller, request.ref);
    } else {
      caller->ExpireWait(request.ref);
    }
  }
}

}  // namespace ergon::node

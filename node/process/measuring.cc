#include <ergon/node/process/measuring.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/gen/trace.h>
#include <ergon/node/delivery/addresses.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/metrics/latency.h>

namespace ergon::node {
namespace {

// Returns whether `deadline` of the envelope has no other meaning.
bool HasRoomForTime(const core::Envelope& envelope) {
  return KindOf(envelope) == gen::EnvelopeKind::kMessage && !IsTick(envelope) &&
         !gen::IsTraced(envelope);
}

}  // namespace

void Measuring::Begin(ProcessRunner& process) {
  Latency* const latency = process.rooms_.latency;
  if (latency == nullptr) return;
  process.due_ |= ProcessRunner::kMeasures;
  process.marks_.SetMeasured();
  const Latency::OfBehavior of = latency->Of(gen::BehaviorNameOf(*process.behavior_));
  process.Cold().handling = std::make_unique<ProcessCold::HandlingTime>(
      ProcessCold::HandlingTime{.waiting = of.waiting, .handling = of.handling});
}

void Measuring::NoteSent(core::Envelope& envelope, const ProcessRunner& process) {
  if (process.rooms_.latency == nullptr || !HasRoomForTime(envelope)) return;
  envelope.deadline = process.rooms_.clock.Now();
}

std::int64_t Measuring::TakeSentAt(ProcessRunner& process) {
  core::Envelope& envelope = *process.current_;
  // It waits on, for a worker.
  if (envelope.lane == core::Lane::kMain && process.IsPool()) return 0;
  if (HasRoomForTime(envelope)) return std::exchange(envelope.deadline, 0);
  if (!IsRequest(envelope)) return 0;
  const ProcessSlot* const caller =
      process.rooms_.addresses.Find(gen::PID::FromAddress(envelope.from));
  if (caller == nullptr) return 0;
  const CallEdge::View call = caller->Waited();
  // Others have begun with what was left open or passed on, unless that is a pool.
  const bool is_first = call.stage <= CallEdge::Stage::kSent || IsRouted(envelope);
  return call.id == envelope.ref && is_first ? call.since : 0;
}

void Measuring::BeginHandling(ProcessRunner& process) {
  const std::int64_t now = process.rooms_.clock.Now();
  EndAt(process, now);
  // Else it is a signal, or an inspection.
  if (process.current_ == nullptr || !IsMessage(*process.current_)) return;
  ProcessCold::HandlingTime& times = *process.Cold().handling;
  times.since = now;
  const std::int64_t sent_at = TakeSentAt(process);
  if (sent_at != 0) times.waiting.Observe(std::chrono::nanoseconds(times.since - sent_at));
}

void Measuring::EndHandling(ProcessRunner& process) { EndAt(process, process.rooms_.clock.Now()); }

void Measuring::EndAt(ProcessRunner& process, std::int64_t now) {
  ProcessCold::HandlingTime& times = *process.Cold().handling;
  if (times.since == 0) return;
  times.handling.Observe(std::chrono::nanoseconds(now - times.since));
  times.since = 0;
}

void Measuring::NoteCall(const ProcessRunner& process, std::uint64_t id) {
  Latency* const latency = process.rooms_.latency;
  if (latency == nullptr) return;
  const CallEdge::View call = process.Waited();
  if (call.id != id) return;
  latency->calls().Observe(std::chrono::nanoseconds(process.rooms_.clock.Now() - call.since));
}

}  // namespace ergon::node

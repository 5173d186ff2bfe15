#include <ergon/node/process/measuring.h>

#include <atomic>
#include <chrono>
#include <utility>

#include <ergon/core/clock.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/delivery/call_edges.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/metrics/latency.h>

namespace ergon::node {
// In its own turn nobody else sets them.
BehaviorTimes& Measuring::TimesOf(const ProcessRunner& process) {
  return *process.Cold().times.load(std::memory_order_relaxed);
}

void Measuring::Begin(ProcessRunner& process, Latency& latency) {
  process.due_ |= kMeasures;
  process.marks_.SetMeasured();
  ProcessCold& cold = process.Cold();
  cold.handling_since = 0;
  // Release; partner: NoteCallee.
  cold.times.store(&latency.Of(gen::BehaviorNameOf(*process.behavior_)), std::memory_order_release);
}

void Measuring::NoteCallee(ProcessRunner& process, const ProcessSlot* callee) {
  Latency* const latency = process.rooms_.latency;
  if (latency == nullptr) return;
  // Of a slot that has got another process meanwhile: then the call fails, and may count for that one.
  const ProcessCold* const cold = callee == nullptr ? nullptr : callee->ColdIfAny();
  BehaviorTimes* const times =
      cold == nullptr ? nullptr : cold->times.load(std::memory_order_acquire);
  process.Cold().called = times == nullptr ? &latency->calls_elsewhere() : &times->calls;
}

std::int64_t Measuring::TakeSentAt(ProcessRunner& process) {
  core::Envelope& envelope = *process.current_;
  // It waits on, for a worker.
  if (envelope.lane == core::Lane::kMain && process.IsPool()) return 0;
  if (HasRoomForTime(envelope)) return std::exchange(envelope.deadline, 0);
  if (!IsRequest(envelope)) return 0;
  const CallEdge::View call = process.rooms_.call_edges.Of(envelope);
  // Others have begun with what was left open or passed on, unless that is a pool.
  const bool is_first = call.stage <= CallEdge::Stage::kSent || IsRouted(envelope);
  return call.id != 0 && is_first ? call.since : 0;
}

void Measuring::BeginHandling(ProcessRunner& process) {
  const std::int64_t now = process.rooms_.clock.Now();
  EndAt(process, now);
  // Else it is a signal, or an inspection.
  if (process.current_ == nullptr || !IsMessage(*process.current_)) return;
  process.Cold().handling_since = now;
  const std::int64_t sent_at = TakeSentAt(process);
  if (sent_at != 0) TimesOf(process).waiting.Observe(std::chrono::nanoseconds(now - sent_at));
}

void Measuring::EndHandling(ProcessRunner& process) { EndAt(process, process.rooms_.clock.Now()); }

void Measuring::EndAt(ProcessRunner& process, std::int64_t now) {
  const std::int64_t since = std::exchange(process.Cold().handling_since, 0);
  if (since != 0) TimesOf(process).handling.Observe(std::chrono::nanoseconds(now - since));
}

void Measuring::NoteCall(const ProcessRunner& process, std::uint64_t id) {
  if (process.rooms_.latency == nullptr) return;
  const CallEdge::View call = process.Waited();
  if (call.id != id) return;
  process.Cold().called->Observe(std::chrono::nanoseconds(process.rooms_.clock.Now() - call.since));
}

}  // namespace ergon::node

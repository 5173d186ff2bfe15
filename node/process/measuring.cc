#include <ergon/node/process/measuring.h>

#include <chrono>
#include <memory>
#include <string>

#include <ergon/core/clock.h>
#include <ergon/gen/process_behavior.h>
#include <ergon/node/delivery/envelope_marks.h>
#include <ergon/node/metrics/latency.h>

namespace ergon::node {

void Measuring::Begin(ProcessRunner& process) {
  Latency* const latency = process.rooms_.latency;
  if (latency == nullptr) return;
  process.due_ |= ProcessRunner::kMeasures;
  process.Cold().handling = std::make_unique<ProcessCold::HandlingTime>(ProcessCold::HandlingTime{
      .histogram = latency->HandlingOf(gen::BehaviorNameOf(*process.behavior_))});
}

void Measuring::BeginHandling(ProcessRunner& process) {
  EndHandling(process);
  // Else it is a signal, or an inspection.
  if (process.current_ == nullptr || !IsMessage(*process.current_)) return;
  process.Cold().handling->since = process.rooms_.clock.Now();
}

void Measuring::EndHandling(ProcessRunner& process) {
  ProcessCold::HandlingTime& handling = *process.Cold().handling;
  if (handling.since == 0) return;
  handling.histogram.Observe(std::chrono::nanoseconds(process.rooms_.clock.Now() - handling.since));
  handling.since = 0;
}

void Measuring::NoteCall(const ProcessRunner& process, std::uint64_t id) {
  Latency* const latency = process.rooms_.latency;
  if (latency == nullptr) return;
  const CallEdge::View call = process.Waited();
  if (call.id != id) return;
  latency->calls().Observe(std::chrono::nanoseconds(process.rooms_.clock.Now() - call.since));
}

}  // namespace ergon::node
